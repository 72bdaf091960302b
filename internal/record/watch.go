package record

import (
	"context"
	"fmt"
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
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	var last int64
	for {
		l := look{seen: make(chan struct{})}
		select {
		case db.looks <- &l:
			<-l.seen
		case <-ctx.Done():
			return nil
		case <-db.quit:
			return nil
		}
		if l.err != nil {
			return fmt.Errorf("cannot ask the record for other processes' commits: %w", l.err)
		}
		// The first look counts as news: what was committed before it is unknown.
		if l.version != last {
			db.watch.signal()
		}
		last = l.version
		select {
		case <-ctx.Done():
			return nil
		case <-db.quit:
			return nil
		case <-tick.C:
		}
	}
}

// look asks the writer's connection how often others have committed: on that
// one, our own commits do not count, and no further connection is held for it.
type look struct {
	version int64
	err     error
	seen    chan struct{}
}

func (l *look) from(s *session) {
	defer close(l.seen)
	ctx := context.Background()
	st, err := s.prepare(ctx, `PRAGMA data_version`)
	if err == nil {
		err = st.QueryRowContext(ctx).Scan(&l.version)
	}
	l.err = err
}
