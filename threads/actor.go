package threads

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// actor is one live thread: one goroutine that runs its runs one after another.
// Its mailbox holds no words (those are rows), only that there is something to
// look at.
type actor struct {
	t    *Threads
	key  string
	mail chan struct{}

	mu     sync.Mutex
	cancel context.CancelCauseFunc // of the run under way; nil: none
	seat   *seat                   // of the run under way; nil: none, or it waits for one

	jail, spill *jail.Jail        // the actor's own, held while it lives
	missing     map[string]string // files that could not be fetched, and why
}

func newActor(t *Threads, key string) *actor {
	return &actor{t: t, key: key, mail: make(chan struct{}, 1), missing: map[string]string{}}
}

func (a *actor) nudge() {
	select {
	case a.mail <- struct{}{}:
	default:
	}
}

// stop ends the run under way at a safe point; false: there is none.
func (a *actor) stop(cause error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cancel == nil {
		return false
	}
	a.cancel(cause)
	return true
}

// live works until nothing came for a while, or ctx ends.
func (a *actor) live(ctx context.Context) {
	defer a.bed()
	idle := time.NewTimer(a.t.cfg.IdleAfter)
	defer idle.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.mail:
			for ctx.Err() == nil {
				more, err := a.step(ctx)
				if err != nil && ctx.Err() == nil {
					a.t.Log.Error("a thread stopped on the record", "thread", a.key, "error", err)
				}
				if !more {
					break
				}
			}
			idle.Reset(a.t.cfg.IdleAfter)
		case <-idle.C:
			if a.t.retire(a) {
				return
			}
		}
	}
}

// bed gives back what the actor held. The row remembers the rest.
func (a *actor) bed() {
	a.t.mu.Lock()
	if a.t.actors[a.key] == a {
		delete(a.t.actors, a.key)
	}
	a.t.mu.Unlock()
	if a.jail != nil {
		if a.t.Sleep != nil {
			a.t.Sleep(a.jail.Path())
		}
		a.jail.Close()
	}
	if a.spill != nil {
		a.spill.Close()
	}
}

// step does the next run where one is due; more tells to look again.
func (a *actor) step(ctx context.Context) (more bool, err error) {
	due, err := a.due(ctx)
	if err != nil || !due {
		return false, err
	}
	if paused, err := a.t.Paused(ctx); err != nil || paused {
		return false, err
	}
	run, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	a.cancel = cancel
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.cancel = nil
		a.mu.Unlock()
		cancel(nil)
	}()
	if err := a.t.queue.enter(run, a.key); err != nil {
		var stopped agent.StoppedBy
		if errors.As(err, &stopped) {
			return true, a.t.withdraw(ctx, a.key, stopped)
		}
		return false, nil
	}
	seat := &seat{q: &a.t.queue, key: a.key, clock: &lap{mark: a.t.Now()}, life: run.Done(), held: true}
	defer seat.leave()
	a.sits(seat)
	defer a.sits(nil)
	return true, a.run(run, seat)
}

func (a *actor) sits(s *seat) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seat = s
}

// due tells whether a run is to be made or taken up.
func (a *actor) due(ctx context.Context) (due bool, err error) {
	err = a.t.db.Read(ctx, func(tx *record.Tx) error {
		rows, err := record.Collect(tx, scanInbox, qInboxQueued, a.key)
		if err != nil {
			return err
		}
		_, open, err := openRun(tx, a.key)
		due = len(rows) > 0 || open
		return err
	})
	return due, err
}

// dirs opens the workspace and the spill directory, once a life.
func (a *actor) dirs(th Thread) error {
	if a.jail != nil {
		return nil
	}
	j, err := openDir(th.Workspace)
	if err != nil {
		return err
	}
	s, err := openDir(workspaceDir(a.t.Spill, a.key))
	if err != nil {
		j.Close()
		return err
	}
	a.jail, a.spill = j, s
	return nil
}

// seat is a run's place in the queue: given back while it, or a helper of it,
// waits for a person. Helpers may wait at the same time.
type seat struct {
	q     *queue
	key   string
	clock *lap            // of the run
	life  <-chan struct{} // closed when the run is over, or is to stop

	mu   sync.Mutex
	held bool
	away int // who waits
}

func (s *seat) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away++
	if s.held {
		s.held = false
		s.q.leave()
	}
}

// taken tells whether the run has its place.
func (s *seat) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

func (s *seat) retake(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away--
	if s.held || s.away > 0 {
		return nil
	}
	if err := s.q.enter(ctx, s.key); err != nil {
		return fmt.Errorf("cannot go on: %w", err)
	}
	s.held = true
	return nil
}
