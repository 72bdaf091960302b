package threads

import (
	"sync"
	"time"
)

// lap measures a run's own time between two of its turns: all of it but what was
// spent waiting for people.
type lap struct {
	mu   sync.Mutex
	mark time.Time
	idle time.Duration
}

// lap answers the time in ms since the last call, and begins anew.
func (l *lap) lap(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := now.Sub(l.mark) - l.idle
	l.mark, l.idle = now, 0
	return max(d.Milliseconds(), 0)
}

// since is what lap would answer now.
func (l *lap) since(now time.Time) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max((now.Sub(l.mark) - l.idle).Milliseconds(), 0)
}

// pause begins a wait for a person; end takes it out.
func (l *lap) pause(now func() time.Time) (end func()) {
	from := now()
	return func() { l.waited(from, now) }
}

// waited takes a wait for a person out, from a moment until now. Helpers that
// wait at the same time count once at most for what has passed.
func (l *lap) waited(from time.Time, now func() time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	to := now()
	if from.Before(l.mark) {
		from = l.mark
	}
	l.idle = min(l.idle+to.Sub(from), to.Sub(l.mark))
}
