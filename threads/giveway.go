package threads

import (
	"context"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// giveWay gives back the place of the run of a conversation (or of the run that a
// helper's conversation belongs to) while a person is waited for in the middle
// of a call: somebody else's work goes on. resume takes a place again and waits
// for one, as long as the run lives. The call that waits has begun, so that
// other calls of its turn may go on meanwhile: they were let in with it.
func (t *Threads) giveWay(ctx context.Context, thread string) (resume func()) {
	key, _, _ := strings.Cut(thread, "#") // nestedKey
	a := t.actor(key)
	if a == nil {
		return func() {}
	}
	a.mu.Lock()
	seat := a.seat
	a.mu.Unlock()
	if seat == nil {
		return func() {}
	}
	seat.leave()
	t.waits(ctx, key, "awaiting", evWait)
	waited := seat.clock.pause(t.Now)
	return func() {
		waited()
		life, end := context.WithCancel(context.WithoutCancel(ctx))
		defer end()
		go func() { // ends with life
			select {
			case <-seat.life:
				end()
			case <-life.Done():
			}
		}()
		// Where somebody else is still waited for, it goes on waiting.
		if seat.retake(life) == nil && seat.taken() {
			t.waits(ctx, key, "running", evProceed)
		}
	}
}

// waits notes that the open run of a conversation waits for a person, or goes on.
func (t *Threads) waits(ctx context.Context, key, state string, ev event) {
	err := t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		run, open, err := openRun(tx, key)
		if err != nil || !open {
			return err
		}
		if _, err := tx.Exec(qRunState, state, run.ID); err != nil {
			return err
		}
		_, err = move(tx, key, ev, "")
		return err
	})
	if err != nil {
		t.Log.Error("cannot note that a run waits for a person", "thread", key, "state", state, "error", err)
	}
}
