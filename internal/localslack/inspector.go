package localslack

import (
	"encoding/json"
	"sync"
	"time"
	"unicode/utf8"
)

// Bounds of what the inspector remembers.
const (
	maxEntries    = 10_000
	maxEntryBody  = 16 << 10 // bytes of a request or a response
	maxEntryBytes = 24 << 20 // of all bodies together
)

// inspector is the log of everything between the workspace and its apps, in
// order: calls, envelopes, acks, sockets. The oldest entries make room.
type inspector struct {
	mu    sync.Mutex
	ring  []entry
	first int // where in ring the oldest is
	n     int // how many there are
	seq   uint64
	bytes int
}

// entry is one thing that happened.
type entry struct {
	Seq        uint64          `json:"seq"`
	At         time.Time       `json:"at"`
	Kind       string          `json:"kind"` // call, envelope, ack or socket
	Method     string          `json:"method,omitempty"`
	OK         bool            `json:"ok"`
	Error      string          `json:"error,omitempty"`
	Note       string          `json:"note,omitempty"` // what Slack would have done otherwise
	EventID    string          `json:"event_id,omitempty"`
	EnvelopeID string          `json:"envelope_id,omitempty"`
	Attempt    int             `json:"retry_attempt,omitempty"`
	Request    json.RawMessage `json:"request,omitempty"`
	Response   json.RawMessage `json:"response,omitempty"`

	request  any // encoded when someone looks; until then it costs nothing
	response []byte
	size     int
}

func newInspector() *inspector { return &inspector{} }

func (i *inspector) add(e entry) {
	e.response = clip(e.response)
	switch r := e.request.(type) {
	case map[string]any:
		for _, v := range r {
			switch v := v.(type) {
			case string:
				e.size += len(v)
			case json.RawMessage:
				e.size += len(v)
			}
		}
		if e.size > maxEntryBody {
			clipped := clip(encode(r))
			e.request, e.size = clipped, len(clipped)
		}
	case json.RawMessage:
		clipped := clip(r)
		e.request, e.size = clipped, len(clipped)
	}
	e.size += len(e.response)

	i.mu.Lock()
	defer i.mu.Unlock()
	i.seq++
	e.Seq = i.seq
	for i.n == maxEntries || i.n > 0 && i.bytes+e.size > maxEntryBytes {
		i.bytes -= i.ring[i.first].size
		i.ring[i.first] = entry{}
		i.first = (i.first + 1) % len(i.ring)
		i.n--
	}
	if i.n == len(i.ring) {
		i.ring, i.first = i.latest(i.n, min(max(2*i.n, 64), maxEntries)), 0
	}
	i.ring[(i.first+i.n)%len(i.ring)] = e
	i.n++
	i.bytes += e.size
}

// latest copies the newest n entries, the oldest of them first, into a slice of
// the given length. The caller holds the lock.
func (i *inspector) latest(n, length int) []entry {
	out := make([]entry, length)
	for k := range n {
		out[k] = i.ring[(i.first+i.n-n+k)%len(i.ring)]
	}
	return out
}

// clip bounds bytes; what is cut is JSON no more and shown as a string.
func clip(b []byte) []byte {
	if len(b) <= maxEntryBody {
		return b
	}
	n := maxEntryBody
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return append(append(make([]byte, 0, n+3), b[:n]...), "…"...)
}

// since is the entries after seq, at most limit of them, the oldest first.
func (i *inspector) since(seq uint64, limit int) (out []entry, cursor uint64) {
	i.mu.Lock()
	n := int(min(i.seq-min(seq, i.seq), uint64(i.n)))
	out = i.latest(n, n)
	i.mu.Unlock()
	if len(out) > limit {
		out = out[:limit]
	}
	cursor = seq
	for n := range out {
		e := &out[n]
		cursor = e.Seq
		e.Response = asJSON(e.response)
		switch r := e.request.(type) {
		case map[string]any:
			e.Request = encode(r)
		case json.RawMessage:
			e.Request = asJSON(r)
		case []byte:
			e.Request = asJSON(r)
		}
	}
	return out, cursor
}

func asJSON(b []byte) json.RawMessage {
	if len(b) == 0 || json.Valid(b) {
		return b
	}
	return encode(string(b))
}

// envelope logs one delivery.
func (i *inspector) envelope(e *envelope, sent bool) {
	ent := entry{At: time.Now(), Kind: "envelope", Method: e.event, OK: sent, EventID: e.eventID, EnvelopeID: e.id,
		Attempt: e.attempt, request: e.payload}
	if !sent {
		ent.Error = "no_open_socket"
	}
	i.add(ent)
}

// cursor is the number of the newest entry.
func (i *inspector) cursor() uint64 {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.seq
}
