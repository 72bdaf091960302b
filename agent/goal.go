package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Goals keeps what a conversation is for. A goal counts once the owner accepted it.
type Goals interface {
	// GoalOf answers how things stand.
	GoalOf(ctx context.Context, thread string) (GoalState, error)
	// ProposeGoal lays a goal before the owner. It changes nothing until it is
	// accepted there; the same text again is the same proposal.
	ProposeGoal(ctx context.Context, thread, text string, taint tools.Taint) error
}

// GoalState is a conversation's goal, and what helps to serve it.
type GoalState struct {
	Accepted string
	Proposed string   // waits for the owner
	Rules    []string // the owner's own, for what is written for others
	Examples []string // what was drafted here and really went out, newest first
}

// How much of the owner's rules and examples a call tells.
const (
	goalRules    = 4
	goalExamples = 2
)

// goalTool is goal_context.
type goalTool struct{ goals Goals }

func (goalTool) Name() string { return "goal_context" }
func (goalTool) Description() string {
	return "What this conversation is for, as the owner accepted it, with the owner's writing rules and what was sent for it last. With `propose` you lay a goal before the owner as a card: one sentence that says when the work is done. It counts once it is accepted there, so go on with what was asked meanwhile, and never say that it is accepted before this tool does."
}
func (goalTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"propose":{"type":"string","minLength":1,"maxLength":500,"description":"A goal to lay before the owner; left out: only look"}},"additionalProperties":false}`)
}
func (goalTool) ReadOnly() bool                   { return true }
func (goalTool) Repeatable() bool                 { return true } // the same proposal twice is one
func (goalTool) Personal() bool                   { return true }
func (goalTool) Capabilities() tools.Capabilities { return tools.Capabilities{PrivateData: true} }

func (t goalTool) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct{ Propose string }
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	if p := strings.TrimSpace(args.Propose); p != "" {
		if err := t.goals.ProposeGoal(ctx, env.Thread, p, env.Taint); err != nil {
			return tools.Fail(err.Error()), nil
		}
	}
	g, err := t.goals.GoalOf(ctx, env.Thread)
	if err != nil {
		return tools.Fail(err.Error()), nil
	}
	return tools.OK(g.String()), nil
}

func (g GoalState) String() string {
	var b strings.Builder
	switch {
	case g.Accepted != "":
		fmt.Fprintf(&b, "Goal, accepted by the owner: %s\n", g.Accepted)
	default:
		b.WriteString("This conversation has no accepted goal.\n")
	}
	if g.Proposed != "" {
		fmt.Fprintf(&b, "Proposed, waiting on a card for the owner: %s\n", g.Proposed)
	}
	list := func(heading string, lines []string, most int) {
		for i, l := range lines[:min(len(lines), most)] {
			if i == 0 {
				b.WriteString(heading + "\n")
			}
			fmt.Fprintf(&b, "- %s\n", oneLine(l, 400))
		}
	}
	list("How the owner wants drafts written:", g.Rules, goalRules)
	list("What was drafted here and went out, newest first:", g.Examples, goalExamples)
	return strings.TrimRight(b.String(), "\n")
}
