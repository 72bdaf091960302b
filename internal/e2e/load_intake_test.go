package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

var (
	loadRate = flag.Int("load.rate", 1000, "envelopes a second of BenchmarkIntake")
	loadTime = flag.Duration("load.time", time.Minute, "how long BenchmarkIntake goes on")
	loadRuns = flag.Int("load.runs", 5, "how many of them a second begin a run")
)

// BenchmarkIntake sends envelopes for a minute: a few begin runs of one turn, the
// rest are our own echoes, strangers, edits and repeats. It counts what was lost,
// what took longer than Slack's three seconds and what was run twice (each has to
// be none), and says how long an ack takes, beside its floor in the same run: a
// bare socket's echo and one group commit of the same record.
//
//	go test -run '^$' -bench Intake -benchtime 1x ./internal/e2e
func BenchmarkIntake(b *testing.B) {
	for b.Loop() {
		p := loaded(b, -1, metronome(nil), "[slack]\nmax_concurrent = 16\n")
		w := watchAcks(p)
		f := &flood{p: p, acks: w, general: p.channel("general"), dm: p.ready.DMs["alice"]}
		bare := bareFloor(b)
		idle := p.processor()
		f.run(b, *loadRate, *loadTime, *loadRuns)
		floor := bare.stop()
		acks, sent := w.stop()
		runs := int(f.hellos.Load())
		eventually(b, 2*time.Minute, "an end to every run", func() error {
			open := 0
			for _, th := range p.rows("threads", "--limit", "100000") {
				if s := th["state"]; s != "done" {
					open++
				}
			}
			if open > 0 {
				return fmt.Errorf("%d threads are open", open)
			}
			return nil
		})
		peak, _ := p.memory()
		busy := p.processor() - idle
		db := p.stopped()
		begun := count(b, db, `SELECT count(*) FROM runs`)
		twice := count(b, db, `SELECT count(*) FROM (SELECT thread FROM runs GROUP BY thread HAVING count(*) > 1)`)
		answered := count(b, db, `SELECT count(*) FROM messages WHERE role = 'assistant'`)
		if begun != runs || twice > 0 || answered != runs {
			b.Errorf("%d messages began %d runs with %d answers, %d threads ran twice", runs, begun, answered, twice)
		}
		late, lost := 0, sent-len(acks)
		for _, d := range acks {
			if d > 3*time.Second {
				late++
			}
		}
		b.Logf("acks: %v in the middle, %v at 99 %%; floor: %v, %v", middle(acks, 50), middle(acks, 99), middle(floor, 50), middle(floor, 99))
		if lost > 0 || late > 0 {
			b.Errorf("of %d envelopes %d were never acknowledged and %d later than in 3 s", sent, lost, late)
		}
		b.ReportMetric(float64(sent)/f.took.Seconds(), "envelopes/s")
		b.ReportMetric(float64(runs), "runs")
		b.ReportMetric(peak, "MB-peak")
		b.ReportMetric(float64(busy.Microseconds())/float64(sent), "cpu-µs/envelope")
		report(b, acks, "ack")
		report(b, floor, "floor")
		b.ReportMetric(float64(middle(acks, 99))/float64(middle(floor, 99)), "p99/floor")
		b.ReportMetric(float64(acks[len(acks)-1].Milliseconds()), "ms/ack-max")
	}
}

// middle is the time that so many of a hundred do not exceed; list is sorted.
func middle(list []time.Duration, of int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	return list[len(list)*of/100]
}

// flood sends messages through the workspace as people, apps and Slack do.
type flood struct {
	p           *product
	general, dm string

	acks   *acks
	hellos atomic.Int64 // messages that begin a run
	edited string       // a stranger's message that is edited again and again
	took   time.Duration
}

func (f *flood) run(b *testing.B, rate int, long time.Duration, runs int) {
	f.edited = f.p.say("mallory", f.general, "", "a stranger's first words").ts
	due := make(chan int64, rate)
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			for n := range due {
				if err := f.send(n, rate, runs); err != nil {
					b.Error(err)
				}
			}
		})
	}
	began := time.Now()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for sent := int64(0); ; {
		t := <-tick.C
		since := min(t.Sub(began), long)
		for ; sent < int64(since.Seconds()*float64(rate)); sent++ {
			due <- sent
		}
		if since == long {
			break
		}
	}
	close(due)
	wg.Wait()
	f.took = time.Since(began)
}

// send is the nth envelope.
func (f *flood) send(n int64, rate, runs int) error {
	if every := int64(rate / runs); n%every == 0 {
		f.hellos.Add(1)
		return f.p.post("message", map[string]any{"user": "alice", "channel": f.dm, "text": fmt.Sprintf("hello %d", n)}, nil)
	}
	switch n % 10 {
	case 0, 1:
		return f.p.asBot(f.general, "an echo")
	case 2:
		return f.p.post("edit", map[string]any{"user": "mallory", "channel": f.general, "ts": f.edited, "text": fmt.Sprintf("edited %d", n)}, nil)
	case 3:
		if e := f.acks.again(n); e != "" && f.p.post("fault", map[string]any{"redeliver": e}, nil) == nil {
			return nil
		} // else it is too old to be told again
	}
	return f.p.post("message", map[string]any{"user": "mallory", "channel": f.general, "text": fmt.Sprintf("a stranger's word %d", n)}, nil)
}

// acks are the envelopes and acks of a workspace, followed by its inspector.
type acks struct {
	p    *product
	quit chan struct{}
	done chan struct{}

	mu     sync.Mutex
	seq    uint64
	sent   int
	out    map[string]time.Time
	times  []time.Duration
	events []string // the newest that may be told again
	err    error
}

func watchAcks(p *product) *acks {
	a := &acks{p: p, out: map[string]time.Time{}, quit: make(chan struct{}), done: make(chan struct{})}
	p.must(a.look())
	a.sent, a.times = 0, nil // what came before does not count
	clear(a.out)
	go func() { // ended by stop
		defer close(a.done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-a.quit:
				return
			case <-tick.C:
				if a.look() != nil {
					return
				}
			}
		}
	}()
	return a
}

func (a *acks) look() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var log struct {
		Entries []struct {
			Seq        uint64    `json:"seq"`
			At         time.Time `json:"at"`
			Kind       string    `json:"kind"`
			OK         bool      `json:"ok"`
			EventID    string    `json:"event_id"`
			EnvelopeID string    `json:"envelope_id"`
		}
	}
	if a.err == nil {
		a.err = a.p.get(fmt.Sprintf("log?since=%d", a.seq), &log)
	}
	for _, e := range log.Entries {
		if a.seq > 0 && e.Seq > a.seq+1 && a.err == nil {
			a.err = fmt.Errorf("the inspector forgot %d entries before they were read", e.Seq-a.seq-1)
		}
		a.seq = e.Seq
		switch at, known := a.out[e.EnvelopeID]; {
		case e.Kind == "envelope" && e.OK:
			a.sent++
			a.out[e.EnvelopeID] = e.At
			if a.events = append(a.events, e.EventID); len(a.events) > 200 {
				a.events = a.events[100:]
			}
		case e.Kind == "ack" && known:
			a.times = append(a.times, e.At.Sub(at))
			delete(a.out, e.EnvelopeID)
		}
	}
	return a.err
}

// again is an event that was told lately, "" where none was.
func (a *acks) again(n int64) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.events) == 0 {
		return ""
	}
	return a.events[int(n)%len(a.events)]
}

// stop waits for the acks that are missing, as long as Slack does and some more,
// and answers how long each took, the shortest first.
func (a *acks) stop() (times []time.Duration, sent int) {
	a.p.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
		a.mu.Lock()
		left := len(a.out)
		a.mu.Unlock()
		if left == 0 {
			break
		}
	}
	close(a.quit)
	<-a.done
	a.p.must(a.look())
	slices.Sort(a.times)
	return a.times, a.sent
}

// bare is the least that a durable ack costs, sampled while the load goes on: an
// echo on a bare socket, then one group commit of one small row.
type bare struct {
	quit  chan struct{}
	wg    sync.WaitGroup
	mu    sync.Mutex
	times []time.Duration
}

func bareFloor(b *testing.B) *bare {
	up := websocket.Upgrader{}
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, m, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, m) != nil {
				return
			}
		}
	}))
	b.Cleanup(srv.Close)
	db, err := record.Open(context.Background(), filepath.Join(b.TempDir(), "floor.db"), record.Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	f := &bare{quit: make(chan struct{})}
	const lanes = 4
	for lane := range lanes {
		c, _, err := websocket.DefaultDialer.Dial("ws"+srv.URL[4:], nil)
		if err != nil {
			b.Fatal(err)
		}
		f.wg.Go(func() { // ended by stop
			defer c.Close()
			tick := time.NewTicker(lanes * 20 * time.Millisecond)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-f.quit:
					return
				case <-tick.C:
				}
				began := time.Now()
				if c.WriteMessage(websocket.TextMessage, make([]byte, 700)) != nil {
					return
				}
				if _, _, err := c.ReadMessage(); err != nil {
					return
				}
				err := db.Write(context.Background(), func(tx *record.Tx) error {
					_, err := tx.Exec(`INSERT INTO events (app, team, event, received) VALUES ('a', 't', ?, ?)`, fmt.Sprint(lane, "-", n), tx.NowMS())
					return err
				})
				if err != nil {
					return
				}
				f.mu.Lock()
				f.times = append(f.times, time.Since(began))
				f.mu.Unlock()
			}
		})
	}
	return f
}

func (f *bare) stop() []time.Duration {
	close(f.quit)
	f.wg.Wait()
	slices.Sort(f.times)
	return f.times
}
