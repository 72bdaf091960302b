package bot

import (
	"context"
	"errors"
	"net/url"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/threads"
)

// codeSent binds somebody who has sent a code of `mecha-slack link`, before the
// ack: their next word counts. A wrong one counts against every open code.
func (b *Bot) codeSent(ctx context.Context, e event) (after func(), err error) {
	ev := e.Event
	fresh, err := b.Threads.Seen(ctx, e.App, e.Team, "code:"+ev.Channel+":"+ev.TS)
	if err != nil || !fresh {
		return nil, err
	}
	// Its key is kept like that of any message that is not answered: catch-up
	// must not take it for an owner's later.
	if err := b.Threads.Ignore(ctx, e.App, e.Team, ev.Channel, ev.TS, e.ID); err != nil {
		return nil, err
	}
	who := Person{Team: e.Team, User: ev.User, DM: ev.Channel}
	err = b.people().Redeem(ctx, who, ev.Text)
	wrong := errors.Is(err, ErrNoCode)
	if err != nil && !wrong {
		return nil, err
	}
	return func() {
		at := threads.Place{Team: e.Team, Channel: ev.Channel, ThreadTS: ev.TS}
		if wrong {
			b.Log.Warn("somebody sent a code that is not open", "team", e.Team, "user", ev.User)
			b.say(ctx, at, "This is not a code that is open. Run `mecha-slack link` on the machine for a new one.")
			return
		}
		b.Log.Info("a new owner is bound", "team", e.Team, "user", ev.User)
		b.acquaint(ctx, who)
		b.say(ctx, at, "You own this bot now: I answer you, here and where you mention me, and ask you before I change something. `help` says how.")
	}, nil
}

func (b *Bot) say(ctx context.Context, at threads.Place, text string) {
	if err := b.note(ctx, at, "", text); err != nil && ctx.Err() == nil {
		b.Log.Error("cannot answer", "channel", at.Channel, "error", err)
	}
}

// acquaint asks Slack for a new owner's name and time zone.
func (b *Bot) acquaint(ctx context.Context, who Person) {
	var a struct {
		User struct {
			Name    string `json:"name"`
			Zone    string `json:"tz"`
			Profile struct {
				Display string `json:"display_name"`
			} `json:"profile"`
		} `json:"user"`
	}
	if err := b.budget.wait(ctx, "users.info", ""); err != nil {
		return
	}
	if err := b.fetchJSON(ctx, "users.info", url.Values{"user": {who.User}}, &a); err != nil {
		b.Log.Warn("cannot ask for a new owner's time zone", "user", who.User, "error", err)
		return
	}
	who.Name, who.Zone = or(a.User.Profile.Display, a.User.Name), a.User.Zone
	err := b.DB.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qPersonAbout, who.Name, who.Zone, who.Team, who.User)
		return err
	})
	if err != nil && ctx.Err() == nil {
		b.Log.Error("cannot note a new owner's time zone", "user", who.User, "error", err)
	}
}
