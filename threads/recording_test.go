package threads

import (
	"context"
	"errors"
	"testing"

	"github.com/mecha-slack/mecha-slack/agent"
)

// A run is asked anew from the record alone: with the system prompt, the tools
// and the results that it had, and nothing runs.
func TestARunIsReplayedFromTheRecord(t *testing.T) {
	r, _ := openWith(t, t.TempDir(), func(_ *room, _ *Config, d *Deps) {
		d.System = func(Thread) string { return "be brief" }
	}, says("hello"), calls("send", `{"to":"bob"}`), says("drafted"))
	r.say(t, "100.000001", "hi")
	r.until(t, "answered", func() bool { return r.state(t) == Done })
	r.say(t, "100.000002", "write to bob")
	r.until(t, "staged", func() bool { return r.state(t) == Staged })
	runs, err := r.Runs(t.Context(), key)
	if err != nil || len(runs) != 2 {
		t.Fatalf("%+v, %v", runs, err)
	}
	rec, whole, err := r.Recording(t.Context(), runs[1].ID)
	if err != nil || whole || rec.System != "be brief" || len(rec.Tools) != 2 {
		t.Fatalf("%+v, %v, %v", rec, whole, err)
	}
	again := &scripted{turns: []func(agent.Request) agent.Turn{calls("send", `{ "to": "bob" }`), says("it is drafted")}}
	out, err := agent.Replay(context.Background(), again, rec, false)
	if err != nil || out.Turns != 2 || out.Same != 2 {
		t.Errorf("%+v, %v", out, err)
	}
	for i, req := range again.seen {
		was := r.model.seen[i+1]
		if len(req.Messages) != len(was.Messages) || req.System != was.System || len(req.Tools) != len(was.Tools) {
			t.Errorf("turn %d was asked with %d messages, recorded with %d", i, len(req.Messages), len(was.Messages))
		}
	}
	if l, err := r.PendingApprovals(t.Context()); err != nil || len(l) != 0 || r.pokes != 0 {
		t.Errorf("a replay did something: %+v, %v", l, err)
	}
	if _, _, err := r.Recording(t.Context(), "r-none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
