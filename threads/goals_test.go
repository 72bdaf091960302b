package threads

import (
	"errors"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/tools"
)

var alice = Who{Team: "T1", User: "U1", Surface: "slack"}

// A goal counts once it is accepted; the next run is told of it, and a newer one
// takes its place.
func TestAGoalCountsOnceAccepted(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("one"), says("two"), says("three"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	g, err := r.ProposeGoal(t.Context(), key, " the budget is sent ", GoalByAgent, tools.Taint{Untrusted: true})
	if err != nil || g.State != "proposed" || !g.Untrusted {
		t.Fatalf("%+v, %v", g, err)
	}
	if same, err := r.ProposeGoal(t.Context(), key, "the budget is sent", GoalByAgent, tools.Taint{}); err != nil || same.ID != g.ID {
		t.Errorf("proposed twice: %+v, %v", same, err)
	}
	told := func(n int) bool {
		for _, m := range r.model.seen[n].Messages {
			if strings.Contains(m.Text, "Goal of this conversation") {
				return true
			}
		}
		return false
	}
	r.say(t, "100.000002", "more")
	r.until(t, "answered again", func() bool { return r.state(t) == Done && len(r.model.seen) == 2 })
	if told(1) {
		t.Error("a goal that nobody accepted was told")
	}
	if _, fresh, err := r.DecideGoal(t.Context(), alice, g.ID, true); err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	if late, fresh, err := r.DecideGoal(t.Context(), alice, g.ID, false); err != nil || fresh || late.State != "active" {
		t.Errorf("a second press: %+v, %v, %v", late, fresh, err)
	}
	r.say(t, "100.000003", "and more")
	r.until(t, "answered with a goal", func() bool { return r.state(t) == Done && len(r.model.seen) == 3 })
	if !told(2) {
		t.Error("the accepted goal was not told")
	}
	newer, err := r.ProposeGoal(t.Context(), key, "the budget is signed", "U1", tools.Taint{})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.DecideGoal(t.Context(), alice, newer.ID, true); err != nil {
		t.Fatal(err)
	}
	if now, ok, err := r.ActiveGoal(t.Context(), key); err != nil || !ok || now.ID != newer.ID {
		t.Errorf("%+v, %v, %v", now, ok, err)
	}
	if old, err := r.Goal(t.Context(), g.ID); err != nil || old.State != "replaced" {
		t.Errorf("%+v, %v", old, err)
	}
	if cards, err := r.PostsOf(t.Context(), PostGoal, g.ID); err != nil || len(cards) != 1 || cards[0].Want < 3 {
		t.Errorf("its card is not rendered anew: %+v, %v", cards, err)
	}
}

// In the planning phase what changes something is absent; a person's press ends
// it and has the plan carried out.
func TestPlanningIsEnteredAndLeftByAPerson(t *testing.T) {
	r, _ := open(t, t.TempDir(), says("hello"), calls("poke", `{"to":"bob"}`), says("1. poke bob"), says("going"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	if err := r.SetPlanning(t.Context(), alice, key, true); err != nil {
		t.Fatal(err)
	}
	r.say(t, "100.000002", "poke bob")
	r.until(t, "planned", func() bool { return r.state(t) == Done && len(r.model.seen) == 3 })
	for _, req := range r.model.seen[1:3] {
		for _, d := range req.Tools {
			t.Errorf("the tool %s was there in the planning phase", d.Name)
		}
	}
	if l, err := r.PendingApprovals(t.Context()); err != nil || len(l) != 0 || r.pokes != 0 {
		t.Errorf("%+v, %v, poked %d times", l, err, r.pokes)
	}
	if cards, err := r.PostsOf(t.Context(), PostPlan, key); err != nil || len(cards) != 1 {
		t.Fatalf("no card below the plan: %+v, %v", cards, err)
	}
	if err := r.CarryOut(t.Context(), alice, key); err != nil {
		t.Fatal(err)
	}
	r.until(t, "carried out", func() bool { return r.state(t) == Done && len(r.model.seen) == 4 })
	last := r.model.seen[3]
	if len(last.Tools) != 2 {
		t.Errorf("its tools did not come back: %+v", last.Tools)
	}
	if m := last.Messages[len(last.Messages)-1]; m.Author != agent.ByOwner && !strings.Contains(last.Messages[len(last.Messages)-2].Text+m.Text, "Carry out the plan") {
		t.Errorf("it heard %+v", m)
	}
	if err := r.CarryOut(t.Context(), alice, key); !errors.Is(err, ErrNotPlanning) {
		t.Errorf("a second press: %v", err)
	}
}
