package bot

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// opened is a view that stands loading.
type opened struct {
	id, hash string
	token    threads.Token
}

// open puts a loading view before the presser at once, on top of the modal that
// they pressed in, if any. It carries on in the new view's token what the
// pressed one refers to.
func (d desk) open(ctx context.Context, p presser, k threads.Token, title string) (o opened, ok bool) {
	put := d.slack.openView
	if inModal(k) {
		put = d.slack.pushView
	}
	id, hash, err := put(ctx, p.TriggerID, loadingView(title))
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn("cannot open a view", "title", title, "user", p.User, "error", err)
		}
		d.slack.tell(ctx, p.Press, "Slack did not let me open the window in time. Press again; nothing has happened.")
		return o, false
	}
	return opened{id, hash, threads.Token{Token: d.mint(), Kind: k.Kind, Ref: k.Ref, Revision: k.Revision, Digest: k.Digest, View: id, User: p.User, Choices: carried(k)}}, true
}

// fill commits the view's token and shows what it is for.
func (d desk) fill(ctx context.Context, p presser, o opened, view json.RawMessage) {
	if err := d.threads.PutToken(ctx, o.token); err != nil {
		d.failed(ctx, p, err)
		return
	}
	err := d.slack.updateView(ctx, o.id, o.hash, view)
	if refusedAs(err, "hash_conflict") {
		// It has changed since: by another press of the same person, or by an update
		// of ours whose answer was lost. What is rendered last is newest, and its
		// token is the one that counts.
		err = d.slack.updateView(ctx, o.id, "", view)
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("cannot fill a view", "user", p.User, "error", err)
		d.slack.tell(ctx, p.Press, "Slack did not take what the window should show. Close it and press again; nothing has happened.")
	}
}

// form opens a form over what the token refers to.
func (d desk) form(ctx context.Context, p presser, k threads.Token, title string, view func(threads.Token) json.RawMessage) {
	o, ok := d.open(ctx, p, k, title)
	if ok {
		d.fill(ctx, p, o, view(o.token))
	}
}

// What a view's token hands on to the views opened from it: that it is a
// review, what comes next there, and what a form is about.
func carried(k threads.Token) []string {
	var list []string
	for _, c := range k.Choices {
		if c == choiceReview || strings.HasPrefix(c, "next=") || strings.HasPrefix(c, "outcome=") {
			list = append(list, c)
		}
	}
	return list
}

const choiceReview = "review"

func reviewing(k threads.Token) bool { return slices.Contains(k.Choices, choiceReview) }

// turn shows a page of the whole: it opens the modal from a card, and turns the
// pages of one that is open.
func (d desk) turn(ctx context.Context, p presser, k threads.Token, verb string) {
	title := map[string]string{kindDraft: "The whole draft", kindCall: "The whole input", kindTrigger: "A proposed trigger"}[k.Kind]
	if !inModal(k) {
		o, ok := d.open(ctx, p, k, title)
		if !ok {
			return
		}
		view, token, err := d.page(ctx, o.token, 0)
		if err != nil {
			d.fillError(ctx, o, title, err)
			return
		}
		o.token = token
		d.fill(ctx, p, o, view)
		return
	}
	if verb == verbGo {
		d.onward(ctx, p, k, "")
		return
	}
	page := pageOf(k)
	switch verb {
	case verbNext:
		page++
	case verbBack:
		page--
	default:
		page = 0
	}
	d.show(ctx, p, p.ViewID, p.ViewHash, k, page)
}

// show puts a page of what k refers to into a view that is open.
func (d desk) show(ctx context.Context, p presser, view, hash string, k threads.Token, page int) {
	was := k.Digest
	k = threads.Token{Token: d.mint(), Kind: k.Kind, Ref: k.Ref, Digest: k.Digest, View: view, User: p.User, Choices: carried(k)}
	v, token, err := d.page(ctx, k, page)
	if err == nil && token.Digest != was && page > 0 {
		// What was read on the pages before is not what stands now.
		v, token, err = d.page(ctx, k, 0)
	}
	o := opened{view, hash, token}
	if err != nil {
		d.fillError(ctx, o, "Read", err)
		return
	}
	d.fill(ctx, p, o, v)
}

// page renders one page from the record, bound to what it is at this moment.
// lead stands above it.
func (d desk) page(ctx context.Context, k threads.Token, page int, lead ...blockkit.Block) (json.RawMessage, threads.Token, error) {
	if k.Kind == kindCall {
		a, err := d.threads.Approval(ctx, k.Ref)
		if err != nil {
			return nil, k, err
		}
		k.Digest = a.Digest
		r := callReading(a)
		r.Head = append(lead, r.Head...)
		v, k := r.view(page, k, callDecisions(a, reviewing(k)))
		return v, k, nil
	}
	if k.Kind == kindTrigger {
		t, err := d.triggerView(ctx, k.Ref)
		if err != nil {
			return nil, k, err
		}
		k.Revision = int(t.Version)
		r := triggerReading(t)
		r.Head = append(lead, r.Head...)
		v, k := r.view(page, k, triggerDecisions(t, reviewing(k)))
		return v, k, nil
	}
	dv, err := d.draftView(ctx, k.Ref, true)
	if err != nil {
		return nil, k, err
	}
	k.Revision, k.Digest = dv.Revision, dv.Seal()
	r := draftReading(dv)
	r.Head = append(lead, r.Head...)
	v, k := r.view(page, k, draftDecisions(dv.Draft, reviewing(k)))
	return v, k, nil
}

func (d desk) fillError(ctx context.Context, o opened, title string, err error) {
	if ctx.Err() != nil {
		return
	}
	d.log.Error("cannot show a view", "title", title, "error", err)
	if err := d.slack.updateView(ctx, o.id, o.hash, closingView(title, para("That did not work: %s", quoted(err.Error(), 500)))); err != nil {
		d.log.Warn("cannot show a view's error", "error", err)
	}
}

// onward goes on after a decision made in a modal: to the next of a review, or
// to the modal's end.
func (d desk) onward(ctx context.Context, p presser, k threads.Token, status string) {
	view, hash := p.ViewID, p.ViewHash
	if reviewing(k) {
		d.reviewNext(ctx, p, k, view, hash, status)
		return
	}
	if err := d.slack.updateView(ctx, view, "", closingView("Done", para("%s", orWord(status, "Done")))); err != nil && ctx.Err() == nil {
		d.log.Warn("cannot close a modal with its outcome", "error", err)
	}
}

// beneath brings the view below a submitted form up to date.
func (d desk) beneath(ctx context.Context, p presser, k threads.Token, status string, decided bool) {
	if p.RootView == "" || p.RootView == p.ViewID {
		return
	}
	switch {
	case reviewing(k) && decided:
		d.reviewNext(ctx, p, k, p.RootView, "", status)
	case !decided:
		d.show(ctx, p, p.RootView, "", k, 0)
	default:
		if err := d.slack.updateView(ctx, p.RootView, "", closingView("Done", para("%s", status))); err != nil && ctx.Err() == nil {
			d.log.Warn("cannot close a modal with its outcome", "error", err)
		}
	}
}

// closed notes that an edit was abandoned: the agent may replace the draft again.
func (d desk) closed(ctx context.Context, p Press) {
	k, err := d.threads.TokenRow(ctx, p.Meta)
	if err != nil || p.Callback != formEdit || k.View != p.ViewID || k.User != p.User {
		return
	}
	if err := d.outbox.Opened(ctx, k.Ref, false); err != nil && ctx.Err() == nil {
		d.log.Error("cannot note that an edit was closed", "draft", k.Ref, "error", err)
	}
}

// submitted answers a form within Slack's three seconds.
func (d desk) submitted(ctx context.Context, press Press) json.RawMessage {
	p, k, ok := d.admit(ctx, press, press.Meta, "submit "+press.Callback)
	if !ok {
		return ackUpdate(closingView("Not done", para("This form is not valid any more. Nothing has happened; open it again from its card.")))
	}
	in, err := readValues(press.State)
	if err != nil {
		return ackUpdate(closingView("Not done", para("I could not read what Slack sent. Nothing has happened.")))
	}
	switch press.Callback {
	case formReject:
		return d.rejected(ctx, p, k, in)
	case formReconcile:
		return d.reconciled(ctx, p, k, in)
	case formAnswer:
		return d.answered(ctx, p, k, in)
	case formServer:
		return d.serverAnswered(ctx, p, k, in)
	case formEdit:
		return d.edited(ctx, p, k, in)
	case formAsk:
		return d.asked(ctx, p, k, in)
	}
	return ackClose
}

func (d desk) rejected(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	reason := in.said("reason")
	if width(reason) > maxReason {
		return ackErrors(map[string]string{"reason": "At most 500 characters, please."})
	}
	if k.Kind == kindCall {
		a, err := d.threads.Approval(ctx, k.Ref)
		if err != nil {
			return d.sorry(err)
		}
		if !d.decides(p, a.Tool) || !strings.HasPrefix(a.Thread, p.Team+"/") {
			return notYours(d.whose(a.Tool, false))
		}
		a, fresh, err := d.threads.DecideCall(ctx, p.who(), k.Ref, k.Digest, threads.RejectCall, reason)
		if err != nil {
			return d.sorry(err)
		}
		d.redraw(ctx, threads.PostApproval, k.Ref)
		if !fresh {
			return ackUpdate(closingView("Already decided", para("%s", approvalStatus(a))))
		}
		d.beneath(ctx, p, k, approvalStatus(a), true)
		return ackClose
	}
	v, err := d.draftView(ctx, k.Ref, false)
	if err != nil {
		return d.sorry(err)
	}
	if !d.decides(p, v.Tool) || v.Team != "" && v.Team != p.Team {
		return notYours(d.whose(v.Tool, false))
	}
	_, err = d.outbox.Reject(ctx, k.Ref, p.User, "slack", reason)
	return d.decidedForm(ctx, p, k, err)
}

func (d desk) reconciled(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	v, err := d.draftView(ctx, k.Ref, false)
	if err != nil {
		return d.sorry(err)
	}
	if !d.decides(p, v.Tool) || v.Team != "" && v.Team != p.Team {
		return notYours(d.whose(v.Tool, false))
	}
	_, err = d.outbox.Reconcile(ctx, k.Ref, choice(k, "outcome"), in.said("evidence"), p.User, "slack")
	var field *outbox.FieldError
	if errors.As(err, &field) {
		return ackErrors(map[string]string{"evidence": field.Why})
	}
	return d.decidedForm(ctx, p, k, err)
}

// decidedForm ends a form about a draft.
func (d desk) decidedForm(ctx context.Context, p presser, k threads.Token, err error) json.RawMessage {
	var state *outbox.StateError
	var yours *outbox.NotYoursError
	status := d.standing(ctx, threads.PostDraft, k.Ref)
	d.redraw(ctx, threads.PostDraft, k.Ref)
	switch {
	case errors.As(err, &yours):
		return notYours(yours.Why)
	case errors.As(err, &state):
		return ackUpdate(closingView("Already decided", para("%s", status)))
	case err != nil:
		return d.sorry(err)
	}
	d.beneath(ctx, p, k, status, true)
	return ackClose
}

func (d desk) answered(ctx context.Context, p presser, k threads.Token, in values) json.RawMessage {
	if p.role != Owner {
		return notYours("only an owner answers questions.")
	}
	q, err := d.threads.Question(ctx, k.Ref)
	if err != nil {
		return d.sorry(err)
	}
	answer := in.said("answer")
	if answer == "" {
		chosen, _ := in.text("choice")
		for i, o := range q.Options {
			if chosen == optionValue(i) {
				answer = o
			}
		}
	}
	if answer == "" {
		return ackErrors(map[string]string{"answer": "Choose one, or write an answer."})
	}
	q, fresh, err := d.threads.AnswerQuestion(ctx, p.who(), q.ID, answer)
	if err != nil {
		return d.sorry(err)
	}
	d.redraw(ctx, threads.PostQuestion, q.ID)
	if !fresh {
		return ackUpdate(closingView("Already answered", para("✓ *Answered* by %s: %s", who(q.By), quoted(q.Answer, 300))))
	}
	return d.nextQuestion(ctx, p, k)
}

// nextQuestion goes on to the next open question where they are answered one
// after another.
func (d desk) nextQuestion(ctx context.Context, p presser, k threads.Token) json.RawMessage {
	if !reviewing(k) {
		return ackClose
	}
	list, err := d.questions(ctx, p.Team)
	if err != nil || len(list) == 0 {
		return ackClose
	}
	next := threads.Token{Token: d.mint(), Kind: kindQuestion, Ref: list[0].ID, View: p.ViewID, User: p.User, Choices: carried(k)}
	if err := d.threads.PutToken(ctx, next); err != nil {
		return ackClose
	}
	return ackUpdate(answerView(list[0], len(list)-1, next))
}

func notYours(why string) json.RawMessage {
	return ackUpdate(closingView("Not yours", para("This is not yours to decide: %s", blockkit.Escape(why))))
}

func (d desk) sorry(err error) json.RawMessage {
	d.log.Error("a form could not be served", "error", err)
	return ackUpdate(closingView("Not done", para("That did not work: %s", quoted(err.Error(), 500))))
}
