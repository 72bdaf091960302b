package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// maxReleases bounds how many drafts go out at once.
const maxReleases = 4

const qDraftsDue = `SELECT id, coalesce(hold_until, 0), coalesce(not_before, 0) FROM drafts WHERE state = 'approved' ORDER BY created`

type due struct {
	id string
	at int64 // ms; 0: now
}

// Run releases what is approved and due, until ctx ends; then it waits for the
// releases under way. Only the holder of the home's lock runs it, after Settle.
func (o *Outbox) Run(ctx context.Context) error {
	changed, cancel := o.db.Subscribe()
	defer cancel()
	var wg sync.WaitGroup
	defer wg.Wait()
	seats := make(chan struct{}, maxReleases)
	var mu sync.Mutex
	out := map[string]bool{} // under way
	for {
		list, err := o.approved(ctx)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("cannot look for approved drafts: %w", err)
		}
		wait := time.Hour
		paused := false
		if o.Paused != nil && len(list) > 0 {
			if paused, err = o.Paused(ctx); err != nil && ctx.Err() == nil {
				return err
			}
		}
		now := o.Now().UnixMilli()
		for _, d := range list {
			mu.Lock()
			busy := out[d.id]
			mu.Unlock()
			if busy || paused {
				continue
			}
			if d.at > now {
				wait = min(wait, time.Duration(d.at-now)*time.Millisecond)
				continue
			}
			mu.Lock()
			out[d.id] = true
			mu.Unlock()
			wg.Go(func() {
				select {
				case seats <- struct{}{}:
				case <-ctx.Done():
					return
				}
				defer func() { <-seats }()
				_, err := o.Dispatch(ctx, d.id)
				mu.Lock()
				delete(out, d.id)
				mu.Unlock()
				var state *StateError
				if err != nil && !errors.As(err, &state) && ctx.Err() == nil {
					o.Log.Error("a release could not be noted", "draft", d.id, "error", err)
				}
			})
		}
		// A wall clock can jump (a suspended laptop): never sleep for long.
		timer := time.NewTimer(min(wait, 30*time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (o *Outbox) approved(ctx context.Context) (list []due, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (d due, err error) {
			var hold, notBefore int64
			err = r.Scan(&d.id, &hold, &notBefore)
			d.at = max(hold, notBefore)
			return d, err
		}, qDraftsDue)
		return err
	})
	return list, err
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
		select {
		case <-changed:
		case <-time.After(200 * time.Millisecond): // another process's commits
		case <-ctx.Done():
			return d, context.Cause(ctx)
		}
	}
}
