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

// interrupts are Ctrl-C and SIGTERM. The first ends ctx, so that what runs stops
// at a safe point; a second one ends the process at once, with the exit code that
// shells give that signal: nobody should need kill -9, and the record is kept
// through it as through any crash.
type interrupts struct {
	signals chan os.Signal
	stopped chan struct{}
}

// interruptible takes the signals. stop gives them back.
func interruptible(say io.Writer) (ctx context.Context, i *interrupts) {
	ctx, cancel := context.WithCancel(context.Background())
	i = &interrupts{signals: make(chan os.Signal, 2), stopped: make(chan struct{})}
	signal.Notify(i.signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer cancel()
		if i.next(nil) == nil {
			return
		}
		cancel()
		again := i.next(time.After(obeys))
		if again == nil {
			select {
			case <-i.stopped:
				return
			default:
			}
			fmt.Fprintln(say, "mecha-slack: stopping at a safe point; Ctrl-C again ends it at once")
			if again = i.next(nil); again == nil {
				return
			}
		}
		os.Exit(128 + int(again.(syscall.Signal)))
	}()
	return ctx, i
}

// next waits for a signal; nil once that is over, by stop or by late.
func (i *interrupts) next(late <-chan time.Time) os.Signal {
	select {
	case s := <-i.signals:
		return s
	case <-late:
	case <-i.stopped:
	}
	return nil
}

func (i *interrupts) stop() {
	signal.Stop(i.signals)
	close(i.stopped)
}

// lend leaves Ctrl-C to a program that has the terminal, until it is given back:
// in an editor it is a key like others, and the terminal sends it to us as well.
// It is caught all the while, since what is ignored would be ignored by the editor
// too, and what nobody catches ends the process.
func (i *interrupts) lend() (back func()) {
	if i == nil {
		return func() {}
	}
	caught := func() chan os.Signal {
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		return c
	}
	theirs := caught()
	signal.Stop(i.signals)
	signal.Notify(i.signals, syscall.SIGTERM)
	return func() {
		between := caught()
		signal.Stop(theirs) // returns once what came for them has been delivered
		signal.Notify(i.signals, os.Interrupt)
		signal.Stop(between)
	}
}
