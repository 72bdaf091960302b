package triggers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

func TestFindings(t *testing.T) {
	well := Result{Calls: 4, StopCause: "completed"}
	for name, c := range map[string]struct {
		runs   []Result // oldest first
		reason string   // of the last row
		want   []string // parts of what doctor says
	}{
		"nothing ran yet":               {},
		"all is well":                   {runs: []Result{well, well, well, well}},
		"the last one failed":           {runs: []Result{well, {Failed: "no model answered"}}, reason: "no model answered", want: []string{"did not end well: no model answered"}},
		"a failure that was made good":  {runs: []Result{{Failed: "no model answered"}, well}},
		"cut off":                       {runs: []Result{{Calls: 3, StopCause: "max_turns"}}, reason: "cut off: it reached its limit of turns", want: []string{"cut off"}},
		"a third of the calls fail":     {runs: []Result{{Calls: 6, CallErrors: 2, StopCause: "completed"}, {Calls: 6, CallErrors: 2, StopCause: "completed"}}, reason: "2 of 6 calls failed", want: []string{"4 of 12 calls of its last 2 runs failed"}},
		"too few calls to tell":         {runs: []Result{{Calls: 6, CallErrors: 2, StopCause: "completed"}}, reason: "2 of 6 calls failed"},
		"only the last five count":      {runs: []Result{{Calls: 90, CallErrors: 90, StopCause: "completed"}, well, well, well, well, well}},
		"it stopped doing anything":     {runs: []Result{well, well, {StopCause: "completed"}}, reason: "it made no calls; its last 2 runs made 4 on average", want: []string{"unlike those before: it made no calls"}},
		"it never made calls":           {runs: []Result{{StopCause: "completed"}, {StopCause: "completed"}, {StopCause: "completed"}}},
		"one earlier run is no history": {runs: []Result{well, {StopCause: "completed"}}},
		"notify failed":                 {runs: []Result{{Calls: 1, StopCause: "completed", NotifyError: "notify failed with exit code 1: no"}}, want: []string{"exit code 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var next Result
			f := newFixture(t, Config{}, Deps{Runner: runner(func(context.Context, Trigger, Fire) (Result, error) { return next, nil })})
			f.add(t, prompt("brief", "0 * * * *"))
			for _, next = range c.runs {
				f.clock.add(time.Hour)
				f.tick(t)
			}
			list, err := f.Findings(t.Context())
			if err != nil || len(list) != len(c.want) {
				t.Fatalf("doctor says %+v, %v; want %v", list, err, c.want)
			}
			for i, part := range c.want {
				if !strings.Contains(list[i].What, part) || list[i].Check != "trigger brief" || list[i].Remedy == "" || list[i].Level == "" {
					t.Errorf("doctor says %+v, want something with %q", list[i], part)
				}
			}
			if rows, _ := f.Runs(t.Context(), "brief", time.Time{}, 1); len(rows) > 0 && rows[0].Reason != c.reason {
				t.Errorf("the ledger says %q, want %q", rows[0].Reason, c.reason)
			}
		})
	}
}

// A schedule or a zone may stop making sense under a trigger: another binary, an
// edited record, a machine without that zone.
func TestATriggerThatCanNeverBeDue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("good", "0 * * * *"))
	f.add(t, prompt("bad", "0 * * * *"))
	err := f.db.Write(t.Context(), func(tx *record.Tx) error {
		bad, err := get(tx, "bad")
		if err != nil {
			return err
		}
		bad.Zone = "Mars/Olympus"
		return put(tx, bad)
	})
	if err != nil {
		t.Fatal(err)
	}
	f.clock.add(time.Hour)
	f.tick(t)
	if diff := cmp.Diff([]string{"01 13:00 ok"}, f.ledger(t, "good")); diff != "" {
		t.Errorf("the others go on (-want +got):\n%s", diff)
	}
	list, err := f.Findings(t.Context())
	if err != nil || len(list) != 1 || list[0].Level != "error" || !strings.Contains(list[0].What, "Mars/Olympus") {
		t.Errorf("doctor says %+v, %v", list, err)
	}
	if _, err := f.Edit(t.Context(), terminal, "bad", func(tr *Trigger) { tr.Zone = "UTC" }); err != nil {
		t.Errorf("it cannot be mended: %v", err)
	}
}
