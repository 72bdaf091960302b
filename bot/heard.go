package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/triggers"
)

// heard gives a message that is not ours to answer to the triggers that watch
// its channel. What it causes is in the ledger when heard returns, so that the
// message may be acknowledged: told again, it causes nothing again. Bots, edits
// and our own words never come here (the gate), and a message to us is answered
// instead.
func (b *Bot) heard(ctx context.Context, e event) error {
	ev := e.Event
	if b.Triggers == nil || ev.Type != "message" || strings.HasPrefix(ev.Channel, "D") {
		return nil
	}
	done, err := b.Triggers.Heard(ctx, ctx, triggers.Message{Channel: ev.Channel, TS: ev.TS, Text: plain(ev.Text, "")})
	if err != nil {
		return fmt.Errorf("cannot give message %s to the triggers of channel %s: %w", ev.TS, ev.Channel, err)
	}
	for _, d := range done {
		b.Log.Info("a message in a watched channel", "trigger", d.Trigger, "user", ev.User, "channel", ev.Channel, "do", d.Do, "reason", d.Reason)
	}
	return nil
}
