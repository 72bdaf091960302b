package agent

import (
	"encoding/json"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Role of a message as a model sees it.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Author tells whose words a message is, which its role does not: a nudge of
// ours travels in the user role and is never the owner's words.
type Author string

const (
	ByOwner      Author = "owner"
	ByModel      Author = "model"
	ByTool       Author = "tool"
	ByHarness    Author = "harness"
	ByThirdParty Author = "third_party" // quoted, forwarded, unfurled; arms untrusted first
)

// Message is one entry of a conversation.
type Message struct {
	ID     int64 // the record's; 0 where not stored
	Turn   int
	Role   Role
	Author Author
	Person string // Slack user of an owner's message
	Text   string
	Images []Image `json:",omitempty"`

	// Of an assistant message.
	Calls     []Call          `json:",omitempty"`
	Reasoning json.RawMessage `json:",omitempty"` // as the provider wants it back

	// Of a tool's result. CallID is ours; WireID is what the model gave.
	CallID   string
	WireID   string
	Tool     string
	IsError  bool
	External bool // bytes from outside
	Private  bool // of a tool that declares private data

	// Marks that a steering message brought along (a quoted message, a file):
	// already in the record, and armed by the loop before the model reads it.
	Marks []tools.Mark `json:"-"`
}

// Image is a picture that a person attached, for models that see.
type Image struct {
	MIME string `json:"mime"`
	Path string `json:"path"` // within the workspace
	Data []byte `json:"-"`    // read at load; without it a model is told of the picture in words
}

// Call is one tool call of an assistant turn.
type Call struct {
	ID     string          `json:"id"`      // ours, unique over all conversations
	WireID string          `json:"wire_id"` // the model's
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"` // as the model wrote them; may not parse
}

// CallState is how far a call has come; each step is committed before the next.
type CallState string

const (
	Offered   CallState = "offered"
	Approved  CallState = "approved"
	Executing CallState = "executing"
	Done      CallState = "done"
)

// CallOutcome is what became of a call, for counting and for the footer.
type CallOutcome string

const (
	CallOK          CallOutcome = "ok"
	CallError       CallOutcome = "error"
	CallDenied      CallOutcome = "denied"  // a person said no
	CallBlocked     CallOutcome = "blocked" // the machine said no
	CallStaged      CallOutcome = "staged"
	CallParked      CallOutcome = "parked"
	CallInterrupted CallOutcome = "interrupted" // nobody knows: a crash, a stop or a timeout took its answer
)

// Result answers one call.
type Result struct {
	CallID   string
	WireID   string
	Tool     string
	Content  string // as the model sees it: cut, marked, wrapped
	Outcome  CallOutcome
	External bool
	Private  bool // the content is private data, and no stranger's
	Marks    []tools.Mark
	Draft    string // id, of a staged call
}

// Usage counts tokens of one turn. Cached ones are part of In.
type Usage struct {
	In, Out, Cached int
	Cost            *float64 // USD; nil where a price is unknown
}

// Stop is why a model ended its turn.
type Stop string

const (
	StopEnd       Stop = "end"
	StopCalls     Stop = "calls" // presence of calls decides, not what the provider said
	StopLength    Stop = "length"
	StopFiltered  Stop = "filtered"
	StopCancelled Stop = "cancelled" // ours: a partial answer, kept
)

// Turn is one finished answer of a model.
type Turn struct {
	Text      string
	Calls     []Call // ID is empty until the loop gives one
	Reasoning json.RawMessage
	Stop      Stop
	Usage     Usage
	Model     string
	// Cut names tools whose call the token limit cut off in the middle: such a
	// call is not in Calls, because half of its arguments is none.
	Cut []string `json:",omitempty"`
}
