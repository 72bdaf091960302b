package triggers

import (
	"context"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// verdict is what a run counts as. An ok with a reason came to its end, and
// there is something to say about it all the same.
type verdict struct{ status, reason string }

const (
	cancelledReason = "cancelled"
	stoppedReason   = "mecha-slack was stopped"
)

// cutOff are the causes for which a run's answer is not the whole answer.
var cutOff = map[string]string{
	"max_turns":           "cut off: it reached its limit of turns",
	"output_token_budget": "cut off: it reached its limit of output tokens",
	"cost_budget":         "cut off: it reached its limit of cost",
	"timeout":             "cut off: it reached its timeout",
	"loop":                "cut off: it repeated itself",
	"no_output":           "it gave no answer",
	"stopped":             cancelledReason,
	"shutdown":            stoppedReason,
	"error":               "it failed",
}

// judgeRun says what a run counts as. "ok" is for an answer that is whole: a
// run that was cut off, however politely it ended, is an error with its partial
// answer kept.
func judgeRun(res Result, err error, ctx context.Context, tr Trigger) verdict {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errCancelled) && (err != nil || res.StopCause != "completed"): // else it ended first
		return verdict{"error", cancelledReason}
	case errors.Is(err, errOvertime), errors.Is(err, context.DeadlineExceeded) && cause == nil:
		return verdict{"error", fmt.Sprintf("cut off: it did not end within %s", tr.Timeout)}
	case ctx.Err() != nil && err != nil:
		return verdict{"error", stoppedReason}
	case err != nil:
		return verdict{"error", err.Error()}
	case res.Failed != "":
		return verdict{"error", res.Failed}
	}
	if why, ok := cutOff[res.StopCause]; ok {
		return verdict{"error", why}
	}
	switch {
	case failsOften(res.Calls, res.CallErrors) && res.Calls >= 3:
		return verdict{"ok", fmt.Sprintf("%d of %d calls failed", res.CallErrors, res.Calls)}
	case res.StopCause == "parked":
		return verdict{"ok", "it waits for an answer to its question"}
	case res.Blocked > 0:
		return verdict{"ok", fmt.Sprintf("%d blocked: nobody was there to be asked", res.Blocked)}
	}
	return verdict{"ok", ""}
}

// failsOften: a third of the calls.
func failsOften(calls, failed int) bool { return calls > 0 && failed*3 >= calls }

// history is how many earlier runs a trigger is measured by.
const history = 5

// unlikeBefore says that a run which made no calls is unlike those before it,
// which all did; "" where it is not, or there are too few to tell.
func (t *Triggers) unlikeBefore(tx *record.Tx, f Fire) (string, error) {
	tr, err := get(tx, f.Trigger)
	if errors.Is(err, ErrNotFound) || err == nil && tr.Kind != kindPrompt {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	before, err := record.Collect(tx, scanFire, qFiresRun, f.Trigger, record.MS(tr.Created), history+1)
	if err != nil {
		return "", err
	}
	return idle(before), nil
}

// idle: the earlier runs each made calls, and this one none.
func idle(before []Fire) string {
	if len(before) < 2 {
		return ""
	}
	calls := 0
	for _, b := range before {
		if b.Calls == 0 {
			return ""
		}
		calls += b.Calls
	}
	return fmt.Sprintf("it made no calls; its last %d runs made %d on average", len(before), calls/len(before))
}
