package agent

import (
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

// Outcome is what a run came to.
type Outcome struct {
	Cause    Cause
	Turns    int
	Usage    Usage
	Calls    int
	Errors   int
	Staged   int
	Blocked  int
	Denied   int
	Question *tools.Question // parked
	Err      error           // of Failed: for the log; Say is for people
	Say      string          // an honest sentence for the thread where the model gave no answer
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
	System   string

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

	Now func() time.Time // nil: time.Now
	Log *slog.Logger     // nil: silent
}
