package record

import (
	"context"
	"sync"
	"time"
)

// pollEvery is how often a watched record is asked whether another process has
// committed. It costs one page read; a second is the promise (DESIGN.md §4).
const pollEvery = 500 * time.Millisecond

// watchers wake those who wait for the record to change.
type watchers struct {
	mu   sync.Mutex
	list map[chan struct{}]bool
}

func (w *watchers) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.list {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Subscribe answers a channel that holds one token whenever something was
// committed since it was last read, by this process or (within PollOthers)
// another. cancel ends it.
func (db *DB) Subscribe() (changed <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	db.watch.mu.Lock()
	defer db.watch.mu.Unlock()
	if db.watch.list == nil {
		db.watch.list = map[chan struct{}]bool{}
	}
	db.watch.list[c] = true
	return c, func() {
		db.watch.mu.Lock()
		defer db.watch.mu.Unlock()
		delete(db.watch.list, c)
	}
}

// PollOthers notices commits of other processes until ctx ends, and wakes
// subscribers for them. A long-running process runs it once.
func (db *DB) PollOthers(ctx context.Context) error {
	conn, err := db.r.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	st, err := conn.PrepareContext(ctx, `PRAGMA data_version`)
	if err != nil {
		return err
	}
	defer st.Close()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last int64
	for {
		var v int64
		if err := st.QueryRowContext(ctx).Scan(&v); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		// The first look counts as news: what was committed before it is unknown.
		if v != last {
			db.watch.signal()
		}
		last = v
		select {
		case <-ctx.Done():
			return nil
		case <-db.quit:
			return nil
		case <-tick.C:
		}
	}
}
