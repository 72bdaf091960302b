package localslack

import (
	"sync"
	"time"
)

// clock is Slack's own sense of time: retries, stream life, trigger ids and
// rate windows run on it. Its scale can be changed while timers are running, so
// that a test needn't wait five minutes for the third redelivery. Timestamps
// that people see come from the real time, never from here.
type clock struct {
	now func() time.Time

	mu       sync.Mutex
	scale    float64
	realBase time.Time
	base     time.Time
	timers   map[*timer]struct{}
	closed   bool
}

// timer is one pending call of clock.AfterFunc.
type timer struct {
	c     *clock
	due   time.Time // on the scaled clock
	f     func()
	inner *time.Timer
}

func newClock(now func() time.Time) *clock {
	t := now()
	return &clock{now: now, scale: 1, realBase: t, base: t, timers: map[*timer]struct{}{}}
}

// Now is the scaled time. It only ever moves forward together with the real one.
func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at()
}

func (c *clock) at() time.Time {
	return c.base.Add(time.Duration(float64(c.now().Sub(c.realBase)) * c.scale))
}

// SetScale makes scaled time run s times as fast as real time, and moves every
// pending timer accordingly.
func (c *clock) SetScale(s float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.at()
	c.base, c.realBase, c.scale = at, c.now(), s
	for t := range c.timers {
		t.inner.Reset(c.real(t.due.Sub(at)))
	}
}

func (c *clock) real(d time.Duration) time.Duration {
	return time.Duration(float64(max(d, 0)) / c.scale)
}

// AfterFunc calls f in its own goroutine after d of scaled time, unless the
// timer is stopped or the clock closed before.
func (c *clock) AfterFunc(d time.Duration, f func()) *timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &timer{c: c, due: c.at().Add(d), f: f}
	if c.closed {
		return t
	}
	c.timers[t] = struct{}{}
	t.inner = time.AfterFunc(c.real(d), t.fire)
	return t
}

func (t *timer) fire() {
	if t.Stop() {
		t.f()
	}
}

// Stop reports whether it prevented the call. A nil timer is already stopped.
func (t *timer) Stop() bool {
	if t == nil {
		return false
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if _, waiting := t.c.timers[t]; !waiting {
		return false
	}
	delete(t.c.timers, t)
	t.inner.Stop()
	return true
}

// Close stops every timer; none fires afterwards.
func (c *clock) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for t := range c.timers {
		t.inner.Stop()
	}
	clear(c.timers)
}

// realWait is how long a scaled duration takes by the clock on the wall.
func (c *clock) realWait(d time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real(d)
}
