package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// maxReview bounds one walk; the rest is in the next.
const maxReview = 50

// waits opens what the digest and the Home tab lead to: Settle walks the
// unknown outcomes, Review the drafts and calls, one at a time and each whole;
// Answer the questions.
func (d desk) waits(ctx context.Context, p presser, k threads.Token, verb string) {
	w, err := d.waiting(ctx, p.Team, p.User, d.now())
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	queue := w.queue(verb)
	d.refreshWaits(ctx, k)
	if len(queue) == 0 {
		d.slack.tell(ctx, p.Press, "Nothing waits there any more.")
		d.afterHome(ctx, p, k)
		return
	}
	if verb == verbAnswer {
		q := w.Questions[0]
		k.Kind, k.Ref, k.Choices = kindQuestion, q.ID, []string{choiceReview}
		d.form(ctx, p, k, "Answer", func(k threads.Token) json.RawMessage { return answerView(q, len(queue)-1, k) })
		return
	}
	d.walk(ctx, p, k, queue)
}

// walk opens a modal that goes through a queue.
func (d desk) walk(ctx context.Context, p presser, k threads.Token, queue []string) {
	k.Choices = []string{choiceReview}
	for _, ref := range queue[:min(len(queue), maxReview)] {
		k.Choices = append(k.Choices, "next="+ref)
	}
	o, ok := d.open(ctx, p, k, "Review")
	if ok {
		d.reviewNext(ctx, p, o.token, o.id, o.hash, "")
	}
}

// Verbs of /mecha that walk through one kind of what waits.
const (
	verbOutbox    = "outbox"
	verbApprovals = "approvals"
)

// look walks a person through what waits, where they asked for it by /mecha.
func (d desk) look(ctx context.Context, p presser, verb string) {
	w, err := d.waiting(ctx, p.Team, p.User, d.now())
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	queue := w.queue(verb)
	if len(queue) == 0 {
		d.slack.tell(ctx, p.Press, map[string]string{verbOutbox: "No draft waits for you.", verbApprovals: "No call and no proposal waits for you."}[verb])
		return
	}
	d.walk(ctx, p, threads.Token{Kind: kindWaits, Ref: verb}, queue)
}

// queue is what a verb leads through, in order: kind:ref of each.
func (w waiting) queue(verb string) (queue []string) {
	if verb == verbSettle || verb == verbOutbox {
		for _, dr := range w.Uncertain {
			queue = append(queue, kindDraft+":"+dr.ID)
		}
	}
	if verb == verbReview || verb == verbOutbox {
		for _, dr := range w.Drafts {
			if dr.State == outbox.Pending {
				queue = append(queue, kindDraft+":"+dr.ID)
			}
		}
	}
	if verb == verbReview || verb == verbApprovals {
		for _, a := range w.Calls {
			queue = append(queue, kindCall+":"+a.Call)
		}
		for _, t := range w.Proposals {
			queue = append(queue, kindTrigger+":"+t.Name)
		}
	}
	if verb == verbAnswer {
		for _, q := range w.Questions {
			queue = append(queue, kindQuestion+":"+q.ID)
		}
	}
	return queue
}

// refreshWaits renders the digest that was pressed again.
func (d desk) refreshWaits(ctx context.Context, k threads.Token) {
	if k.View != viewHome {
		d.redraw(ctx, threads.PostDigest, k.Ref)
	}
}

// reviewNext shows the next thing of a review that still waits, or its end.
// status tells what became of the one before.
func (d desk) reviewNext(ctx context.Context, p presser, k threads.Token, view, hash, status string) {
	queue := queueOf(k)
	for len(queue) > 0 {
		kind, ref, _ := strings.Cut(queue[0], ":")
		queue = queue[1:]
		if !d.waitsStill(ctx, kind, ref) {
			continue
		}
		next := threads.Token{Token: d.mint(), Kind: kind, Ref: ref, View: view, User: p.User, Choices: []string{choiceReview}}
		for _, q := range queue {
			next.Choices = append(next.Choices, "next="+q)
		}
		v, token, err := d.page(ctx, next, 0, lead(status, len(queue))...)
		if err != nil {
			d.fillError(ctx, opened{view, hash, next}, "Review", err)
			return
		}
		d.fill(ctx, p, opened{view, hash, token}, v)
		return
	}
	if err := d.slack.updateView(ctx, view, hash, closingView("Review", append(lead(status, 0), para("That is all for now."))...)); err != nil && ctx.Err() == nil {
		d.log.Warn("cannot end a review", "error", err)
	}
}

// lead is what stands above the next thing of a review.
func lead(status string, left int) (blocks []blockkit.Block) {
	if status != "" {
		blocks = append(blocks, small("the one before: %s", status))
	}
	if left > 0 {
		blocks = append(blocks, small("%d more after this one", left))
	}
	return blocks
}

func queueOf(k threads.Token) (queue []string) {
	for _, c := range k.Choices {
		if ref, ok := strings.CutPrefix(c, "next="); ok {
			queue = append(queue, ref)
		}
	}
	return queue
}

func (d desk) waitsStill(ctx context.Context, kind, ref string) bool {
	switch kind {
	case kindCall:
		a, err := d.threads.Approval(ctx, ref)
		return err == nil && a.State == "pending"
	case kindTrigger:
		t, err := d.triggers.Get(ctx, ref)
		return err == nil && t.State == "proposed"
	}
	dr, err := d.outbox.Get(ctx, ref)
	return err == nil && (dr.State == outbox.Pending || dr.State == outbox.Uncertain)
}

// trigger answers a press about a trigger: an owner's alone.
func (d desk) trigger(ctx context.Context, p presser, k threads.Token, verb string) {
	if p.role != Owner {
		d.refuse(ctx, p, "trigger", k.Ref, verb, "not theirs", "Only an owner decides about triggers.")
		return
	}
	switch verb {
	case verbRead, verbNext, verbBack, verbGo:
		d.turn(ctx, p, k, verb)
		return
	}
	w := triggers.Who{Team: p.Team, User: p.User, Surface: "slack"}
	status := ""
	t, err := d.triggers.Get(ctx, k.Ref)
	switch {
	case errors.Is(err, triggers.ErrNotFound):
		d.slack.tell(ctx, p.Press, "This trigger is gone already.")
	case err != nil:
		d.failed(ctx, p, err)
		return
	case verb == verbAccept && t.State != "proposed", verb == verbDecline && t.State != "proposed":
		d.slack.tell(ctx, p.Press, "Already decided: this trigger is "+t.State+".")
	case verb == verbAccept && int64(k.Revision) != t.Version:
		d.slack.tell(ctx, p.Press, "This trigger has changed since it was shown. Nothing was accepted; read the card again.")
	case verb == verbAccept, verb == verbEnable:
		_, _, err = d.triggers.SetState(ctx, w, k.Ref, "enabled")
		status = "✓ *Accepted*: the trigger " + inCode(k.Ref)
	case verb == verbDecline:
		_, _, err = d.triggers.SetState(ctx, w, k.Ref, "deleted")
		status = "✕ *Rejected*: the trigger " + inCode(k.Ref)
	case verb == verbDisable:
		_, _, err = d.triggers.SetState(ctx, w, k.Ref, "disabled")
	case verb == verbRun:
		if _, err = d.triggers.RunNow(ctx, ctx, w, k.Ref); err == nil {
			d.slack.tell(ctx, p.Press, inCode(k.Ref)+" runs now.")
		}
	}
	if err != nil && !errors.Is(err, triggers.ErrNotFound) {
		d.slack.tell(ctx, p.Press, "That did not work: "+quoted(err.Error(), 300))
	}
	d.redraw(ctx, threads.PostTrigger, k.Ref)
	if inModal(k) {
		d.onward(ctx, p, k, status)
		return
	}
	d.afterHome(ctx, p, k)
}
