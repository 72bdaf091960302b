package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// editForm is the form over a draft's arguments as they are at its revision.
func (d desk) editForm(v draftView) (form, error) {
	var schema json.RawMessage
	if t := d.outbox.Surface.Find(v.Tool); t != nil {
		schema = t.InputSchema()
	}
	return newForm(schema, v.Args, keyArgs(v.Draft)...)
}

// keyArgs names the argument that holds the idempotency key: changing it would
// make a second delivery look like a new one.
func keyArgs(d outbox.Draft) []string {
	args, err := arguments(d.Args)
	if err != nil || d.IdempotencyKey == "" {
		return nil
	}
	var list []string
	for _, a := range args {
		if firstByte(a.Raw) == '"' && sameString(a.Raw, d.IdempotencyKey) {
			list = append(list, a.Key)
		}
	}
	return list
}

// editView is the modal; ok is false where the arguments do not fit one.
func editView(v draftView, f form, k threads.Token) (view json.RawMessage, ok bool) {
	m := blockkit.ModalView{
		Title: "Edit the draft", Submit: "Save", Close: "Leave as it is", CallbackID: formEdit, PrivateMetadata: k.Token, NotifyOnClose: true,
		Head: []blockkit.Block{small("%s · %s · revision %d. Saving does not approve it.", inCode(v.ID), inCode(v.Tool), v.Revision)},
		Body: f.blocks(),
	}
	m.Foot, _ = sourceBlocks(v.Answers, blockkit.MaxText)
	for _, b := range m.Body {
		if b.Cut() {
			return nil, false
		}
	}
	view, cut := m.JSON()
	return view, !cut
}

// editElsewhere names the way that takes any length.
func editElsewhere(v draftView) json.RawMessage {
	return closingView("Edit the draft",
		para("This draft is too long for a window of Slack's. Edit it on the machine, where it opens in your editor:"),
		blockkit.Preformatted("mecha-slack outbox edit "+v.ID+" --json"))
}

func (d desk) edit(ctx context.Context, p presser, k threads.Token, v draftView) {
	switch {
	case v.Kind == outbox.Publish:
		d.slack.tell(ctx, p.Press, "A publication is not edited here: change its source, render it again, and reject this draft.")
		return
	case v.State != outbox.Pending:
		d.settled(ctx, p, k, threads.PostDraft, draftStatus(v), false)
		return
	}
	o, ok := d.open(ctx, p, k, "Edit the draft")
	if !ok {
		return
	}
	v, err := d.draftView(ctx, v.ID, true)
	if err != nil {
		d.fillError(ctx, o, "Edit the draft", err)
		return
	}
	o.token.Revision, o.token.Digest = v.Revision, v.Seal()
	f, err := d.editForm(v)
	if errors.Is(err, errFormTooLong) {
		d.fill(ctx, p, o, editElsewhere(v))
		return
	}
	if err != nil {
		d.fillError(ctx, o, "Edit the draft", err)
		return
	}
	view, fits := editView(v, f, o.token)
	if !fits {
		d.fill(ctx, p, o, editElsewhere(v))
		return
	}
	if err := d.outbox.Opened(ctx, v.ID, true); err != nil {
		d.fillError(ctx, o, "Edit the draft", err)
		return
	}
	d.fill(ctx, p, o, view)
}

// edited takes a submitted edit. It never approves; a wrong field is told at
// the field.
func (d desk) edited(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	v, err := d.draftView(ctx, k.Ref, false)
	if err != nil {
		return d.sorry(err)
	}
	if !d.decides(p, v.Tool) || v.Team != "" && v.Team != p.Team {
		return notYours(d.whose(v.Tool, false))
	}
	if v.State != outbox.Pending || v.Revision != k.Revision {
		d.redraw(ctx, threads.PostDraft, v.ID)
		return ackUpdate(closingView("Not saved", para("The draft has changed since you opened it: %s, revision %d. Nothing was saved; open it again.", draftStatus(v), v.Revision)))
	}
	f, err := d.editForm(v)
	if err != nil {
		return d.sorry(err)
	}
	args, errs := f.apply(in)
	if len(errs) > 0 {
		return ackErrors(errs)
	}
	after, err := d.outbox.Edit(ctx, v.ID, v.Revision, args, p.User, "slack")
	var wrong *outbox.FieldError
	if errors.As(err, &wrong) {
		return ackErrors(map[string]string{f.blockOf(wrong.Arg): wrong.Why})
	}
	if err != nil {
		return d.decidedForm(ctx, p, k, err)
	}
	if after.Revision == v.Revision { // nothing was changed
		if err := d.outbox.Opened(ctx, v.ID, false); err != nil {
			d.log.Error("cannot note that an edit was closed", "draft", v.ID, "error", err)
		}
	}
	d.redraw(ctx, threads.PostDraft, v.ID)
	d.beneath(ctx, p, k, "", false)
	return ackClose
}

// blockOf finds the field that an error names (to, to[0], items.name); an error
// of the whole stands at the first.
func (f form) blockOf(arg string) string {
	if i := strings.IndexAny(arg, ".["); i > 0 {
		arg = arg[:i]
	}
	first := ""
	for _, fl := range f.fields {
		if b := fl.block(); b != "" {
			if fl.key == arg {
				return b
			}
			if first == "" {
				first = b
			}
		}
	}
	return first
}
