package e2e

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var loadThreads = flag.Int("load.threads", 1000, "how many threads BenchmarkThreads keeps alive")

// BenchmarkThreads keeps a thousand threads alive, each with a run behind it, and
// says what memory that takes.
//
//	go test -run '^$' -bench Threads -benchtime 1x ./internal/e2e
func BenchmarkThreads(b *testing.B) {
	const most = 300 // MB
	for b.Loop() {
		p := loaded(b, -1, metronome(nil), "[slack]\nmax_concurrent = 16\n")
		_, before := p.memory()
		began := time.Now()
		for n := range *loadThreads {
			p.dm(fmt.Sprintf("hello %d", n))
		}
		eventually(b, 5*time.Minute, "an end to every run", func() error {
			done := 0
			for _, th := range p.rows("threads", "--limit", "100000") {
				if th["state"] == "done" {
					done++
				}
			}
			if done != *loadThreads {
				return fmt.Errorf("%d of %d are done", done, *loadThreads)
			}
			return nil
		})
		took := time.Since(began)
		peak, now := p.memory()
		if peak > most {
			b.Errorf("%d threads took %.0f MB, want less than %d", *loadThreads, peak, most)
		}
		b.ReportMetric(peak, "MB-peak")
		b.ReportMetric(now, "MB-now")
		b.ReportMetric((now-before)*1024/float64(*loadThreads), "KB/thread")
		b.ReportMetric(float64(*loadThreads)/took.Seconds(), "runs/s")
		p.stop()
	}
}
