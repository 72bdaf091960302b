package threads

import (
	"context"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// ClosePost commits that a post has its end, whatever was asked of it so far,
// together with the posts that go on from it: a crash leaves both or neither.
func (t *Threads) ClosePost(ctx context.Context, p Post, goOn ...Post) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		now, err := getPost(tx, p.ID)
		if err != nil {
			return err
		}
		if now.State == PostClosed && now.Shown >= now.Want {
			return nil // somebody else has, with what goes on from it
		}
		p := p
		p.State, p.Shown = PostClosed, now.Want
		if err := updatePost(tx, p); err != nil {
			return err
		}
		for _, next := range goOn {
			if _, err := insertPost(tx, next); err != nil {
				return err
			}
		}
		return nil
	})
}

// Shown commits what a call to Slack has confirmed: where the post stands, and
// the buttons that stand there now, which are the only ones that count.
func (t *Threads) Shown(ctx context.Context, p Post, buttons []Token) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		if err := updatePost(tx, p); err != nil {
			return err
		}
		keep := ""
		for _, k := range buttons {
			keep = k.Token
			if err := placeToken(tx, k.Token, p.Place.Channel, p.TS, ""); err != nil {
				return err
			}
		}
		return dropTokens(tx, p.ID, keep)
	})
}
