package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// outcome of an attempt. Unknown is a third one, never folded into failure.
type outcome struct {
	kind   string // delivered, failed, unknown
	err    string
	answer string
}

// Dispatch releases one approved draft now: the attempt row is committed before
// the tool is called, and its outcome after. Only the holder of the home's lock
// may call it, once at a time for one draft. A draft that is not approved, or
// not due, is a *StateError. The answer is the draft as it then stands.
func (o *Outbox) Dispatch(ctx context.Context, id string) (Draft, error) {
	d, err := o.Get(ctx, id)
	if err != nil {
		return Draft{}, err
	}
	if d.State != Approved {
		return d, &StateError{Draft: d, Tried: "release"}
	}
	t, env, done, err := o.ready(ctx, d)
	if err != nil {
		// Never dispatched: a known failure, and a fresh review.
		return o.undispatched(ctx, d, err)
	}
	defer done()
	o.step("before attempt")
	attempt, err := o.begin(ctx, d)
	if err != nil {
		return d, err
	}
	o.step("attempt committed")
	out := o.call(ctx, t, d, env)
	o.step("called")
	// A process that is being stopped still writes down what it knows.
	if err := o.finish(context.WithoutCancel(ctx), d, attempt, out); err != nil {
		return d, err
	}
	o.step("outcome committed")
	return o.Get(context.WithoutCancel(ctx), id)
}

// ready opens the real tool, and proves that what would go out is still what
// was approved: the tool's definition, and every file's bytes.
func (o *Outbox) ready(ctx context.Context, d Draft) (tools.Tool, *tools.Env, func(), error) {
	t, env, done, err := o.Surface.Open(ctx, d)
	if err != nil {
		return nil, nil, nil, err
	}
	fail := func(err error) (tools.Tool, *tools.Env, func(), error) {
		done()
		return nil, nil, nil, err
	}
	files, err := o.files(ctx, t, d.Args, env.Workspace)
	if err != nil {
		return fail(err)
	}
	if err := sameFiles(d.Files, files); err != nil {
		return fail(err)
	}
	pin := ""
	if p, ok := t.(tools.Pinned); ok {
		pin = p.Pin()
	}
	if digestOf(d.Tool, pin, d.Workspace, d.Args, files) != d.Digest {
		return fail(fmt.Errorf("the definition of `%s` has changed since this was approved; read it again", d.Tool))
	}
	env.IdempotencyKey = d.IdempotencyKey
	env.Thread, env.Run, env.Call = d.Thread, d.Run, d.CallID
	if env.Progress == nil {
		env.Progress = func(string) {}
	}
	return t, env, done, nil
}

func sameFiles(was, now []File) error {
	have := map[string]File{}
	for _, f := range now {
		have[f.Path] = f
	}
	for _, f := range was {
		g, ok := have[f.Path]
		switch {
		case !ok:
			return fmt.Errorf("the file %s, which this draft sends, is gone; nothing was sent", f.Path)
		case g != f:
			return fmt.Errorf("the file %s has changed since this draft was made (%d bytes then, %d now); nothing was sent", f.Path, f.Bytes, g.Bytes)
		}
		delete(have, f.Path)
	}
	for path := range have {
		return fmt.Errorf("a file %s has come to exist that was not there when this draft was made, and would be sent with it; nothing was sent", path)
	}
	return nil
}

func (o *Outbox) undispatched(ctx context.Context, d Draft, why error) (Draft, error) {
	err := o.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil || r.State != Approved {
			return err
		}
		if err := note(tx, r, "mecha-slack", "release", "release", "failed before dispatch: "+why.Error()); err != nil {
			return err
		}
		return back(tx, r, "not sent: "+why.Error())
	})
	if err != nil {
		return d, errors.Join(why, err)
	}
	return o.Get(context.WithoutCancel(ctx), d.ID)
}

// begin moves approved to releasing and commits the attempt, in one step: a
// second process, or a second call, finds the state changed.
func (o *Outbox) begin(ctx context.Context, d Draft) (attempt int64, err error) {
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil {
			return err
		}
		n, err := tx.Exec(qDraftState, Releasing, d.ID, Approved)
		if err != nil {
			return err
		}
		if n == 0 || r.Digest != d.Digest {
			return &StateError{Draft: r.Draft, Tried: "release"}
		}
		attempt, err = tx.Insert(qAttemptInsert, d.ID, d.Revision, d.Digest, tx.NowMS())
		return err
	})
	return attempt, err
}

// call runs the tool once, in its own goroutine, so that a tool that ignores
// its context does not hold the outcome up: after the timeout it is unknown.
func (o *Outbox) call(ctx context.Context, t tools.Tool, d Draft, env *tools.Env) outcome {
	args, err := withKey(d.Args, o.keyArg(t), d.IdempotencyKey)
	if err != nil {
		return outcome{kind: "failed", err: err.Error()}
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReleaseTimeout)
	defer cancel()
	answer := make(chan outcome, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answer <- outcome{kind: "unknown", err: fmt.Sprintf("the tool broke off: %v", p)}
			}
		}()
		out, err := t.Call(ctx, args, env)
		answer <- o.classify(d.Tool, out, err)
	}()
	select {
	case out := <-answer:
		return out
	case <-ctx.Done():
	}
	// It may answer in the same moment, or shortly after being told to stop.
	select {
	case out := <-answer:
		return out
	case <-time.After(time.Second):
		return outcome{kind: "unknown", err: "no answer came before " + context.Cause(ctx).Error()}
	}
}

// classify tells a known failure from an unknown outcome (DESIGN.md §7): what
// the tool itself reported as an error did not happen, unless its policy says
// otherwise; everything else after dispatch is unknown.
func (o *Outbox) classify(tool string, out tools.Output, err error) outcome {
	switch {
	case err != nil:
		return outcome{kind: "unknown", err: err.Error()}
	case out.Unknown:
		return outcome{kind: "unknown", err: out.Content}
	case out.IsError && o.cfg.policy(tool).OnError == "unknown":
		return outcome{kind: "unknown", err: out.Content}
	case out.IsError:
		return outcome{kind: "failed", err: out.Content}
	}
	return outcome{kind: "delivered", answer: out.Content}
}

func (o *Outbox) finish(ctx context.Context, d Draft, attempt int64, out outcome) error {
	return o.db.Write(ctx, func(tx *record.Tx) error {
		if _, err := tx.Exec(qAttemptEnd, tx.NowMS(), out.kind, bounded(out.err), bounded(out.answer), attempt); err != nil {
			return err
		}
		r, err := o.get(tx, d.ID)
		if err != nil {
			return err
		}
		if r.State != Releasing && (r.State != Uncertain || len(r.Reconciliations) > 0) {
			return nil // somebody has settled it meanwhile
		}
		if err := note(tx, r, "mecha-slack", "release", "release", out.kind); err != nil {
			return err
		}
		switch out.kind {
		case "delivered":
			return resolve(tx, r, Released, lastApprover(r), "")
		case "failed":
			return back(tx, r, out.err)
		}
		if r.State == Uncertain {
			return nil
		}
		_, err = tx.Exec(qDraftState, Uncertain, d.ID, Releasing)
		return err
	})
}

func lastApprover(d row) string {
	if n := len(d.Approvals); n > 0 {
		return d.Approvals[n-1].By
	}
	return d.ResolvedBy
}

func bounded(s string) string {
	if len(s) > 8<<10 {
		return s[:8<<10] + "…"
	}
	return s
}

// keyArg is the argument that takes the idempotency key, where a policy or the
// tool's hints name one.
func (o *Outbox) keyArg(t tools.Tool) string {
	if k := o.cfg.policy(t.Name()).KeyArg; k != "" {
		return k
	}
	if h, ok := t.(tools.Addressed); ok {
		return h.Hints().KeyArg
	}
	return ""
}

// withKey puts the key into the named argument. It was pinned at staging and
// shown, so this changes nothing but a draft staged before its policy.
func withKey(args json.RawMessage, arg, key string) (json.RawMessage, error) {
	if arg == "" {
		return args, nil
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(args, &m); err != nil {
		return nil, fmt.Errorf("the arguments do not parse: %w", err)
	}
	if string(m[arg]) == text(key) {
		return args, nil
	}
	m[arg] = json.RawMessage(text(key))
	return json.RawMessage(text(m)), nil
}

// Settle marks every attempt without an outcome as unknown, and its draft as
// uncertain. Whoever takes the home's lock calls it before anything is
// dispatched: the process that made those attempts is gone.
func (o *Outbox) Settle(ctx context.Context) (n int, err error) {
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		n = 0
		open, err := record.Collect(tx, func(r record.Scanner) (a struct {
			id    int64
			draft string
		}, err error) {
			err = r.Scan(&a.id, &a.draft)
			return a, err
		}, qAttemptsOpen)
		if err != nil {
			return err
		}
		for _, a := range open {
			if _, err := tx.Exec(qAttemptEnd, tx.NowMS(), "unknown", "the process that was sending it ended", "", a.id); err != nil {
				return err
			}
			moved, err := tx.Exec(qDraftState, Uncertain, a.draft, Releasing)
			if err != nil {
				return err
			}
			n += int(moved)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot settle the attempts of an earlier process: %w", err)
	}
	return n, nil
}
