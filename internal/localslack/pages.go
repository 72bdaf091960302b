package localslack

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	pageBuffer = 512 // events that a page may be behind before it is cut off
	keepAlive  = 15 * time.Second
)

// pages are the open pages' event streams. A page that reads too slowly is cut
// off; it reconnects and reads the state again.
type pages struct {
	open atomic.Int32

	mu   sync.Mutex
	subs []*pageSub
}

type pageSub struct {
	user string
	out  chan []byte // closed when the page is cut off
}

// idle reports that nobody listens, so that nothing needs to be rendered.
func (p *pages) idle() bool { return p.open.Load() == 0 }

// publish sends an event to the pages of users, of everyone when none is named.
func (p *pages) publish(event string, data any, users ...string) {
	if p.idle() {
		return
	}
	frame := slices.Concat([]byte("event: "+event+"\ndata: "), encode(data), []byte("\n\n"))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs = slices.DeleteFunc(p.subs, func(s *pageSub) bool {
		if len(users) > 0 && !slices.Contains(users, s.user) {
			return false
		}
		select {
		case s.out <- frame:
			return false
		default:
			close(s.out)
			p.open.Add(-1)
			return true
		}
	})
}

func (p *pages) subscribe(user string) *pageSub {
	s := &pageSub{user: user, out: make(chan []byte, pageBuffer)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs = append(p.subs, s)
	p.open.Add(1)
	return s
}

func (p *pages) unsubscribe(s *pageSub) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.subs, s); i >= 0 {
		p.subs = slices.Delete(p.subs, i, i+1)
		p.open.Add(-1)
	}
}

const maxWrite = 64 << 10 // bytes of events that one write gathers at most

// waiting appends to all whatever waits in out: a flood costs a write for many
// events, not one each. A closed channel is left to the next receive.
func waiting(all []byte, out <-chan []byte) []byte {
	for len(all) < maxWrite {
		select {
		case next, more := <-out:
			if !more {
				return all
			}
			all = append(all, next...)
		default:
			return all
		}
	}
	return all
}

// events is GET /_local/events, server-sent events for one user's page.
func (w *Workspace) events(rw http.ResponseWriter, r *http.Request) {
	u, err := w.person(r.URL.Query().Get("user"))
	if err != nil {
		w.localAnswer(rw, nil, err)
		return
	}
	sub := w.pages.subscribe(u.ID)
	defer w.pages.unsubscribe(sub)
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	rc := http.NewResponseController(rw)
	send := func(b []byte) bool {
		rc.SetWriteDeadline(time.Now().Add(writeWait))
		_, err := rw.Write(b)
		return err == nil && rc.Flush() == nil
	}
	hello := slices.Concat([]byte("event: hello\ndata: "), encode(map[string]any{"cursor": w.inspector.cursor()}), []byte("\n\n"))
	tick := time.NewTicker(keepAlive)
	defer tick.Stop()
	var buf []byte
	for ok := send(hello); ok; {
		select {
		case <-r.Context().Done():
			return
		case <-w.ctx.Done():
			return
		case frame, more := <-sub.out:
			buf = waiting(append(buf[:0], frame...), sub.out)
			ok = more && send(buf)
		case <-tick.C:
			ok = send([]byte(": still here\n\n"))
		}
	}
}
