package threads

import (
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const qPostAt = `SELECT id, thread, kind, ref, team, channel, thread_ts, ts, state, body, want, shown, tries, error, created FROM posts WHERE channel = ? AND ts = ? ORDER BY id DESC LIMIT 1`

const qLateGet = `SELECT id, thread, user, text, state, received FROM inbox WHERE id = ?`

func postAt(tx *record.Tx, channel, ts string) (Post, error) {
	list, err := record.Collect(tx, scanPost, qPostAt, channel, ts)
	if err != nil {
		return Post{}, fmt.Errorf("cannot read the post at %s %s: %w", channel, ts, err)
	}
	if len(list) == 0 {
		return Post{}, fmt.Errorf("the post at %s %s: %w", channel, ts, ErrNotFound)
	}
	return list[0], nil
}

// Late is a message that catch-up found too late to answer unasked.
type Late struct {
	ID       int64
	Thread   string
	User     string
	Text     string
	State    string // late, then queued, taken; withdrawn
	Received time.Time
}

func scanLate(r record.Scanner) (l Late, err error) {
	var received int64
	err = r.Scan(&l.ID, &l.Thread, &l.User, &l.Text, &l.State, &received)
	l.Received = record.Time(received)
	return l, err
}
