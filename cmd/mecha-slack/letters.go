package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// letters joins message_send with the sessions, and with the triggers whose runs
// it may write to.
type letters struct{ a *app }

func (l letters) SendLetter(ctx context.Context, from, run, to, body string, taint tools.Taint) (string, error) {
	if name, ok := strings.CutPrefix(to, threads.ToTrigger); ok {
		if err := l.ours(ctx, from, name); err != nil {
			return "", fmt.Errorf("the message was not sent: %w", err)
		}
	}
	sent, err := l.a.threads.SendLetter(ctx, from, run, to, body, taint)
	if err != nil {
		return "", err
	}
	if sent.State == "held" {
		return fmt.Sprintf("Sent to %s. It waits there on a card for the owner to let it in, and is read at that conversation's next turn after that.", sent.Receiver), nil
	}
	return fmt.Sprintf("Sent to %s. Its next run reads it.", sent.Receiver), nil
}

// ours tells whether a trigger runs for the owner of a conversation.
func (l letters) ours(ctx context.Context, thread, name string) error {
	th, err := l.a.threads.Thread(ctx, thread)
	if err != nil {
		return err
	}
	if l.a.triggerNamed == nil {
		return errors.New("there are no triggers in this start")
	}
	tr, err := l.a.triggerNamed(ctx, name)
	if errors.Is(err, triggers.ErrNotFound) || err == nil && (tr.State != "enabled" || tr.By != "" && tr.By != th.Owner) {
		return fmt.Errorf("%w: no enabled trigger of this owner is called %q", threads.ErrNoReceiver, name)
	}
	return err
}
