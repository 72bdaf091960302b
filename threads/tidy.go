package threads

import (
	"context"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const (
	// keepBodies: a message's text in the inbox goes after a week; the thread
	// that it was taken into keeps it.
	keepBodies = 7 * 24 * time.Hour
	// keepEvents outlives Slack's last redelivery by far.
	keepEvents = 30 * 24 * time.Hour
	// keepTokens of views: nobody has a modal open for so long.
	keepTokens = 7 * 24 * time.Hour
	tidyEvery  = 6 * time.Hour
)

// tidy forgets what nobody needs any more, now and then, until ctx ends.
func (t *Threads) tidy(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	for {
		err := t.db.Write(ctx, func(tx *record.Tx) error {
			now := tx.Now()
			if _, err := tx.Exec(qInboxForget, now.Add(-keepBodies).UnixMilli()); err != nil {
				return err
			}
			if _, err := tx.Exec(qEventsOld, now.Add(-keepEvents).UnixMilli()); err != nil {
				return err
			}
			_, err := tx.Exec(qTokensOld, now.Add(-keepTokens).UnixMilli())
			return err
		})
		if err != nil && ctx.Err() == nil {
			t.Log.Warn("cannot tidy the record", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
