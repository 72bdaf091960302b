package triggers

import (
	"context"
	"time"
)

const (
	// maxSleep bounds the loop's sleep: timers stop while a laptop is suspended,
	// the wall clock does not.
	maxSleep = 30 * time.Second
	// afterError is the least pause after a tick that failed.
	afterError = time.Second
)

// Run fires what is due, and answers requests of other processes, until ctx
// ends; then it stops what runs at a safe point and waits for it. Only the
// holder of the home runs it, once.
func (t *Triggers) Run(ctx context.Context) error {
	changed, cancel := t.db.Subscribe()
	defer cancel()
	t.mu.Lock()
	t.life = ctx
	t.mu.Unlock()
	defer t.wg.Wait()
	defer t.close()
	for {
		sleep := t.step(ctx)
		timer := time.NewTimer(sleep)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-changed:
		case <-t.edited:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// step is one round of the loop; it answers how long to sleep.
func (t *Triggers) step(ctx context.Context) time.Duration {
	decisions, err := t.Tick(ctx, t.Now(), false)
	for _, d := range decisions {
		if d.Do == "skip" {
			t.Log.Info("a trigger's slot was skipped", "trigger", d.Trigger, "slot", d.Slot, "slots", d.Slots, "reason", d.Reason)
		}
	}
	if err == nil {
		err = t.takeAsked(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			t.Log.Error("cannot look which triggers are due; trying again", "error", err)
		}
		return afterError
	}
	if t.Now().Sub(t.swept) >= sweepEvery {
		t.swept = t.Now()
		if _, err := t.sweep(ctx); err != nil && ctx.Err() == nil {
			t.Log.Error("the ledger keeps rows that it need not; trying again in a day", "error", err)
		}
	}
	next := t.plan.soonest()
	if next.IsZero() {
		return maxSleep
	}
	// A slot that stays due (a clock gone wrong) does not spin the loop.
	wait := next.Sub(t.Now())
	if wait <= 0 {
		return afterError
	}
	return min(wait, maxSleep)
}

// close lets nothing start any more.
func (t *Triggers) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closing = true
}

// Wait waits for the runs that were started outside Run.
func (t *Triggers) Wait() { t.wg.Wait() }
