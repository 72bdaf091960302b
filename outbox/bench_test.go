package outbox

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// raw writes a draft's rows with the same statements and nothing besides: the
// durable commit that staging needs, on this disk.
func (b *bench) raw(s Staging, id string) {
	err := b.db.Write(ctx, func(tx *record.Tx) error {
		return insert(tx, s, id, s.Args, Message, nil, func(string) {})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// rawApproval writes the rows of an approval.
func (b *bench) rawApproval(d Draft) {
	err := b.db.Write(ctx, func(tx *record.Tx) error {
		if _, err := tx.Exec(qApprovalInsert, d.ID, d.Revision, d.Digest, "U1", "slack", 0, tx.NowMS()); err != nil {
			return err
		}
		if _, err := tx.Exec(qDraftApproved, nil, nil, "U1", d.ID, d.Revision, d.Digest); err != nil {
			return err
		}
		return note(tx, row{Draft: d}, "U1", "slack", "approve", "done")
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// fresh is a staging in a conversation of its own.
func (b *bench) fresh() Staging {
	n := b.calls.Load()
	s := b.staging(fmt.Sprintf(`{"to":["%d@example.edu"],"subject":"Budget","body":"hello"}`, n))
	s.Thread = fmt.Sprint("T", n)
	return s
}

func timed(fn func()) time.Duration {
	start := time.Now()
	fn()
	return time.Since(start)
}

func median(n int, fn func(i int)) time.Duration {
	took := make([]time.Duration, n)
	for i := range n {
		start := time.Now()
		fn(i)
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[n/2]
}

// BenchmarkStage and BenchmarkApprove tell, besides ns/op, x-raw: their median
// over the median of the raw durable commits that they need, taken in turns. At
// most 1.5 is promised.
func BenchmarkStage(tb *testing.B) {
	b := newBenchIn(tb, Config{}, tb.TempDir())
	j := openJail(tb, b.work)
	var took, raw []time.Duration
	for tb.Loop() {
		s := b.fresh()
		took = append(took, timed(func() {
			prep, err := b.Prepare(ctx, s.Tool, s.Args, j)
			if err == nil {
				s.Prepared = prep
				err = b.db.Write(ctx, func(tx *record.Tx) error { _, err := b.Stage(tx, s); return err })
			}
			if err != nil {
				tb.Fatal(err)
			}
		}))
		tb.StopTimer()
		s = b.fresh()
		raw = append(raw, timed(func() { b.raw(s, fmt.Sprint("raw-", s.Call)) }))
		tb.StartTimer()
	}
	report(tb, took, raw)
}

func BenchmarkApprove(tb *testing.B) {
	b := newBenchIn(tb, Config{}, tb.TempDir())
	var took, raw []time.Duration
	for tb.Loop() {
		tb.StopTimer()
		d, r := b.stageAs(b.fresh()), b.stageAs(b.fresh())
		raw = append(raw, timed(func() { b.rawApproval(r) }))
		tb.StartTimer()
		took = append(took, timed(func() { b.approve(d) }))
	}
	report(tb, took, raw)
}

func report(tb *testing.B, took, raw []time.Duration) {
	slices.Sort(took)
	slices.Sort(raw)
	mid, low := took[len(took)/2], raw[len(raw)/2]
	tb.ReportMetric(float64(mid.Microseconds()), "µs-median")
	tb.ReportMetric(float64(low.Microseconds()), "µs-raw")
	tb.ReportMetric(float64(mid)/float64(low), "x-raw")
}

// crowd is a record with many decided drafts and a few pending ones.
func crowd(tb testing.TB, decided, pending int) *bench {
	b := newBenchIn(tb, Config{}, memory(tb))
	n := 0
	for n < decided+pending {
		err := b.db.Write(ctx, func(tx *record.Tx) error {
			for range min(5000, decided+pending-n) {
				s := b.staging(args("hello"))
				s.Thread = fmt.Sprint("T", n%1000)
				id := fmt.Sprintf("20261130-%08x", n)
				if err := insert(tx, s, id, s.Args, Message, nil, func(string) {}); err != nil {
					return err
				}
				// The pending ones lie scattered among the others.
				if n%((decided+pending)/pending) != 0 {
					if _, err := tx.Exec(qDraftResolve, Released, tx.NowMS(), "U1", "", id, Pending); err != nil {
						return err
					}
				}
				n++
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
		b.clock.move(time.Minute)
	}
	return b
}

func BenchmarkListPending(tb *testing.B) {
	b := crowd(tb, 99_900, 100)
	for tb.Loop() {
		list, err := b.List(ctx, Filter{})
		if err != nil || len(list) != 100 {
			tb.Fatalf("%d, %v", len(list), err)
		}
	}
}

func BenchmarkShow(tb *testing.B) {
	b := crowd(tb, 99_900, 100)
	b.Transcript = transcript{calls: []PastCall{{CallID: "c1"}}}
	list, err := b.List(ctx, Filter{})
	if err != nil {
		tb.Fatal(err)
	}
	for tb.Loop() {
		d, err := b.Find(ctx, list[50].ID)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := b.Source(ctx, d); err != nil {
			tb.Fatal(err)
		}
	}
}

// The promises as tests, with room for a busy machine.
func TestSpeed(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; run without -short")
	}
	b := crowd(t, 99_900, 100)
	list := median(21, func(int) {
		if got, err := b.List(ctx, Filter{}); err != nil || len(got) != 100 {
			t.Fatalf("%d, %v", len(got), err)
		}
	})
	show := median(21, func(int) {
		if _, err := b.Find(ctx, "20261130-00000"+"3e8"); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("list of 100 among 100,000: %s; show: %s", list, show)
	if list > 4*5*time.Millisecond || show > 4*2*time.Millisecond {
		t.Errorf("list %s (promised: 5 ms), show %s (promised: 2 ms)", list, show)
	}
}
