package main

import (
	"context"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/threads"
)

// How much it takes to say that something is no accident.
const (
	judgedRuns  = 20 // the newest that have ended
	enoughRuns  = 5
	enoughCalls = 10
)

// checkRuns judges how the newest runs went.
func (a *app) checkRuns(ctx context.Context, f *findings) {
	list, err := a.threads.RecentRuns(ctx, judgedRuns)
	if err != nil {
		f.fail("runs", "cannot read how the newest runs went: "+err.Error(), "")
		return
	}
	judgeRuns(f, list)
}

// judgeRuns looks at the counters of runs over many of them: one that went wrong
// says little, a habit says what to change.
func judgeRuns(f *findings, list []threads.RunInfo) {
	var runs, calls, failed, denied, bad, unknown, nudged, circled, ceilings, retried, squeezed int
	ceiling := ""
	for _, r := range list {
		if r.Ended.IsZero() {
			continue
		}
		q := r.Quality
		runs, calls, failed, denied = runs+1, calls+r.Calls, failed+r.CallErrors, denied+r.Denied
		bad, unknown, nudged, retried = bad+q.BadCalls, unknown+q.Unknown, nudged+q.Nudges, retried+q.Retries
		if q.Repeats > 0 || r.Cause == agent.Looping {
			circled++
		}
		if q.Compactions > 2 {
			squeezed++
		}
		switch r.Cause {
		case agent.MaxTurns, agent.OutOfTokens, agent.OutOfMoney, agent.OutOfTime:
			ceilings++
			ceiling = string(r.Cause)
		}
	}
	before := len(f.list)
	warn := func(when bool, remedy, what string, args ...any) {
		if when {
			f.warn("runs", fmt.Sprintf(what, args...)+fmt.Sprintf(" (the newest %s)", plural(runs, "run", "runs")), remedy)
		}
	}
	const look = "mecha-slack sessions list, then sessions show RUN"
	many := func(n, of, share int) bool { return runs >= enoughRuns && n*share >= of }
	warn(unknown > 0, look+": find out what happened before anybody repeats it", "%s ended without anybody knowing whether they happened", plural(unknown, "call", "calls"))
	warn(calls >= enoughCalls && failed*3 >= calls, look, "%d of %d calls failed", failed, calls)
	warn(calls >= enoughCalls && bad*5 >= calls, "try a stronger model, or offer fewer tools ([tools] disabled)", "%d of %d calls named no tool or did not fit its arguments: the model copes badly with what it is offered", bad, calls)
	warn(calls >= enoughCalls && denied*3 >= calls, "tell it in [agent] system_prompt what not to try, or forbid it with a [[rule]]", "%d of %d calls were refused by a person", denied, calls)
	warn(many(nudged, runs, 3), "raise [agent] max_tokens, or look whether the server's template fits the model", "%d turns were empty or cut off and had to be asked again", nudged)
	warn(many(circled, runs, 4), look, "%s went in circles", plural(circled, "run", "runs"))
	warn(many(ceilings, runs, 3), "raise the limit in [agent], or ask for less at once", "%s ended at a limit, the last at %s", plural(ceilings, "run", "runs"), ceiling)
	warn(many(squeezed, runs, 4), "a model with a longer window, or smaller results ([tools] output_budget_bytes)", "%s had to be summarised more than twice", plural(squeezed, "conversation", "conversations"))
	warn(many(retried, runs, 1), "look at the provider's own status, or add fallbacks to its [providers] table", "the provider had to be asked again %s", plural(retried, "time", "times"))
	if len(f.list) == before && runs > 0 {
		f.ok("runs", "the newest %s went as they should", plural(runs, "run", "runs"))
	}
}
