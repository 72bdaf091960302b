package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// desk is a home with its record open, for one command: the rooms to read and
// to decide in. It works beside a bot; only what has to dispatch takes the
// home's lock, and only for as long as that takes.
type desk struct {
	*app
	triggers *triggers.Triggers
	hold     *record.Hold // nil: not ours
}

// runE is what cobra runs for a command.
type runE = func(*cobra.Command, []string) error

// atDesk is a command over the open record of a home that has one.
func (c *cli) atDesk(fn func(ctx context.Context, d *desk, args []string) error) runE {
	return at(c.openDesk, fn)
}

// atNewDesk is atDesk for commands that may be the first to write: it makes the
// home and its record.
func (c *cli) atNewDesk(fn func(ctx context.Context, d *desk, args []string) error) runE {
	return at(c.makeDesk, fn)
}

// atDrafts is atDesk for commands that read drafts or decide about them: nobody
// waits for a process that died while it sent one.
func (c *cli) atDrafts(fn func(ctx context.Context, d *desk, args []string) error) runE {
	return c.atDesk(func(ctx context.Context, d *desk, args []string) error {
		if err := d.tidy(ctx); err != nil {
			return err
		}
		return fn(ctx, d, args)
	})
}

func at(open func(context.Context) (*desk, error), fn func(context.Context, *desk, []string) error) runE {
	return func(cmd *cobra.Command, args []string) error {
		d, err := open(cmd.Context())
		if err != nil {
			return err
		}
		defer d.close()
		return fn(cmd.Context(), d, args)
	}
}

// byPerson is a command that decides for a person: nothing that the agent runs
// may decide about what the agent did.
func (c *cli) byPerson(run runE) runE {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.aPerson(); err != nil {
			return err
		}
		return run(cmd, args)
	}
}

// openDesk opens the record of a home that has one. An older record is brought
// forward where no bot runs.
func (c *cli) openDesk(ctx context.Context) (*desk, error) { return c.desk(ctx, false) }

// makeDesk is openDesk for commands that may be the first to write: it makes the
// home and its record.
func (c *cli) makeDesk(ctx context.Context) (*desk, error) { return c.desk(ctx, true) }

func (c *cli) desk(ctx context.Context, mk bool) (*desk, error) {
	h, err := c.openHome(mk)
	if err != nil {
		return nil, err
	}
	if err := c.withDemo(h); err != nil {
		return nil, err
	}
	db, err := record.Open(ctx, h.recordPath(), record.Options{})
	if errors.Is(err, record.ErrOlder) || mk && errors.Is(err, record.ErrMissing) {
		var hold *record.Hold
		if db, hold, err = h.openRecord(ctx, true); err == nil {
			err = hold.Release()
		}
	} else if err != nil {
		db, _, err = h.openRecord(ctx, false) // for its words
	}
	if err != nil {
		return nil, err
	}
	a := c.rooms(h, db, runFlags{})
	return &desk{app: a, triggers: triggers.New(db, triggers.Config{}, triggers.Deps{Paused: a.threads.Paused, Spent: a.spentToday, Log: h.log})}, nil
}

// close gives back what the desk holds.
func (d *desk) close() {
	d.stop()
	d.db.Close()
	d.release()
}

// take takes the home's lock, and settles what the last holder left: from then
// on this command is the one that dispatches. false: a bot holds it.
func (d *desk) take(ctx context.Context) (bool, error) {
	if d.hold != nil {
		return true, nil
	}
	hold, err := record.TryHold(d.home.dir)
	var held *record.HeldError
	switch {
	case errors.As(err, &held):
		return false, nil
	case err != nil:
		return false, err
	}
	d.hold = hold
	_, err = d.outbox.Settle(ctx)
	return true, err
}

// opened opens what a release needs, once. The home's lock is ours.
func (d *desk) opened(ctx context.Context, c *cli) error {
	if d.builtins != nil {
		return nil
	}
	return d.start(ctx, c)
}

func (d *desk) release() {
	if d.hold != nil {
		d.hold.Release()
		d.hold = nil
	}
}

// tidy marks what a dead process was sending as unknown, where no bot runs.
func (d *desk) tidy(ctx context.Context) error {
	list, err := d.outbox.List(ctx, outbox.Filter{})
	if err != nil {
		return err
	}
	for _, dr := range list {
		if dr.State == outbox.Releasing {
			if _, err := d.take(ctx); err != nil {
				return err
			}
			d.release()
			return nil
		}
	}
	return nil
}

// botPID is the process of the bot that holds the home; 0: none does.
func (d *desk) botPID() (pid int, running bool) { return holder(d.home) }

// holder tells who holds a home, without keeping its lock.
func holder(h *home) (pid int, running bool) {
	if _, err := os.Stat(h.path("lock")); err != nil {
		return 0, false
	}
	hold, err := record.TryHold(h.dir)
	var held *record.HeldError
	switch {
	case errors.As(err, &held):
		return held.PID, true
	case err == nil:
		hold.Release()
	}
	return 0, false
}

// needBot refuses what only a running bot can do.
func (d *desk) needBot(what string) error {
	if _, ok := d.botPID(); !ok {
		return refusedf("no bot runs on this home (%s), and only a bot can %s; start `mecha-slack local` or `mecha-slack connect`", d.home.dir, what)
	}
	return nil
}

// me is who decides at this terminal.
func me() string { return "local:" + strconv.Itoa(os.Getuid()) }

// who is me for the sessions' audit trail.
func who() threads.Who { return threads.Who{User: me(), Surface: "terminal"} }

// aPerson refuses a decision by a process that we started ourselves.
func (c *cli) aPerson() error {
	if c.env("MECHA_CHILD") != "" {
		return refusedf("this decides for a person, and MECHA_CHILD says that mecha-slack itself started this process; run it in a terminal of your own")
	}
	return nil
}

// verdict gives an error of the rooms its exit code: 3 where policy or state
// refuses, 1 where something failed.
func verdict(err error) error {
	var (
		code      exitCode
		state     *outbox.StateError
		changed   *outbox.ChangedError
		yours     *outbox.NotYoursError
		limit     *outbox.LimitError
		ambiguous *outbox.AmbiguousError
	)
	switch {
	case err == nil, errors.As(err, &code):
		return err
	case errors.As(err, &state), errors.As(err, &changed), errors.As(err, &yours), errors.As(err, &limit), errors.As(err, &ambiguous),
		errors.Is(err, outbox.ErrSecondLook), errors.Is(err, outbox.ErrPaused):
		return refused(err)
	}
	return err
}

// draft finds a draft by any unambiguous beginning of its id.
func (d *desk) draft(ctx context.Context, prefix string) (outbox.Draft, error) {
	dr, err := d.outbox.Find(ctx, prefix)
	if errors.Is(err, outbox.ErrNotFound) {
		err = fmt.Errorf("there is no draft %q; `mecha-slack outbox list --all` shows them all", prefix)
	}
	return dr, verdict(err)
}
