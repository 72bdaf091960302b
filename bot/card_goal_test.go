package bot

import (
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/threads"
)

// /mecha goal proposes on a card of the owner's newest thread; an owner's press
// decides it, nobody else's does.
func TestAGoalIsAcceptedByButton(t *testing.T) {
	b := newBench(t)
	b.exec(`UPDATE threads SET kind = 'chat'`)
	b.ordered("UBOB", "goal mine")
	if b.acted("UBOB", "goal", "refused") != 1 {
		t.Error("an approver proposed a goal")
	}
	b.ordered("UALICE", "goal the budget is <sent>")
	g, ok, err := b.threads.GoalProposed(t.Context(), "T1/D1/1.0")
	if err != nil || !ok || g.Text != "the budget is <sent>" {
		t.Fatalf("%+v, %v, %v; it said %q", g, ok, err, b.screen.said())
	}
	p := b.put(threads.PostGoal, g.ID, goalCard(g, b.mint()))
	b.press(b.on(p, "UBOB", "Accept"))
	if _, ok, _ := b.threads.ActiveGoal(t.Context(), g.Thread); ok || b.acted("UBOB", "accept", "refused") != 1 {
		t.Error("an approver accepted a goal")
	}
	b.press(b.on(p, "UALICE", "Accept"))
	if now, ok, err := b.threads.ActiveGoal(t.Context(), g.Thread); err != nil || !ok || now.By != "UALICE" {
		t.Errorf("%+v, %v, %v", now, ok, err)
	}
	b.press(b.on(p, "UALICE", "Reject"))
	if !strings.Contains(b.screen.said(), "Already decided: the goal is active") {
		t.Errorf("a second press heard %q", b.screen.said())
	}
	b.ordered("UALICE", "goal")
	if !strings.Contains(b.screen.said(), "the budget is &lt;sent&gt;") {
		t.Errorf("the goal is told as %q", b.screen.said())
	}
	g.Untrusted, g.State, g.ProposedBy = true, "proposed", threads.GoalByAgent
	if r := goalCard(g, "t"); !strings.Contains(string(r.Blocks.JSON()), "a stranger may have had a hand in it") {
		t.Error("the card does not say where the goal may come from")
	}
}

// The planning phase is entered by /mecha plan or a button and left by a button.
func TestPlanningByButton(t *testing.T) {
	b := newBench(t)
	b.exec(`UPDATE threads SET kind = 'chat'`)
	b.ordered("UALICE", "plan")
	th, err := b.threads.Thread(t.Context(), "T1/D1/1.0")
	if err != nil || !th.Planning {
		t.Fatalf("%+v, %v; it said %q", th, err, b.screen.said())
	}
	p := b.put(threads.PostPlan, th.Key, planCard(th, b.mint()))
	b.press(b.on(p, "UBOB", "Carry out"))
	if th, _ = b.threads.Thread(t.Context(), th.Key); !th.Planning {
		t.Error("an approver ended the planning")
	}
	b.press(b.on(p, "UALICE", "Plan no more"))
	if th, _ = b.threads.Thread(t.Context(), th.Key); th.Planning {
		t.Error("it still plans")
	}
	b.press(b.on(p, "UALICE", "Carry out"))
	if !strings.Contains(b.screen.said(), "Planning is over") {
		t.Errorf("a late press heard %q", b.screen.said())
	}
	if r := planCard(th, "t"); !r.Final || len(r.Tokens) != 0 {
		t.Errorf("the card of a plan that is over: %+v", r)
	}
	row := &buttons{kind: kindThread, token: "t"}
	planButton(row, &th)
	if len(row.verbs) != 1 || row.verbs[0] != verbPlanFirst {
		t.Errorf("the controls offer %v", row.verbs)
	}
}
