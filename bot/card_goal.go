package bot

import (
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// Kinds of the tokens of a goal's card and of the card below a plan.
const (
	kindGoal = "goal"
	kindPlan = "plan"
)

// verbCarryOut ends a thread's planning and has the plan carried out; the other
// two begin and end the planning alone.
const (
	verbCarryOut  = "carry_out"
	verbPlanFirst = "plan_first"
	verbPlanNo    = "plan_no_more"
)

// goalCard is a goal, proposed or decided.
func goalCard(g threads.Goal, token string) Rendering {
	card := blockkit.Card{Text: "◌ A goal for this conversation: " + blockkit.OneLine(g.Text, 300)}
	shown, _ := blockkit.Visible(g.Text, padding)
	for _, part := range blockkit.SplitVerbatim(blockkit.DefuseMarks(shown), blockkit.MaxText) {
		card.Body = append(card.Body, blockkit.Quote(part))
	}
	r := Rendering{Text: card.Text, Final: g.State != "proposed"}
	switch g.State {
	case "active":
		card.Head = []blockkit.Block{para("✓ *Goal*, accepted by %s, %s", who(g.By), day(g.Decided))}
	case "rejected":
		card.Head = []blockkit.Block{para("✕ *Goal rejected* by %s, %s", who(g.By), day(g.Decided))}
	case "replaced":
		card.Head = []blockkit.Block{para("✕ *Withdrawn*: another goal has taken its place")}
	default:
		card.Head = []blockkit.Block{para("◌ *Is this the goal of this conversation?* %s proposed it", orWord(map[bool]string{true: "I", false: who(g.ProposedBy)}[g.ProposedBy == threads.GoalByAgent], "somebody"))}
		if g.Untrusted {
			card.Body = append(card.Body, smallPlain("⚠ proposed in a conversation that holds a third party's text: a stranger may have had a hand in it"))
		}
		row := &buttons{kind: kindGoal, token: token}
		row.add("Accept", verbAccept, blockkit.Neutral).add("Reject", verbReject, blockkit.Neutral)
		card.Foot = []blockkit.Block{row.block(), small("An accepted goal is told to every later run of this conversation")}
		r.Tokens = []threads.Token{{Token: token, Kind: kindGoal, Ref: g.ID, Choices: row.verbs}}
	}
	r.Blocks, _ = card.Blocks()
	return r
}

// planCard stands below a plan: nothing was changed, and how to go on.
func planCard(th threads.Thread, token string) Rendering {
	card := blockkit.Card{Text: "◌ This was a plan; nothing was changed"}
	r := Rendering{Text: card.Text, Final: !th.Planning}
	if th.Planning {
		row := &buttons{kind: kindPlan, token: token}
		row.add("Carry out", verbCarryOut, blockkit.Neutral).add("Plan no more", verbPlanNo, blockkit.Neutral)
		card.Head = []blockkit.Block{para("◌ *Planning*: only read-only tools exist here, and nothing was changed")}
		card.Foot = []blockkit.Block{row.block(), small("A message goes on planning; Carry out ends it and begins; calls that change something still ask as the mode says")}
		r.Tokens = []threads.Token{{Token: token, Kind: kindPlan, Ref: th.Key, Choices: row.verbs}}
	} else {
		card.Head = []blockkit.Block{para("✓ *Planning is over* in this thread")}
	}
	r.Blocks, _ = card.Blocks()
	return r
}

// planButton enters or leaves the planning phase, among a thread's controls.
func planButton(row *buttons, th *threads.Thread) {
	if th.Planning {
		row.add("Plan no more", verbPlanNo, blockkit.Neutral)
		return
	}
	row.add("Plan first", verbPlanFirst, blockkit.Neutral)
}
