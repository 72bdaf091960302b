package triggers

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// What the ledger keeps of one trigger: the newest so many rows of each sort,
// and every row that is younger than a day, so that a message which Slack
// delivers again still finds its row. An open fire is never removed. A slot that
// has lost its row is not taken again: the trigger's accounted is past it.
const (
	keepRuns    = 10_000 // a week of minutes
	keepSkipped = 2_000
	keepAtLeast = 24 * time.Hour
	sweepEvery  = 24 * time.Hour
)

// sweep removes what the ledger keeps no longer. It goes by chunks: others write
// too.
func (t *Triggers) sweep(ctx context.Context) (removed int64, err error) {
	type cut struct {
		name   string
		query  string
		before int64
	}
	var cuts []cut
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		all, err := record.Collect(tx, scanTrigger, qTriggerList) // deleted ones included
		if err != nil {
			return err
		}
		latest := record.MS(tx.Now().Add(-keepAtLeast))
		for _, tr := range all {
			for _, sort := range []struct {
				nth, drop string
				keep      int
			}{{qFireNthRun, qFiresDropRuns, t.cfg.KeepRuns}, {qFireNthSkipped, qFiresDropSkipped, t.cfg.KeepSkipped}} {
				oldest, err := record.Collect(tx, func(r record.Scanner) (at int64, err error) { return at, r.Scan(&at) }, sort.nth, tr.Name, sort.keep-1)
				if err != nil {
					return err
				}
				if len(oldest) == 1 {
					cuts = append(cuts, cut{tr.Name, sort.drop, min(oldest[0], latest)})
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("cannot see which rows of the ledger are old: %w", err)
	}
	for _, c := range cuts {
		for n := int64(chunk); n == chunk; removed += n {
			err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
				n, err = tx.Exec(c.query, c.name, c.before, chunk)
				return err
			})
			if err != nil {
				return removed, fmt.Errorf("cannot remove old rows of trigger %s from the ledger: %w", c.name, err)
			}
		}
	}
	return removed, nil
}
