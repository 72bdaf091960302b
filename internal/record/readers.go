package record

import (
	"context"
	"database/sql"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// readerIdle is how long a connection that nobody needs stays open.
const readerIdle = time.Minute

// maxReaders bounds the snapshots that are open at once: reading is a matter of
// processors once the pages are cached, and of a megabyte a connection.
var maxReaders = min(max(runtime.GOMAXPROCS(0), 2), 4)

// readers hands out sessions for snapshots, the one used last first: a quiet
// process keeps one connection warm, a busy one as many as it needs.
type readers struct {
	db     *sql.DB
	places chan struct{} // one token a snapshot that may be opened

	mu     sync.Mutex
	idle   []*session  // by their last use, oldest first
	sweeps *time.Timer // set while more than one is idle
}

func newReaders(db *sql.DB) *readers {
	r := &readers{db: db, places: make(chan struct{}, maxReaders)}
	for range maxReaders {
		r.places <- struct{}{}
	}
	return r
}

// open answers a session for the holder of a place.
func (r *readers) open(ctx context.Context) (*session, error) {
	r.mu.Lock()
	if n := len(r.idle); n > 0 {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return s, nil
	}
	r.mu.Unlock()
	conn, err := r.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot open the record for reading: %w", err)
	}
	return &session{conn: conn}, nil
}

// keep takes a session back.
func (r *readers) keep(s *session) {
	s.used = time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, s)
	if len(r.idle) > 1 && r.sweeps == nil {
		r.sweeps = time.AfterFunc(readerIdle, r.sweep)
	}
}

// sweep closes the sessions that nobody has needed lately, but for the last.
func (r *readers) sweep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweeps = nil
	for len(r.idle) > 1 && time.Since(r.idle[0].used) >= readerIdle {
		r.idle[0].close()
		r.idle = r.idle[1:]
	}
	if len(r.idle) > 1 {
		r.sweeps = time.AfterFunc(readerIdle-time.Since(r.idle[0].used), r.sweep)
	}
}

// close waits for the snapshots that are open and closes every session.
func (r *readers) close() {
	for range maxReaders {
		<-r.places
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sweeps != nil {
		r.sweeps.Stop()
	}
	for _, s := range r.idle {
		s.close()
	}
	r.idle = nil
}
