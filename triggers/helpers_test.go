package triggers

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

func TestMain(m *testing.M) {
	// Each step of the property test is a durable commit; -rapid.checks=1000 for
	// a longer look.
	if err := flag.Set("rapid.checks", "30"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// clock is a wall clock that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

func (c *clock) add(d time.Duration) { c.set(c.Now().Add(d)) }

// noon is when most tests begin: a Monday.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// fixture is a record, a clock and the triggers over them.
type fixture struct {
	*Triggers
	db    *record.DB
	clock *clock
}

var terminal = Who{User: "local:1", Surface: "terminal"}

func open(t testing.TB, path string, c *clock) *record.DB {
	t.Helper()
	db, err := record.Open(context.Background(), path, record.Options{Migrate: true, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func newFixture(t testing.TB, cfg Config, d Deps) fixture {
	t.Helper()
	c := &clock{at: noon}
	db := open(t, filepath.Join(t.TempDir(), "mecha.db"), c)
	t.Cleanup(func() { db.Close() })
	d.Now, d.Log = c.Now, quiet
	f := fixture{New(db, cfg, d), db, c}
	t.Cleanup(f.Wait)
	return f
}

// runner is a Runner made of a function.
type runner func(context.Context, Trigger, Fire) (Result, error)

func (r runner) Run(ctx context.Context, t Trigger, f Fire) (Result, error) { return r(ctx, t, f) }

// fine runs everything well and at once.
var fine = runner(func(context.Context, Trigger, Fire) (Result, error) {
	return Result{Thread: "T/C/1", Run: "r1", Turns: 1, Calls: 1, StopCause: "completed", Summary: "done"}, nil
})

func prompt(name, schedule string) Trigger {
	return Trigger{Name: name, Schedule: schedule, Zone: "UTC", Prompt: "look"}
}

func (f fixture) add(t testing.TB, tr Trigger) Trigger {
	t.Helper()
	tr, err := f.Add(t.Context(), terminal, tr)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func (f fixture) tick(t testing.TB) []Decision {
	t.Helper()
	list, err := f.Tick(t.Context(), f.clock.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	f.Wait()
	return list
}

// ledger answers a trigger's rows, oldest slot first, as "slot status reason".
func (f fixture) ledger(t testing.TB, name string) []string {
	t.Helper()
	list, err := f.Runs(context.Background(), name, time.Time{}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		at := "-"
		if !r.Slot.IsZero() {
			at = r.Slot.UTC().Format("02 15:04")
		}
		if r.Slots > 1 {
			at = r.First.UTC().Format("02 15:04") + "…" + at
		}
		s := at + " " + r.Status
		if r.Reason != "" {
			s += " " + r.Reason
		}
		out = append(out, s)
	}
	return out
}
