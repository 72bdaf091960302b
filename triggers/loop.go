package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// maxSleep bounds the loop's sleep: timers stop while a laptop is suspended,
// the wall clock does not.
const maxSleep = 30 * time.Second

// Decision is what a tick makes of one slot.
type Decision struct {
	Trigger string    `json:"trigger"`
	Slot    time.Time `json:"slot"`
	Do      string    `json:"do"` // run, skip
	Reason  string    `json:"reason,omitempty"`
	Late    bool      `json:"late,omitempty"`
}

var errCancelled = errors.New("cancelled by a person")

// Settle closes fires that a dead process left open. The next holder of the
// home calls it before Run.
func (t *Triggers) Settle(ctx context.Context) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		open, err := record.Collect(tx, scanFire, qFiresOpen)
		if err != nil {
			return err
		}
		for _, f := range open {
			if err := end(tx, f.ID, Result{Thread: f.Thread, Run: f.Run}, "error", "the process that ran it ended"); err != nil {
				return err
			}
		}
		return nil
	})
}

// Run fires what is due until ctx ends, then stops what runs at a safe point
// and waits for it. Only the holder of the home runs it.
func (t *Triggers) Run(ctx context.Context) error {
	defer t.wg.Wait()
	changed, cancel := t.db.Subscribe()
	defer cancel()
	for {
		at := t.Now()
		decisions, err := t.Tick(ctx, at, false)
		if err != nil && ctx.Err() == nil {
			t.Log.Error("cannot look which triggers are due", "error", err)
		}
		for _, d := range decisions {
			if d.Do == "skip" {
				t.Log.Info("a trigger's slot was skipped", "trigger", d.Trigger, "slot", d.Slot, "reason", d.Reason)
			}
		}
		if !t.wait(ctx, changed) {
			return nil
		}
	}
}

// wait lasts until the next slot, or an edit; meanwhile it takes up what other
// processes ask for. false: ctx has ended.
func (t *Triggers) wait(ctx context.Context, changed <-chan struct{}) bool {
	timer := time.NewTimer(t.sleep(ctx, t.Now()))
	defer timer.Stop()
	for {
		if err := t.takeAsked(ctx); err != nil && ctx.Err() == nil {
			t.Log.Error("cannot take up what was asked of triggers", "error", err)
		}
		select {
		case <-ctx.Done():
			return false
		case <-t.edited:
			return true
		case <-timer.C:
			return true
		case <-changed:
		}
	}
}

// sleep is the time until the next slot of any trigger, thirty seconds at most.
func (t *Triggers) sleep(ctx context.Context, now time.Time) time.Duration {
	list, err := t.List(ctx)
	if err != nil {
		return maxSleep
	}
	wait := maxSleep
	for _, tr := range list {
		c, err := Parse(tr.Schedule, tr.Zone)
		if err != nil || tr.State == "proposed" {
			continue
		}
		if next := c.Next(now); !next.IsZero() {
			wait = min(wait, next.Sub(now))
		}
	}
	return max(wait, 10*time.Millisecond)
}

// Tick decides about every slot up to at, once: run, or skipped with its
// reason. dryRun only tells.
func (t *Triggers) Tick(ctx context.Context, at time.Time, dryRun bool) ([]Decision, error) {
	list, err := t.List(ctx)
	if err != nil {
		return nil, err
	}
	paused := false
	if t.Paused != nil {
		if paused, err = t.Paused(ctx); err != nil {
			return nil, err
		}
	}
	var all []Decision
	for _, tr := range list {
		if tr.State == "proposed" {
			continue
		}
		c, err := Parse(tr.Schedule, tr.Zone)
		if err != nil {
			t.Log.Error("a trigger's schedule does not parse any more", "trigger", tr.Name, "error", err)
			continue
		}
		slots, more := c.Between(tr.Accounted, at, t.cfg.MaxMisses)
		for i, slot := range slots {
			d := t.judge(tr, slot, at, i == len(slots)-1 && !more, paused)
			all = append(all, d)
			if dryRun {
				continue
			}
			if err := t.account(ctx, tr, d); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// judge is the rule for one slot: only the newest may run.
func (t *Triggers) judge(tr Trigger, slot, at time.Time, newest, paused bool) Decision {
	d := Decision{Trigger: tr.Name, Slot: slot, Do: "skip", Late: at.Sub(slot) > t.cfg.Grace}
	switch {
	case tr.State == "disabled":
		d.Reason = "disabled"
	case !newest:
		d.Reason = "stale: a newer slot was due"
	case paused:
		d.Reason = "paused: everything was"
	case !tr.catches(at.Sub(slot), t.cfg.Grace):
		d.Reason = fmt.Sprintf("stale: %s late, and catch-up is %s", at.Sub(slot).Round(time.Second), tr.CatchUp)
	case t.busy(tr.Name):
		d.Reason = "overlap: its last run has not ended"
	default:
		d.Do = "run"
	}
	return d
}

func (t *Triggers) busy(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[name] != nil
}

// account commits the slot's row before anything runs: a crash afterwards
// leaves an open fire, never a slot that is lost or taken twice.
func (t *Triggers) account(ctx context.Context, tr Trigger, d Decision) error {
	status := "skipped"
	if d.Do == "run" {
		status = "running"
	}
	var f Fire
	var fresh bool
	err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
		f = Fire{Trigger: tr.Name, Slot: d.Slot, Started: tx.Now()}
		if f.ID, fresh, err = insertFire(tx, tr.Name, d.Slot, status, d.Reason); err != nil {
			return err
		}
		_, err = tx.Exec(qTriggerAccounted, d.Slot.UnixMilli(), tr.Name, d.Slot.UnixMilli())
		return err
	})
	if err != nil {
		return fmt.Errorf("cannot note the slot %s of trigger %s: %w", d.Slot.Format(time.RFC3339), tr.Name, err)
	}
	if fresh && d.Do == "run" {
		t.start(ctx, tr, f, d.Late)
	}
	return nil
}

// RunNow runs a trigger outside its schedule: it consumes no slot.
func (t *Triggers) RunNow(ctx, life context.Context, w Who, name string) (Fire, error) {
	var f Fire
	tr, err := t.Get(ctx, name)
	if err != nil {
		return f, err
	}
	if t.busy(name) {
		return f, fmt.Errorf("trigger %s runs already; cancel it first, or wait", name)
	}
	err = t.db.Write(ctx, func(tx *record.Tx) (err error) {
		f = Fire{Trigger: name, Started: tx.Now()}
		if f.ID, _, err = insertFire(tx, name, time.Time{}, "running", "by hand"); err != nil {
			return err
		}
		return act(tx, w, "run", name, "done")
	})
	if err == nil {
		t.start(life, tr, f, false)
	}
	return f, err
}

// Cancel stops a trigger's run at a safe point; false: none runs here.
func (t *Triggers) Cancel(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	cancel := t.running[name]
	if cancel == nil {
		return false
	}
	cancel(errCancelled)
	return true
}

// start runs a fire in a goroutine that Run (or Wait) waits for.
func (t *Triggers) start(ctx context.Context, tr Trigger, f Fire, late bool) {
	run, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	t.running[tr.Name] = cancel
	t.mu.Unlock()
	t.wg.Go(func() {
		defer cancel(nil)
		if late { // after an outage: one after another
			select {
			case t.late <- struct{}{}:
				defer func() { <-t.late }()
			case <-run.Done():
			}
		}
		res, err := t.fire(run, tr, f)
		t.mu.Lock()
		delete(t.running, tr.Name)
		t.mu.Unlock()
		status, reason := "ok", ""
		switch {
		case errors.Is(context.Cause(run), errCancelled):
			status, reason = "error", "cancelled"
		case err != nil:
			status, reason = "error", err.Error()
		case res.Failed != "":
			status, reason = "error", res.Failed
		}
		err = t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error { return end(tx, f.ID, res, status, reason) })
		if err != nil {
			t.Log.Error("cannot note how a trigger's run ended", "trigger", tr.Name, "error", err)
		}
	})
}

func (t *Triggers) fire(ctx context.Context, tr Trigger, f Fire) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it broke off: %v", p)
		}
	}()
	if err := context.Cause(ctx); err != nil {
		return res, err
	}
	ctx, cancel := context.WithTimeout(ctx, tr.Timeout)
	defer cancel()
	if tr.Kind == "digest" {
		if t.Digest == nil {
			return res, errors.New("nobody sends digests here")
		}
		return res, t.Digest(ctx)
	}
	if t.Runner == nil {
		return res, errors.New("nobody runs prompts here")
	}
	return t.Runner.Run(ctx, tr, f)
}

func end(tx *record.Tx, id int64, r Result, status, reason string) error {
	_, err := tx.Exec(qFireEnd, status, reason, r.Thread, r.Run, r.Turns, r.Calls, r.CallErrors, r.Staged, r.Blocked, r.StopCause, r.Silent, r.Summary, r.NotifyError, tx.NowMS(), id)
	return err
}

// Wait waits for the runs that were started by hand outside Run.
func (t *Triggers) Wait() { t.wg.Wait() }
