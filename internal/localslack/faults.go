package localslack

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// faults are what the workspace was told to do wrong, in the order in which it
// was told. Apps must live with each of them: it is Slack's ordinary weather.
type faults struct {
	mu    sync.Mutex
	armed []*fault
}

// fault is one misbehaviour of one method.
type fault struct {
	Method     string `json:"method"` // "*" is any
	Times      int    `json:"times"`  // 0 is once, negative until cleared
	Mode       string `json:"mode"`
	RetryAfter int    `json:"retry_after"`
	Error      string `json:"error"`
}

const hangTime = time.Minute // how long a call that times out is kept waiting at most

func (f *faults) arm(ft fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if ft.Times == 0 {
		ft.Times = 1
	}
	f.armed = append(f.armed, &ft)
}

func (f *faults) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed = nil
}

// take is the fault that the next call of method meets, nil for none.
func (f *faults) take(method string) *fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, ft := range f.armed {
		if ft.Method != method && ft.Method != "*" {
			continue
		}
		if ft.Times > 0 {
			if ft.Times--; ft.Times == 0 {
				f.armed = slices.Delete(f.armed, i, i+1)
			}
		}
		out := *ft
		return &out
	}
	return nil
}

// before answers instead of the method, and reports whether it did.
func (ft *fault) before(w *Workspace, rw http.ResponseWriter, r *http.Request, c *call, start time.Time) bool {
	if ft == nil {
		return false
	}
	switch ft.Mode {
	case "ratelimit":
		w.answer(rw, c, nil, &rateLimited{after: time.Duration(max(ft.RetryAfter, 1)) * time.Second}, start)
	case "error":
		w.answer(rw, c, nil, fail(cmp.Or(ft.Error, "internal_error")), start)
	case "http500":
		w.logFault(c, start, "http500")
		http.Error(rw, "upstream error", http.StatusInternalServerError)
	case "timeout":
		w.logFault(c, start, "timeout")
		t := time.NewTimer(hangTime)
		defer t.Stop()
		select {
		case <-r.Context().Done():
		case <-w.ctx.Done():
		case <-t.C:
		}
		panic(http.ErrAbortHandler) // closes the connection without an answer
	default:
		return false
	}
	return true
}

// after reports whether the method's answer is to be lost. The work is done.
func (ft *fault) after(w *Workspace, c *call, start time.Time) bool {
	if ft == nil || ft.Mode != "lost_answer" {
		return false
	}
	w.logFault(c, start, "lost_answer")
	return true
}

// notMethods are the other doors that faults can be set on, by these names.
var notMethods = [...]string{"response_url", "upload", "download"}

// faulty lets faults befall a handler that isn't a method of the Web API.
func (w *Workspace) faulty(name string, next http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		start := w.cfg.Now()
		ft, c := w.faults.take(name), &call{w: w, name: name, args: args{}}
		if ft != nil && ft.Mode == "timeout" {
			io.Copy(io.Discard, io.LimitReader(r.Body, maxFile)) // so that the client's leaving is noticed
		}
		if ft.before(w, rw, r, c, start) {
			return
		}
		if ft == nil {
			next(rw, r)
			return
		}
		next(discard{http.Header{}}, r)
		if ft.after(w, c, start) {
			panic(http.ErrAbortHandler)
		}
	}
}

// discard is an answer that nobody gets.
type discard struct{ h http.Header }

func (d discard) Header() http.Header         { return d.h }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

func (w *Workspace) logFault(c *call, start time.Time, what string) {
	w.inspector.add(entry{At: start, Kind: "call", Method: c.name, Error: what, request: c.args.loggable()})
}

// faultRequest is the body of POST /_local/fault.
type faultRequest struct {
	fault
	Socket    string `json:"socket"`
	Redeliver string `json:"redeliver"`
	Stream    string `json:"stream"`
	Clear     bool   `json:"clear"`
}

// postFault is POST /_local/fault.
func (w *Workspace) postFault(_ *http.Request, q faultRequest) (any, error) {
	switch {
	case q.Clear:
		w.faults.clear()
		for _, a := range w.apps {
			a.sockets.refuseNext(0)
		}
	case q.Method != "":
		if !slices.Contains([]string{"ratelimit", "error", "http500", "timeout", "lost_answer"}, q.Mode) {
			return nil, bad("unknown_mode", "mode must be ratelimit, error, http500, timeout or lost_answer")
		}
		if _, known := w.methods[q.Method]; !known && q.Method != "*" && !slices.Contains(notMethods[:], q.Method) {
			return nil, bad("unknown_method", "there is no method "+q.Method)
		}
		w.faults.arm(q.fault)
	case q.Socket != "":
		return w.socketFault(q.Socket, q.Times)
	case q.Redeliver != "":
		if !slices.ContainsFunc(w.apps, func(a *app) bool { return a.sockets.redeliver(q.Redeliver) }) {
			return nil, bad("not_redelivered", "the event is unknown or too old, or no socket is open")
		}
	case q.Stream == "close":
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		return map[string]any{"ok": true, "closed": w.closeStreams(nil, streamExpired)}, nil
	default:
		return nil, bad("unknown_fault", "name one of method, socket, redeliver, stream or clear")
	}
	return okay, nil
}

// socketFault befalls the open sockets of every app.
func (w *Workspace) socketFault(kind string, times int) (any, error) {
	n := 0
	for _, a := range w.apps {
		s := a.sockets
		switch kind {
		case "disconnect": // as when a Slack host is restarted: a frame, then the close
			n += s.each(func(sock *socket) { s.disconnect(sock, "refresh_requested") })
		case "drop": // as when a network goes away: no frame, no close
			n += s.each((*socket).end)
		case "warning":
			n += s.each(s.warn)
		case "link_disabled":
			n += s.each(func(sock *socket) { s.disconnect(sock, "link_disabled") })
		case "half_open":
			n += s.each(func(sock *socket) { sock.dead.Store(true) })
		case "refuse":
			s.refuseNext(cmp.Or(times, 1))
		default:
			return nil, bad("unknown_fault", "socket must be disconnect, warning, half_open, refuse, drop or link_disabled")
		}
	}
	return map[string]any{"ok": true, "sockets": n}, nil
}
