package bot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// sink shows one run in its thread while it happens. Event only enqueues; one
// goroutine turns what was enqueued into stream chunks.
type sink struct {
	b    *Bot
	th   threads.Thread
	run  string
	post threads.Post

	mu     sync.Mutex
	events []agent.Event
	ended  bool
	wake   chan struct{}
}

var _ agent.Sink = (*sink)(nil)

// Sink begins to show a run. It is threads.Deps.Sink.
func (b *Bot) Sink(ctx context.Context) func(threads.Thread, threads.RunInfo, threads.Post) agent.Sink {
	return func(th threads.Thread, run threads.RunInfo, post threads.Post) agent.Sink {
		s := &sink{b: b, th: th, run: run.ID, post: post, wake: make(chan struct{}, 1)}
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.shut {
			return s // what it would show is journaled, and stands after the next start
		}
		if old := b.sinks[run.ID]; old != nil {
			old.end()
		}
		b.sinks[run.ID] = s
		b.shows.Go(func() { // waited for by Run
			s.show(ctx)
			b.mu.Lock()
			if b.sinks[run.ID] == s {
				delete(b.sinks, run.ID)
			}
			b.mu.Unlock()
			b.kick()
		})
		return s
	}
}

// handedToSink tells that a due post is a stream whose sink lives, and, where
// the record says that its run has ended, tells the sink.
func (b *Bot) handedToSink(p threads.Post) bool {
	if p.Kind != threads.PostStream {
		return false
	}
	b.mu.Lock()
	s := b.sinks[p.Ref]
	b.mu.Unlock()
	if s == nil || s.post.ID != p.ID {
		return false
	}
	if p.Want > 1 { // the end of the run asks for it once more
		s.end()
	}
	return true
}

// waitSinks lets no stream begin any more and waits until every one has ended:
// after ctx has.
func (b *Bot) waitSinks() {
	b.mu.Lock()
	b.shut = true
	b.mu.Unlock()
	b.shows.Wait()
}

// Event is called from within the run: what must be known before anything that
// the event leads to can be posted is noted here and now.
func (s *sink) Event(e agent.Event) {
	if e.Private {
		s.b.turnsPrivate(s.th.Key)
	}
	s.mu.Lock()
	s.events = append(s.events, e)
	s.mu.Unlock()
	s.nudge()
}

func (s *sink) end() {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.nudge()
}

func (s *sink) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *sink) take() (events []agent.Event, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	events, s.events = s.events, nil
	return events, s.ended
}

// Show uploads files into the thread, one by one; an error is the call's result.
func (s *sink) Show(ctx context.Context, call string, files []agent.ShownFile) error {
	at, err := s.b.placeOf(ctx, s.th.Key)
	if err != nil {
		return err
	}
	for _, f := range files {
		title := f.Title
		if title == "" {
			title = f.Name
		}
		if err := s.b.upload(ctx, at, Attachment{Name: f.Name, Title: title, Data: f.Data}, "", nil); err != nil {
			return fmt.Errorf("cannot show %s in the thread: %w", f.Name, err)
		}
	}
	return nil
}

// statusEvery is how often "is working…" is said again while nothing else is
// shown: Slack takes it away after two minutes.
const statusEvery = 90 * time.Second

// show drives the stream until the run has ended and its last words stand, or
// ctx ends: then the stream is left open, and the next start closes it.
func (s *sink) show(ctx context.Context) {
	st := newStream(ctx, s.b, s.th, s.run, s.post)
	if s.th.Taint.Private {
		st.leave(ctx)
	}
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	status := time.Now()
	for {
		events, ended := s.take()
		for _, e := range events {
			st.event(ctx, e)
			if e.Kind == agent.CallWaiting {
				status = time.Time{} // its card is there: nothing is being worked at
			} else if status.IsZero() && e.Kind == agent.CallDone {
				status = time.Now()
			}
		}
		if ended && len(events) == 0 {
			if err := st.finish(ctx); err != nil && ctx.Err() == nil {
				s.b.Log.Warn("cannot finish a stream; it is settled by what stands", "run", s.run, "error", err)
			}
			return
		}
		if len(events) == 0 || st.due() {
			st.flush(ctx, false)
		}
		wait := st.nextFlush()
		if !st.open() && !status.IsZero() {
			if time.Since(status) >= statusEvery {
				status = time.Now()
				s.b.status(ctx, s.th.Key, working)
			}
			wait = min(wait, statusEvery-time.Since(status))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		}
	}
}

func short(s string, n int) string {
	shown, _ := blockkit.Fit(s, n)
	return shown
}
