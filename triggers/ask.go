package triggers

import (
	"context"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// A command in another process cannot start or stop a run itself: it leaves its
// wish on an open fire, as the reason of that row, and the process that fires
// triggers takes it up within a second. A wish that nobody takes up is settled
// by the next holder of the home; it is not run a day later.
const (
	askedRun    = "asked for"
	askedCancel = "to be cancelled"
)

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
		open, err := record.Collect(tx, scanFire, qFiresOpenOf, name)
		if err != nil {
			return fmt.Errorf("cannot read whether trigger %s runs: %w", name, err)
		}
		if len(open) > 0 {
			return fmt.Errorf("trigger %s runs already; cancel it first, or wait", name)
		}
		f = Fire{Trigger: name, Slots: 1, Status: "running", Reason: askedRun, Started: tx.Now()}
		if f.ID, _, err = insertFire(tx, f); err != nil {
			return fmt.Errorf("cannot ask for a run of trigger %s: %w", name, err)
		}
		return act(tx, w, "run", name, "done")
	})
	return f, err
}

// AskCancel asks that a trigger's run be stopped at a safe point; false: none is
// open.
func (t *Triggers) AskCancel(ctx context.Context, w Who, name string) (asked bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		open, err := record.Collect(tx, scanFire, qFiresOpenOf, name)
		if err != nil {
			return fmt.Errorf("cannot read whether trigger %s runs: %w", name, err)
		}
		for _, f := range open {
			if f.Reason == askedRun { // nobody has begun it
				err = endFire(tx, f.ID, Result{}, verdict{"error", cancelledReason})
			} else {
				_, err = tx.Exec(qFireCancel, askedCancel, f.ID)
			}
			if err != nil {
				return fmt.Errorf("cannot ask for the end of trigger %s: %w", name, err)
			}
		}
		outcome := "done"
		if asked = len(open) > 0; !asked {
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
			return fmt.Errorf("cannot read run %d: %w", id, err)
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
		return fmt.Errorf("cannot read what is asked of the triggers: %w", err)
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

// begin runs what was asked for. A wish that cannot be granted is answered in
// its row; only the record's own failures are errors.
func (t *Triggers) begin(ctx context.Context, f Fire) error {
	place := t.reserve(ctx, f.Trigger)
	var tr Trigger
	started := false
	err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
		switch tr, err = get(tx, f.Trigger); {
		case errors.Is(err, ErrNotFound):
			return endFire(tx, f.ID, Result{}, verdict{"error", "it was deleted"})
		case err != nil:
			return err
		case place == nil:
			return endFire(tx, f.ID, Result{}, verdict{"error", overlapReason})
		}
		n, err := tx.Exec(qFireReason, byHand, f.ID, askedRun)
		started = n > 0 // else it was cancelled meanwhile
		return err
	})
	if err != nil || !started {
		place.release()
		return err
	}
	t.start(place, tr, f, false)
	return nil
}
