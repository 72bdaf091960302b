package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// surface is what a press needs of Slack; Bot is one.
type surface interface {
	role(ctx context.Context, team, user string) (Role, error)
	openView(ctx context.Context, triggerID string, view json.RawMessage) (id, hash string, err error)
	pushView(ctx context.Context, triggerID string, view json.RawMessage) (id, hash string, err error)
	updateView(ctx context.Context, id, hash string, view json.RawMessage) error
	publishHome(ctx context.Context, user string, view json.RawMessage) error
	// tell says a line to the presser only.
	tell(ctx context.Context, p Press, text string)
	// kick says that posts may be due.
	kick()
}

// desk answers presses. What a press does is decided by the row of its token
// and by threads, outbox and triggers; what it looks like afterwards is rendered
// from the record. Every press gets an answer: the card changes, a view opens,
// or a line tells the presser why not.
type desk struct {
	slack     surface
	threads   *threads.Threads
	outbox    *outbox.Outbox
	triggers  *triggers.Triggers
	approvers map[string][]string // user → tools; "*": all
	now       func() time.Time
	newID     func() string
	log       *slog.Logger
	me        string // our own user
	url       string // the workspace's address
	home      func(ctx context.Context, team, user string)
	// begin opens a session in the presser's DM, once for each ref, and answers
	// words for where it is, and its key.
	begin func(ctx context.Context, p Press, ref, text string, c *chosen) (where, key string, err error)
	// name is how a person is called, "" where nobody says; nil: nobody is asked.
	name func(ctx context.Context, user string) string
}

func (b *Bot) desk() desk {
	return desk{
		slack: b, threads: b.Threads, outbox: b.Outbox, triggers: b.Triggers,
		approvers: b.cfg.Approvers, now: b.Now, newID: b.NewID, log: b.Log, home: b.home,
		me: b.me.User, url: b.me.URL, begin: b.begin, name: b.personName,
	}
}

// pressed answers a press of a button (or a closed view), after its ack.
func (b *Bot) pressed(ctx context.Context, p Press) {
	switch p.Kind {
	case "block_actions":
		b.desk().pressed(ctx, p)
	case "view_closed":
		b.desk().closed(ctx, p)
	case "shortcut", "message_action":
		b.desk().shortcut(ctx, p)
	}
}

// submitted answers a modal's submission with the payload of its ack.
func (b *Bot) submitted(ctx context.Context, p Press) json.RawMessage {
	return b.desk().submitted(ctx, p)
}

// Kinds of tokens besides a call's, a draft's and a question's.
const (
	kindTrigger = "trigger"
	kindLate    = "late"
	kindWaits   = "waits"  // what waits: the digest and the Home tab
	kindThread  = "thread" // a running thread's controls
	kindAll     = "all"    // everything: pause, resume
)

// presser is who pressed, and what they may.
type presser struct {
	Press
	role Role
}

// decides tells whether the presser may decide about a tool's calls and drafts.
func (d desk) decides(p presser, tool string) bool {
	if p.role == Owner {
		return true
	}
	tools := d.approvers[p.User]
	return p.role == Approver && (slices.Contains(tools, tool) || slices.Contains(tools, "*"))
}

func (p Press) who() threads.Who { return threads.Who{Team: p.Team, User: p.User, Surface: "slack"} }

func (d desk) pressed(ctx context.Context, press Press) {
	kind, verb, _ := strings.Cut(press.ActionID, ".")
	p, k, ok := d.admit(ctx, press, press.Value, verb)
	if !ok {
		return
	}
	if k.Kind != kind || !slices.Contains(k.Choices, verb) {
		d.refuse(ctx, p, k.Kind, k.Ref, verb, "the button does not offer that", "This button does not do that. Nothing has happened.")
		return
	}
	switch kind {
	case kindCall:
		d.call(ctx, p, k, verb)
	case kindDraft:
		d.draft(ctx, p, k, verb)
	case kindQuestion:
		d.question(ctx, p, k, verb)
	case kindForm:
		d.serverAsked(ctx, p, k, verb)
	case kindPin:
		d.pinned(ctx, p, k, verb)
	case kindTrigger:
		d.trigger(ctx, p, k, verb)
	case kindRule:
		d.rule(ctx, p, k, verb)
	case kindGoal:
		d.goal(ctx, p, k, verb)
	case kindPlan:
		d.planning(ctx, p, k, verb)
	case kindLetter:
		d.letter(ctx, p, k, verb)
	case kindLate:
		d.late(ctx, p, k)
	case kindWaits:
		d.waits(ctx, p, k, verb)
	case kindThread:
		d.thread(ctx, p, k, verb)
	case kindAll:
		d.all(ctx, p, verb)
	default:
		d.refuse(ctx, p, kind, "", verb, "no such button", "I don't know this button. Nothing has happened.")
	}
}

// admit finds the token's row and tells whether the press counts: it comes from
// somebody who decides anything here, with a token that we minted, from the very
// message or view that it was put on.
func (d desk) admit(ctx context.Context, press Press, token, verb string) (p presser, k threads.Token, ok bool) {
	p = presser{Press: press}
	var err error
	if p.role, err = d.slack.role(ctx, press.Team, press.User); err != nil {
		d.failed(ctx, p, err)
		return p, k, false
	}
	if p.role != Owner && p.role != Approver {
		d.refuse(ctx, p, "press", press.ActionID, verb, "a stranger", "This is not yours to decide. Nothing has happened.")
		return p, k, false
	}
	k, err = d.threads.TokenRow(ctx, token)
	switch {
	case errors.Is(err, threads.ErrNotFound):
		d.stale(ctx, p, verb)
		return p, k, false
	case err != nil:
		d.failed(ctx, p, err)
		return p, k, false
	case !standsOn(k, press):
		if d.unplaced(ctx, k, press) {
			d.slack.tell(ctx, press, "I am still putting this card in its place. Press again in a moment; nothing has happened.")
			return p, k, false
		}
		d.refuse(ctx, p, k.Kind, k.Ref, verb, "pressed from another place than it was put on", "This button does not belong here. Nothing has happened.")
		return p, k, false
	}
	return p, k, true
}

// viewHome stands in a token's row for the Home tab of its user, whose view has
// no id before it is published.
const viewHome = "home"

// standsOn tells whether the press came from where the token was put.
func standsOn(k threads.Token, p Press) bool {
	switch {
	case k.View == viewHome:
		return k.User == p.User && p.TS == "" && p.ViewID != ""
	case k.View != "":
		return k.View == p.ViewID && k.User == p.User
	}
	return k.TS != "" && p.ViewID == "" && k.TS == p.TS && k.Channel == p.Channel
}

// unplaced tells that the token's post was sent and Slack's answer, with its
// ts, is not here yet.
func (d desk) unplaced(ctx context.Context, k threads.Token, p Press) bool {
	if k.View != "" || k.TS != "" || k.Channel != p.Channel || k.Post == 0 {
		return false
	}
	post, err := d.threads.Post(ctx, k.Post)
	return err == nil && post.State == threads.PostPosting
}

// stale answers a press whose token is gone: the card that stands there has been
// rendered anew since, or nobody made the button. It is rendered again, and the
// presser hears how things stand.
func (d desk) stale(ctx context.Context, p presser, verb string) {
	post, err := d.threads.PostAt(ctx, p.Channel, p.TS)
	if err != nil || p.TS == "" {
		d.refuse(ctx, p, "press", p.ActionID, verb, "a button that nobody minted", "This button is not valid any more. Nothing has happened.")
		return
	}
	d.act(ctx, p, verb, string(post.Kind), post.Ref, "stale: an earlier rendering's button")
	d.redraw(ctx, post.Kind, post.Ref)
	said := "This button is of an earlier version of the card; nothing has happened. The card is up to date now."
	if s := d.standing(ctx, post.Kind, post.Ref); s != "" {
		said += "\n" + s
	}
	d.slack.tell(ctx, p.Press, said)
}

// standing says in one line how something stands, or "".
func (d desk) standing(ctx context.Context, kind threads.PostKind, ref string) string {
	switch kind {
	case threads.PostApproval:
		if a, err := d.threads.Approval(ctx, ref); err == nil {
			return approvalStatus(a)
		}
	case threads.PostDraft:
		if v, err := d.draftView(ctx, ref, false); err == nil {
			return draftStatus(v)
		}
	case threads.PostQuestion:
		if q, err := d.threads.Question(ctx, ref); err == nil && q.State != "open" {
			return "✓ *Answered* by " + who(q.By)
		}
	}
	return ""
}

func (d desk) redraw(ctx context.Context, kind threads.PostKind, ref string) {
	if err := d.threads.Redraw(ctx, kind, ref); err != nil && ctx.Err() == nil {
		d.log.Error("cannot ask for a card to be rendered again", "kind", kind, "ref", ref, "error", err)
	}
	d.slack.kick()
}

// refuse answers a press that may not be, and leaves a row.
func (d desk) refuse(ctx context.Context, p presser, kind, ref, verb, why, say string) {
	d.act(ctx, p, verb, kind, ref, "refused: "+why)
	d.log.Warn("a press is refused", "team", p.Team, "user", p.User, "verb", verb, "kind", kind, "why", why)
	d.slack.tell(ctx, p.Press, say)
}

func (d desk) act(ctx context.Context, p presser, verb, kind, ref, outcome string) {
	err := d.threads.Acted(ctx, threads.Act{Team: p.Team, User: p.User, Surface: "slack", Verb: verb, Kind: kind, Ref: ref, Outcome: outcome})
	if err != nil && ctx.Err() == nil {
		d.log.Error("cannot note a press", "error", err)
	}
}

// failed answers a press that could not be served.
func (d desk) failed(ctx context.Context, p presser, err error) {
	if ctx.Err() != nil {
		return
	}
	d.log.Error("a press could not be served", "action", p.ActionID, "user", p.User, "error", err)
	d.slack.tell(ctx, p.Press, "That did not work: "+quoted(err.Error(), 500)+" Nothing was decided; press again.")
}

func (d desk) mint() string { return "t" + d.newID() }

// ---- calls

func (d desk) call(ctx context.Context, p presser, k threads.Token, verb string) {
	a, err := d.threads.Approval(ctx, k.Ref)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	ownerOnly := verb == verbApproveRun || verb == verbAgain
	switch {
	case !strings.HasPrefix(a.Thread, p.Team+"/"):
		d.refuse(ctx, p, "call", k.Ref, verb, "another workspace", "This call belongs to another workspace; it is decided there.")
		return
	case !d.decides(p, a.Tool), ownerOnly && p.role != Owner:
		d.refuse(ctx, p, "call", k.Ref, verb, "not theirs", "This is not yours to decide: "+d.whose(a.Tool, ownerOnly))
		return
	}
	switch verb {
	case verbApprove, verbApproveRun:
		choice := threads.Approve
		if verb == verbApproveRun {
			choice = threads.ApproveRun
		}
		a, fresh, err := d.threads.DecideCall(ctx, p.who(), a.Call, k.Digest, choice, "")
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.settled(ctx, p, k, threads.PostApproval, approvalStatus(a), fresh)
	case verbReject:
		if a.State != "pending" {
			d.settled(ctx, p, k, threads.PostApproval, approvalStatus(a), false)
			return
		}
		d.form(ctx, p, k, "Reject", func(k threads.Token) json.RawMessage { return rejectView(inputLine(a), k) })
	case verbAgain:
		if err := d.threads.AskAgain(ctx, p.who(), a.Call); err != nil {
			d.slack.tell(ctx, p.Press, quoted(err.Error(), 300))
		} else {
			d.slack.tell(ctx, p.Press, "I ask again, with a new card.")
		}
		d.redraw(ctx, threads.PostApproval, a.Call)
	default:
		d.turn(ctx, p, k, verb)
	}
}

func (d desk) whose(tool string, ownerOnly bool) string {
	if ownerOnly {
		return "only an owner may."
	}
	return "`" + tool + "` is decided by an owner" + map[bool]string{true: " or an approver named for it."}[len(d.approvers) > 0]
}

// settled ends a press that decided, or found it decided: the card follows the
// record, the modal goes on or says its end, and whoever came second hears what
// had happened before.
func (d desk) settled(ctx context.Context, p presser, k threads.Token, kind threads.PostKind, status string, fresh bool) {
	d.redraw(ctx, kind, k.Ref)
	switch {
	case inModal(k):
		d.onward(ctx, p, k, status)
	case !fresh:
		d.slack.tell(ctx, p.Press, "Already decided. "+status)
	}
}

func inModal(k threads.Token) bool { return k.View != "" && k.View != viewHome }

// ---- drafts

// draftView reads a draft with what its card and modals show besides.
func (d desk) draftView(ctx context.Context, id string, source bool) (draftView, error) {
	dr, err := d.outbox.Get(ctx, id)
	if err != nil {
		return draftView{}, err
	}
	d.outbox.Hide(&dr)
	v := draftView{Draft: dr, Now: d.now()}
	v.Edits = outbox.Changes(dr)
	v.Bundle, _ = outbox.BundleOf(dr)
	if source && dr.Waiting() {
		if v.Answers, err = d.outbox.Source(ctx, dr); err != nil {
			return v, err
		}
	}
	if v.Paused, err = d.threads.Paused(ctx); err != nil {
		return v, err
	}
	v.Behind, err = d.behind(ctx, dr)
	return v, err
}

// behind are the calls that an approved draft waits for: those of its
// conversation that run, where it names files that they could change.
func (d desk) behind(ctx context.Context, dr outbox.Draft) (calls []threads.CallLine, err error) {
	if dr.State != outbox.Approved || !d.outbox.WaitsForCalls(dr) {
		return nil, nil
	}
	runs, err := d.threads.Runs(ctx, dr.Thread)
	for _, r := range runs {
		if err != nil || !r.Ended.IsZero() {
			continue
		}
		var list []threads.CallLine
		list, err = d.threads.Calls(ctx, r.ID)
		for _, c := range list {
			if c.State == agent.Executing {
				calls = append(calls, c)
			}
		}
	}
	return calls, err
}

func (d desk) draft(ctx context.Context, p presser, k threads.Token, verb string) {
	v, err := d.draftView(ctx, k.Ref, false)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	switch {
	case v.Team != "" && v.Team != p.Team:
		d.refuse(ctx, p, "draft", k.Ref, verb, "another workspace", "This draft belongs to another workspace; it is decided there.")
		return
	case !d.decides(p, v.Tool):
		d.refuse(ctx, p, "draft", k.Ref, verb, "not theirs", "This is not yours to decide: "+d.whose(v.Tool, false))
		return
	}
	switch verb {
	case verbApprove, verbSend:
		_, err := d.outbox.Approve(ctx, outbox.Decision{ID: v.ID, Revision: k.Revision, Digest: k.Digest, By: p.User, Surface: "slack", Team: p.Team, Second: verb == verbSend})
		d.decidedDraft(ctx, p, k, err)
	case verbCancel:
		_, err := d.outbox.Cancel(ctx, v.ID, p.User, "slack")
		d.decidedDraft(ctx, p, k, err)
	case verbReject:
		if v.State != outbox.Pending && v.State != outbox.Approved {
			d.settled(ctx, p, k, threads.PostDraft, draftStatus(v), false)
			return
		}
		d.form(ctx, p, k, "Reject", func(k threads.Token) json.RawMessage { return rejectView(v.ID+"  "+draftTitle(v.Draft), k) })
	case verbArrived, verbNotArrived:
		if v.State != outbox.Uncertain {
			d.settled(ctx, p, k, threads.PostDraft, draftStatus(v), false)
			return
		}
		delivered := verb == verbArrived
		d.form(ctx, p, withChoice(k, "outcome="+map[bool]string{true: "delivered", false: "not-delivered"}[delivered]), "Settle",
			func(k threads.Token) json.RawMessage { return reconcileView(v, delivered, k) })
	case verbEdit:
		d.edit(ctx, p, k, v)
	default:
		d.turn(ctx, p, k, verb)
	}
}

// decidedDraft answers what the outbox said to a decision.
func (d desk) decidedDraft(ctx context.Context, p presser, k threads.Token, err error) {
	var state *outbox.StateError
	var changed *outbox.ChangedError
	switch {
	case errors.Is(err, outbox.ErrSecondLook):
		// It became one to read twice after this card was drawn.
		d.redraw(ctx, threads.PostDraft, k.Ref)
		d.turn(ctx, p, k, verbLook)
		return
	case errors.As(err, &changed) && inModal(k):
		d.redraw(ctx, threads.PostDraft, k.Ref)
		d.turn(ctx, p, k, verbLook)
		d.slack.tell(ctx, p.Press, "This draft has changed since it was shown; here it is as it is now. Nothing was approved.")
		return
	case errors.As(err, &changed):
		d.redraw(ctx, threads.PostDraft, k.Ref)
		d.slack.tell(ctx, p.Press, "This draft has changed since it was shown. Nothing was approved; read the card again.")
		return
	case errors.As(err, &state):
	case err != nil:
		var limit *outbox.LimitError
		var yours *outbox.NotYoursError
		if !errors.As(err, &limit) && !errors.As(err, &yours) && !errors.Is(err, outbox.ErrPaused) {
			d.failed(ctx, p, err)
			return
		}
		d.slack.tell(ctx, p.Press, quoted(err.Error(), 500))
		d.redraw(ctx, threads.PostDraft, k.Ref)
		return
	}
	status := d.standing(ctx, threads.PostDraft, k.Ref)
	d.settled(ctx, p, k, threads.PostDraft, status, err == nil)
}

// ---- the rest

func (d desk) question(ctx context.Context, p presser, k threads.Token, verb string) {
	if p.role != Owner {
		d.refuse(ctx, p, "question", k.Ref, verb, "not theirs", "Only an owner answers questions.")
		return
	}
	q, err := d.threads.Question(ctx, k.Ref)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	if q.State != "open" {
		d.settled(ctx, p, k, threads.PostQuestion, "✓ *Answered* by "+who(q.By), false)
		return
	}
	if verb == verbAnswer {
		d.form(ctx, p, k, "Answer", func(k threads.Token) json.RawMessage { return answerView(q, 0, k) })
		return
	}
	var i int
	if _, err := fmt.Sscanf(strings.TrimPrefix(verb, verbOption), "%d", &i); err != nil || i < 0 || i >= len(q.Options) {
		d.refuse(ctx, p, "question", k.Ref, verb, "no such option", "This question has no such option.")
		return
	}
	_, fresh, err := d.threads.AnswerQuestion(ctx, p.who(), q.ID, q.Options[i])
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.settled(ctx, p, k, threads.PostQuestion, "✓ *Answered*: "+quoted(q.Options[i], 200), fresh)
}

func (d desk) late(ctx context.Context, p presser, k threads.Token) {
	if p.role != Owner {
		d.refuse(ctx, p, "late", k.Ref, verbAnswer, "not theirs", "Only an owner's messages are answered.")
		return
	}
	var id int64
	fmt.Sscan(k.Ref, &id)
	err := d.threads.AnswerLate(ctx, id)
	if errors.Is(err, threads.ErrNotFound) {
		d.slack.tell(ctx, p.Press, "That message is answered or withdrawn already.")
	} else if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.redraw(ctx, threads.PostLate, k.Ref)
}

// Verbs of a thread's controls and of everything.
const (
	verbStop   = "stop"
	verbMode   = "mode"
	verbPause  = "pause"
	verbResume = "resume"
)

func (d desk) thread(ctx context.Context, p presser, k threads.Token, verb string) {
	switch {
	case !strings.HasPrefix(k.Ref, p.Team+"/"):
		d.refuse(ctx, p, "thread", k.Ref, verb, "another workspace", "This thread belongs to another workspace.")
	case verb == verbStop:
		stopped, err := d.threads.Stop(ctx, p.who(), k.Ref)
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.afterHome(ctx, p, k)
		if !stopped {
			d.slack.tell(ctx, p.Press, "Nothing is running there any more.")
		}
	case verb == verbPlanFirst || verb == verbPlanNo:
		d.planning(ctx, p, k, verb)
	case strings.HasPrefix(verb, verbMode+":") && p.role == Owner:
		mode, err := threads.ParseMode(strings.TrimPrefix(verb, verbMode+":"))
		if err == nil {
			err = d.threads.SetMode(ctx, p.who(), k.Ref, mode)
		}
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.afterHome(ctx, p, k) // what was pressed shows the mode
	default:
		d.refuse(ctx, p, "thread", k.Ref, verb, "not theirs", "Only an owner changes a thread's mode.")
	}
}

func (d desk) all(ctx context.Context, p presser, verb string) {
	switch {
	case verb == verbPause:
		n, err := d.threads.Pause(ctx, p.who())
		if err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.slack.tell(ctx, p.Press, fmt.Sprintf("Everything is paused: %s stopped, nothing is released until Resume.", plural(n, "run")))
	case p.role != Owner:
		d.refuse(ctx, p, "everything", "", verb, "not theirs", "Only an owner resumes.")
		return
	default:
		if err := d.threads.Resume(ctx, p.who()); err != nil {
			d.failed(ctx, p, err)
			return
		}
		d.slack.tell(ctx, p.Press, "Going on.")
	}
	d.home(ctx, p.Team, p.User)
	d.slack.kick()
}

// afterHome renders again where the press came from: the Home tab, or a post.
func (d desk) afterHome(ctx context.Context, p presser, k threads.Token) {
	if k.View == viewHome {
		d.home(ctx, p.Team, p.User)
	}
	if k.Post != 0 {
		if post, err := d.threads.Post(ctx, k.Post); err == nil {
			d.redraw(ctx, post.Kind, post.Ref)
		}
	}
	d.slack.kick()
}

// choice reads a token's "name=value".
func choice(k threads.Token, name string) string {
	for _, c := range k.Choices {
		if v, ok := strings.CutPrefix(c, name+"="); ok {
			return v
		}
	}
	return ""
}

func withChoice(k threads.Token, c string) threads.Token {
	k.Choices = append(slices.Clone(k.Choices), c)
	return k
}
