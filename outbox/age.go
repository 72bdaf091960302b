package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// age does what time alone does to drafts: marks what has become stale, ends
// what has expired. Both are cheap where there is nothing to do.
func (o *Outbox) age(ctx context.Context) error {
	if _, err := o.Stale(ctx); err != nil {
		return err
	}
	_, err := o.Expire(ctx)
	return err
}

// Stale has the cards of drafts rendered again that became stale since it was
// last called, and answers how many. What is stale is known from its age; the
// mark of how far the cards follow is kept on the record.
func (o *Outbox) Stale(ctx context.Context) (n int, err error) {
	now := o.db.Now()
	through := now.Add(-time.Duration(o.cfg.StaleAfter)).UnixMilli()
	var next sql.NullInt64
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		since, err := staleSince(tx)
		if err != nil {
			return err
		}
		return tx.Row(qStaleNext, []any{since, through}, &next)
	})
	if err != nil {
		return 0, fmt.Errorf("cannot look for stale drafts: %w", err)
	}
	if !next.Valid {
		return 0, nil
	}
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		since, err := staleSince(tx)
		if err != nil {
			return err
		}
		changed, err := tx.Exec(qDraftsStale, since, through)
		if err != nil {
			return err
		}
		n = int(changed)
		_, err = tx.Exec(qStalePut, strconv.FormatInt(through, 10), tx.NowMS())
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot mark stale drafts: %w", err)
	}
	return n, nil
}

func staleSince(tx *record.Tx) (ms int64, err error) {
	err = tx.Row(qStaleGet, nil, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return ms, err
}

// Expire ends pending drafts that nobody has touched for expire_after, where it
// is configured, and answers how many. One that somebody has open for editing
// stays.
func (o *Outbox) Expire(ctx context.Context) (n int, err error) {
	after := time.Duration(o.cfg.ExpireAfter)
	if after <= 0 {
		return 0, nil
	}
	old := func(tx *record.Tx) ([]row, error) {
		now := o.db.Now()
		before := now.Add(-after).UnixMilli()
		return record.Collect(tx, scanDraft, qDraftsExpired, now.Add(-openFor).UnixMilli(), before, before)
	}
	some := false
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list, err := old(tx)
		some = len(list) > 0
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("cannot look for drafts that have expired: %w", err)
	}
	if !some {
		return 0, nil
	}
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		list, err := old(tx)
		if err != nil {
			return err
		}
		for _, d := range list {
			if err := note(tx, d, "mecha-slack", "expiry", "expire", "done"); err != nil {
				return err
			}
			if err := resolve(tx, d, Expired, "mecha-slack", "nobody decided it within "+after.String()); err != nil {
				return err
			}
		}
		n = len(list)
		o.step("expire: written")
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot end the drafts that have expired: %w", err)
	}
	return n, nil
}
