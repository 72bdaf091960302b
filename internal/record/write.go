package record

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// gather is how long the next group commit waits for company when the last one
// already had some.
const gather = time.Millisecond

// maxGroup bounds one commit, so that no writer waits for ever behind others.
const maxGroup = 256

type write struct {
	ctx   context.Context
	fn    func(*Tx) error
	by    string // the function that asked; in a build with kill points
	err   error
	panic any
	done  chan struct{}
}

type insideWrite struct{}

// Write runs fn in an immediate transaction and returns once its rows are on
// disk, together with those of others that waited (group commit). fn runs once,
// on the writer's goroutine: it must be short, and must not call Write or wait
// for a person, a network or a child. Its error undoes its own rows only and is
// returned as it is. When ctx ends before fn has started, nothing is written;
// once fn has started, ctx no longer stops it.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	if ctx.Value(insideWrite{}) != nil {
		return errors.New("record.Write inside record.Write: pass the Tx on instead")
	}
	w := &write{ctx: ctx, fn: fn, by: callerOf(1), done: make(chan struct{})}
	select {
	case db.writes <- w:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.quit:
		return ErrClosed
	}
	select {
	case <-w.done:
	case <-db.gone:
		// Queued just as the record closed; the writer may still have had it.
		select {
		case <-w.done:
		default:
			return ErrClosed
		}
	}
	if w.panic != nil {
		panic(w.panic)
	}
	return w.err
}

// Read runs fn over one snapshot. fn may run long; it holds up no writer.
func (db *DB) Read(ctx context.Context, fn func(*Tx) error) error {
	select {
	case <-db.readers.places:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-db.quit:
		return ErrClosed
	}
	defer func() { db.readers.places <- struct{}{} }()
	s, err := db.readers.open(ctx)
	if err != nil {
		return err
	}
	if err := s.run(ctx, `BEGIN`); err != nil {
		s.close()
		return fmt.Errorf("cannot begin to read the record: %w", err)
	}
	// A cancelled caller must still give the snapshot back.
	defer func() {
		if err := s.run(context.WithoutCancel(ctx), `ROLLBACK`); err != nil {
			s.close()
			return
		}
		db.readers.keep(s)
	}()
	return fn(&Tx{ctx: ctx, s: s, now: db.now().Truncate(time.Millisecond)})
}

func (db *DB) writer(s *session) {
	defer close(db.gone)
	defer s.close()
	company := false
	for {
		var group []*write
		select {
		case w := <-db.writes:
			group = append(group, w)
		case l := <-db.looks:
			l.from(s)
			continue
		case <-db.quit:
			db.refuse()
			return
		}
		if company {
			t := time.NewTimer(gather)
			group = db.collect(group, t.C)
			t.Stop()
		} else {
			group = db.collect(group, closed)
		}
		company = len(group) > 1 || len(db.writes) > 0
		db.commit(s, group)
	}
}

var closed = func() chan time.Time { c := make(chan time.Time); close(c); return c }()

// collect adds what waits, until the timer fires and nothing waits any more.
func (db *DB) collect(group []*write, until <-chan time.Time) []*write {
	for len(group) < maxGroup {
		select {
		case w := <-db.writes:
			group = append(group, w)
			continue
		default:
		}
		select {
		case w := <-db.writes:
			group = append(group, w)
		case <-until:
			return group
		}
	}
	return group
}

// refuse answers what was still queued when the record closed.
func (db *DB) refuse() {
	for {
		select {
		case w := <-db.writes:
			w.err = ErrClosed
			close(w.done)
		default:
			return
		}
	}
}

func (db *DB) commit(s *session, group []*write) {
	ctx := context.Background()
	fail := func(err error) {
		for _, w := range group {
			if w.err == nil && w.panic == nil {
				w.err = err
			}
			close(w.done)
		}
	}
	if err := s.run(ctx, `BEGIN IMMEDIATE`); err != nil {
		fail(fmt.Errorf("cannot begin to write the record: %w", err))
		return
	}
	now := db.now().Truncate(time.Millisecond)
	wrote := false
	for _, w := range group {
		if err := context.Cause(w.ctx); err != nil {
			w.err = err
			continue
		}
		if err := s.run(ctx, `SAVEPOINT one`); err != nil {
			w.err = fmt.Errorf("cannot set a savepoint in the record: %w", err)
			continue
		}
		tx := &Tx{ctx: context.WithValue(context.WithoutCancel(w.ctx), insideWrite{}, true), s: s, now: now}
		if !w.run(tx) {
			if err := s.run(ctx, `ROLLBACK TO one`); err != nil {
				// The whole transaction is gone (a full disk does that).
				s.run(ctx, `ROLLBACK`)
				fail(fmt.Errorf("the record undid a whole commit: %w", errors.Join(w.err, err)))
				return
			}
		} else {
			wrote = true
		}
		if err := s.run(ctx, `RELEASE one`); err != nil {
			s.run(ctx, `ROLLBACK`)
			fail(fmt.Errorf("cannot write the record: %w", err))
			return
		}
	}
	for _, w := range group {
		w.point("not yet")
	}
	if err := s.run(ctx, `COMMIT`); err != nil {
		s.run(ctx, `ROLLBACK`)
		fail(fmt.Errorf("cannot commit to the record %s: %w", db.path, err))
		return
	}
	for _, w := range group {
		w.point("done")
		close(w.done)
	}
	if wrote {
		db.watch.signal()
	}
}

// run calls fn and tells whether its rows may stay.
func (w *write) run(tx *Tx) (ok bool) {
	defer func() {
		if w.panic = recover(); w.panic != nil {
			ok = false
		}
	}()
	w.err = w.fn(tx)
	return w.err == nil
}
