package triggers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// whenDue are schedules with what they mean, written out a second time.
var whenDue = map[string]func(minute int64) bool{
	"*/7 * * * *":   func(m int64) bool { return m%60%7 == 0 },
	"0 * * * *":     func(m int64) bool { return m%60 == 0 },
	"30 2 * * *":    func(m int64) bool { return m%1440 == 150 },
	"@every 17m":    func(m int64) bool { return m%17 == 0 },
	"5,6 */3 * * *": func(m int64) bool { return (m%60 == 5 || m%60 == 6) && m/60%24%3 == 0 },
}

// world is one trigger's life as the property test lives it, beside a model that
// only knows minutes.
type world struct {
	f      fixture
	path   string
	ctx    context.Context // of the process that lives now
	kill   context.CancelFunc
	let    chan struct{} // closed: what runs may end
	paused atomic.Bool

	alive    bool
	schedule string
	from, to time.Time // the schedule's stretch, as far as anybody looked
	want     []time.Time
	ran      map[time.Time]bool
}

// start is a new process on the same record.
func (w *world) start(t *rapid.T) {
	w.ctx, w.kill = context.WithCancel(context.Background())
	w.let = make(chan struct{})
	let := w.let
	db, err := record.Open(context.Background(), w.path, record.Options{Migrate: true, Now: w.f.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.f = fixture{New(db, Config{MaxMisses: 4}, Deps{Now: w.f.clock.Now, Log: quiet,
		Paused: func(context.Context) (bool, error) { return w.paused.Load(), nil },
		Runner: runner(func(ctx context.Context, _ Trigger, f Fire) (Result, error) {
			select {
			case <-let:
				return Result{Calls: 1, StopCause: "completed"}, nil
			case <-ctx.Done():
				return Result{}, context.Cause(ctx)
			}
		})}), db, w.f.clock}
	if err := w.f.Settle(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// crash ends the process: nothing of it reaches the record any more.
func (w *world) crash(t *rapid.T) {
	if err := w.f.db.Close(); err != nil {
		t.Fatal(err)
	}
	w.kill()
	w.f.Wait()
}

// look says that somebody looked at the clock for the trigger.
func (w *world) look() {
	if now := w.f.clock.Now(); w.alive && now.After(w.to) {
		w.to = now
	}
}

// slots are the model's, of the stretch so far.
func (w *world) slots() (list []time.Time) {
	for m := w.from.Unix()/60 + 1; m*60 <= w.to.Unix(); m++ {
		if whenDue[w.schedule](m) {
			list = append(list, time.Unix(m*60, 0))
		}
	}
	return list
}

// next closes the stretch and begins another one.
func (w *world) next(schedule string) {
	w.look()
	done := w.slots()
	w.want = append(w.want, done...)
	w.from = later(w.from, w.f.clock.Now())
	if len(done) > 0 {
		w.from = later(w.from, done[len(done)-1])
	}
	w.to, w.schedule = w.from, schedule
}

func (w *world) tick(t *rapid.T) {
	list, err := w.f.Tick(w.ctx, w.f.clock.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	for _, d := range list {
		if d.Do == "run" {
			runs++
			if w.ran[d.Slot] {
				t.Fatalf("slot %s was run twice", d.Slot)
			}
			w.ran[d.Slot] = true
		} else if d.Reason == "" {
			t.Fatalf("skipped without a reason: %+v", d)
		}
	}
	if runs > 1 {
		t.Fatalf("one tick ran %d slots of one trigger", runs)
	}
	w.look()
}

// Over any sequence of sleeps, crashes, jumps of the clock, pauses, edits,
// switching off and on and deleting, each slot has exactly one row: run, or
// skipped with its reason.
func TestEachSlotHasExactlyOneRow(t *testing.T) {
	dir, n := t.TempDir(), 0
	names := []string{}
	for s := range whenDue {
		names = append(names, s)
	}
	slices.Sort(names)
	rapid.Check(t, func(t *rapid.T) {
		n++
		w := &world{path: filepath.Join(dir, fmt.Sprint(n), "mecha.db"), ran: map[time.Time]bool{}, f: fixture{clock: &clock{at: noon.Add(time.Duration(rapid.IntRange(0, 86_400_000).Draw(t, "ms")) * time.Millisecond)}}}
		defer os.RemoveAll(filepath.Dir(w.path))
		w.start(t)
		add := func(t *rapid.T) {
			s := rapid.SampledFrom(names).Draw(t, "schedule")
			tr := prompt("brief", s)
			tr.CatchUp = rapid.SampledFrom([]string{"always", "never", "20m"}).Draw(t, "catch-up")
			if _, err := w.f.Add(w.ctx, terminal, tr); err != nil {
				t.Fatal(err)
			}
			if w.from.IsZero() {
				w.from, w.to, w.schedule = w.f.clock.Now(), w.f.clock.Now(), s
			} else {
				w.from = later(w.from, w.f.clock.Now())
				w.to, w.schedule = w.from, s
			}
			w.alive = true
		}
		add(t)
		state := func(to string) func(*rapid.T) {
			return func(t *rapid.T) {
				if !w.alive {
					return
				}
				_, fresh, err := w.f.SetState(w.ctx, terminal, "brief", to)
				if err != nil {
					t.Fatal(err)
				}
				if fresh {
					w.next(w.schedule)
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"sleep": func(t *rapid.T) {
				w.f.clock.add(time.Duration(rapid.IntRange(1, 3*3600_000).Draw(t, "ms")) * time.Millisecond)
				w.tick(t)
			},
			"suspend": func(t *rapid.T) {
				w.f.clock.add(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
				w.tick(t)
			},
			"back": func(t *rapid.T) {
				w.f.clock.add(-time.Duration(rapid.IntRange(1, 5*3600).Draw(t, "s")) * time.Second)
				w.tick(t)
			},
			"clock moves, nobody looks": func(t *rapid.T) {
				w.f.clock.add(time.Duration(rapid.IntRange(-3600, 10*3600).Draw(t, "s")) * time.Second)
			},
			"crash": func(t *rapid.T) {
				w.crash(t)
				w.start(t)
			},
			"runs end": func(t *rapid.T) {
				close(w.let)
				w.f.Wait()
				w.crash(t)
				w.start(t)
			},
			"pause":   func(*rapid.T) { w.paused.Store(!w.paused.Load()) },
			"disable": state("disabled"),
			"enable":  state("enabled"),
			"edit the schedule": func(t *rapid.T) {
				if !w.alive {
					return
				}
				s := rapid.SampledFrom(names).Draw(t, "schedule")
				if _, err := w.f.Edit(w.ctx, terminal, "brief", func(tr *Trigger) { tr.Schedule = s }); err != nil {
					t.Fatal(err)
				}
				if s != w.schedule {
					w.next(s)
				}
			},
			"edit the prompt": func(t *rapid.T) {
				if !w.alive {
					return
				}
				if _, err := w.f.Edit(w.ctx, terminal, "brief", func(tr *Trigger) { tr.Prompt += "." }); err != nil {
					t.Fatal(err)
				}
			},
			"delete": func(t *rapid.T) {
				if !w.alive {
					return
				}
				state("deleted")(t)
				w.alive = false
			},
			"add again": func(t *rapid.T) {
				if !w.alive {
					add(t)
				}
			},
			"by hand": func(t *rapid.T) {
				if !w.alive {
					return
				}
				if _, err := w.f.RunNow(w.ctx, w.ctx, terminal, "brief"); err != nil && !strings.Contains(err.Error(), "runs already") {
					t.Fatal(err)
				}
			},
		})
		w.tick(t)
		close(w.let)
		w.f.Wait()
		w.verify(t)
		w.crash(t)
	})
}

func (w *world) verify(t *rapid.T) {
	want := append([]time.Time{}, w.want...)
	if w.alive {
		want = append(want, w.slots()...)
	}
	rows, err := w.f.Runs(context.Background(), "brief", time.Time{}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	have := map[time.Time]int{}
	ran := 0
	for _, r := range rows {
		switch {
		case r.Status == "running":
			t.Fatalf("nothing runs, but the ledger has %+v", r)
		case r.Slot.IsZero():
			continue
		case r.Status == "skipped" && r.Reason == "", r.Slots > 1 && r.Status != "skipped":
			t.Fatalf("a row that says too little: %+v", r)
		case r.Slots == 1:
			have[r.Slot]++
			if r.Status != "skipped" {
				ran++
			}
			continue
		}
		n := 0
		for _, s := range want {
			if !s.Before(r.First) && !s.After(r.Slot) {
				have[s]++
				n++
			}
		}
		if n != r.Slots {
			t.Fatalf("a row stands for %d slots, there are %d: %+v", r.Slots, n, r)
		}
	}
	for _, s := range want {
		if have[s] != 1 {
			t.Fatalf("slot %s has %d rows", s.UTC(), have[s])
		}
		delete(have, s)
	}
	if len(have) > 0 {
		t.Fatalf("rows for what is no slot: %v", have)
	}
	if ran > len(w.ran) {
		t.Fatalf("%d slots ran, %d were told", ran, len(w.ran))
	}
}
