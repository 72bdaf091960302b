package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
)

func (c *cli) outboxReviewCmd() *cobra.Command {
	var f draftFilter
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Walk what waits, one at a time, deciding each",
		Long: `Shows one draft after another, whole, and asks: approve, edit, reject, later, quit.
There is no way to approve several at once: the reading is what the outbox is for.
With --all, unknown outcomes are shown as well, to be settled.`,
		Args: cobra.NoArgs,
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, _ []string) error { return c.outboxReview(ctx, d, f) })),
	}
	f.flags(cmd)
	cmd.Flags().BoolVar(&f.all, "all", false, "unknown outcomes and scheduled ones too")
	return cmd
}

// tally is what a review came to.
type tally struct{ sent, edited, rejected, later, failed int }

func (t tally) String() string {
	return fmt.Sprintf("%d approved, %d rejected, %d left for later, %d failed", t.sent, t.rejected, t.later, t.failed)
}

func (c *cli) outboxReview(ctx context.Context, d *desk, f draftFilter) error {
	all := f.all
	f.all = false
	list, err := f.list(ctx, d)
	if err != nil {
		return err
	}
	var queue []string
	for _, dr := range list {
		if dr.State == outbox.Pending || all && dr.State == outbox.Uncertain {
			queue = append(queue, dr.ID)
		}
	}
	if len(queue) == 0 {
		fmt.Fprintln(c.Stdout, "Nothing waits for you.")
		return nil
	}
	in := c.answers()
	var t tally
	for i, id := range queue {
		more, err := c.reviewOne(ctx, d, in, id, fmt.Sprintf("%d of %d", i+1, len(queue)), &t)
		if err != nil {
			fmt.Fprintln(c.Stdout, t)
			return err
		}
		if !more {
			t.later += len(queue) - i - 1
			break
		}
	}
	fmt.Fprintln(c.Stdout, t)
	if t.failed > 0 {
		return fmt.Errorf("%s could not be done; see above", plural(t.failed, "decision", "decisions"))
	}
	return nil
}

// reviewOne shows a draft until it is decided or left; more is false where the
// person quits.
func (c *cli) reviewOne(ctx context.Context, d *desk, in *answers, id, place string, t *tally) (more bool, err error) {
	for {
		// As it is now: a button may have decided it meanwhile.
		dr, err := d.outbox.Get(ctx, id)
		if err != nil {
			return false, err
		}
		if dr.State != outbox.Pending && dr.State != outbox.Uncertain {
			fmt.Fprintf(c.Stdout, "\n%s: draft %s is %s already.\n", place, id, dr.Became())
			return true, nil
		}
		src, err := d.outbox.Source(ctx, dr)
		if err != nil {
			return false, err
		}
		fmt.Fprintf(c.Stdout, "\n── %s ──\n%s", place, c.page().Show(dr, src))
		question := "\n(a)pprove, (e)dit, edit (j)son, (r)eject, (l)ater, (q)uit: "
		switch {
		case dr.State == outbox.Uncertain:
			question = "\nIt (a)rrived, it did (n)ot, (l)ater, (q)uit: "
		case dr.Kind == outbox.Publish: // its source is edited, not the draft
			question = "\n(a)pprove, (r)eject, (l)ater, (q)uit: "
		}
		word, err := in.ask(ctx, question)
		if errors.Is(err, errEOF) {
			t.later++
			return false, nil
		}
		if err != nil {
			return false, err
		}
		done, more, err := c.reviewed(ctx, d, in, dr, strings.ToLower(word), t)
		if err != nil {
			t.failed++
			fmt.Fprintf(c.Stdout, "✕ %s\n", c.redact(oneLine(err.Error())))
			done = ctx.Err() != nil
		}
		if done {
			return more && ctx.Err() == nil, nil
		}
	}
}

// reviewed does what the person said.
func (c *cli) reviewed(ctx context.Context, d *desk, in *answers, dr outbox.Draft, word string, t *tally) (done, more bool, err error) {
	switch {
	case word == "q" || word == "quit":
		t.later++
		return true, false, nil
	case word == "l" || word == "later" || word == "":
		t.later++
		return true, true, nil
	case dr.State == outbox.Uncertain && (word == "a" || word == "n"):
		evidence, err := in.ask(ctx, "What did you see? ")
		if err != nil {
			return false, true, err
		}
		outcome := map[string]string{"a": "delivered", "n": "not-delivered"}[word]
		if _, err := d.outbox.Reconcile(ctx, dr.ID, outcome, evidence, me(), "terminal"); err != nil {
			return false, true, err
		}
		fmt.Fprintf(c.Stdout, "Settled: %s.\n", outcome)
		return true, true, nil
	case dr.State == outbox.Uncertain:
	case word == "a" || word == "approve":
		if dr.SecondLook() {
			if yes, err := in.yes(ctx, "Send anyway?"); err != nil || !yes {
				return false, true, err
			}
		}
		err := c.releaseDraft(ctx, d, dr, nil)
		d.release()
		if err == nil {
			t.sent++
		}
		return true, true, err
	case word == "e" || word == "edit" || word == "j" || word == "json":
		edited, err := c.editDraft(ctx, d, dr, word[0] == 'j')
		if err == nil && edited.Revision > dr.Revision {
			t.edited++
		}
		return false, true, err
	case word == "r" || word == "reject":
		reason, err := in.ask(ctx, "Why? (the agent reads it; may be empty) ")
		if err != nil {
			return false, true, err
		}
		if _, err := d.outbox.Reject(ctx, dr.ID, me(), "terminal", reason); err != nil {
			return false, true, err
		}
		t.rejected++
		fmt.Fprintf(c.Stdout, "✕ Rejected.\n")
		return true, true, nil
	}
	fmt.Fprintf(c.Stdout, "%q is none of the choices.\n", word)
	return false, true, nil
}
