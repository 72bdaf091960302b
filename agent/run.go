package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Budget bounds a run. Zero means no bound.
type Budget struct {
	Turns        int           // default 40
	OutputTokens int           // over the run
	Cost         float64       // USD over the run
	Wall         time.Duration // waiting for people excepted
	TurnTokens   int           // asked of the model per turn
}

// Cause is why a run ended.
type Cause string

const (
	Completed   Cause = "completed"
	MaxTurns    Cause = "max_turns"
	OutOfTokens Cause = "output_token_budget"
	OutOfMoney  Cause = "cost_budget"
	OutOfTime   Cause = "timeout"
	Looping     Cause = "loop"
	NoOutput    Cause = "no_output"
	ParkedCause Cause = "parked"
	Stopped     Cause = "stopped"  // a person
	Shutdown    Cause = "shutdown" // the process ends; resumed later
	Failed      Cause = "error"
)

// Outcome is what a run came to. The counts are of this Do alone: a run that was
// taken up again adds to what it had before.
type Outcome struct {
	Cause    Cause
	Turns    int
	Usage    Usage // with its helpers'
	Calls    int
	Errors   int
	Staged   int
	Blocked  int
	Denied   int
	Quality  Quality
	Wall     time.Duration   // its own time: waiting for people excepted
	Question *tools.Question // parked
	Err      error           // of Failed: for the log; Say is for people
	Say      string          // an honest sentence for the thread where the model gave no answer
}

// Quality counts what a run that goes well has little of: doctor looks at it over
// many runs.
type Quality struct {
	Unknown     int // calls whose outcome nobody knows
	BadCalls    int // calls of no tool, or whose arguments do not fit
	Nudges      int // empty or cut turns that were asked again
	Repeats     int // times it was told that it goes in circles
	Compactions int
	Retries     int // of the provider, before an answer began
}

// Used is what counts against a budget.
type Used struct {
	Turns int
	Usage Usage
	Wall  time.Duration
}

// StoppedBy is the cancel cause of a context that a person stopped: the run
// keeps its partial answer and ends with Stopped. Any other cancellation is a
// Shutdown.
type StoppedBy struct{ Who string }

func (s StoppedBy) Error() string { return "stopped by " + s.Who }

// Run is one run over one conversation.
type Run struct {
	ID       string
	Thread   string
	Model    Model
	Tools    *tools.Registry
	Security tools.Security
	Budget   Budget
	Before   Used // what the run had used before it was taken up again
	// Ceiling tells which wider budget (a conversation's, a day's) is used up, in
	// words that go on "No more tools in this run: …"; nil or "": none. It is
	// asked before each turn.
	Ceiling func(ctx context.Context) (Cause, string)
	System  string

	// History is the conversation as the model sees it, up to and with the
	// message that this run answers. Where its last assistant turn has calls
	// without results (a crash), Open says how far each had come.
	History []Message
	Open    map[string]CallState
	// Words of the whole conversation, oldest first, for destinations; History
	// alone may have been compacted.
	Words []tools.Words
	Taint tools.Taint
	Turn  int // the number of the next turn

	// Opening is words of ours for this run only (the clock, see ClockNote),
	// noted behind the message that the run answers; empty: none.
	Opening string

	Unattended bool
	Planning   bool // only read-only tools are offered and accepted

	Journal  Journal
	Approver Approver
	Stager   Stager // nil: nothing is routed
	Sink     Sink
	Hooks    ToolHook // nil: none
	Rules    Rules    // nil: none
	// Env makes the surroundings of a call.
	Env func(call string, turn int, taint tools.Taint) *tools.Env
	// OutputBudget is what one turn's results share, in bytes.
	OutputBudget int
	CompactAt    int // tokens; 0: two thirds of the window, or never where that is unknown
	KeepRecent   int

	// spend is told of every turn's usage as it is known: a helper's goes into its
	// parent's budget.
	spend func(Usage)

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: silent
}
