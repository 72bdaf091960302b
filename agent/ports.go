package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Historian is a Journal that can be asked for the conversation as the model
// sees it, with the record's ids, which messages of this very run lack here.
// Without it a compaction can only reach what was there before the run.
type Historian interface {
	History(ctx context.Context) ([]Message, error)
}

// Journal is the durable side of one run. Every method commits before it
// returns, under the run's fence: after another run took the conversation over,
// each of them answers ErrFenced and the loop stops without another word.
type Journal interface {
	// Turn commits an assistant turn with its calls (state offered). It gives
	// the calls their IDs, in place.
	Turn(ctx context.Context, n int, t *Turn) error
	// Call moves a call on, with the bytes that were gated.
	Call(ctx context.Context, id string, s CallState, args json.RawMessage) error
	// Result commits a call's result and the taint that it armed, together.
	// Marks always name the call.
	Result(ctx context.Context, r Result) error
	// Note commits words of ours in the user role (a nudge, a carried state).
	Note(ctx context.Context, n int, text string) error
	// Compact replaces what the model sees: ids of messages that it no longer
	// sees, and the summary that stands for them.
	Compact(ctx context.Context, n int, dropped []int64, summary string) error
	// Steering takes what the owner said since the run began, oldest first;
	// each message is answered once.
	Steering(ctx context.Context, n int) ([]Message, error)
}

// ErrFenced: another run owns the conversation now.
type fenced struct{}

func (fenced) Error() string { return "another run has taken this conversation over" }

// ErrFenced is what a Journal answers to a run that was presumed dead.
var ErrFenced error = fenced{}

// Decision is an approver's answer: Allow, Deny or Blocked.
type Decision interface{ decision() }

type (
	// Allow: run exactly these bytes.
	Allow struct{ By string }
	// Deny: a person said no; the reason reaches the model. Only a Deny may
	// ever be learned from.
	Deny struct{ By, Reason string }
	// Blocked: the machine said no (nobody there, time is up, a mode, a rule).
	Blocked struct{ Reason string }
)

func (Allow) decision()   {}
func (Deny) decision()    {}
func (Blocked) decision() {}

// Ask is a call that wants a person's yes.
type Ask struct {
	Call         Call // Args are the gated bytes
	Turn         int
	Tool         tools.Tool
	ReadOnly     bool
	Capabilities tools.Capabilities
	Destinations []tools.Destination
	// Forced prompts reach a person even in mode allow, are not answered by an
	// earlier "Allow for this run", and never widen read-only mode. Why says
	// what forced it, for the card.
	Forced bool
	Why    string
	// Permitted: an `allow` rule covers this call. It takes the card away and
	// nothing else: the mode still decides, and Forced wins over it.
	Permitted bool
	// Scope of "Allow for this run" in words and as a key; empty where it is
	// not offered.
	Scope string
}

// Approver answers whether a call may run. It is idempotent by call id: after
// a restart the same call gets the decision that was made meanwhile, or keeps
// waiting on the same card. It applies the conversation's mode and grants. The
// wait spends none of the call's time.
type Approver interface {
	Approve(ctx context.Context, a Ask) (Decision, error)
}

// Staging is a routed call on its way into the outbox.
type Staging struct {
	Call         Call // Args are the gated bytes, defaults pinned
	Filled       []string
	Turn         int
	Tool         tools.Tool
	Taint        tools.Taint
	Destinations []tools.Destination
}

// Stager keeps routed calls as drafts. Stage commits the draft, its card and
// the call's result together and answers that result (the loop does not
// journal it again). Its error means that nothing was staged and nothing sent.
type Stager interface {
	Routed(t tools.Tool) bool
	Stage(ctx context.Context, s Staging) (Result, error)
}

// Sink shows a run while it happens. What it shows is a preview; only what the
// journal holds is a fact. Event must not block on the network, and is never
// called by two at once.
type Sink interface {
	Event(e Event)
	// Show uploads files into the bound thread, before the result of the call
	// is journaled; its error becomes the result.
	Show(ctx context.Context, call string, files []ShownFile) error
}

// ShownFile is a file of the workspace, opened for reading through the jail.
type ShownFile struct {
	tools.File
	Data []byte
}

// Event is one step of a run, in order.
type Event struct {
	Kind     EventKind
	Turn     int
	Text     string // TextDelta: the piece; Notice: a line; others: see Kind
	Call     Call
	Headline string // what a call is about, in a few words: path, command, URL, query
	Outcome  CallOutcome
	Elapsed  time.Duration
	Draft    string // id of a staged draft
	// Private: the call's tool declares private data. It is said with the first
	// event of the call, before any of its arguments can have been shown.
	Private bool
}

// EventKind names a step.
type EventKind string

const (
	TurnStarted  EventKind = "turn_started"
	TextDelta    EventKind = "text_delta"
	TurnDone     EventKind = "turn_done" // journaled; Text is the whole text of the turn
	CallStarted  EventKind = "call_started"
	CallProgress EventKind = "call_progress"
	CallWaiting  EventKind = "call_waiting" // for a person
	CallDone     EventKind = "call_done"    // Text is a short reason where it did not run
	Notice       EventKind = "notice"       // compaction, steering, a retry
)

// ToolHook is asked before and told after each call. Pre answers a reason to
// deny, or "".
type ToolHook interface {
	Pre(ctx context.Context, tool string, args json.RawMessage) (deny string)
	Post(ctx context.Context, tool string, args json.RawMessage, r Result)
}

// RuleVerdict is what the rules say of a call; the most restrictive wins.
type RuleVerdict struct {
	Decision string // "" (no rule speaks), RuleAllow, RulePrompt, RuleForbid
	Why      string
}

// What a rule may decide, in rising order.
const (
	RuleAllow  = "allow"
	RulePrompt = "prompt"
	RuleForbid = "forbid"
)

// Rules judge a call (the shell's segment by segment).
type Rules interface {
	Judge(tool string, args json.RawMessage) RuleVerdict
}
