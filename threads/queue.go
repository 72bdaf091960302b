package threads

import (
	"context"
	"sync"
)

// queue alone knows who may run: at most max at once, first come first served.
// A step past one machine would replace this file.
type queue struct {
	mu      sync.Mutex
	max     int
	running int
	waiting []*ticket
	moved   func(key string, place int) // told of each place that changes; may be nil
}

type ticket struct {
	key   string
	ready chan struct{}
}

// enter waits for a place; leave gives it back. It answers ctx's cause when
// that ends first.
func (q *queue) enter(ctx context.Context, key string) error {
	q.mu.Lock()
	if q.running < q.max && len(q.waiting) == 0 {
		q.running++
		q.mu.Unlock()
		return nil
	}
	t := &ticket{key: key, ready: make(chan struct{})}
	q.waiting = append(q.waiting, t)
	place := len(q.waiting)
	q.mu.Unlock()
	if q.moved != nil {
		q.moved(key, place)
	}
	select {
	case <-t.ready:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.waiting {
		if w == t {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			return context.Cause(ctx)
		}
	}
	// The place came in the same moment: it is given on.
	q.pass()
	return context.Cause(ctx)
}

func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pass()
}

// pass gives the place of one that leaves to the next that waits.
func (q *queue) pass() {
	if len(q.waiting) == 0 {
		q.running--
		return
	}
	t := q.waiting[0]
	q.waiting = q.waiting[1:]
	close(t.ready)
}

// place answers where key stands in the queue, from 1; 0: it does not wait.
func (q *queue) place(key string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, t := range q.waiting {
		if t.key == key {
			return i + 1
		}
	}
	return 0
}
