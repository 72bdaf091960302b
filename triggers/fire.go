package triggers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// flight is a trigger's place among what runs: at most one each.
type flight struct {
	t      *Triggers
	name   string
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// What an open fire's reason says of it.
const (
	byHand      = "by hand"
	waitsReason = "waits: catch-ups come one after another"
)

// Why a run's context ended.
var (
	errCancelled = errors.New("cancelled by a person")
	errOvertime  = errors.New("it did not end within the trigger's timeout")
)

// reserve takes a trigger's place; nil where it has one already, or nothing is
// started any more. life bounds the run where no loop runs.
func (t *Triggers) reserve(life context.Context, name string) *flight {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closing || t.running[name] != nil {
		return nil
	}
	if t.life != nil {
		life = t.life
	}
	ctx, cancel := context.WithCancelCause(life)
	f := &flight{t: t, name: name, ctx: ctx, cancel: cancel}
	t.running[name] = f
	t.wg.Add(1)
	return f
}

// release gives the place back. Of nil it does nothing.
func (f *flight) release() {
	if f == nil {
		return
	}
	f.cancel(nil)
	f.t.mu.Lock()
	delete(f.t.running, f.name)
	f.t.mu.Unlock()
	f.t.wg.Done()
}

func (t *Triggers) busy(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running[name] != nil
}

// Running tells which triggers run in this process.
func (t *Triggers) Running() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	names := make([]string, 0, len(t.running))
	for name := range t.running {
		names = append(names, name)
	}
	return names
}

// RunNow runs a trigger outside its schedule: it consumes no slot. life bounds
// the run where Run, the loop, does not.
func (t *Triggers) RunNow(ctx, life context.Context, w Who, name string) (f Fire, err error) {
	place := t.reserve(life, name)
	var tr Trigger
	err = t.db.Write(ctx, func(tx *record.Tx) (err error) {
		switch tr, err = get(tx, name); {
		case err != nil:
			return err
		case tr.State == "proposed":
			return fmt.Errorf("trigger %s is only proposed: accept it first", name)
		case place == nil && !t.busy(name):
			return errors.New("this mecha-slack is stopping; run the trigger once it has started again")
		case place == nil:
			return fmt.Errorf("trigger %s runs already; cancel it first, or wait", name)
		}
		f = Fire{Trigger: name, Slots: 1, Status: "running", Reason: byHand, Started: tx.Now()}
		if f.ID, _, err = insertFire(tx, f); err != nil {
			return fmt.Errorf("cannot note a run of trigger %s: %w", name, err)
		}
		return act(tx, w, "run", name, "done")
	})
	if err != nil {
		place.release()
		return f, err
	}
	t.start(place, tr, f, false)
	return f, nil
}

// Cancel stops a trigger's run at a safe point; false: none runs here.
func (t *Triggers) Cancel(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.running[name]
	if f == nil {
		return false
	}
	f.cancel(errCancelled)
	return true
}

// Began notes in the ledger where a fire's run can be watched, as soon as its
// Runner knows; a crash afterwards still leaves the link.
func (t *Triggers) Began(ctx context.Context, fire int64, thread, run string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qFireThread, thread, run, fire)
		return err
	})
}

// start runs a fire in a goroutine that Run (or Wait) waits for, and notes what
// it came to.
func (t *Triggers) start(place *flight, tr Trigger, f Fire, late bool) {
	go func() {
		defer place.release()
		ctx := place.ctx
		if late {
			give, v := t.awaitTurn(ctx, &tr, f)
			if give == nil {
				t.end(ctx, f, Result{}, v)
				return
			}
			defer give()
		}
		res, err := t.fire(ctx, tr, f)
		v := judgeRun(res, err, ctx, tr)
		if tr.Notify != "" && v.reason != cancelledReason {
			res.NotifyError = t.notify(ctx, tr, f, res, v)
		}
		t.end(ctx, f, res, v)
	}()
}

// awaitTurn holds a catch-up back until no other runs: after an outage they
// come one after another. What was paused, disabled, edited or spent meanwhile
// counts. give ends the turn; nil: the run is not to be, for the reason in v.
func (t *Triggers) awaitTurn(ctx context.Context, tr *Trigger, f Fire) (give func(), v verdict) {
	select {
	case t.turn <- struct{}{}:
	default:
		// Somebody else's turn: the ledger says what this one waits for.
		err := t.db.Write(ctx, func(tx *record.Tx) error {
			_, err := tx.Exec(qFireReason, waitsReason, f.ID, "")
			return err
		})
		if err != nil && ctx.Err() == nil {
			t.Log.Warn("cannot note that a trigger waits for its turn", "trigger", tr.Name, "error", err)
		}
		select {
		case t.turn <- struct{}{}:
		case <-ctx.Done():
			return nil, verdict{"skipped", "its turn had not come: " + t.ended(ctx)}
		}
	}
	give = func() { <-t.turn }
	fail := func(v verdict) (func(), verdict) {
		give()
		return nil, v
	}
	now, err := t.Get(ctx, tr.Name)
	switch {
	case ctx.Err() != nil:
		return fail(verdict{"skipped", "its turn had not come: " + t.ended(ctx)})
	case errors.Is(err, ErrNotFound):
		return fail(verdict{"skipped", "stale: it was deleted before its turn came"})
	case err != nil:
		return fail(verdict{"error", err.Error()})
	case now.State != "enabled":
		return fail(verdict{"skipped", "disabled"})
	}
	*tr = now
	hold, err := t.hold(ctx)
	if err != nil {
		return fail(verdict{"error", err.Error()})
	}
	if why := hold.of(now.Kind); why != "" {
		return fail(verdict{"skipped", why})
	}
	return give, v
}

// ended says why a context of ours ended.
func (t *Triggers) ended(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errCancelled) {
		return cancelledReason
	}
	return stoppedReason
}

func (t *Triggers) fire(ctx context.Context, tr Trigger, f Fire) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it broke off: %v", p)
		}
	}()
	if ctx.Err() != nil {
		return res, context.Cause(ctx)
	}
	// The run knows its timeout and stops by it; this is for one that does not.
	ctx, cancel := context.WithTimeoutCause(ctx, tr.Timeout+t.cfg.StopGrace, errOvertime)
	defer cancel()
	if tr.Kind == kindDigest {
		if t.Digest == nil {
			return res, errors.New("nobody sends digests here")
		}
		return res, t.Digest(ctx)
	}
	if t.Runner == nil {
		return res, errors.New("nobody runs prompts here")
	}
	if tr.OnEvent == OnMessage {
		tr.Channel = "" // it only watches that one; it answers in the owner's DM
	}
	return t.Runner.Run(ctx, tr, f)
}

// end settles a fire's row, even while everything stops.
func (t *Triggers) end(ctx context.Context, f Fire, res Result, v verdict) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		if v.status == "ok" && v.reason == "" && res.Calls == 0 {
			idle, err := t.unlikeBefore(tx, f)
			if err != nil {
				return err
			}
			v.reason = idle
		}
		return endFire(tx, f.ID, res, v)
	})
	if err != nil {
		t.Log.Error("cannot note how a trigger's run ended", "trigger", f.Trigger, "error", err)
	}
}
