package localslack

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Messages that an app wants posted later. They run on Slack's own clock, so a
// scaled one brings them forward; after a restart they run on.

const (
	maxAhead     = 120 * 24 * time.Hour
	maxScheduled = 1000 // waiting ones of one channel
)

// scheduled is one such message.
type scheduled struct {
	ID      string   `json:"id"`
	Gone    bool     `json:"gone,omitempty"`
	PostAt  int64    `json:"post_at,omitempty"` // Unix seconds
	Created int64    `json:"created,omitempty"`
	Message *message `json:"message,omitempty"`

	due *timer
}

func chatSchedule(c *call) (result, error) {
	p, err := readContent(c)
	switch {
	case err != nil:
		return nil, err
	case p.empty():
		return nil, fail("no_text")
	case utf8.RuneCountInString(p.text) > maxText:
		return nil, fail("msg_too_long")
	}
	at, err := strconv.ParseInt(c.args.str("post_at"), 10, 64)
	now := c.w.cfg.Now()
	switch {
	case err != nil:
		return nil, fail("invalid_time")
	case !time.Unix(at, 0).After(now):
		return nil, fail("time_in_past")
	case time.Unix(at, 0).Sub(now) > maxAhead:
		return nil, fail("time_too_far")
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := c.postable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	thread, err := c.threadArg(ch, "thread_ts")
	if err != nil {
		return nil, err
	}
	n := 0
	for _, l := range s.later {
		if l.Message.Channel == ch.ID {
			n++
		}
	}
	if n >= maxScheduled {
		return nil, fail("restricted_too_many")
	}
	l := &scheduled{ID: newID("Q0", 9), PostAt: at, Created: now.Unix(), Message: &message{Channel: ch.ID, ThreadTS: thread, User: c.me(), Text: p.text,
		Blocks: p.blocks, Attachments: p.attachments, Metadata: p.metadata, Broadcast: thread != 0 && c.args.flag("reply_broadcast")}}
	if err := s.write(&record{Later: l}); err != nil {
		return nil, err
	}
	s.later[l.ID] = l
	c.w.schedule(l)
	wire := s.wire(l.Message)
	wire.Type = "delayed_message"
	return result{"channel": ch.ID, "scheduled_message_id": l.ID, "post_at": at, "message": wire}, nil
}

// schedule posts l when its time has come. The caller holds the store's lock.
func (w *Workspace) schedule(l *scheduled) {
	l.due = w.clock.AfterFunc(time.Unix(l.PostAt, 0).Sub(w.cfg.Now()), func() {
		if err := w.postScheduled(l); err != nil {
			w.log.Warn("a scheduled message was not posted", "id", l.ID, "error", err)
		}
	})
}

// resumeScheduled arms what a former process left waiting; what became due
// meanwhile is posted now.
func (w *Workspace) resumeScheduled() {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for _, l := range w.store.later {
		w.schedule(l)
	}
}

func (w *Workspace) postScheduled(l *scheduled) error {
	s := w.store
	s.mu.Lock()
	if s.later[l.ID] != l {
		s.mu.Unlock()
		return nil // taken back in this very moment
	}
	delete(s.later, l.ID)
	m, ch := l.Message, s.channels[l.Message.Channel]
	// Gone is written first: a crash between the two loses a message rather than posting it twice.
	err := s.write(&record{Later: &scheduled{ID: l.ID, Gone: true}})
	if err == nil && (ch == nil || ch.Archived || !ch.has(m.User)) {
		err = fail("is_archived")
	}
	var wire *wireMessage
	if err == nil {
		m.TS = s.nextTS()
		wire, err = w.post(m)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	w.announce(ch, wire)
	return nil
}

func deleteScheduled(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	l := s.later[c.args.str("scheduled_message_id")]
	if l == nil || l.Message.Channel != ch.ID || l.Message.User != c.me() {
		return nil, fail("invalid_scheduled_message_id")
	}
	if err := s.write(&record{Later: &scheduled{ID: l.ID, Gone: true}}); err != nil {
		return nil, err
	}
	l.due.Stop()
	delete(s.later, l.ID)
	return result{}, nil
}

func listScheduled(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	in := c.args.str("channel")
	if in != "" {
		ch, err := c.readable(in)
		if err != nil {
			return nil, fail("invalid_channel")
		}
		in = ch.ID
	}
	oldest, _ := strconv.ParseFloat(c.args.str("oldest"), 64) // absent: 0, before all
	latest, err := strconv.ParseFloat(c.args.str("latest"), 64)
	if err != nil {
		latest = 1 << 53
	}
	var waiting []*scheduled
	for _, l := range s.later {
		if l.Message.User == c.me() && (in == "" || in == l.Message.Channel) && float64(l.PostAt) >= oldest && float64(l.PostAt) <= latest {
			waiting = append(waiting, l)
		}
	}
	slices.SortFunc(waiting, func(a, b *scheduled) int {
		if a.PostAt != b.PostAt {
			return int(a.PostAt - b.PostAt)
		}
		return strings.Compare(a.ID, b.ID)
	})
	part, next, err := paged(c, waiting, 100, 1000)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(part))
	for _, l := range part {
		out = append(out, map[string]any{"id": l.ID, "channel_id": l.Message.Channel, "post_at": l.PostAt, "date_created": l.Created, "text": l.Message.Text})
	}
	return result{"scheduled_messages": out, "response_metadata": map[string]any{"next_cursor": next}}, nil
}
