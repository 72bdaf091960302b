package offline

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Script answers requests with turns that were written down. Each request
// takes the first turn that is left and whose When agrees. It is safe for
// concurrent use.
type Script struct {
	mu       sync.Mutex
	turns    []ScriptTurn
	requests []Request
	refusals []Refusal
}

// ScriptTurn is one answer. Build it with [Says], [Calls] or [Fails]; every
// field may also be set by hand.
type ScriptTurn struct {
	// When limits the turn to the requests that it agrees with; nil: any.
	When func(Request) bool
	// Rules answers this turn from the rules instead of from Text and Calls.
	Rules bool
	// Text is sent piece by piece, as it stands.
	Text []string
	// Reasoning is sent before it, as reasoning_content.
	Reasoning []string
	// Calls follow. An empty id is filled in; arguments may be broken JSON.
	Calls []Call
	// Hold keeps the answer back until it is closed; Delay for a time.
	Hold  <-chan struct{}
	Delay time.Duration
	// PieceDelay replaces the server's; less than 0 means none.
	PieceDelay time.Duration
	// FinishReason replaces "stop" or "tool_calls"; "-" leaves it null.
	FinishReason string
	// Usage replaces the count; NoUsage leaves it out.
	Usage   *Usage
	NoUsage bool
	Fault   *Fault
	// Times is how many requests it answers; 0 means one, less than 0 any.
	Times int
}

// NewScript makes a script of turns.
func NewScript(turns ...ScriptTurn) *Script { return &Script{turns: turns} }

// Says is a turn that is text, sent in these pieces.
func Says(pieces ...string) ScriptTurn { return ScriptTurn{Text: pieces} }

// Calls is a turn that calls one tool; chain Calling for more.
func Calls(name, args string) ScriptTurn { return ScriptTurn{}.Calling(name, args) }

// Fails is a turn that goes wrong.
func Fails(f Fault) ScriptTurn { return ScriptTurn{Fault: &f} }

// FromRules is a turn that the rules decide.
func FromRules() ScriptTurn { return ScriptTurn{Rules: true} }

// Calling adds a tool call.
func (t ScriptTurn) Calling(name, args string) ScriptTurn {
	t.Calls = append(slices.Clone(t.Calls), Call{Name: name, Args: json.RawMessage(args)})
	return t
}

// Failing makes the turn go wrong on the way: see [Fault].
func (t ScriptTurn) Failing(f Fault) ScriptTurn { t.Fault = &f; return t }

// If limits the turn to some requests.
func (t ScriptTurn) If(when func(Request) bool) ScriptTurn { t.When = when; return t }

// Always makes the turn answer any number of requests.
func (t ScriptTurn) Always() ScriptTurn { t.Times = -1; return t }

// LastUserSays is a When: the last user message contains the text.
func LastUserSays(text string) func(Request) bool {
	return func(r Request) bool {
		for i := len(r.Messages) - 1; i >= 0; i-- {
			if r.Messages[i].Role == "user" {
				return strings.Contains(r.Messages[i].Content.Text, text)
			}
		}
		return false
	}
}

// Add appends turns.
func (s *Script) Add(turns ...ScriptTurn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turns = append(s.turns, turns...)
}

// Requests returns what was asked and accepted, in order.
func (s *Script) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refusal is a request that a real provider would have refused.
type Refusal struct {
	Body   []byte
	Status int
	Reason string
}

// Refusals returns what was asked and refused; a test of a client usually
// wants none.
func (s *Script) Refusals() []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Left is the number of turns that no request has taken; a turn for any
// number of requests isn't counted.
func (s *Script) Left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, t := range s.turns {
		if t.Times >= 0 {
			n++
		}
	}
	return n
}

func (s *Script) refused(body []byte, e *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, Refusal{body, e.Status, e.Message})
}

// scripted is an answer with everything about how it is given.
type scripted struct {
	turn      Turn
	text      []string // nil: cut the turn's text like a real server
	reasoning []string
	hold      <-chan struct{}
	before    time.Duration
	delay     time.Duration
	finish    string
	usage     *Usage
	noUsage   bool
	fault     *Fault
}

func (s *Script) next(req Request, body []byte, delay time.Duration) (scripted, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	for i := range s.turns {
		t := s.turns[i]
		if t.When != nil && !t.When(req) {
			continue
		}
		switch {
		case t.Times > 1:
			s.turns[i].Times--
		case t.Times >= 0:
			s.turns = slices.Delete(s.turns, i, i+1)
		}
		a := scripted{
			turn: Turn{Text: strings.Join(t.Text, ""), Calls: t.Calls}, text: t.Text, reasoning: t.Reasoning,
			hold: t.Hold, before: t.Delay, delay: delay, finish: t.FinishReason, usage: t.Usage, noUsage: t.NoUsage, fault: t.Fault,
		}
		if t.PieceDelay != 0 {
			a.delay = t.PieceDelay
		}
		if t.Rules {
			a.turn, a.text = Decide(req), nil
		}
		return a, nil
	}
	e := &apiError{Status: http.StatusBadRequest, Type: "invalid_request_error",
		Message: fmt.Sprintf("the script has no turn for request %d (%d messages)", len(s.requests), len(req.Messages))}
	s.refusals = append(s.refusals, Refusal{body, e.Status, e.Message})
	return scripted{}, e
}

func (a *scripted) textPieces() []string {
	if a.text != nil {
		return a.text
	}
	return pieces(a.turn.Text, 20)
}

func (a *scripted) reasoningText() string { return strings.Join(a.reasoning, "") }

// limit cuts the answer where the request's token limit does, and settles why
// it ends.
func (a *scripted) limit(req Request) {
	if a.finish == "" {
		a.finish = a.turn.finishReason()
	}
	limit := req.MaxCompletionTokens
	if limit == nil {
		limit = req.MaxTokens
	}
	if limit == nil || tokens(len(a.turn.Text)) <= *limit {
		return
	}
	var kept []string
	left := *limit * bytesPerToken
	for _, p := range a.textPieces() {
		if len(p) > left {
			break
		}
		kept = append(kept, p)
		left -= len(p)
	}
	a.turn.Text, a.text = strings.Join(kept, ""), append([]string{}, kept...)
	a.turn.Calls, a.finish = nil, "length"
}

// Fault is a way to go wrong. With a Status the answer is that HTTP error;
// otherwise the stream goes wrong after After pieces.
type Fault struct {
	Status      int
	RetryAfter  string
	ContentType string // of the error's body; empty: application/json
	Body        string

	After int    // pieces (of text, or of a call's arguments) before it happens
	Frame string // sent as one event's data
	Raw   string // sent as it stands
	Reset bool   // cut the connection instead of ending the body
	GoOn  bool   // and then continue as if nothing had been
}

func (f *Fault) write(w http.ResponseWriter) {
	kind := f.ContentType
	if kind == "" {
		kind = "application/json"
	}
	w.Header().Set("Content-Type", kind)
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write([]byte(f.Body))
}

// RateLimited is a 429 that says when to come back; 0 leaves that out.
func RateLimited(after time.Duration) Fault {
	f := Fault{Status: http.StatusTooManyRequests, Body: `{"error":{"message":"Rate limit reached for requests.","type":"requests","param":null,"code":"rate_limit_exceeded"}}`}
	if after > 0 {
		f.RetryAfter = strconv.Itoa(int((after + time.Second - 1) / time.Second))
	}
	return f
}

// ServerError is a 500.
func ServerError() Fault {
	return Fault{Status: http.StatusInternalServerError, Body: `{"error":{"message":"The server had an error while processing your request.","type":"server_error","param":null,"code":null}}`}
}

// BadGateway is a proxy's answer for a server that is away.
func BadGateway() Fault {
	return Fault{Status: http.StatusBadGateway, ContentType: "text/html", Body: "<html><body><h1>502 Bad Gateway</h1></body></html>"}
}

// Overflow is the refusal of a request that is too long.
func Overflow() Fault {
	raw, err := json.Marshal(map[string]any{"error": overflow(8192, 9001)})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return Fault{Status: http.StatusBadRequest, Body: string(raw)}
}

// CutAfter ends the stream after n pieces, cleanly but without a finish reason.
func CutAfter(n int) Fault { return Fault{After: n} }

// ResetAfter cuts the connection after n pieces.
func ResetAfter(n int) Fault { return Fault{After: n, Reset: true} }

// ErrorFrameAfter sends an error as an event after n pieces and ends.
func ErrorFrameAfter(n int, message string) Fault {
	raw, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": "server_error", "code": 500}})
	if err != nil {
		panic(err)
	}
	return Fault{After: n, Frame: string(raw)}
}

// GarbageAfter sends a frame that is no JSON after n pieces and ends.
func GarbageAfter(n int) Fault { return Fault{After: n, Frame: `{"choices":[{"delta":{"content":"`} }

// CommentsAfter sends n keep-alive comments and goes on: not a fault at all.
func CommentsAfter(after, n int) Fault {
	return Fault{After: after, Raw: strings.Repeat(": ping\n\n", n), GoOn: true}
}
