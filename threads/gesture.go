package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Gesture is what a person did besides writing to a session: a press, a
// shortcut, a slash command, a command word. It is committed before its ack and
// forgotten once it is done; what a process left undone the next one does.
type Gesture struct {
	ID       int64 // set by Gestures and KeepGesture
	App      string
	Team     string
	Key      string          // unique in the team: the same gesture told twice is one
	Body     json.RawMessage // bot's
	Received time.Time       // set by the record
}

// gestureChannel stands in the inbox where a message has its channel: a gesture
// is a row there like a message, with no thread to take it.
const gestureChannel = "gesture"

// KeepGesture commits a gesture. When it returns nil the gesture may be
// acknowledged; fresh is false where the same one was kept before, done or not.
func (t *Threads) KeepGesture(ctx context.Context, g Gesture) (id int64, fresh bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qEventInsert, g.App, g.Team, g.Key, tx.NowMS())
		if fresh = n > 0; err != nil || !fresh {
			return err
		}
		id, err = tx.Insert(qInboxInsert, g.App, g.Team, gestureChannel, g.Key, nil, "", "", string(g.Body), "queued", tx.NowMS())
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("cannot keep what a person did: %w", err)
	}
	return id, fresh, nil
}

// GestureDone forgets a gesture that has been done.
func (t *Threads) GestureDone(ctx context.Context, id int64) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qGestureDone, id)
		return err
	})
}

// Gestures are those that nobody has done, in the order in which they came.
func (t *Threads) Gestures(ctx context.Context) (list []Gesture, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (g Gesture, err error) {
			var body string
			var received int64
			err = r.Scan(&g.ID, &g.App, &g.Team, &g.Key, &body, &received)
			g.Body, g.Received = json.RawMessage(body), record.Time(received)
			return g, err
		}, qGesturesOpen)
		return err
	})
	return list, err
}
