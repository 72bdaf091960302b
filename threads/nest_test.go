package threads

import (
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// openHelped is a room whose runs have a helper that may poke and send.
func openHelped(t *testing.T, dir string, turns ...func(agent.Request) agent.Turn) (r *room, stop func()) {
	t.Helper()
	return openWith(t, dir, func(r *room, _ *Config, d *Deps) {
		routed := d.Outbox.Routed
		d.Surface = func(Thread, []string) (*tools.Registry, error) {
			own := []tools.Tool{poke{"poke", &r.pokes}, poke{"send", &r.pokes}}
			reg, err := tools.NewRegistry(own...)
			if err != nil {
				return nil, err
			}
			made, _, err := agent.Subagents([]agent.SubagentConfig{{Name: "helper", Description: "Pokes for others.", Tools: []string{"poke", "send"}}},
				agent.SubagentDeps{Tools: reg, Routed: routed, Durable: true})
			if err != nil {
				return nil, err
			}
			return tools.NewRegistry(append(own, made...)...)
		}
	}, turns...)
}

func costs(next func(agent.Request) agent.Turn) func(agent.Request) agent.Turn {
	return func(req agent.Request) agent.Turn {
		turn, cost := next(req), 0.25
		turn.Usage = agent.Usage{In: 10, Out: 100, Cost: &cost}
		return turn
	}
}

// A helper that waits for a person when the process dies goes on where it was:
// one card, one poke, and its costs are its parent's.
func TestAHelperSurvives(t *testing.T) {
	dir := t.TempDir()
	r, stop := openHelped(t, dir, costs(calls("helper", `{"task":"poke bob"}`)), costs(calls("poke", `{"to":"bob"}`)))
	r.say(t, "100.000001", "have bob poked")
	r.until(t, "the helper waits", func() bool { l, _ := r.PendingApprovals(t.Context()); return len(l) == 1 && r.state(t) == Awaiting })
	before, err := r.PendingApprovals(t.Context())
	if err != nil || before[0].Thread != key || before[0].Tool != "poke" {
		t.Fatalf("the helper's card: %+v, %v", before, err)
	}
	stop()
	r, _ = openHelped(t, dir, costs(says("bob is poked")), costs(says("done: bob is poked")))
	r.until(t, "it waits again", func() bool { return r.state(t) == Awaiting })
	after, err := r.PendingApprovals(t.Context())
	if err != nil || len(after) != 1 || after[0].Call != before[0].Call {
		t.Fatalf("after the restart: %+v, %v", after, err)
	}
	if _, _, err := r.DecideCall(t.Context(), Who{Team: "T1", User: "U1"}, after[0].Call, after[0].Digest, Approve, ""); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the answer", func() bool { return r.state(t) == Done })
	if r.pokes != 1 {
		t.Errorf("poked %d times", r.pokes)
	}
	runs, err := r.Runs(t.Context(), key)
	if err != nil || len(runs) != 1 || runs[0].Usage.Out != 400 || runs[0].Usage.Cost == nil || *runs[0].Usage.Cost != 1 || runs[0].Turns != 2 {
		t.Errorf("the parent's run: %+v, %v", runs, err)
	}
	own, err := r.Calls(t.Context(), runs[0].ID)
	if err != nil || len(own) != 1 || own[0].Tool != "helper" {
		t.Errorf("its own calls: %+v, %v", own, err)
	}
	list, err := r.List(t.Context(), 10)
	if err != nil || len(list) != 1 {
		t.Errorf("a helper's conversation is listed: %+v, %v", list, err)
	}
	said, err := r.Transcript(t.Context(), nestedKey(key, own[0].ID))
	if err != nil || len(said) == 0 || !strings.Contains(said[len(said)-1].Text, "bob is poked") {
		t.Errorf("the helper's own conversation: %+v, %v", said, err)
	}
}

// What a helper would send is a draft of its parent's conversation, and nothing
// runs; the parent hears that it was drafted.
func TestAHelpersDraftIsItsParents(t *testing.T) {
	r, _ := openHelped(t, t.TempDir(), calls("helper", `{"task":"write to bob"}`), calls("send", `{"to":"bob"}`), says("I drafted it"), says("it is drafted"))
	r.say(t, "100.000001", "write to bob")
	r.until(t, "staged", func() bool { return r.state(t) == Staged })
	list, err := r.Outbox.List(t.Context(), outbox.Filter{})
	if err != nil || len(list) != 1 || list[0].Thread != key || r.pokes != 0 {
		t.Fatalf("%+v, %v; ran %d times", list, err, r.pokes)
	}
	last := r.model.seen[len(r.model.seen)-1]
	if got := last.Messages[len(last.Messages)-1].Text; !strings.Contains(got, "1 of its calls became drafts") {
		t.Errorf("the parent heard %q", got)
	}
}

// Stop reaches a helper that waits for a person.
func TestStopReachesAHelper(t *testing.T) {
	r, _ := openHelped(t, t.TempDir(), calls("helper", `{"task":"poke bob"}`), calls("poke", `{"to":"bob"}`))
	r.say(t, "100.000001", "have bob poked")
	r.until(t, "the helper waits", func() bool { l, _ := r.PendingApprovals(t.Context()); return len(l) == 1 && r.state(t) == Awaiting })
	if stopped, err := r.Stop(t.Context(), Who{Team: "T1", User: "U1"}, key); err != nil || !stopped {
		t.Fatal(stopped, err)
	}
	r.until(t, "stopped", func() bool { return r.state(t) == Cancelled })
	if l, err := r.PendingApprovals(t.Context()); err != nil || len(l) != 0 || r.pokes != 0 {
		t.Errorf("%+v, %v, poked %d times", l, err, r.pokes)
	}
}
