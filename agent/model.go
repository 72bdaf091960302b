package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Model answers one turn. Implementations are adapters over a wire protocol;
// retries live in them, before the first token only.
type Model interface {
	// Name is the provider and model as people see it ("offline-rules").
	Name() string
	// Window is the context window in tokens, 0 where nobody knows.
	Window() int
	// Stream asks for one turn and calls emit for each piece, in order, from
	// the calling goroutine. A turn that ended without its terminator is an
	// error, never half a call. Errors are *ModelError, or the context's cause
	// where that ended it; the Turn beside an error holds usage at most.
	Stream(ctx context.Context, req Request, emit func(Delta)) (Turn, error)
}

// Request is one turn's question. Tools come sorted; their bytes are the same
// from turn to turn (prompt caches).
type Request struct {
	System    string
	Messages  []Message
	Tools     []ToolDef
	NoCalls   bool // a turn in words only, whatever Tools holds
	MaxTokens int  // 0: the provider's default
}

// ToolDef is a tool as a model is told of it.
type ToolDef struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// Delta is one piece of a stream: a preview, until the turn is journaled.
type Delta struct {
	Text      string
	Reasoning string
	CallName  string // a call of this tool has begun to arrive
	Notice    string // words of the adapter for people (a retry), no part of the answer
}

// ErrorKind sorts what a provider can say.
type ErrorKind string

const (
	ErrTransient ErrorKind = "transient" // 429, 5xx, transport; retries are used up
	ErrOverflow  ErrorKind = "overflow"  // the context window is full
	ErrAuth      ErrorKind = "auth"
	ErrInvalid   ErrorKind = "invalid" // the request is refused as it stands
	ErrCut       ErrorKind = "cut"     // the stream ended in the middle
)

// ModelError tells what a provider answered, in words for a person.
type ModelError struct {
	Kind   ErrorKind
	Model  string
	Status int // HTTP, 0 where none
	What   string
	Err    error
	// RetryAfter is what the provider asked to wait, where it did.
	RetryAfter time.Duration
}

func (e *ModelError) Error() string { return e.Model + ": " + e.What }
func (e *ModelError) Unwrap() error { return e.Err }
