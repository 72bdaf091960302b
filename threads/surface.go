package threads

import (
	"context"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// PostAt answers the post that stands as this message; ErrNotFound where it is
// none of ours.
func (t *Threads) PostAt(ctx context.Context, channel, ts string) (p Post, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		p, err = postAt(tx, channel, ts)
		return err
	})
	return p, err
}

// Redraw asks for every post that shows ref to be rendered again.
func (t *Threads) Redraw(ctx context.Context, kind PostKind, ref string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qPostWant, kind, ref)
		return err
	})
}

// Acted adds a row to the audit trail for what no other method notes: a press
// that was refused, mostly.
func (t *Threads) Acted(ctx context.Context, a Act) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return insertAct(tx, a) })
}

// LateMessage answers a message that catch-up listed, by its inbox id.
func (t *Threads) LateMessage(ctx context.Context, id int64) (l Late, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, scanLate, qLateGet, id)
		if err == nil && len(list) == 0 {
			err = ErrNotFound
		}
		if err != nil {
			return fmt.Errorf("cannot read message %d: %w", id, err)
		}
		l = list[0]
		return nil
	})
	return l, err
}

// AddPostTx is AddPost inside a transaction of the caller's: what a card shows
// and the card are one commit.
func AddPostTx(tx *record.Tx, p Post) (int64, error) { return insertPost(tx, p) }
