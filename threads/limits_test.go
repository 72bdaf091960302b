package threads

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
)

// costly is a turn that uses something of every limit.
func costly(now *atomic.Int64, next func(agent.Request) agent.Turn) func(agent.Request) agent.Turn {
	return func(req agent.Request) agent.Turn {
		turn, cost := next(req), 0.6
		turn.Usage = agent.Usage{In: 10, Out: 100, Cost: &cost}
		now.Add(int64(50 * time.Second))
		return turn
	}
}

// A run that goes beyond a limit over several runs says where things stand in
// one last turn without tools; the next one does not begin, and its message says
// which setting is in the way.
func TestLimitsOverSeveralRuns(t *testing.T) {
	for name, tt := range map[string]struct {
		limits Limits
		cause  agent.Cause
		says   string
	}{
		"turns":         {Limits{MaxTurns: 2}, agent.MaxTurns, "may take 2 turns and took 3"},
		"output tokens": {Limits{MaxOutputTokens: 150}, agent.OutOfTokens, "may write 150 tokens and wrote 300"},
		"cost":          {Limits{MaxCostUSD: 1}, agent.OutOfMoney, "may cost $1.00 and cost $1.80"},
		"time":          {Limits{MaxWallSecs: 90}, agent.OutOfTime, "may take 1m30s and took 2m30s"},
	} {
		for _, scope := range []string{"thread", "day"} {
			t.Run(scope+" "+name, func(t *testing.T) {
				var now atomic.Int64
				now.Store(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixNano())
				r, _ := openWith(t, t.TempDir(), func(_ *room, c *Config, d *Deps) {
					d.Now = func() time.Time { return time.Unix(0, now.Load()).UTC() }
					c.Thread = tt.limits
					if scope == "day" {
						c.Thread, c.Day = Limits{}, tt.limits
					}
				}, costly(&now, says("one")), costly(&now, calls("nothing_such", `{}`)), costly(&now, says("that is where it stands")))
				r.say(t, "100.000001", "hi")
				r.until(t, "the first answer", func() bool { return r.state(t) == Done })
				r.say(t, "100.000002", "more")
				r.until(t, "the second answer", func() bool { return r.state(t) == Done && len(r.model.seen) == 3 })
				if last := r.model.seen[2]; !last.NoCalls {
					t.Error("the last turn of a run at its limit was offered tools")
				}
				r.say(t, "100.000003", "and now?")
				var list []RunInfo
				r.until(t, "the third run", func() bool { list, _ = r.Runs(t.Context(), key); return len(list) == 3 && !list[2].Ended.IsZero() })
				if list[1].Cause != tt.cause || list[2].Cause != tt.cause || len(r.model.seen) != 3 {
					t.Errorf("ended with %s, then %s; the model was asked %d times", list[1].Cause, list[2].Cause, len(r.model.seen))
				}
				said, err := r.Transcript(t.Context(), key)
				if err != nil {
					t.Fatal(err)
				}
				last := said[len(said)-1].Text
				if !strings.HasPrefix(last, "I have not begun: ") || !strings.Contains(last, tt.says) || !strings.Contains(last, "([agent."+scope+"] max_") {
					t.Errorf("it said %q", last)
				}
				// Another conversation only minds the limits of the day, and tomorrow nothing.
				spent, err := r.Spent(t.Context(), "T1/D1/999.000000")
				if err != nil || (scope == "day") != (len(spent) == 1 && spent[0].Share() >= 1) {
					t.Errorf("for another conversation: %+v, %v", spent, err)
				}
				now.Add(int64(24 * time.Hour))
				if spent, err = r.Spent(t.Context(), key); err != nil || len(spent) != 1 || (scope == "day") != (spent[0].Used == 0) {
					t.Errorf("a day later: %+v, %v", spent, err)
				}
			})
		}
	}
}

// A day begins where the owner lives.
func TestADayIsTheOwners(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*3600)
	if got := day(time.Date(2026, 3, 1, 16, 0, 0, 0, time.UTC), tokyo); got != "2026-03-02" {
		t.Error(got)
	}
}

// What a run had used before a restart counts against its budget.
func TestARestartedRunGoesOnPaying(t *testing.T) {
	dir := t.TempDir()
	change := func(_ *room, c *Config, _ *Deps) { c.MaxTurns = 2 }
	var now atomic.Int64
	r, stop := openWith(t, dir, change, costly(&now, calls("poke", `{"to":"a"}`)))
	r.say(t, "100.000001", "poke it")
	r.until(t, "it waits", func() bool { return r.state(t) == Awaiting })
	stop()
	r, _ = openWith(t, dir, change, costly(&now, calls("poke", `{"to":"b"}`)), costly(&now, says("enough")))
	list, err := r.PendingApprovals(t.Context())
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	if _, _, err := r.DecideCall(t.Context(), Who{Team: "T1", User: "U1"}, list[0].Call, list[0].Digest, RejectCall, "no"); err != nil {
		t.Fatal(err)
	}
	r.until(t, "the second asks", func() bool { l, _ := r.PendingApprovals(t.Context()); return len(l) == 1 })
	list, _ = r.PendingApprovals(t.Context())
	if _, _, err := r.DecideCall(t.Context(), Who{Team: "T1", User: "U1"}, list[0].Call, list[0].Digest, RejectCall, "no"); err != nil {
		t.Fatal(err)
	}
	r.until(t, "its end", func() bool { return r.state(t) == Done })
	runs, err := r.Runs(t.Context(), key)
	if err != nil || len(runs) != 1 || runs[0].Cause != agent.MaxTurns || runs[0].Turns != 3 || runs[0].Usage.Out != 300 {
		t.Errorf("%+v, %v", runs, err)
	}
}
