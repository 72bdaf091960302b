package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Dispatch releases one approved draft now: the attempt row is committed before
// the tool is called, and its outcome after. Only the holder of the home's lock
// may call it. A draft that is not approved, or not due, is a *StateError; while
// everything is paused, ErrPaused. The answer is the draft as it then stands.
func (o *Outbox) Dispatch(ctx context.Context, id string) (Draft, error) {
	d, err := o.dispatchable(ctx, id)
	if err != nil {
		return d, err
	}
	leave, err := o.alone(ctx, d)
	switch {
	case err != nil && ctx.Err() != nil:
		return d, err
	case err != nil:
		return o.undispatched(ctx, d, ready{}, err)
	}
	defer leave()
	select {
	case o.seats <- struct{}{}:
		defer func() { <-o.seats }()
	case <-ctx.Done():
		return d, context.Cause(ctx)
	}
	// It may have been taken back, or everything been paused, while it waited.
	if d, err = o.dispatchable(ctx, id); err != nil {
		return d, err
	}
	r, err := o.ready(ctx, d)
	switch {
	case err != nil && ctx.Err() != nil:
		return d, err // stopped, not failed: it stays approved
	case err != nil:
		return o.undispatched(ctx, d, r, err)
	}
	o.step("release: ready")
	attempt, err := o.begin(ctx, d)
	var limit *LimitError
	if err != nil {
		r.done()
		if errors.As(err, &limit) {
			return o.undispatched(ctx, d, ready{}, err)
		}
		return d, err
	}
	o.step("release: attempt committed")
	out, late := o.call(ctx, r.tool, d, r.env)
	o.step("release: called")
	// A process that is being stopped still writes down what it knows.
	if err := o.settleAttempt(ctx, d, attempt, out); err != nil {
		return d, err
	}
	o.step("release: outcome committed")
	if late == nil {
		r.done()
	} else {
		o.late.Go(func() {
			defer r.done()
			o.awaitLate(ctx, d, attempt, late)
		})
	}
	return o.Get(context.WithoutCancel(ctx), id)
}

// dispatchable answers a draft that may go out now.
func (o *Outbox) dispatchable(ctx context.Context, id string) (Draft, error) {
	d, err := o.Get(ctx, id)
	if err != nil {
		return Draft{}, err
	}
	if d.State != Approved || !d.due(o.db.Now()) {
		return d, &StateError{Draft: d, Tried: "release"}
	}
	if o.Paused == nil {
		return d, nil
	}
	paused, err := o.Paused(ctx)
	switch {
	case err != nil:
		return d, fmt.Errorf("cannot tell whether everything is paused: %w", err)
	case paused:
		return d, ErrPaused
	}
	return d, nil
}

// alone takes the floor of the draft's conversation, so that no call of it
// changes a file between its last hash and the tool that reads it. Where the
// arguments can name no file there is nothing to change, and a plain message
// does not wait for a build. The wait is bounded: what runs longer has to end,
// or be stopped, before a person approves again.
func (o *Outbox) alone(ctx context.Context, d Draft) (leave func(), err error) {
	if !o.WaitsForCalls(d) {
		return func() {}, nil
	}
	wait, cancel := context.WithTimeoutCause(ctx, o.FloorWait, fmt.Errorf("a call of its conversation was still running after %s, and nothing may change its files while it goes out; stop that run, or approve again once it is over", o.FloorWait))
	defer cancel()
	return o.Floor.Alone(wait, d.Thread)
}

// due tells whether the hold and the schedule of an approved draft have passed.
func (d Draft) due(now time.Time) bool {
	return (d.HoldUntil == nil || !d.HoldUntil.After(now)) && (d.NotBefore == nil || !d.NotBefore.After(now))
}

// ready is what a release needs at hand.
type ready struct {
	tool tools.Tool
	env  *tools.Env
	done func()
	// What is there now instead of what was approved, where that is why the
	// release was refused.
	changed bool
	files   []File
	pin     string
}

// ready opens the real tool, and proves that what would go out is still what
// was approved: the tool's definition, and every file's bytes.
func (o *Outbox) ready(ctx context.Context, d Draft) (ready, error) {
	t, env, done, err := o.Surface.Open(ctx, d)
	if err != nil {
		return ready{}, err
	}
	r := ready{tool: t, env: env, done: done, pin: pinOf(t)}
	if r.files, err = o.files(ctx, t, d.Args, env.Workspace); err != nil {
		done()
		return ready{}, err
	}
	err = sameFiles(d.Files, r.files)
	if err == nil && digestOf(d.Tool, r.pin, d.Workspace, d.Args, r.files) != d.Digest {
		err = fmt.Errorf("the definition of `%s` has changed since this draft was read", d.Tool)
	}
	if err != nil {
		done()
		r.changed = true
		return r, err
	}
	env.IdempotencyKey = d.IdempotencyKey
	env.Thread, env.Run, env.Call = d.Thread, d.Run, d.CallID
	if env.Progress == nil {
		env.Progress = func(string) {}
	}
	return r, nil
}

// undispatched is a known failure: nothing was handed over. The draft goes back
// to review; where its files or its tool are not what was approved, as a new
// revision that shows what is there now.
func (o *Outbox) undispatched(ctx context.Context, d Draft, now ready, why error) (Draft, error) {
	lastError := "not sent: " + why.Error()
	err := o.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil || r.State != Approved || r.Digest != d.Digest {
			return err // somebody was faster
		}
		if err := note(tx, r, "mecha-slack", "release", "release", "failed before dispatch: "+why.Error()); err != nil {
			return err
		}
		if !now.changed {
			return back(tx, r, lastError)
		}
		digest := digestOf(d.Tool, now.pin, d.Workspace, d.Args, now.files)
		if _, err := tx.Exec(qRevisionInsert, d.ID, r.Revision+1, string(d.Args), digest, text(now.files), "mecha-slack", tx.NowMS()); err != nil {
			return err
		}
		if _, err := tx.Exec(qApprovalsVoid, d.ID); err != nil {
			return err
		}
		n, err := tx.Exec(qDraftRefresh, r.Revision+1, digest, text(now.files), now.pin, lastError, d.ID, r.Revision)
		if err == nil && n == 0 {
			err = errRaced
		}
		return err
	})
	if err != nil {
		return d, errors.Join(why, err)
	}
	o.step("release: refusal committed")
	return o.Get(context.WithoutCancel(ctx), d.ID)
}

// begin moves approved to releasing and commits the attempt, in one step: a
// second process, or a second call, finds the state changed. The limits count
// once more, since several drafts may have been approved within them.
func (o *Outbox) begin(ctx context.Context, d Draft) (attempt int64, err error) {
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil {
			return err
		}
		if r.State != Approved || r.Digest != d.Digest || r.Revision != d.Revision || !r.due(tx.Now()) {
			return &StateError{Draft: r.Draft, Tried: "release"}
		}
		if err := o.limits(tx, o.cfg.policy(r.Tool), r); err != nil {
			return err
		}
		n, err := tx.Exec(qDraftReleasing, d.ID, d.Revision, d.Digest)
		if err != nil {
			return err
		}
		if n == 0 {
			return errRaced
		}
		attempt, err = tx.Insert(qAttemptInsert, d.ID, d.Revision, d.Digest, tx.NowMS())
		o.step("release: attempt written")
		return err
	})
	return attempt, err
}
