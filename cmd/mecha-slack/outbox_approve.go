package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
)

// approveFlags are how `outbox approve` decides.
type approveFlags struct {
	yes    bool
	digest string
	at     string

	notBefore *time.Time // at, read
}

func (c *cli) outboxApproveCmd() *cobra.Command {
	var f approveFlags
	cmd := &cobra.Command{
		Use:     "approve ID",
		Aliases: []string{"send"},
		Short:   "Release a draft: exactly what is printed is sent",
		Long: `Prints the draft and its warnings, and releases exactly that. It asks first where
the draft was written next to a stranger's text and your private data, where only a
stranger named a recipient, or where an attempt has failed before. End of input is no.

Beside a running bot, the bot sends it; otherwise this command does. It exits 0 once
the draft is sent (or, held or scheduled, will be), 1 where it failed or nobody knows.`,
		Args: cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) (err error) {
			f.notBefore, err = notBefore(f.at, time.Now())
			return err
		},
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			return c.outboxApprove(ctx, d, args[0], f)
		})),
	}
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "answer yes where it would ask")
	cmd.Flags().StringVar(&f.digest, "digest", "", "release it only if this is its digest (for scripts)")
	cmd.Flags().StringVar(&f.at, "at", "", "not before this time: RFC 3339, 2006-01-02 15:04, or 15:04")
	return cmd
}

func (c *cli) outboxApprove(ctx context.Context, d *desk, id string, f approveFlags) error {
	dr, err := d.draft(ctx, id)
	if err != nil {
		return err
	}
	if dr.State != outbox.Pending {
		return verdict(&outbox.StateError{Draft: dr, Tried: "approve"})
	}
	if f.digest != "" && f.digest != dr.Digest {
		return verdict(&outbox.ChangedError{Draft: dr})
	}
	src, err := d.outbox.Source(ctx, dr)
	if err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, c.page().Show(dr, src))
	if dr.SecondLook() && !f.yes {
		yes, err := c.answers().yes(ctx, "\nSend anyway?")
		switch {
		case err != nil:
			return refusedf("draft %s was not sent: %w", dr.ID, err)
		case !yes:
			return refusedf("draft %s was not sent, as you said", dr.ID)
		}
	}
	return c.releaseDraft(ctx, d, dr, f.notBefore)
}

// releaseDraft approves what was shown and sees it through: a bot that holds
// the home sends it, else this command.
func (c *cli) releaseDraft(ctx context.Context, d *desk, shown outbox.Draft, at *time.Time) error {
	mine, err := d.take(ctx)
	if err != nil {
		return err
	}
	if mine && at == nil {
		// Before the decision: what cannot be opened is said while nothing is decided.
		if err := d.opened(ctx, c); err != nil {
			return fmt.Errorf("draft %s was not sent: %w", shown.ID, err)
		}
	}
	dr, err := d.outbox.Approve(ctx, outbox.Decision{ID: shown.ID, Revision: shown.Revision, Digest: shown.Seal(), By: me(), Surface: "terminal", Second: true, At: at})
	if err != nil {
		return verdict(err)
	}
	if dr.State == outbox.Pending {
		fmt.Fprintf(c.Stdout, "Approved: %d of %d approvals. It goes out with the last one.\n", len(dr.Approvals), dr.NeedsApprovals)
		return nil
	}
	for {
		if paused, err := d.threads.Paused(ctx); err != nil {
			return err
		} else if paused {
			fmt.Fprintln(c.Stdout, "✓ Approved. Everything is paused, so it waits: `mecha-slack resume` lets a running bot send it.")
			return nil
		}
		if dr.HoldUntil != nil || dr.NotBefore != nil {
			return c.told(ctx, d, dr, mine)
		}
		if mine {
			if dr, err = d.outbox.Dispatch(ctx, dr.ID); err != nil {
				return verdict(err)
			}
			return c.told(ctx, d, dr, mine)
		}
		// A bot that ends meanwhile leaves the draft to us.
		wait, cancel := context.WithTimeout(ctx, 2*time.Second)
		dr, err = d.outbox.AwaitOutcome(wait, dr.ID)
		cancel()
		switch {
		case err == nil:
			return c.told(ctx, d, dr, mine)
		case ctx.Err() != nil:
			return fmt.Errorf("you stopped waiting; draft %s is approved, and the bot sends it (mecha-slack outbox show %s)", shown.ID, shown.ID)
		case !errors.Is(err, context.DeadlineExceeded):
			return err
		}
		if mine, err = d.take(ctx); err != nil {
			return err
		}
		if mine {
			if err := d.opened(ctx, c); err != nil {
				return fmt.Errorf("the bot has ended, and draft %s cannot be sent from here; it stays approved until a bot runs: %w", shown.ID, err)
			}
			if dr, err = d.outbox.Get(ctx, shown.ID); err != nil {
				return err
			}
			if dr.State != outbox.Approved {
				return c.told(ctx, d, dr, mine)
			}
		}
	}
}

// told says how a release ended, and gives it its exit code.
func (c *cli) told(ctx context.Context, d *desk, dr outbox.Draft, mine bool) error {
	switch dr.State {
	case outbox.Released:
		at := time.Now()
		if dr.Resolved != nil {
			at = *dr.Resolved
		}
		fmt.Fprintf(c.Stdout, "✓ Sent %s, approved by %s\n", at.Format("15:04"), dr.ResolvedBy)
		return nil
	case outbox.Approved:
		when := dr.HoldUntil
		if dr.NotBefore != nil && (when == nil || dr.NotBefore.After(*when)) {
			when = dr.NotBefore
		}
		layout := "Mon 2 Jan 15:04 MST"
		if time.Until(*when) < time.Hour { // a hold is a matter of seconds
			layout = "15:04:05 MST"
		}
		fmt.Fprintf(c.Stdout, "✓ Approved. It goes out at %s; until then: mecha-slack outbox cancel %s\n", when.Format(layout), dr.ID)
		if mine {
			fmt.Fprintln(c.Stdout, "  No bot runs on this home: it stays approved until one does.")
		}
		return nil
	case outbox.Uncertain:
		why := ""
		if n := len(dr.Attempts); n > 0 {
			why = ": " + plain(dr.Attempts[n-1].Error, 300)
		}
		if mine { // no bot does it
			d.lookFor(ctx, &dr)
		}
		if p := dr.Proposal; p != nil {
			why += fmt.Sprintf(". I looked there: %s (%s)", plain(p.Evidence, 300), p.Words())
		}
		return fmt.Errorf("nobody knows whether draft %s was sent%s. Look where it would have arrived, then say what you found: mecha-slack outbox reconcile %s --outcome delivered|not-delivered --evidence TEXT", dr.ID, why, dr.ID)
	case outbox.Pending:
		why := dr.LastError
		if why == "" {
			why = "it was taken back to review"
		}
		return fmt.Errorf("draft %s was not sent: %s; it waits for a fresh review (mecha-slack outbox show %s)", dr.ID, plain(why, 500), dr.ID)
	}
	return verdict(&outbox.StateError{Draft: dr, Tried: "release"})
}

// lookFor asks the configured reconciler what became of a draft.
func (d *desk) lookFor(ctx context.Context, dr *outbox.Draft) {
	if _, ok := d.outbox.Config().Reconcile[dr.Tool]; !ok {
		return
	}
	found, err := d.outbox.Propose(ctx, *dr)
	if err != nil {
		d.log.Warn("a reconciler could not look for a draft", "draft", dr.ID, "error", err)
		return
	}
	*dr = found
}

// notBefore reads --at. A time of day is the next one.
func notBefore(s string, now time.Time) (*time.Time, error) {
	if s == "" {
		return nil, nil
	}
	at, err := parseTime(s, now)
	if err != nil {
		return nil, usagef("--at: %v", err)
	}
	if len(s) == len("15:04") && at.Before(now) {
		at = at.AddDate(0, 0, 1)
	}
	if at.Before(now) {
		return nil, usagef("--at: %s has passed", at.Format("2006-01-02 15:04 MST"))
	}
	return &at, nil
}

// parseTime reads an instant as people write it, in this machine's zone where
// it names none.
func parseTime(s string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, s, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, err := time.ParseInLocation("15:04", s, now.Location()); err == nil {
		return time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: write it as 2026-11-30T09:00:00+01:00, 2026-11-30 09:00 or 09:00", s)
}

func (c *cli) outboxCancelCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel ID",
		Short: "Take back an approved draft that is held or scheduled",
		Args:  cobra.ExactArgs(1),
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			dr, err := d.draft(ctx, args[0])
			if err != nil {
				return err
			}
			if dr, err = d.outbox.Cancel(ctx, dr.ID, me(), "terminal"); err != nil {
				return verdict(err)
			}
			fmt.Fprintf(c.Stdout, "Taken back: draft %s waits for you again.\n", dr.ID)
			return nil
		})),
	}
}
