package localslack

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Socket Mode's numbers.
const (
	maxSockets    = 10
	ackDeadline   = 3 * time.Second
	maxAck        = 20_480 // bytes; an ack of this size or more is dropped in silence
	ticketLife    = 30 * time.Second
	maxPending    = 20_000 // envelopes that wait for an ack or a redelivery
	rememberedIDs = 2_000  // events that can be asked to be redelivered
)

// retryAfter is how long after a missed ack each redelivery comes.
var retryAfter = [...]time.Duration{0, time.Minute, 5 * time.Minute}

// sockets are an app's open Socket Mode connections and the envelopes on their
// way. Each envelope goes to exactly one socket; an ack may come back on any.
type sockets struct {
	w   *Workspace
	app *app

	mu      sync.Mutex
	closed  bool
	open    []*socket
	next    int
	tickets map[string]*timer
	pending map[string]*envelope
	recent  map[string]*envelope // by event id
	order   []string             // of recent, oldest first
	refuse  int                  // handshakes to refuse; negative: all
}

// envelope is one delivery to the app.
type envelope struct {
	kind    string // events_api, interactive or slash_commands
	event   string // the inner type, for the inspector
	eventID string
	payload json.RawMessage
	answers bool // accepts_response_payload

	id      string
	attempt int
	due     *timer
	acked   chan json.RawMessage // of those that someone waits for
}

func newSockets(w *Workspace, a *app) *sockets {
	return &sockets{w: w, app: a, tickets: map[string]*timer{}, pending: map[string]*envelope{}, recent: map[string]*envelope{}}
}

// ticket makes a single-use address for one socket.
func (s *sockets) ticket() string {
	id := newSecret(16)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tickets[id] = s.w.clock.AfterFunc(ticketLife, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.tickets, id)
	})
	return id
}

func (s *sockets) redeem(ticket string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.tickets[ticket]
	delete(s.tickets, ticket)
	t.Stop()
	return ok
}

// deliver sends e to one open socket. Where none is open it is lost, as with
// Slack: an app reads the history when it comes back.
func (s *sockets) deliver(e *envelope) bool {
	e.id = newUUID()
	s.mu.Lock()
	if e.eventID != "" {
		s.remember(e)
	}
	sent := s.send(e)
	s.w.inspector.envelope(e, sent)
	s.mu.Unlock()
	return sent
}

// ask delivers a person's gesture and waits for the app's answer: "acked",
// "no_socket" or "operation_timeout".
func (s *sockets) ask(ctx context.Context, e *envelope) (payload json.RawMessage, status string) {
	e.acked = make(chan json.RawMessage, 1)
	if !s.deliver(e) {
		return nil, "no_socket"
	}
	select {
	case payload, ok := <-e.acked:
		if ok {
			return payload, "acked"
		}
	case <-ctx.Done():
	case <-s.w.ctx.Done():
	}
	return nil, "operation_timeout"
}

// send picks the next socket with room. The caller holds the lock.
func (s *sockets) send(e *envelope) bool {
	if s.closed || len(s.open) == 0 {
		return false
	}
	frame := e.frame()
	for range s.open {
		s.next = (s.next + 1) % len(s.open)
		select {
		case s.open[s.next].out <- frame:
			s.await(e)
			return true
		default: // that one is behind; another may not be
		}
	}
	if e.kind != "events_api" {
		return false
	}
	s.await(e) // all are behind: the same as an ack that doesn't come
	return true
}

// await starts the ack's deadline. The caller holds the lock.
func (s *sockets) await(e *envelope) {
	if len(s.pending) >= maxPending { // its redelivery is given up; the first delivery isn't
		if e.acked != nil {
			close(e.acked)
		}
		return
	}
	s.pending[e.id] = e
	e.due = s.w.clock.AfterFunc(ackDeadline, func() { s.overdue(e) })
}

// overdue ends an envelope that nobody acked, or schedules its redelivery.
// People's gestures are never redelivered, events three times.
func (s *sockets) overdue(e *envelope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending[e.id] != e {
		return // acked in this very moment
	}
	if e.kind != "events_api" || e.attempt >= len(retryAfter) {
		delete(s.pending, e.id)
		if e.acked != nil {
			close(e.acked)
		}
		return
	}
	e.due = s.w.clock.AfterFunc(retryAfter[e.attempt], func() { s.again(e) })
}

func (s *sockets) again(e *envelope) {
	s.mu.Lock()
	if s.pending[e.id] != e {
		s.mu.Unlock()
		return
	}
	e.attempt++
	sent := s.send(e)
	if !sent { // no socket: this attempt failed, the next may not
		s.await(e)
	}
	s.w.inspector.envelope(e, sent)
	s.mu.Unlock()
}

// redeliver sends an event once more, as Slack does when an ack was lost.
func (s *sockets) redeliver(eventID string) bool {
	s.mu.Lock()
	old := s.recent[eventID]
	if old == nil {
		s.mu.Unlock()
		return false
	}
	e := &envelope{kind: old.kind, event: old.event, eventID: old.eventID, payload: old.payload, id: newUUID(), attempt: 1}
	sent := s.send(e)
	s.w.inspector.envelope(e, sent)
	s.mu.Unlock()
	return sent
}

func (s *sockets) remember(e *envelope) {
	s.recent[e.eventID] = e
	s.order = append(s.order, e.eventID)
	if len(s.order) > rememberedIDs {
		delete(s.recent, s.order[0])
		s.order = s.order[1:]
	}
}

// ack takes one frame of the app. It is bytes from outside.
func (s *sockets) ack(frame []byte) {
	start := s.w.cfg.Now()
	if len(frame) >= maxAck {
		s.w.inspector.add(entry{At: start, Kind: "ack", Error: "ack_too_large", response: frame})
		return
	}
	id, payload, ok := parseAck(frame)
	if !ok {
		s.w.inspector.add(entry{At: start, Kind: "ack", Error: "unreadable_ack", response: frame})
		return
	}
	s.mu.Lock()
	e := s.pending[id]
	if e != nil {
		delete(s.pending, id)
		e.due.Stop()
	}
	s.mu.Unlock()
	if e == nil {
		s.w.inspector.add(entry{At: start, Kind: "ack", Error: "unknown_envelope", EnvelopeID: id, response: frame})
		return
	}
	if e.acked != nil {
		if !e.answers {
			payload = nil
		}
		e.acked <- payload
	}
	s.w.inspector.add(entry{At: start, Kind: "ack", OK: true, Method: e.event, EventID: e.eventID, EnvelopeID: id, response: frame})
}

// parseAck reads {"envelope_id":…, "payload":…}.
func parseAck(frame []byte) (id string, payload json.RawMessage, ok bool) {
	var a struct {
		EnvelopeID string          `json:"envelope_id"`
		Payload    json.RawMessage `json:"payload"`
	}
	if json.Unmarshal(frame, &a) != nil || a.EnvelopeID == "" {
		return "", nil, false
	}
	return a.EnvelopeID, a.Payload, true
}

func (e *envelope) frame() []byte {
	f := struct {
		EnvelopeID   string  `json:"envelope_id"`
		Type         string  `json:"type"`
		Accepts      bool    `json:"accepts_response_payload"`
		RetryAttempt *int    `json:"retry_attempt,omitempty"`
		RetryReason  *string `json:"retry_reason,omitempty"`
	}{EnvelopeID: e.id, Type: e.kind, Accepts: e.answers}
	if e.kind == "events_api" {
		reason := ""
		if e.attempt > 0 {
			reason = "timeout"
		}
		f.RetryAttempt, f.RetryReason = &e.attempt, &reason
	}
	return withRaw(encode(&f), "payload", e.payload)
}

// connectionsOpen is apps.connections.open.
func connectionsOpen(c *call) (result, error) {
	a := c.who.app
	url := "ws" + c.w.base[len("http"):] + "/link/?ticket=" + a.sockets.ticket() + "&app_id=" + a.id
	return result{"url": url}, nil
}

// link is the WebSocket's handshake. It goes by its single-use ticket, whatever
// the Origin: slack-go dials with Slack's own.
func (w *Workspace) link(rw http.ResponseWriter, r *http.Request) {
	a := w.appByID(r.URL.Query().Get("app_id"))
	if a == nil {
		http.Error(rw, "there is no app with that id", http.StatusForbidden)
		return
	}
	s := a.sockets
	s.mu.Lock()
	refused := s.closed || s.refuse != 0
	if s.refuse > 0 {
		s.refuse--
	}
	s.mu.Unlock()
	if refused {
		w.inspector.add(entry{At: w.cfg.Now(), Kind: "socket", Method: "refuse"})
		http.Error(rw, "the workspace was told to refuse this socket", http.StatusServiceUnavailable)
		return
	}
	if !s.redeem(r.URL.Query().Get("ticket")) {
		http.Error(rw, "the ticket is unknown, used or expired", http.StatusForbidden)
		return
	}
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }, WriteBufferSize: 32 << 10}
	conn, err := up.Upgrade(rw, r, nil)
	if err != nil {
		return // Upgrade has answered
	}
	life := socketLife
	if r.URL.Query().Get("debug_reconnects") == "true" {
		life = debugSocketLife
	}
	s.run(conn, life)
}

func (s *sockets) drop(sock *socket) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = slices.DeleteFunc(s.open, func(o *socket) bool { return o == sock })
}

// each calls f for every open socket and returns how many there are.
func (s *sockets) each(f func(*socket)) int {
	s.mu.Lock()
	open := slices.Clone(s.open)
	s.mu.Unlock()
	for _, sock := range open {
		f(sock)
	}
	return len(open)
}

// refuseNext refuses the next n handshakes; all of them with a negative n.
func (s *sockets) refuseNext(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = n
}

// closeAll ends every socket and lets no new one in.
func (s *sockets) closeAll() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.each((*socket).end)
}
