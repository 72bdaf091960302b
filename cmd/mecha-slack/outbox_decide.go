package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
)

func (c *cli) outboxRejectCmd() *cobra.Command {
	var f draftFilter
	var reason string
	cmd := &cobra.Command{
		Use:   "reject ID --reason TEXT | reject --all",
		Short: "End a draft unsent; the reason reaches the conversation that drafted it",
		Args:  cobra.MaximumNArgs(1),
		PreRunE: func(_ *cobra.Command, args []string) error {
			switch {
			case f.all && len(args) > 0:
				return usagef("reject takes an id or --all, not both")
			case !f.all && len(args) == 0:
				return usagef("reject takes the id of a draft, or --all")
			case !f.all && f.narrowed():
				return usagef("--kind and --via narrow --all")
			}
			return nil
		},
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			if f.all {
				return c.rejectAll(ctx, d, f, reason)
			}
			return c.reject(ctx, d, args[0], reason)
		})),
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "reject every draft that waits")
	cmd.Flags().StringVar(&reason, "reason", "", "why; the agent reads it")
	return cmd
}

func (c *cli) reject(ctx context.Context, d *desk, id, reason string) error {
	dr, err := d.draft(ctx, id)
	if err != nil {
		return err
	}
	if dr, err = d.outbox.Reject(ctx, dr.ID, me(), "terminal", reason); err != nil {
		return verdict(err)
	}
	fmt.Fprintf(c.Stdout, "✕ Rejected: draft %s was not sent.\n", dr.ID)
	return nil
}

// rejectAll goes on past what cannot be rejected, counts, and fails where any
// did. An unknown outcome stays, for whoever establishes it.
func (c *cli) rejectAll(ctx context.Context, d *desk, f draftFilter, reason string) error {
	f.all = false
	list, err := f.list(ctx, d)
	if err != nil {
		return err
	}
	rejected, uncertain, failed := 0, 0, 0
	for _, dr := range list {
		if dr.State == outbox.Uncertain {
			uncertain++
			fmt.Fprintf(c.Stdout, "? %s stays: nobody knows whether it was sent; reconcile it\n", dr.ID)
			continue
		}
		if _, err := d.outbox.Reject(ctx, dr.ID, me(), "terminal", reason); err != nil {
			failed++
			fmt.Fprintf(c.Stderr, "%s\n", c.redact(oneLine(err.Error())))
			continue
		}
		rejected++
		fmt.Fprintf(c.Stdout, "✕ %s  %s  %s\n", dr.ID, dr.Tool, plain(dr.Summary, 80))
	}
	fmt.Fprintf(c.Stdout, "%d rejected, %d of unknown outcome left, %d failed\n", rejected, uncertain, failed)
	if failed > 0 {
		return fmt.Errorf("%s could not be rejected", plural(failed, "draft", "drafts"))
	}
	return nil
}

func (c *cli) outboxReconcileCmd() *cobra.Command {
	var outcome, evidence string
	cmd := &cobra.Command{
		Use:   "reconcile ID --outcome delivered|not-delivered --evidence TEXT",
		Short: "Say what became of a draft whose outcome nobody knows; it never sends",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if outcome != "delivered" && outcome != "not-delivered" {
				return usagef("--outcome is delivered or not-delivered, not %q", outcome)
			}
			if strings.TrimSpace(evidence) == "" {
				return usagef("--evidence: say what you saw (a message id, a log line, an empty Sent folder)")
			}
			return nil
		},
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			dr, err := d.draft(ctx, args[0])
			if err != nil {
				return err
			}
			if dr, err = d.outbox.Reconcile(ctx, dr.ID, outcome, evidence, me(), "terminal"); err != nil {
				return verdict(err)
			}
			if dr.State == outbox.Released {
				fmt.Fprintf(c.Stdout, "✓ Draft %s counts as sent.\n", dr.ID)
				return nil
			}
			fmt.Fprintf(c.Stdout, "✉ Draft %s was not delivered; it waits for a fresh review.\n", dr.ID)
			return nil
		})),
	}
	cmd.Flags().StringVar(&outcome, "outcome", "", "delivered or not-delivered")
	cmd.Flags().StringVar(&evidence, "evidence", "", "what you saw")
	return cmd
}
