package triggers

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

func TestEachSlotHasItsRow(t *testing.T) {
	hour := time.Hour
	for name, c := range map[string]struct {
		change func(*Trigger)
		paused bool
		spent  string
		state  string
		after  time.Duration
		want   []string
	}{
		"on time":                    {after: hour, want: []string{"01 13:00 ok"}},
		"not yet":                    {after: 59 * time.Minute},
		"an outage catches up once":  {after: 3*hour + 10*time.Minute, want: []string{"01 13:00 skipped stale: a newer slot was due", "01 14:00 skipped stale: a newer slot was due", "01 15:00 ok"}},
		"never catches up":           {change: func(t *Trigger) { t.CatchUp = "never" }, after: hour + 3*time.Minute, want: []string{"01 13:00 skipped stale: 3m0s late, and catch-up is never"}},
		"never, within the grace":    {change: func(t *Trigger) { t.CatchUp = "never" }, after: hour + 90*time.Second, want: []string{"01 13:00 ok"}},
		"catch-up within 30m":        {change: func(t *Trigger) { t.CatchUp = "30m" }, after: hour + 29*time.Minute, want: []string{"01 13:00 ok"}},
		"catch-up beyond 30m":        {change: func(t *Trigger) { t.CatchUp = "30m" }, after: hour + 31*time.Minute, want: []string{"01 13:00 skipped stale: 31m0s late, and catch-up is 30m"}},
		"paused":                     {paused: true, after: 2 * hour, want: []string{"01 13:00 skipped stale: a newer slot was due", "01 14:00 skipped paused: everything was"}},
		"the day's budget":           {spent: "5 USD are spent today", after: hour, want: []string{"01 13:00 skipped limit: 5 USD are spent today"}},
		"disabled":                   {state: "disabled", after: 2 * hour, want: []string{"01 13:00 skipped disabled", "01 14:00 skipped disabled"}},
		"deleted":                    {state: "deleted", after: 2 * hour},
		"nothing before it was made": {after: 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, Config{}, Deps{Runner: fine,
				Paused: func(context.Context) (bool, error) { return c.paused, nil },
				Spent:  func(context.Context) (string, error) { return c.spent, nil }})
			tr := prompt("brief", "0 * * * *")
			if c.change != nil {
				c.change(&tr)
			}
			f.add(t, tr)
			if c.state != "" {
				if _, fresh, err := f.SetState(t.Context(), terminal, "brief", c.state); !fresh || err != nil {
					t.Fatal(fresh, err)
				}
			}
			f.clock.add(c.after)
			told, err := f.Tick(t.Context(), f.clock.Now(), true)
			if err != nil {
				t.Fatal(err)
			}
			if rows := f.ledger(t, "brief"); len(rows) != 0 {
				t.Fatalf("a dry run wrote %v", rows)
			}
			if diff := cmp.Diff(told, f.tick(t)); diff != "" {
				t.Errorf("the dry run told something else (-dry +done):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, f.ledger(t, "brief")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			f.tick(t)
			if diff := cmp.Diff(c.want, f.ledger(t, "brief")); diff != "" {
				t.Errorf("a second tick changed it (-want +got):\n%s", diff)
			}
		})
	}
}

// The digest costs nothing, and tells what the budget kept from running; only a
// pause keeps it.
func TestTheDigestNeedsNoBudget(t *testing.T) {
	t.Parallel()
	paused, sent := false, 0
	f := newFixture(t, Config{}, Deps{Runner: fine,
		Digest: func(context.Context) error { sent++; return nil },
		Paused: func(context.Context) (bool, error) { return paused, nil },
		Spent:  func(context.Context) (string, error) { return "5 USD are spent today", nil }})
	if err := f.EnsureDigest(t.Context(), "0 * * * *", "UTC"); err != nil {
		t.Fatal(err)
	}
	f.clock.add(time.Hour)
	f.tick(t)
	paused = true
	f.clock.add(time.Hour)
	f.tick(t)
	if diff := cmp.Diff([]string{"01 13:00 ok", "01 14:00 skipped paused: everything was"}, f.ledger(t, "digest")); diff != "" || sent != 1 {
		t.Errorf("%d sent; -want +got:\n%s", sent, diff)
	}
}

// A minute trigger after a year off: every slot is accounted for, in bounded
// time and rows.
func TestAHugeOutageIsBounded(t *testing.T) {
	t.Parallel()
	for _, schedule := range []string{"@every 1m", "* * * * *"} {
		f := newFixture(t, Config{}, Deps{Runner: fine})
		f.add(t, prompt("brief", schedule))
		f.clock.set(noon.AddDate(1, 0, 0))
		begin := time.Now()
		f.tick(t)
		took := time.Since(begin)
		rows, err := f.Runs(t.Context(), "brief", time.Time{}, 1<<30)
		if err != nil {
			t.Fatal(err)
		}
		slots, covered := 0, noon
		ran := 0
		for i := len(rows) - 1; i >= 0; i-- {
			r := rows[i]
			first := r.Slot
			if r.Slots > 1 {
				first = r.First
			}
			if !first.Equal(covered.Add(time.Minute)) || int(r.Slot.Sub(first)/time.Minute)+1 != r.Slots {
				t.Fatalf("%s: after %s comes a row for %d slots, %s to %s", schedule, covered, r.Slots, first, r.Slot)
			}
			slots, covered = slots+r.Slots, r.Slot
			if r.Status != "skipped" {
				ran++
			}
		}
		if want := 365 * 24 * 60; slots != want || ran != 1 {
			t.Errorf("%s: %d slots are accounted for, %d ran; want %d and 1", schedule, slots, ran, want)
		}
		if len(rows) > 1501 {
			t.Errorf("%s: %d rows", schedule, len(rows))
		}
		if took > 20*time.Second {
			t.Errorf("%s: it took %s", schedule, took)
		}
		t.Logf("%s: %d rows in %s", schedule, len(rows), took)
	}
}

func TestAClockThatIsWrong(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	f.clock.add(time.Hour)
	f.tick(t)
	f.clock.set(noon.AddDate(50, 0, 0)) // not believed
	f.tick(t)
	if rows := f.ledger(t, "brief"); len(rows) != 1 {
		t.Errorf("fifty years of slots were noted: %d rows", len(rows))
	}
	found, err := f.Findings(t.Context())
	if err != nil || len(found) != 1 || !strings.Contains(found[0].What, "ten years") {
		t.Errorf("doctor says %v, %v", found, err)
	}
	f.clock.set(noon.Add(90 * time.Minute)) // back, and back again
	f.tick(t)
	f.clock.set(noon.Add(30 * time.Minute))
	f.tick(t)
	f.clock.set(noon.Add(2 * time.Hour))
	f.tick(t)
	if diff := cmp.Diff([]string{"01 13:00 ok", "01 14:00 ok"}, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	f.clock.set(noon.AddDate(0, 0, -3))
	found, err = f.Findings(t.Context())
	if err != nil || len(found) != 1 || !strings.Contains(found[0].What, "has not come yet") {
		t.Errorf("doctor says %v, %v", found, err)
	}
}

func TestAnEditNeitherSkipsNorRepeats(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	// At 13:00:00.1, before the loop has looked: the old slot is noted, the next
	// one of the new schedule is the very next one.
	f.clock.set(noon.Add(time.Hour + 100*time.Millisecond))
	tr, err := f.Edit(t.Context(), terminal, "brief", func(tr *Trigger) { tr.Schedule = "1 * * * *" })
	if err != nil {
		t.Fatal(err)
	}
	if next := f.Next(tr, 1, f.clock.Now()); len(next) != 1 || next[0].Minute() != 1 || next[0].Hour() != 13 {
		t.Errorf("the next is %v", next)
	}
	f.clock.add(time.Minute)
	f.tick(t)
	// Another prompt leaves what is due.
	f.clock.set(noon.Add(2*time.Hour + 2*time.Minute))
	if _, err := f.Edit(t.Context(), terminal, "brief", func(tr *Trigger) { tr.Prompt = "look twice" }); err != nil {
		t.Fatal(err)
	}
	f.tick(t)
	want := []string{"01 13:00 skipped stale: its schedule was changed", "01 13:01 ok", "01 14:01 ok"}
	if diff := cmp.Diff(want, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWhatAnEditMayChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	tr := prompt("brief", "0 * * * *")
	tr.Private, tr.Untrusted, tr.ProposedIn, tr.Sources = true, true, "T/C/1", []Source{{Leg: "private", Tool: "mail_read"}}
	if _, err := f.Propose(t.Context(), terminal, tr); err != nil {
		t.Fatal(err)
	}
	got, err := f.Edit(t.Context(), terminal, "brief", func(tr *Trigger) {
		tr.Schedule, tr.Name, tr.State, tr.Private, tr.Sources, tr.Accounted, tr.Kind, tr.ProposedIn = "5 * * * *", "other", "enabled", false, nil, time.Time{}, "digest", ""
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Name != "brief" || got.State != "proposed" || !got.Private || len(got.Sources) != 1 || got.Kind != "prompt" || got.ProposedIn == "" || got.Schedule != "5 * * * *" {
		t.Errorf("the edit made %+v", got)
	}
	if got, err = f.Edit(t.Context(), terminal, "brief", func(tr *Trigger) { tr.Prompt = "in my own words" }); err != nil || got.Private || got.Untrusted || got.Sources != nil || got.ProposedIn != "" {
		t.Errorf("a retyped prompt is still another's: %+v, %v", got, err)
	}
	stored, err := f.Get(t.Context(), "brief")
	if err != nil || stored.Version != got.Version || stored.Version != 3 {
		t.Errorf("version %d is told, %d is stored, %v", got.Version, stored.Version, err)
	}
	if _, err := f.Edit(t.Context(), terminal, "brief", func(tr *Trigger) { tr.Schedule = "0 0 31 2 *" }); err == nil || !strings.Contains(err.Error(), "never comes") {
		t.Errorf("a schedule that never comes: %v", err)
	}
	tr.Name, tr.Notify = "loud", "mail me"
	if _, err := f.Propose(t.Context(), terminal, tr); err == nil || !strings.Contains(err.Error(), "at the terminal") {
		t.Errorf("a proposal with notify: %v", err)
	}
}

func TestADeletedNameIsFreeAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	if _, err := f.Add(t.Context(), terminal, prompt("brief", "@daily")); err == nil || !strings.Contains(err.Error(), "0 * * * *, enabled") {
		t.Errorf("a name that is taken: %v", err)
	}
	f.clock.add(90 * time.Minute)
	if _, _, err := f.SetState(t.Context(), terminal, "brief", "deleted"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(t.Context(), "brief"); !errors.Is(err, ErrNotFound) {
		t.Errorf("it is still there: %v", err)
	}
	f.clock.add(90 * time.Minute)
	tr := f.add(t, prompt("brief", "30 * * * *"))
	if !tr.Created.Equal(f.clock.Now()) {
		t.Errorf("created %s", tr.Created)
	}
	f.clock.add(30 * time.Minute)
	f.tick(t)
	want := []string{"01 13:00 skipped stale: it was deleted before this slot could run", "01 15:30 ok"}
	if diff := cmp.Diff(want, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	set := func(state string, want bool) {
		t.Helper()
		if _, fresh, err := f.SetState(t.Context(), terminal, "brief", state); err != nil || fresh != want {
			t.Fatal(state, fresh, err)
		}
	}
	set("enabled", false)
	f.clock.add(70 * time.Minute) // no bot runs
	set("disabled", true)
	f.clock.add(time.Hour)
	set("enabled", true)
	f.clock.add(time.Hour)
	f.tick(t)
	want := []string{"01 13:00 skipped stale: it was disabled before this slot could run", "01 14:00 skipped disabled", "01 15:00 ok"}
	if diff := cmp.Diff(want, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, _, err := f.SetState(t.Context(), terminal, "brief", "proposed"); err == nil {
		t.Error("a trigger was made a proposal")
	}
}

func TestTheBuiltInDigest(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	f := newFixture(t, Config{}, Deps{Digest: func(context.Context) error { sent.Add(1); return nil }})
	ensure := func(schedule string) {
		t.Helper()
		if err := f.EnsureDigest(t.Context(), schedule, "UTC"); err != nil {
			t.Fatal(err)
		}
	}
	ensure("0 13 * * *")
	ensure("0 13 * * *")
	if tr, err := f.Get(t.Context(), "digest"); err != nil || tr.Version != 1 {
		t.Errorf("an unchanged digest was written anew: %+v, %v", tr, err)
	}
	f.clock.add(time.Hour)
	f.tick(t)
	ensure("0 14 * * *")
	f.clock.add(time.Hour)
	f.tick(t)
	if diff := cmp.Diff([]string{"01 13:00 ok", "01 14:00 ok"}, f.ledger(t, "digest")); diff != "" || sent.Load() != 2 {
		t.Errorf("%d were sent; -want +got:\n%s", sent.Load(), diff)
	}
	if _, _, err := f.SetState(t.Context(), terminal, "digest", "deleted"); err == nil || !strings.Contains(err.Error(), "disable") {
		t.Errorf("the digest was deleted: %v", err)
	}
	if _, err := f.Edit(t.Context(), terminal, "digest", func(tr *Trigger) { tr.Schedule = "@hourly" }); err == nil || !strings.Contains(err.Error(), "[digest]") {
		t.Errorf("the digest's time was edited: %v", err)
	}
	if _, _, err := f.SetState(t.Context(), terminal, "digest", "disabled"); err != nil {
		t.Fatal(err)
	}
	ensure("0 15 * * *")
	if tr, err := f.Get(t.Context(), "digest"); err != nil || tr.State != "disabled" || tr.Schedule != "0 15 * * *" {
		t.Errorf("a disabled digest became %+v, %v", tr, err)
	}
	if _, err := f.Add(t.Context(), terminal, prompt("digest", "@daily")); err == nil || !strings.Contains(err.Error(), "built-in") {
		t.Errorf("its name was given away: %v", err)
	}
}

// From before the name was reserved, a person's trigger may have it.
func TestADigestOfAPersonsOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{})
	theirs := prompt("digest", "@daily")
	err := f.db.Write(t.Context(), func(tx *record.Tx) error {
		theirs.Kind, theirs.State, theirs.Mode, theirs.CatchUp, theirs.Accounted, theirs.Created = "prompt", "enabled", "read-only", "always", tx.Now(), tx.Now()
		return put(tx, theirs)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range []string{"0 8 * * *", "0 9 * * *"} {
		if err := f.EnsureDigest(t.Context(), schedule, "UTC"); err != nil {
			t.Fatal(err)
		}
		mine, err := f.Get(t.Context(), "digest")
		if err != nil || mine.Kind != "prompt" || mine.Prompt != "look" {
			t.Errorf("the person's became %+v, %v", mine, err)
		}
		built, err := f.Get(t.Context(), "built-in-digest")
		if err != nil || built.Kind != "digest" || built.Schedule != schedule {
			t.Errorf("the built-in is %+v, %v", built, err)
		}
	}
}

// Another process edits while a tick decides: nothing is run by a trigger that
// is not like that any more, and no slot is lost.
func TestAnEditBesideATick(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Config{}, Deps{Runner: fine})
	f.add(t, prompt("brief", "0 * * * *"))
	other := New(f.db, Config{}, Deps{Now: f.clock.Now, Log: quiet})
	f.clock.add(time.Hour)
	edited := false
	f.Deps.Paused = func(ctx context.Context) (bool, error) { // between the look and the commit
		if !edited {
			edited = true
			_, _, err := other.SetState(ctx, terminal, "brief", "disabled")
			return false, err
		}
		return false, nil
	}
	if list := f.tick(t); len(list) != 0 {
		t.Errorf("decided %v by what it was", list)
	}
	f.clock.add(time.Hour)
	f.tick(t)
	want := []string{"01 13:00 skipped stale: it was disabled before this slot could run", "01 14:00 skipped disabled"}
	if diff := cmp.Diff(want, f.ledger(t, "brief")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Trigger)
		says   string
	}{
		{func(t *Trigger) { t.Name = "Brief" }, "a-z 0-9"},
		{func(t *Trigger) { t.Name = "../x" }, "a-z 0-9"},
		{func(t *Trigger) { t.Name = strings.Repeat("x", 64) }, "1 to 63"},
		{func(t *Trigger) { t.Prompt = " \n" }, "needs a prompt"},
		{func(t *Trigger) { t.Prompt = strings.Repeat("x", maxPrompt+1) }, "16 KB"},
		{func(t *Trigger) { t.Prompt = "a\x00b" }, "NUL"},
		{func(t *Trigger) { t.Channel = "C1 C2" }, "by its id"},
		{func(t *Trigger) { t.Mode = "root" }, "read-only, ask or allow"},
		{func(t *Trigger) { t.Kind = "shell" }, "prompt or digest"},
		{func(t *Trigger) { t.CatchUp = "sometimes" }, "catch-up"},
		{func(t *Trigger) { t.CatchUp = "-2h" }, "catch-up"},
		{func(t *Trigger) { t.Timeout = -time.Second }, "timeout"},
		{func(t *Trigger) { t.Timeout = 48 * time.Hour }, "timeout"},
		{func(t *Trigger) { t.MaxCost = -1 }, "negative"},
		{func(t *Trigger) { t.Zone = "" }, "time zone"},
		{func(t *Trigger) { t.Pattern = "x" }, "on = message"},
		{func(t *Trigger) { t.OnEvent = "fire" }, "by the clock or by a message"},
	} {
		tr := prompt("brief", "@daily")
		c.change(&tr)
		if err := tr.Validate(); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v; want something with %q", tr, err, c.says)
		}
	}
	tr := prompt("brief", "@daily")
	if err := tr.Validate(); err != nil || tr.Mode != "read-only" || tr.CatchUp != "always" || tr.Timeout != 20*time.Minute || tr.Kind != "prompt" {
		t.Errorf("%+v, %v", tr, err)
	}
}

func TestLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\x1b[31mc\u202ed":  "a b [31mc d",
		"bad \xff":              "bad \uFFFD",
		" done ":                "done",
		strings.Repeat("ä", 20): strings.Repeat("ä", 4) + "…",
	} {
		if got := line(in, 11); got != want {
			t.Errorf("line(%q) = %q, want %q", in, got, want)
		}
	}
}
