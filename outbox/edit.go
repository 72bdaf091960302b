package outbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Edit makes a new revision of a draft's arguments, checked against the tool's
// schema; approvals are void, args_before stays. The same bytes again make no
// revision. Submitting an edit never approves. A wrong field is a *FieldError
// that names it.
func (o *Outbox) Edit(ctx context.Context, id string, revision int, args json.RawMessage, by, surface string) (Draft, error) {
	before, err := o.Get(ctx, id)
	if err != nil {
		return Draft{}, err
	}
	if before.Kind == Publish {
		return Draft{}, &FieldError{"", "a publication is not edited here: change its source, render it again, and reject this draft"}
	}
	if bytes.Equal(before.Args, args) && before.Revision == revision {
		return before, nil
	}
	t := o.Surface.Find(before.Tool)
	if t == nil {
		return Draft{}, &FieldError{"", fmt.Sprintf("`%s` is not there now (its server is off?), so that nothing can check the edit; start it and try again", before.Tool)}
	}
	// The key is ours: an edit neither drops nor changes it.
	if args, err = withKey(args, o.keyArg(t), before.IdempotencyKey); err != nil {
		return Draft{}, &FieldError{"", err.Error()}
	}
	if bytes.Equal(before.Args, args) && before.Revision == revision {
		return before, nil
	}
	if err := check(t, args); err != nil {
		return Draft{}, err
	}
	j, err := jail.Open(before.Workspace)
	if err != nil {
		return Draft{}, fmt.Errorf("cannot open the draft's directory: %w", err)
	}
	defer j.Close()
	prep, err := o.Prepare(ctx, t, args, j)
	if err != nil {
		return Draft{}, &FieldError{"", err.Error()}
	}
	pin := pinOf(t)
	dests := retrace(before.Destinations, tools.Destinations(t, args, before.Workspace))
	return o.decide(ctx, id, by, surface, "edit", func(tx *record.Tx, d row) error {
		switch {
		case d.State != Pending:
			return &StateError{Draft: d.Draft, Tried: "edit"}
		case d.Revision != revision:
			return &ChangedError{Draft: d.Draft}
		}
		digest := digestOf(d.Tool, pin, d.Workspace, args, prep.Files)
		n, err := tx.Exec(qDraftRevise, revision+1, digest, text(prep.Files), summary(args), text(dests), tools.Red(dests), pin, by, d.ID, revision)
		if err != nil {
			return err
		}
		if n == 0 {
			return errRaced
		}
		o.step("edit: revised")
		if _, err := tx.Exec(qRevisionInsert, d.ID, revision+1, string(args), digest, text(prep.Files), by, tx.NowMS()); err != nil {
			return err
		}
		_, err = tx.Exec(qApprovalsVoid, d.ID)
		return err
	})
}

// check validates an edit without changing its bytes: what a person wrote is
// what is kept, and a default that they took out is theirs to take out.
func check(t tools.Tool, args json.RawMessage) error {
	_, _, err := tools.ParseArgs(t, args)
	if err == nil {
		return nil
	}
	var bad *tools.ArgsError
	if errors.As(err, &bad) {
		return &FieldError{argOf(bad.Problems[0]), strings.Join(bad.Problems, "; ")}
	}
	return &FieldError{"", err.Error()}
}

// argOf picks the first `name` out of a problem's words: the argument itself,
// where the problem lies deeper in it.
func argOf(s string) string {
	_, rest, ok := strings.Cut(s, "`")
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, "`")
	if !ok {
		return ""
	}
	if at := strings.IndexAny(name, ".["); at > 0 {
		name = name[:at]
	}
	return name
}

// retrace keeps the origin of destinations that were there before; what a
// person typed into the edit is the owner's own.
func retrace(old, now []tools.Destination) []tools.Destination {
	list := make([]tools.Destination, 0, len(now))
	for _, d := range now {
		d.Origin = tools.FromOwner
		if i := slices.IndexFunc(old, func(o tools.Destination) bool { return o.Kind == d.Kind && o.Value == d.Value }); i >= 0 {
			d = old[i]
		}
		list = append(list, d)
	}
	return list
}

// Opened notes that somebody has the draft open for editing: the agent does not
// take it away meanwhile. Edit, and Opened with open = false, end it.
func (o *Outbox) Opened(ctx context.Context, id string, open bool) error {
	return o.db.Write(ctx, func(tx *record.Tx) error {
		var at any
		if open {
			at = tx.NowMS()
		}
		_, err := tx.Exec(qDraftOpened, at, id)
		return err
	})
}
