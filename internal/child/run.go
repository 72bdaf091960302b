package child

import (
	"context"
	"fmt"
	"sync"
	"syscall"
)

// DefaultMaxOutput is how much of each stream Run keeps where a Spec does not say.
const DefaultMaxOutput = 200_000

// Result is what a child that ran to its end left.
type Result struct {
	ExitCode        int            // -1 if a signal ended it
	Signal          syscall.Signal // 0 if it exited by itself
	Stdout, Stderr  []byte         // at most MaxOutput each; cut at a byte, so mind the last character
	StdoutTruncated bool
	StderrTruncated bool
	StdoutTotal     int64 // bytes written, kept or not
	StderrTotal     int64
	LeftRunning     bool // see Exit
}

// Run starts a child, waits for it and returns what it wrote. Both streams are always read to their end, so a child is
// never blocked by what is not kept. A non-zero exit is a result. When ctx ended first, the result holds what came
// until then and the error is the context's cause.
func Run(ctx context.Context, s Spec) (Result, error) {
	if s.MaxOutput <= 0 {
		s.MaxOutput = DefaultMaxOutput
	}
	stdout, stderr := &capped{max: s.MaxOutput}, &capped{max: s.MaxOutput}
	if s.Stdout == nil {
		s.Stdout = stdout
	}
	if s.Stderr == nil {
		s.Stderr = stderr
	}
	p, err := Start(ctx, s)
	if err != nil {
		return Result{ExitCode: -1}, err
	}
	exit, err := p.Wait()
	res := Result{ExitCode: exit.Code, Signal: exit.Signal, LeftRunning: exit.LeftRunning}
	res.Stdout, res.StdoutTotal, res.StdoutTruncated = stdout.result()
	res.Stderr, res.StderrTotal, res.StderrTruncated = stderr.result()
	// A child that came to its own end at the very moment of the deadline did come to its end.
	if ctx.Err() != nil && (exit.Signal != 0 || exit.Code != 0) {
		return res, fmt.Errorf("%s was ended: %w", s.Path, context.Cause(ctx))
	}
	if err != nil {
		return res, fmt.Errorf("running %s: %w", s.Path, err)
	}
	return res, nil
}

// capped keeps the first max bytes and counts the rest. It is locked because exec may still be writing when WaitDelay
// has passed.
type capped struct {
	mu    sync.Mutex
	max   int64
	kept  []byte
	total int64
}

func (c *capped) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(b))
	if room := c.max - int64(len(c.kept)); room > 0 {
		c.kept = append(c.kept, b[:min(int64(len(b)), room)]...)
	}
	return len(b), nil
}

func (c *capped) result() (kept []byte, total int64, truncated bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.kept...), c.total, c.total > int64(len(c.kept))
}
