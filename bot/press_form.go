package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// serverAsked answers a press on a question of an MCP server.
func (d desk) serverAsked(ctx context.Context, p presser, k threads.Token, verb string) {
	f, err := d.threads.Form(ctx, k.Ref)
	switch {
	case err != nil:
		d.failed(ctx, p, err)
		return
	case p.role != Owner || !strings.HasPrefix(f.Thread, p.Team+"/"):
		d.refuse(ctx, p, "form", k.Ref, verb, "not theirs", "Only an owner answers an MCP server.")
		return
	case f.State != threads.FormOpen:
		d.settled(ctx, p, k, threads.PostForm, formStatus(f), false)
		return
	}
	if verb == verbDecline {
		f, fresh, err := d.threads.AnswerForm(ctx, p.who(), k.Ref, nil)
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.settled(ctx, p, k, threads.PostForm, formStatus(f), fresh)
		return
	}
	o, ok := d.open(ctx, p, k, "Answer the server")
	if !ok {
		return
	}
	form, err := serverForm(f.Schema)
	if err == nil {
		if view, fits := serverFormView(f, form, o.token); fits {
			d.fill(ctx, p, o, view)
			return
		}
		err = errFormTooLong
	}
	if errors.Is(err, errFormTooLong) {
		err = errors.New("this server asks for more than a window can hold; decline")
	}
	d.fillError(ctx, o, "Answer the server", err)
}

// serverAnswered takes the form as filled in.
func (d desk) serverAnswered(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	q, err := d.threads.Form(ctx, k.Ref)
	if err != nil {
		return d.sorry(err)
	}
	if p.role != Owner || !strings.HasPrefix(q.Thread, p.Team+"/") {
		return notYours("only an owner answers an MCP server.")
	}
	f, err := serverForm(q.Schema)
	if err != nil {
		return d.sorry(err)
	}
	answer, errs := f.apply(in)
	if len(errs) == 0 {
		answer, errs = f.checked(q.Schema, answer)
	}
	if len(errs) > 0 {
		return ackErrors(errs)
	}
	q, fresh, err := d.threads.AnswerForm(ctx, p.who(), k.Ref, answer)
	if err != nil {
		return d.sorry(err)
	}
	d.redraw(ctx, threads.PostForm, q.ID)
	if !fresh {
		return ackUpdate(closingView("Too late", para("%s. Nothing was sent now.", formStatus(q))))
	}
	return ackClose
}

func formStatus(f threads.Form) string {
	switch f.State {
	case threads.FormAccepted:
		return "✓ *Answered* by " + who(f.By)
	case threads.FormDeclined:
		return "✕ *Declined* by " + who(f.By)
	case threads.FormGone:
		return "✕ *Unanswered*: the server waits no more"
	}
	return "◌ It waits for your answer"
}

// pinned answers a press on the card of a tool that changed.
func (d desk) pinned(ctx context.Context, p presser, k threads.Token, verb string) {
	tool, hash, _ := strings.Cut(k.Ref, "@")
	if p.role != Owner {
		d.refuse(ctx, p, "tool", tool, verb, "not theirs", "Only an owner accepts what a server changed.")
		return
	}
	err := d.threads.AcceptPinAs(ctx, p.who(), tool, hash)
	if errors.Is(err, threads.ErrNotFound) {
		d.slack.tell(ctx, p.Press, "That change does not wait any more; the card says how it stands. Nothing has happened.")
	} else if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.redraw(ctx, threads.PostPin, k.Ref)
}

// maxPinCards of one server are posted at a time: a server that renames
// everything is one piece of news, not fifty.
const maxPinCards = 5

// followPins posts a card to every owner for each tool that its server describes
// differently than when it was pinned, once a change, whoever saw it first.
func (b *Bot) followPins(ctx context.Context) {
	list, err := b.Threads.ChangedPins(ctx)
	if err != nil || len(list) == 0 {
		return
	}
	owners, err := b.people().Owners(ctx, b.me.Team)
	if err != nil {
		return
	}
	perServer := map[string]int{}
	for _, pin := range list {
		if perServer[pin.Server]++; perServer[pin.Server] > maxPinCards {
			continue
		}
		ref := threads.PinRef(pin.Tool, pin.NextHash)
		have, err := b.Threads.PostsOf(ctx, threads.PostPin, ref)
		if err != nil || len(have) > 0 {
			continue
		}
		for _, o := range owners {
			dm, err := b.dm(ctx, o.User)
			if err == nil {
				_, err = b.Threads.AddPost(ctx, threads.Post{Kind: threads.PostPin, Ref: ref, Place: threads.Place{Team: b.me.Team, Channel: dm}})
			}
			if err != nil && ctx.Err() == nil {
				b.Log.Error("cannot post that a tool changed", "tool", pin.Tool, "user", o.User, "error", err)
			}
		}
		b.kick()
	}
}

// pinView is a change with the tools of the same server that wait beside it.
type pinView struct {
	threads.Pin
	Ref  string
	More int
}

func (d desk) pinView(ctx context.Context, ref string) (v pinView, err error) {
	tool, _, _ := strings.Cut(ref, "@")
	v.Ref = ref
	if v.Pin, err = d.threads.PinOf(ctx, tool); err != nil {
		return v, err
	}
	list, err := d.threads.ChangedPins(ctx)
	for _, o := range list {
		if o.Server == v.Server && o.Tool != v.Tool {
			v.More++
		}
	}
	return v, err
}

// shownDef is a definition as people compare it: indented, with hidden
// characters made visible.
func shownDef(def json.RawMessage) string {
	shown, _ := blockkit.Visible(pretty(def), padding)
	return shown + "\n"
}
