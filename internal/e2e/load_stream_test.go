package e2e

import (
	"flag"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

var streamTokens = flag.Int("stream.tokens", 20_000, "how long the answers of BenchmarkStream are")

// BenchmarkStream has a model stream 200 tokens a second, alone and with seven
// others, inside Slack's own budgets, and says by how much the thread was behind
// its source at most. Every word has to stand there in the end, once and in
// order; alone, no more than two seconds behind.
//
//	go test -run '^$' -bench Stream -benchtime 1x ./internal/e2e
func BenchmarkStream(b *testing.B) {
	for _, side := range []int{1, 8} {
		b.Run(fmt.Sprintf("%d at once", side), func(b *testing.B) {
			for b.Loop() {
				watch := &lags{said: map[string][]mark{}}
				p := loaded(b, 0, metronome(watch.source), "[slack]\nmax_concurrent = 16\n")
				list := make([]thread, side)
				for i := range list {
					list[i] = p.dm(fmt.Sprintf("stream %d tokens, number %d", *streamTokens, i))
				}
				var wg sync.WaitGroup
				worst := make([]time.Duration, side)
				for i, t := range list {
					wg.Go(func() { worst[i] = watch.follow(b, t, fmt.Sprintf("stream %d tokens, number %d", *streamTokens, i)) })
				}
				wg.Wait()
				most := time.Duration(0)
				for _, d := range worst {
					most = max(most, d)
				}
				if side == 1 && most > 2*time.Second {
					b.Errorf("the thread was %v behind its source", most)
				}
				for _, t := range list {
					complete(b, t, *streamTokens)
				}
				peak, _ := p.memory()
				b.ReportMetric(float64(most.Milliseconds()), "ms/behind-most")
				b.ReportMetric(peak, "MB-peak")
				p.stop()
			}
		})
	}
}

// mark is how far a source was at a moment.
type mark struct {
	at    time.Time
	bytes int
}

// lags compares what sources have said with what stands in their threads.
type lags struct {
	mu   sync.Mutex
	said map[string][]mark // by order
}

func (l *lags) source(order string, bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	order = strings.TrimSpace(order)
	l.said[order] = append(l.said[order], mark{time.Now(), bytes})
}

// behind is since when the source has been further than bytes.
func (l *lags) behind(order string, bytes int, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for said, marks := range l.said {
		if !strings.Contains(said, order) {
			continue
		}
		for i, m := range marks {
			if m.bytes > bytes {
				l.said[said] = marks[i:]
				return now.Sub(m.at)
			}
		}
	}
	return 0
}

// follow watches a thread until its answer has ended, and answers by how much
// it was behind at most while its source went on.
func (l *lags) follow(b *testing.B, t thread, order string) (worst time.Duration) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(15 * time.Minute); time.Now().Before(end); <-tick.C {
		now := time.Now() // before it is looked at: what comes meanwhile is not late
		list, err := t.ours()
		if err != nil {
			b.Error(err)
			return worst
		}
		done := false
		for _, m := range list {
			done = done || ended(m)
		}
		if done {
			return worst
		}
		worst = max(worst, l.behind(order, shown(list), now))
	}
	b.Errorf("%s: its answer has not ended", order)
	return worst
}

var words = regexp.MustCompile(`\bw(\d+)\b`)

// shown is how far the words of a thread have come, in bytes of the source.
func shown(list []message) (bytes int) {
	for _, m := range list {
		for _, w := range words.FindAllString(m.words(), -1) {
			bytes += len(w) + 1
		}
	}
	return bytes
}

// complete fails unless every word stands in the thread once, in order.
func complete(b testing.TB, t thread, want int) {
	b.Helper()
	all, err := t.all()
	if err != nil {
		b.Fatal(err)
	}
	next := 0
	for _, g := range words.FindAllStringSubmatch(all, -1) {
		n, _ := strconv.Atoi(g[1])
		if n != next {
			b.Errorf("after word %d comes word %d", next-1, n)
			return
		}
		next++
	}
	if next != want {
		b.Errorf("%d of %d words stand in the thread", next, want)
	}
}
