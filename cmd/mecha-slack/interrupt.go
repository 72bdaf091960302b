package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// obeys is how long a command may take over the first Ctrl-C before it says that
// it is still stopping.
const obeys = 500 * time.Millisecond

// interruptible answers a context that the first Ctrl-C (or SIGTERM) ends, so
// that what runs stops at a safe point. A second one ends the process at once,
// with the exit code that shells give that signal: nobody should need kill -9,
// and the record is kept through it as through any crash. stop gives the signals
// back.
func interruptible(say io.Writer) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		select {
		case <-signals:
		case <-stopped:
			return
		}
		cancel()
		select {
		case s := <-signals:
			endBy(s)
		case <-stopped:
			return
		case <-time.After(obeys):
		}
		fmt.Fprintln(say, "mecha-slack: stopping at a safe point; Ctrl-C again ends it at once")
		select {
		case s := <-signals:
			endBy(s)
		case <-stopped:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(stopped)
		cancel()
	}
}

func endBy(s os.Signal) {
	code := 128
	if n, ok := s.(syscall.Signal); ok {
		code += int(n)
	}
	os.Exit(code)
}
