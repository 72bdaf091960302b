package triggers

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Finding is something about a trigger that a person should know, as doctor
// tells it.
type Finding struct {
	Check  string `json:"check"` // trigger NAME
	Level  string `json:"level"` // warning, error
	What   string `json:"what"`
	Remedy string `json:"remedy"`
}

// judgedCalls is how many calls it takes to say that a third of them failing is
// no accident.
const judgedCalls = 10

// Findings judges every enabled trigger by its own ledger: what cannot run, what
// failed or was cut off, whose calls fail, who stopped doing anything.
func (t *Triggers) Findings(ctx context.Context) (list []Finding, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		all, err := record.Collect(tx, scanTrigger, qTriggerList)
		if err != nil {
			return fmt.Errorf("cannot read the triggers: %w", err)
		}
		now := t.Now()
		for _, tr := range all {
			if tr.State != "enabled" {
				continue
			}
			runs, err := record.Collect(tx, scanFire, qFiresRun, tr.Name, record.MS(tr.Created), history+1)
			if err != nil {
				return fmt.Errorf("cannot read the ledger of trigger %s: %w", tr.Name, err)
			}
			list = append(list, t.judgeTrigger(tr, runs, now)...)
		}
		return nil
	})
	return list, err
}

// judgeTrigger judges by the newest runs, newest first.
func (t *Triggers) judgeTrigger(tr Trigger, runs []Fire, now time.Time) (list []Finding) {
	add := func(level, what, remedy string) {
		list = append(list, Finding{"trigger " + tr.Name, level, what, remedy})
	}
	edit := "mecha-slack trigger edit " + tr.Name
	if tr.OnEvent == "" {
		if _, err := t.plan.get(tr.Schedule, tr.Zone); err != nil {
			add("error", "it is never due: "+err.Error(), edit)
		}
		if ahead := tr.Accounted.Sub(now); ahead > time.Hour {
			add("warning", fmt.Sprintf("its ledger has slots up to %s, which has not come yet: the clock was wrong once, and until then it does not run", tr.Accounted.UTC().Format(time.RFC3339)), "add it anew under another name, and delete it")
		} else if -ahead > unbelievable {
			add("warning", "its last slot was more than ten years ago: the clock is wrong, or it has to be enabled anew", "set the clock, or mecha-slack trigger disable and enable "+tr.Name)
		}
	}
	if len(runs) == 0 {
		return list
	}
	latest := runs[0]
	look := "mecha-slack trigger show " + tr.Name + " --last"
	when := latest.Started.UTC().Format("2006-01-02 15:04 MST")
	if latest.Status == "error" && latest.Reason != cancelledReason {
		add("warning", fmt.Sprintf("its last run (%s) did not end well: %s", when, latest.Reason), look)
	}
	if latest.NotifyError != "" {
		add("warning", fmt.Sprintf("its last run (%s): %s", when, latest.NotifyError), edit)
	}
	calls, failed := 0, 0
	for _, f := range runs[:min(history, len(runs))] {
		calls, failed = calls+f.Calls, failed+f.CallErrors
	}
	if calls >= judgedCalls && failsOften(calls, failed) {
		add("warning", fmt.Sprintf("%d of %d calls of its last %d runs failed", failed, calls, min(history, len(runs))), look)
	}
	if latest.Calls == 0 && latest.Status == "ok" {
		if what := idle(runs[1:]); what != "" {
			add("warning", fmt.Sprintf("its last run (%s) is unlike those before: %s", when, what), look)
		}
	}
	return list
}
