package threads

import (
	"context"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// followPause is the least time between two looks: a busy record costs little.
const followPause = 250 * time.Millisecond

// follow takes up what other processes commit, until ctx ends: an answer or
// another word that a command queued, a pause of everything, its end.
func (t *Threads) follow(ctx context.Context) {
	changed, cancel := t.db.Subscribe()
	defer cancel()
	was, err := t.Paused(ctx)
	for {
		if err != nil && ctx.Err() == nil {
			t.Log.Error("cannot follow what other processes write", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		was, err = t.catchUp(ctx, was)
		select {
		case <-ctx.Done():
			return
		case <-time.After(followPause):
		}
	}
}

// catchUp looks once; was tells whether everything was paused at the last look.
func (t *Threads) catchUp(ctx context.Context, was bool) (paused bool, err error) {
	var by string
	var keys []string
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		if by, err = getSetting(tx, settingPaused); err != nil || by != "" {
			return err
		}
		if keys, err = record.Collect(tx, scanString, qInboxWaiting); err != nil || !was {
			return err
		}
		live, err := record.Collect(tx, scanThread, qThreadsLive) // runs of triggers too
		for _, th := range live {
			keys = append(keys, th.Key)
		}
		return err
	})
	if err != nil {
		return was, err
	}
	if paused = by != ""; paused && !was {
		t.stopAll(by)
	}
	for _, k := range keys {
		t.wake(k)
	}
	return paused, nil
}

// stopAll stops every run at a safe point and answers how many there were.
func (t *Threads) stopAll(who string) (stopped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.actors {
		if a.stop(agent.StoppedBy{Who: who}) {
			stopped++
		}
	}
	return stopped
}
