package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// outcome of an attempt. Unknown is a third one, never folded into failure.
type outcome struct {
	kind   string // delivered, failed, unknown
	err    string
	answer string
}

// stopGrace is how long a release that is under way may go on when the process
// is told to stop: an answer now saves a person from looking for it later.
const stopGrace = time.Second

// call runs the tool once, in its own goroutine, so that a tool that ignores
// its context does not hold the outcome up: after the timeout it is unknown,
// and late is where its answer still arrives, if it ever does.
func (o *Outbox) call(ctx context.Context, t tools.Tool, d Draft, env *tools.Env) (out outcome, late <-chan outcome) {
	run, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.ReleaseTimeout)
	defer cancel()
	answer := make(chan outcome, 1) // the goroutine ends with the tool, whoever listens
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answer <- outcome{kind: "unknown", err: fmt.Sprintf("the tool broke off: %v", p)}
			}
		}()
		out, err := t.Call(run, d.Args, env)
		answer <- o.classify(d.Tool, out, err, run.Err() != nil)
	}()
	why := fmt.Sprintf("no answer came within %s", o.ReleaseTimeout)
	select {
	case out := <-answer:
		return out, nil
	case <-run.Done():
	case <-ctx.Done():
		why = "mecha-slack was stopped before an answer came"
		if out, ok := within(answer, stopGrace); ok {
			return out, nil
		}
	}
	cancel()
	// It may answer in the same moment, or shortly after being told to stop.
	if out, ok := within(answer, stopGrace/4); ok {
		return out, nil
	}
	return outcome{kind: "unknown", err: why}, answer
}

func within(answer <-chan outcome, d time.Duration) (outcome, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case out := <-answer:
		return out, true
	case <-timer.C:
		return outcome{}, false
	}
}

// classify tells a known failure from an unknown outcome (DESIGN.md §7): what
// the tool itself reported as an error did not happen, unless its policy says
// otherwise; everything else after dispatch is unknown. An error that came once
// the call had been given up may only say that it was.
func (o *Outbox) classify(tool string, out tools.Output, err error, givenUp bool) outcome {
	switch {
	case err != nil:
		return outcome{kind: "unknown", err: err.Error()}
	case out.Unknown:
		return outcome{kind: "unknown", err: out.Content}
	case out.IsError && (givenUp || o.cfg.policy(tool).OnError == "unknown"):
		return outcome{kind: "unknown", err: out.Content}
	case out.IsError:
		return outcome{kind: "failed", err: out.Content}
	}
	return outcome{kind: "delivered", answer: out.Content}
}

// awaitLate settles an unknown outcome with the answer that came after all. It
// ends with ctx, or with the tool.
func (o *Outbox) awaitLate(ctx context.Context, d Draft, attempt int64, late <-chan outcome) {
	select {
	case out := <-late:
		if out.kind != "delivered" {
			return
		}
		if err := o.settleAttempt(ctx, d, attempt, out); err != nil {
			o.Log.Error("a late answer could not be noted", "draft", d.ID, "error", err)
		}
	case <-ctx.Done():
	}
}
