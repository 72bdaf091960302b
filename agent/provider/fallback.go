package provider

import (
	"context"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
)

// WithFallbacks is first, with others to ask where it cannot be reached: for
// one turn at a time, only on a transient error, and only before anything of an
// answer was shown. What they answer carries their own model's name.
func WithFallbacks(first Model, others ...Model) Model {
	if len(others) == 0 {
		return first
	}
	return &chain{first, others}
}

type chain struct {
	Model
	others []Model
}

func (c *chain) Stream(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	begun := false
	tell := func(d agent.Delta) {
		begun = begun || d.Text != "" || d.Reasoning != "" || d.CallName != ""
		emit(d)
	}
	turn, err := c.Model.Stream(ctx, req, tell)
	for _, m := range c.others {
		var me *agent.ModelError
		if err == nil || begun || ctx.Err() != nil || !errors.As(err, &me) || me.Kind != agent.ErrTransient {
			return turn, err
		}
		emit(agent.Delta{Notice: fmt.Sprintf("%v; asking %s instead", err, m.Name())})
		turn, err = m.Stream(ctx, req, tell)
	}
	return turn, err
}
