package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// How often a reconciler is asked about one unknown outcome, and how long it is
// left alone when it could not look: what lost the answer may have taken the
// server down that is asked now.
const (
	maxLooks  = 10
	lookAgain = time.Minute
)

// search under way, or to come, for one unknown outcome.
type search struct {
	attempts int // of the draft, when it became uncertain
	tries    int
	next     time.Time
}

// look starts the configured reconcilers for uncertain drafts that nothing was
// found of yet, one after the other: a slow server delivers late, so that nothing
// there now is asked about again.
func (d *dispatcher) look(ctx context.Context) error {
	if len(d.cfg.Reconcile) == 0 {
		return nil
	}
	d.mu.Lock()
	busy := d.looking
	d.mu.Unlock()
	if busy {
		return nil
	}
	var todo []Draft
	now := d.db.Now()
	err := d.db.Read(ctx, func(tx *record.Tx) error {
		ids, err := record.Collect(tx, scanID, qDraftsUncertain)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, err := d.get(tx, id)
			if err != nil {
				return err
			}
			s := d.searches[id]
			if s.attempts != len(r.Attempts) {
				s = search{attempts: len(r.Attempts)}
			}
			if _, ok := d.cfg.Reconcile[r.Tool]; !ok || s.tries == maxLooks || s.next.After(now) {
				continue
			}
			s.tries++
			s.next = now.Add(lookAgain)
			d.searches[id] = s
			todo = append(todo, r.Draft)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot look for uncertain drafts: %w", err)
	}
	if len(todo) == 0 {
		return nil
	}
	d.mu.Lock()
	d.looking = true
	d.mu.Unlock()
	d.wg.Go(func() {
		for _, draft := range todo {
			var state *StateError
			if _, err := d.Propose(ctx, draft); err != nil && !errors.As(err, &state) && ctx.Err() == nil {
				d.Log.Warn("a reconciler could not look for a draft", "draft", draft.ID, "error", err)
			}
		}
		d.mu.Lock()
		d.looking = false
		d.mu.Unlock()
	})
	return nil
}
