package triggers

import (
	"fmt"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// many fills a record with n triggers of two hundred schedules in eight zones,
// none due within the hour.
func many(b *testing.B, n int) fixture {
	b.Helper()
	f := newFixture(b, Config{}, Deps{Runner: fine})
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Auckland", "America/Sao_Paulo"}
	for done := 0; done < n; {
		err := f.db.Write(b.Context(), func(tx *record.Tx) error {
			for range 500 {
				tr := Trigger{Name: fmt.Sprintf("t%d", done), Kind: "prompt", Schedule: fmt.Sprintf("%d 7 %d * *", done%60, 2+done%20), Zone: zones[done%len(zones)], Prompt: "look", State: "enabled", Mode: "read-only", CatchUp: "always", Timeout: time.Minute, Accounted: tx.Now(), Created: tx.Now()}
				if err := put(tx, tr); err != nil {
					return err
				}
				done++
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return f
}

// The promise: a tick over 10,000 triggers takes under 5 ms.
func BenchmarkTick10000(b *testing.B) {
	f := many(b, 10_000)
	f.tick(b)
	f.add(b, prompt("due", "* * * * *"))
	b.Run("nothing due", func(b *testing.B) {
		for b.Loop() {
			f.tick(b)
		}
	})
	b.Run("one due", func(b *testing.B) {
		for b.Loop() {
			f.clock.add(time.Minute)
			f.tick(b)
		}
	})
	b.Run("one changed", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			if _, err := f.Edit(b.Context(), terminal, "t77", func(tr *Trigger) { tr.Prompt += "." }); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			f.tick(b)
		}
	})
}

// The promise: the next fire times of 10,000 triggers in under 50 ms.
func BenchmarkUpcoming10000(b *testing.B) {
	f := many(b, 10_000)
	f.tick(b)
	for _, c := range []struct {
		name string
		from time.Time
	}{{"from now", f.clock.Now()}, {"from another year", noon.AddDate(1, 0, 0)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				next, err := f.Upcoming(b.Context(), c.from)
				if err != nil || len(next) != 10_000 {
					b.Fatal(len(next), err)
				}
			}
		})
	}
}

// The first look of a process reads every row and parses every schedule.
func BenchmarkFirstTick10000(b *testing.B) {
	f := many(b, 10_000)
	for b.Loop() {
		fresh := fixture{New(f.db, Config{}, f.Deps), f.db, f.clock}
		fresh.tick(b)
	}
}

// Ten thousand slots of one instant: each gets its durable row and its run.
func BenchmarkAllDue10000(b *testing.B) {
	f := many(b, 10_000)
	f.tick(b)
	for b.Loop() {
		f.clock.set(f.clock.Now().AddDate(0, 1, 0))
		list, err := f.Tick(b.Context(), f.clock.Now(), false)
		if err != nil || len(list) < 10_000 {
			b.Fatal(len(list), err)
		}
		b.StopTimer()
		f.Wait() // the runs' own rows
		b.StartTimer()
	}
}
