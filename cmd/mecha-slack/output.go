package main

import (
	"fmt"
	"io"
	"sync"
)

// output is standard output. It keeps the first write that failed: a command
// prints line by line without looking, and one whose answer did not arrive (a
// full disk, for instance) must not end as if it had.
type output struct {
	w   io.Writer
	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// failed tells of the first write that failed; nil where none did.
func (o *output) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return fmt.Errorf("cannot write to standard output: %w", o.err)
	}
	return nil
}

// screen is standard output itself, for a program of its own that wants to see
// whether it is a terminal: an editor.
func (c *cli) screen() io.Writer {
	if o, ok := c.Stdout.(*output); ok {
		return o.w
	}
	return c.Stdout
}
