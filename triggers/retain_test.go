package triggers

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTheLedgerIsBounded(t *testing.T) {
	f := newFixture(t, Config{KeepRuns: 3, KeepSkipped: 2}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	f.add(t, prompt("quiet", "0 0 1 1 *"))
	if _, err := f.Ask(t.Context(), terminal, "quiet"); err != nil { // an open row
		t.Fatal(err)
	}
	sweep := func(want int64) {
		t.Helper()
		if n, err := f.sweep(t.Context()); err != nil || n != want {
			t.Errorf("%d rows removed, want %d (%v)", n, want, err)
		}
	}
	for range 5 { // each: one skipped, one run
		f.clock.add(2 * time.Hour)
		f.tick(t)
	}
	sweep(0) // all is younger than a day
	f.clock.add(24*time.Hour + 30*time.Minute)
	sweep(2 + 3)
	want := []string{"01 18:00 ok", "01 19:00 skipped stale: a newer slot was due", "01 20:00 ok", "01 21:00 skipped stale: a newer slot was due", "01 22:00 ok"}
	if got := f.ledger(t, "brief"); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the ledger is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := f.ledger(t, "quiet"); len(got) != 1 {
		t.Errorf("an open row went: %v", got)
	}
	// A slot whose row is gone is not taken again.
	for _, d := range f.tick(t) {
		if d.Trigger == "brief" && !d.Slot.After(noon.Add(10*time.Hour)) {
			t.Errorf("slot %v was decided again", d.Slot)
		}
	}
}

func TestProposalsAreBounded(t *testing.T) {
	f := newFixture(t, Config{MaxProposed: 2}, Deps{Runner: fine})
	propose := func(n int) error {
		tr := prompt(fmt.Sprintf("p%d", n), "0 7 * * *")
		tr.Mode = "read-only"
		_, err := f.Propose(t.Context(), terminal, tr)
		return err
	}
	for n := range 2 {
		if err := propose(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := propose(2); err == nil || !strings.Contains(err.Error(), "2 proposed triggers wait for a person") {
		t.Errorf("a third: %v", err)
	}
	f.add(t, prompt("mine", "0 7 * * *")) // a person's own is not a proposal
	if _, _, err := f.SetState(t.Context(), terminal, "p0", "deleted"); err != nil {
		t.Fatal(err)
	}
	if err := propose(2); err != nil {
		t.Errorf("after one was declined: %v", err)
	}
}
