package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// nextTimes is how many of a trigger's times are told.
const nextTimes = 5

// render answers what a post shall show now: its rows are read, and one of the
// pure functions card_*.go makes the card of them.
func (b *Bot) render(ctx context.Context, p threads.Post) (Rendering, error) {
	d := b.desk()
	token := d.mint()
	switch p.Kind {
	case threads.PostNote:
		var body noteBody
		if err := json.Unmarshal(p.Body, &body); err != nil {
			return Rendering{}, fmt.Errorf("cannot read note %d: %w", p.ID, err)
		}
		if body.Thread == "" {
			return noteCard(body, nil, ""), nil
		}
		th, err := b.Threads.Thread(ctx, body.Thread)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the controls of %s: %w", body.Thread, err)
		}
		return noteCard(body, &th, token), nil
	case PostFile:
		return fileCard(p.Ref, b.cfg.MaxUploadBytes)
	case threads.PostApproval:
		a, err := b.Threads.Approval(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render call %s: %w", p.Ref, err)
		}
		return callCard(a, b.copyLead(ctx, p, a.Thread, a.Tool), token), nil
	case threads.PostDraft:
		v, err := d.draftView(ctx, p.Ref, true)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render draft %s: %w", p.Ref, err)
		}
		v.Lead = b.copyLead(ctx, p, v.Thread, v.Tool)
		r := draftCard(v, token)
		if v.Kind == outbox.Publish && v.State == outbox.Pending && p.TS == "" {
			files, err := d.bundleFiles(ctx, v)
			if err != nil {
				b.Log.Warn("a publication is not attached to its card", "draft", v.ID, "error", err) // the card names where it lies
			}
			r.Attach = append(r.Attach, files...)
		}
		return r, nil
	case PostRules:
		rules, err := d.rulesOf(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the writing rules: %w", err)
		}
		return rulesCard(p.Ref, rules, token), nil
	case threads.PostQuestion:
		q, err := b.Threads.Question(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render question %s: %w", p.Ref, err)
		}
		return questionCard(q, token), nil
	case threads.PostForm:
		f, err := b.Threads.Form(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the question %s of a server: %w", p.Ref, err)
		}
		return serverCard(f, token), nil
	case threads.PostPin:
		v, err := d.pinView(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the change of tool %s: %w", p.Ref, err)
		}
		return pinCard(v, token), nil
	case threads.PostTrigger:
		v, err := d.triggerView(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render trigger %s: %w", p.Ref, err)
		}
		return triggerCard(v, token), nil
	case threads.PostGoal:
		g, err := b.Threads.Goal(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render goal %s: %w", p.Ref, err)
		}
		return goalCard(g, token), nil
	case threads.PostLetter:
		return b.renderLetter(ctx, p.Ref, token)
	case threads.PostPlan:
		th, err := b.Threads.Thread(ctx, p.Ref)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the plan of %s: %w", p.Ref, err)
		}
		return planCard(th, token), nil
	case threads.PostLate:
		id, err := strconv.ParseInt(p.Ref, 10, 64)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render late message %q: its id is no number", p.Ref)
		}
		l, err := b.Threads.LateMessage(ctx, id)
		if err != nil {
			return Rendering{}, err
		}
		return lateCard(l, token), nil
	case threads.PostDigest:
		v, err := b.digestView(ctx, p)
		if err != nil {
			return Rendering{}, fmt.Errorf("cannot render the digest of %s: %w", p.Ref, err)
		}
		return digestCard(v, p.Ref, token), nil
	}
	return Rendering{}, fmt.Errorf("cannot render a post of the kind %q", p.Kind)
}

func (d desk) triggerView(ctx context.Context, name string) (triggerView, error) {
	t, err := d.triggers.Get(ctx, name)
	if errors.Is(err, triggers.ErrNotFound) {
		return triggerView{Trigger: triggers.Trigger{Name: name}, Gone: true}, nil
	}
	if err != nil {
		return triggerView{}, err
	}
	return triggerView{Trigger: t, Next: d.triggers.Next(t, nextTimes, d.now())}, nil
}

// digestBody is what a digest's post holds.
type digestBody struct {
	User    string `json:"user"`
	Morning bool   `json:"morning"`
}

// night is how far back a digest tells of triggers.
const night = 24 * time.Hour

func (b *Bot) digestView(ctx context.Context, p threads.Post) (digestView, error) {
	var body digestBody
	if err := json.Unmarshal(p.Body, &body); err != nil {
		return digestView{}, err
	}
	created := p.Created
	if created.IsZero() {
		created = b.Now()
	}
	w, err := b.desk().waiting(ctx, p.Place.Team, body.User, created)
	return digestView{waiting: w, Morning: body.Morning, Counts: !b.trusted(ctx, p.Place.Channel)}, err
}

// showStatus posts how things stand, with the controls of the thread that it is
// posted in, if it is one.
func (b *Bot) showStatus(ctx context.Context, at threads.Place) error {
	body := noteBody{Text: b.statusText(ctx, at)}
	if key, ok, err := b.Threads.KeyOf(ctx, at); err == nil && ok {
		if _, err := b.Threads.Thread(ctx, key); err == nil {
			body.Thread = key
		}
	}
	raw, err := encodeJSON(body)
	if err != nil {
		return err
	}
	_, err = b.Threads.AddPost(ctx, threads.Post{Thread: body.Thread, Kind: threads.PostNote, Ref: b.NewID(), Place: at, Body: raw})
	b.kick()
	return err
}
