package main

import (
	"context"
	"errors"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// goals joins the conversation's goal with what the outbox knows that serves it.
type goals struct{ a *app }

func (g goals) ProposeGoal(ctx context.Context, thread, text string, taint tools.Taint) error {
	_, err := g.a.threads.ProposeGoal(ctx, thread, text, threads.GoalByAgent, taint)
	return err
}

func (g goals) GoalOf(ctx context.Context, thread string) (s agent.GoalState, err error) {
	active, _, err := g.a.threads.ActiveGoal(ctx, thread)
	if err != nil {
		return s, err
	}
	proposed, _, err := g.a.threads.GoalProposed(ctx, thread)
	if err != nil {
		return s, err
	}
	s.Accepted, s.Proposed = active.Text, proposed.Text
	if s.Rules, err = g.a.outbox.Rules(ctx); err != nil {
		return s, err
	}
	list, err := g.a.outbox.List(ctx, outbox.Filter{All: true, Thread: thread})
	if err != nil {
		return s, err
	}
	for i := len(list) - 1; i >= 0; i-- { // decided ones come oldest first
		if list[i].State == outbox.Released {
			s.Examples = append(s.Examples, list[i].Tool+": "+list[i].Summary)
		}
	}
	return s, nil
}

// draftState is how a draft of a conversation stands; "" where it is none of it.
func (a *app) draftState(ctx context.Context, thread, id string) (string, error) {
	d, err := a.outbox.Get(ctx, id)
	switch {
	case errors.Is(err, outbox.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	case d.Thread != thread:
		return "", nil
	}
	return string(d.State), nil
}
