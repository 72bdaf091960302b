package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// A command in another process cannot start or stop a run itself: it leaves its
// wish on an open fire, and the process that fires triggers takes it up.
const (
	askedRun    = "asked for"
	askedCancel = "to be cancelled"
)

const qFireGet = `SELECT id, trigger, coalesce(slot, 0), status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE id = ?`

const qFireReason = `UPDATE fires SET reason = ? WHERE id = ? AND status = 'running'`

// Ask lays a run outside the schedule before the process that fires triggers;
// Fire tells what becomes of it.
func (t *Triggers) Ask(ctx context.Context, w Who, name string) (f Fire, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		tr, err := get(tx, name)
		if err != nil {
			return err
		}
		if tr.State == "proposed" {
			return fmt.Errorf("trigger %s is only proposed: enable it first", name)
		}
		open, err := record.Collect(tx, scanFire, qFiresOpen)
		if err != nil {
			return err
		}
		for _, o := range open {
			if o.Trigger == name {
				return fmt.Errorf("trigger %s runs already; cancel it first, or wait", name)
			}
		}
		f = Fire{Trigger: name, Status: "running", Reason: askedRun, Started: tx.Now()}
		if f.ID, _, err = insertFire(tx, name, time.Time{}, "running", askedRun); err != nil {
			return err
		}
		return act(tx, w, "run", name, "done")
	})
	return f, err
}

// AskCancel asks that a trigger's run be stopped at a safe point; false: none is
// open.
func (t *Triggers) AskCancel(ctx context.Context, w Who, name string) (asked bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		asked = false
		open, err := record.Collect(tx, scanFire, qFiresOpen)
		if err != nil {
			return err
		}
		for _, f := range open {
			if f.Trigger != name {
				continue
			}
			asked = true
			if f.Reason == askedRun { // nobody has begun it
				if err := end(tx, f.ID, Result{}, "error", "cancelled"); err != nil {
					return err
				}
				continue
			}
			if _, err := tx.Exec(qFireReason, askedCancel, f.ID); err != nil {
				return err
			}
		}
		outcome := "done"
		if !asked {
			outcome = "nothing was running"
		}
		return act(tx, w, "cancel", name, outcome)
	})
	return asked, err
}

// Fire answers one row of the ledger.
func (t *Triggers) Fire(ctx context.Context, id int64) (f Fire, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, scanFire, qFireGet, id)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return fmt.Errorf("%w: run %d of one", ErrNotFound, id)
		}
		f = list[0]
		return nil
	})
	return f, err
}

// takeAsked starts and stops what other processes asked for.
func (t *Triggers) takeAsked(ctx context.Context) error {
	var open []Fire
	err := t.db.Read(ctx, func(tx *record.Tx) (err error) {
		open, err = record.Collect(tx, scanFire, qFiresOpen)
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range open {
		switch f.Reason {
		case askedCancel:
			t.Cancel(f.Trigger) // false: it is just ending
		case askedRun:
			err = errors.Join(err, t.begin(ctx, f))
		}
	}
	return err
}

func (t *Triggers) begin(ctx context.Context, f Fire) error {
	tr, err := t.Get(ctx, f.Trigger)
	if err == nil && t.busy(f.Trigger) {
		err = errors.New("overlap: its last run has not ended")
	}
	if err != nil {
		return t.db.Write(ctx, func(tx *record.Tx) error { return end(tx, f.ID, Result{}, "error", err.Error()) })
	}
	var n int64
	err = t.db.Write(ctx, func(tx *record.Tx) (err error) {
		n, err = tx.Exec(qFireReason, "by hand", f.ID)
		return err
	})
	if err == nil && n > 0 { // else it was cancelled meanwhile
		t.start(ctx, tr, f, false)
	}
	return err
}
