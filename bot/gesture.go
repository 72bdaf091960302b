package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/threads"
)

// Kinds of gestures besides those that Slack names (Press.Kind).
const (
	gestureWord = "word"                  // a command word, typed
	gestureStop = "agent_session_stopped" // Slack's own stop button
)

// redoTime is how long what an earlier process left undone may hold up the
// start; what takes longer goes on beside it.
const redoTime = 20 * time.Second

// keep commits a gesture under a key, before its ack, and answers what is to be
// done after it; nil where the same gesture was kept before.
func (b *Bot) keep(ctx context.Context, key string, p Press) (after func(), err error) {
	p.ID = key
	body, err := encodeJSON(p)
	if err != nil {
		return nil, fmt.Errorf("cannot keep what a person did: %w", err)
	}
	id, fresh, err := b.Threads.KeepGesture(ctx, threads.Gesture{App: b.me.App, Team: p.Team, Key: key, Body: body})
	if err != nil || !fresh {
		return nil, err
	}
	return func() { b.do(ctx, id, p) }, nil
}

// keepAck keeps a gesture, acknowledges it and has it done. What could not be
// kept is not acknowledged: Slack tells the person that it did not work.
func (b *Bot) keepAck(ctx context.Context, e envelope, p Press) {
	after, err := b.keep(ctx, p.Kind+":"+or(p.TriggerID, e.ID), p)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Error("cannot keep what a person did; Slack tells them", "kind", p.Kind, "user", p.User, "error", err)
		}
		return
	}
	e.ack(nil)
	if after != nil {
		b.putOff(ctx, after)
	}
}

// do does a gesture and forgets it. Whatever it decides is decided once, by the
// row that it decides about: done again after a crash, it finds that it was done.
func (b *Bot) do(ctx context.Context, id int64, p Press) {
	switch p.Kind {
	case "slash_command":
		b.command(ctx, p)
	case gestureWord:
		if run := b.verb(p.Text, p); run != nil {
			run(ctx)
		}
	case gestureStop:
		b.stopAt(ctx, p.Team, p.User, p.Channel, p.ThreadTS)
	default:
		b.landed(ctx, p)
		b.pressed(ctx, p)
	}
	if ctx.Err() == nil { // else it may have been cut short: the next process does it again
		b.forget(ctx, id)
	}
}

func (b *Bot) forget(ctx context.Context, gesture int64) {
	if err := b.Threads.GestureDone(ctx, gesture); err != nil && ctx.Err() == nil {
		b.Log.Error("cannot note that what a person did is done; it is done again after the next start", "gesture", gesture, "error", err)
	}
}

// redo does what people did and an earlier process acknowledged and did not
// come to do, in their order. It goes before cards are rendered again: a press
// counts for the rendering that it was made on. What is older than an hour is
// not done behind people's backs; they are told.
func (b *Bot) redo(ctx context.Context) {
	list, err := b.Threads.Gestures(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Error("cannot read what people did before the last stop", "error", err)
		}
		return
	}
	for _, g := range list {
		var p Press
		switch err := json.Unmarshal(g.Body, &p); {
		case ctx.Err() != nil:
			return
		case g.Team != b.me.Team:
		case err != nil:
			b.Log.Error("cannot read what a person did before the last stop; it is left", "key", g.Key, "error", err)
			b.forget(ctx, g.ID)
		case b.Now().Sub(g.Received) > lateAfter:
			b.tell(ctx, p, fmt.Sprintf("You %s %s ago, just before I was stopped. I have not done it: do it again if it still holds.", p.words(), age(b.Now().Sub(g.Received))))
			b.forget(ctx, g.ID)
		default:
			b.do(ctx, g.ID, p)
		}
	}
}

// words says what a person did.
func (p Press) words() string {
	switch p.Kind {
	case "slash_command":
		return "ran `" + short(p.Callback+" "+p.Text, 60) + "`"
	case gestureWord:
		return "said `" + p.Text + "`"
	case "shortcut", "message_action":
		return "used a shortcut"
	}
	return "pressed a button"
}
