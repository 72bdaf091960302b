package outbox

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// settleAttempt writes down what came of an attempt. While the record cannot be
// written (a full disk), it keeps trying until ctx ends: losing a known outcome
// would make a person look for it.
func (o *Outbox) settleAttempt(ctx context.Context, d Draft, attempt int64, out outcome) error {
	wait := 100 * time.Millisecond
	for {
		err := o.finish(context.WithoutCancel(ctx), d, attempt, out)
		if err == nil {
			return nil
		}
		o.Log.Error("what came of a release could not be written down; trying again", "draft", d.ID, "outcome", out.kind, "error", err)
		select {
		case <-time.After(wait):
			wait = min(2*wait, 30*time.Second)
		case <-ctx.Done():
			return fmt.Errorf("draft %s was handed over (%s), and that could not be written down: %w", d.ID, out.kind, err)
		}
	}
}

func (o *Outbox) finish(ctx context.Context, d Draft, attempt int64, out outcome) error {
	return o.db.Write(ctx, func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(qAttemptEnd, tx.NowMS(), out.kind, short(out.err, 8<<10), short(out.answer, 8<<10), attempt); err != nil {
			return err
		}
		var newest int64
		if err := tx.Row(qAttemptNewest, []any{d.ID}, &newest); err != nil {
			return err
		}
		if newest != attempt {
			return nil // late, and another attempt has followed
		}
		if err := note(tx, r, "mecha-slack", "release", "release", out.kind); err != nil {
			return err
		}
		o.step("release: outcome written")
		switch r.State {
		case Releasing:
			switch out.kind {
			case "delivered":
				return resolve(tx, r, Released, lastApprover(r), "")
			case "failed":
				return back(tx, r, out.err)
			}
			return lose(tx, r)
		case Uncertain:
			if out.kind == "delivered" {
				return resolve(tx, r, Released, lastApprover(r), "")
			}
		case Pending:
			// A person has established that it did not arrive, and the tool says now
			// that it did: whoever approves again must read that first.
			if out.kind == "delivered" {
				_, err := tx.Exec(qDraftWarn, "the tool answered late that it was delivered; look again before you approve", d.ID)
				return err
			}
		}
		return nil
	})
}

// lose marks a draft whose outcome nobody knows. What was found out about an
// earlier attempt says nothing about this one.
func lose(tx *record.Tx, d row) error {
	if _, err := tx.Exec(qProposalDrop, d.ID); err != nil {
		return err
	}
	n, err := tx.Exec(qDraftUncertain, d.ID)
	if err == nil && n == 0 {
		err = errRaced
	}
	return err
}

func lastApprover(d row) string {
	if n := len(d.Approvals); n > 0 {
		return d.Approvals[n-1].By
	}
	return d.ResolvedBy
}

// short cuts foreign text where a whole character ends.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most] + "…"
}

// Settle marks every attempt without an outcome as unknown, and its draft as
// uncertain. Whoever takes the home's lock calls it before anything is
// dispatched: the process that made those attempts is gone.
func (o *Outbox) Settle(ctx context.Context) (n int, err error) {
	type open struct {
		id    int64
		draft string
	}
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, func(r record.Scanner) (a open, err error) {
			err = r.Scan(&a.id, &a.draft)
			return a, err
		}, qAttemptsOpen)
		if err != nil {
			return err
		}
		for _, a := range list {
			d, err := o.get(tx, a.draft)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(qAttemptEnd, tx.NowMS(), "unknown", "the process that was sending it ended", "", a.id); err != nil {
				return err
			}
			if d.State != Releasing {
				continue
			}
			if err := note(tx, d, "mecha-slack", "release", "release", "unknown"); err != nil {
				return err
			}
			if err := lose(tx, d); err != nil {
				return err
			}
			n++
		}
		o.step("settle: written")
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot settle the attempts of an earlier process: %w", err)
	}
	return n, nil
}
