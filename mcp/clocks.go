package mcp

import (
	"context"
	"sync"
	"time"
)

// clocks are the deadlines of the calls of one session. They stand while a person answers a question that the server
// asks in the middle of a call: the time that somebody takes to read is not the server's.
type clocks struct {
	mu      sync.Mutex
	held    int
	running map[*clock]struct{}
}

type clock struct {
	timer *time.Timer
	left  time.Duration // what a call has from here on
}

// start is context.WithTimeoutCause with a clock that can be held.
func (c *clocks) start(parent context.Context, d time.Duration, cause error) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	k := &clock{timer: time.AfterFunc(d, func() { cancel(cause) }), left: d}
	c.mu.Lock()
	if c.running == nil {
		c.running = map[*clock]struct{}{}
	}
	c.running[k] = struct{}{}
	if c.held > 0 {
		k.timer.Stop()
	}
	c.mu.Unlock()
	return ctx, func() {
		c.mu.Lock()
		delete(c.running, k)
		k.timer.Stop()
		c.mu.Unlock()
		cancel(context.Canceled)
	}
}

// hold stops all clocks until release, after which each begins anew.
func (c *clocks) hold() (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held++
	for k := range c.running {
		k.timer.Stop()
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.held--; c.held == 0 {
			for k := range c.running {
				k.timer.Reset(k.left)
			}
		}
	}
}
