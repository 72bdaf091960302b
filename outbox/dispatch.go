package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const (
	// maxReleases bounds how many drafts go out at once.
	maxReleases = 4
	// longestSleep of the dispatcher: a wall clock can jump (a suspended laptop).
	longestSleep = 30 * time.Second
)

type due struct {
	id string
	at int64 // ms; 0: now
}

// dispatcher is the state of one Run.
type dispatcher struct {
	*Outbox
	wg       sync.WaitGroup
	freed    chan struct{}     // holds a token when a release ended
	searches map[string]search // of uncertain drafts; the loop's own
	mu       sync.Mutex
	out      map[string]bool // drafts whose release is under way
	looking  bool            // one reconciler at a time
}

// Run releases what is approved and due, marks what has become stale or has
// expired, and lets reconcilers look for what is uncertain, until ctx ends; then
// it waits for what is under way. Only the holder of the home's lock runs it,
// after Settle.
func (o *Outbox) Run(ctx context.Context) error {
	changed, cancel := o.db.Subscribe()
	defer cancel()
	d := &dispatcher{Outbox: o, freed: make(chan struct{}, 1), out: map[string]bool{}, searches: map[string]search{}}
	defer o.late.Wait()
	defer d.wg.Wait()
	for {
		wait, err := d.pass(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			// A record that is busy or full now may not be so later, and drafts
			// wait for nobody else.
			o.Log.Error("the outbox could not be looked through; trying again", "error", err)
			wait = time.Second
		}
		timer := time.NewTimer(min(wait, longestSleep))
		select {
		case <-ctx.Done():
		case <-changed:
		case <-d.freed:
		case <-timer.C:
		}
		timer.Stop()
		if ctx.Err() != nil {
			return nil
		}
	}
}

// pass starts what is due, and answers how long nothing else will be.
func (d *dispatcher) pass(ctx context.Context) (wait time.Duration, err error) {
	wait = longestSleep
	if err := d.age(ctx); err != nil {
		return wait, err
	}
	if err := d.look(ctx); err != nil {
		return wait, err
	}
	list, err := d.approved(ctx)
	if err != nil {
		return wait, err
	}
	if len(list) > 0 && d.Paused != nil {
		if paused, err := d.Paused(ctx); paused || err != nil {
			return wait, err
		}
	}
	now := d.db.Now().UnixMilli()
	for _, draft := range list {
		if draft.at > now {
			wait = min(wait, time.Duration(draft.at-now)*time.Millisecond)
			continue
		}
		d.release(ctx, draft.id)
	}
	return wait, nil
}

// release starts one, unless it is under way already.
func (d *dispatcher) release(ctx context.Context, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.out[id] {
		return
	}
	d.out[id] = true
	d.wg.Go(func() {
		defer d.ended(id)
		_, err := d.Dispatch(ctx, id)
		var state *StateError
		if err != nil && !errors.As(err, &state) && !errors.Is(err, ErrPaused) && ctx.Err() == nil {
			d.Log.Error("a release could not be made or noted", "draft", id, "error", err)
		}
	})
}

// ended wakes the loop: a draft that was approved again meanwhile is due.
func (d *dispatcher) ended(id string) {
	d.mu.Lock()
	delete(d.out, id)
	d.mu.Unlock()
	select {
	case d.freed <- struct{}{}:
	default:
	}
}

func (o *Outbox) approved(ctx context.Context) (list []due, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (d due, err error) {
			err = r.Scan(&d.id, &d.at)
			return d, err
		}, qDraftsDue)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look for approved drafts: %w", err)
	}
	return list, nil
}

// AwaitOutcome waits until a draft that was approved here is decided one way or
// another by whoever dispatches, and answers it. A held or scheduled one is
// answered at once.
func (o *Outbox) AwaitOutcome(ctx context.Context, id string) (Draft, error) {
	changed, cancel := o.db.Subscribe()
	defer cancel()
	for {
		d, err := o.Get(ctx, id)
		if err != nil {
			return d, err
		}
		if d.State != Approved && d.State != Releasing {
			return d, nil
		}
		if d.State == Approved && (d.HoldUntil != nil || d.NotBefore != nil) {
			return d, nil
		}
		timer := time.NewTimer(200 * time.Millisecond) // another process's commits
		select {
		case <-changed:
			timer.Stop()
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return d, context.Cause(ctx)
		}
	}
}
