package threads

import (
	"context"
	"sync"
)

// floors keep the calls of a conversation apart from the releases of its drafts:
// any number of calls at a time, or one release. A release hashes its files and
// hands them over with nothing of its conversation running beside it, so that
// what was approved is what is read (DESIGN.md §7).
//
// Calls that begin while others run join them; a release that waits gets the
// floor as soon as none runs. After a release the calls that waited go first,
// so that neither side starves the other. Nobody holds the floor while waiting
// for a person: a card is answered before its call begins, and a subagent's call
// does not count, only those that it makes.
type floors struct {
	mu  sync.Mutex
	all map[string]*floor // of conversations where something runs
}

// floor of one conversation.
type floor struct {
	calls    int // under way
	alone    bool
	entering []chan struct{} // calls that wait for a release to end
	releases []chan struct{} // releases that wait, in order
}

// enter waits until no release of the conversation is under way; leave tells
// that the call is over. An error is ctx's cause.
func (f *floors) enter(ctx context.Context, key string) (leave func(), err error) {
	return f.take(ctx, key, false)
}

// Alone waits until no call and no other release of a conversation runs, and
// keeps all of them out until leave. An error is ctx's cause.
func (t *Threads) Alone(ctx context.Context, thread string) (leave func(), err error) {
	return t.floors.take(ctx, thread, true)
}

func (f *floors) take(ctx context.Context, key string, alone bool) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	f.mu.Lock()
	if f.all == nil {
		f.all = map[string]*floor{}
	}
	l := f.all[key]
	if l == nil {
		l = &floor{}
		f.all[key] = l
	}
	leave = sync.OnceFunc(func() { f.leave(key, l, alone) })
	var wait chan struct{}
	switch {
	case l.alone || alone && l.calls > 0:
		wait = make(chan struct{})
		if alone {
			l.releases = append(l.releases, wait)
		} else {
			l.entering = append(l.entering, wait)
		}
	case alone:
		l.alone = true
	default:
		l.calls++
	}
	f.mu.Unlock()
	if wait == nil {
		return leave, nil
	}
	select {
	case <-wait:
		return leave, nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	l.releases, l.entering = without(l.releases, wait), without(l.entering, wait)
	f.mu.Unlock()
	select {
	case <-wait: // the floor came in the same moment: it is given on
		leave()
	default:
	}
	return nil, context.Cause(ctx)
}

func (f *floors) leave(key string, l *floor, alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if alone {
		l.alone = false
	} else {
		l.calls--
	}
	switch {
	case l.calls > 0:
	case len(l.entering) > 0:
		l.calls = len(l.entering)
		for _, c := range l.entering {
			close(c)
		}
		l.entering = nil
	case len(l.releases) > 0:
		l.alone = true
		close(l.releases[0])
		l.releases = l.releases[1:]
	default:
		delete(f.all, key)
	}
}

func without(list []chan struct{}, c chan struct{}) []chan struct{} {
	for i, o := range list {
		if o == c {
			return append(list[:i], list[i+1:]...)
		}
	}
	return list
}
