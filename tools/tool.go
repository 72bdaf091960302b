package tools

import (
	"context"
	"encoding/json"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// Tool is a name, a description, a JSON Schema and a function. Built-ins, MCP
// tools and subagents are all this, and nothing that runs them asks which.
type Tool interface {
	// Name is what the model calls: [A-Za-z0-9_-], at most 64 characters.
	Name() string
	// Description is what the model is told; its bytes never change during a run.
	Description() string
	// InputSchema is a JSON Schema object; its bytes never change during a run.
	InputSchema() json.RawMessage
	// ReadOnly tools skip the approver and may run beside others. A send may
	// still be read-only (http_fetch): the interlock looks at Capabilities.
	ReadOnly() bool
	// Capabilities are what a call may do at most.
	Capabilities() Capabilities
	// Call runs the tool once with arguments that were validated against
	// InputSchema. What the model can act on is an Output with IsError; a
	// returned error ends the run at a safe point, so it is for what nobody
	// can route around. Call is never made twice for one call id unless the
	// tool is Repeatable.
	Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error)
}

// Env is where one call runs. Paths of the arguments resolve in Workspace.
type Env struct {
	Workspace *jail.Jail
	Spill     *jail.Jail // read-only to tools; oversized results of this conversation; may be nil
	Thread    string     // key of the conversation
	Run       string
	Call      string // our id of the call, unique over all conversations
	Turn      int
	// Taint is the conversation's before this batch, and with it what the other
	// calls of the batch declare.
	Taint Taint
	// Unattended: nobody is there to answer.
	Unattended bool
	// IdempotencyKey is set where a draft is released: the same for every
	// attempt of one draft.
	IdempotencyKey string
	// Enter waits until the call may begin, beside whatever must not run with it (a
	// release of one of the conversation's drafts); leave tells that it is over.
	// nil: nothing to wait for. The loop asks, not the tool.
	Enter func(ctx context.Context) (leave func(), err error)
	// Progress shows a line on the running call; never nil.
	Progress func(text string)
}

// Output is what a call came to.
type Output struct {
	Content string
	IsError bool
	// External: bytes in Content really came from outside this machine (a 404's
	// body too, our own guard's refusal not). Only then does a declared
	// UntrustedInput arm its leg.
	External bool
	// Stranger: what is in Content was a stranger's before it lay here (a file
	// that the owner attached, a page that was kept whole), so it arms the
	// untrusted leg whatever the tool declares. External is set too.
	Stranger bool
	// Unknown: the call was handed over and no trustworthy answer came back (a
	// timeout, a closed pipe). It may have happened; IsError is set too. A
	// release of a draft becomes uncertain, never failed.
	Unknown bool
	// Refusal: the harness said no; counted as a denial, not as a failing tool.
	Refusal bool
	// What names the source in evidence and refusals ("notes.md", "Re: budget");
	// empty: the headline of the arguments is used.
	What string
	// Files are to be shown in the thread before the result is journaled; an
	// error of that becomes the result.
	Files []File
	// Park ends the run with a question to the owner, kept until it is answered.
	Park *Question
}

// File is something to show in the thread.
type File struct {
	Name  string // base name as shown
	Path  string // within the workspace
	Title string
}

// Question is what ask_user asks. Options may be empty: free text.
type Question struct {
	Text    string
	Options []string
}

// Optional abilities of a Tool, found by type assertion.
type (
	// Repeatable tools may run again when a crash left their call without a
	// result: they read, or write only their own state.
	Repeatable interface{ Repeatable() bool }

	// Carrier tools keep state that a compaction must not lose: the text is
	// read fresh at that moment and carried verbatim, one copy only.
	Carrier interface {
		Carry(thread string) (heading, text string)
	}

	// Scoped tools say what "Allow for this run" covers for these arguments;
	// without it, the grant covers the tool. shell: the exact command.
	Scoped interface {
		Scope(in json.RawMessage) string
	}

	// Opaque tools answer what nobody can tell the origin of (a command's
	// output): in it a destination counts as named nowhere, not as private.
	Opaque interface{ Opaque() bool }

	// Homed tools run in a directory of their own (a shared MCP server), which
	// a draft of them remembers instead of the workspace.
	Homed interface{ Home() string }

	// Pinned tools have a hash of name, description and schema, as pinned when
	// first listed; an approval is void when it changes.
	Pinned interface{ Pin() string }

	// Sourced tools tell which server they come from: for lists that people
	// read, never for decisions.
	Sourced interface{ Source() (server string) }

	// Addressed tools know which arguments are destinations, files or keys
	// better than a look at the schema does.
	Addressed interface{ Hints() Hints }
)

// Hints are what a table of known servers or a policy says of arguments.
type Hints struct {
	Destinations []string // argument names
	Files        []string // argument names that hold paths
	KeyArg       string   // argument that takes the idempotency key
	Mentions     []string // argument names of free text that may name destinations inside (a shell command)
}

// Errorf-like results: the usual ways to end a call.
func OK(content string) Output   { return Output{Content: content} }
func Fail(content string) Output { return Output{Content: content, IsError: true} }
