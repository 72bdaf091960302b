package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Where a reflection or a rule comes from. What was written beside a stranger's
// text may have been written by it.
const (
	OriginClean     = "clean"
	OriginUntrusted = "untrusted"
)

// Reflection is what one released message taught: what a person changed before
// it went out, or that nothing had to be changed.
type Reflection struct {
	ID     int64     `json:"id"`
	Draft  string    `json:"draft"`
	Origin string    `json:"origin"`
	Edited bool      `json:"edited"`
	Diff   string    `json:"diff"`
	At     time.Time `json:"at"`
}

// Mined is what a Reflect found.
type Mined struct {
	Edited   int `json:"edited"`
	Unedited int `json:"unedited"`
}

// reflectBatch bounds one transaction of Reflect.
const reflectBatch = 200

// Reflect mines the messages that were released since it was last called: the
// difference between what was drafted and what a person sent, and the releases
// that nobody had to change. Only confirmed deliveries count, never what was
// rejected or blocked, and never a publication: the difference of a path teaches
// bookkeeping, not a voice.
func (o *Outbox) Reflect(ctx context.Context) (m Mined, err error) {
	for {
		n := 0
		err := o.db.Write(ctx, func(tx *record.Tx) error {
			list, err := record.Collect(tx, scanDraft, qReflectable, reflectBatch)
			if err != nil {
				return err
			}
			for _, d := range list {
				origin := OriginClean
				if d.Taint.Untrusted {
					origin = OriginUntrusted
				}
				if _, err := tx.Exec(qReflectionInsert, d.ID, origin, d.Edited, short(Diff(d.Draft), 16<<10), tx.NowMS()); err != nil {
					return err
				}
				if d.Edited {
					m.Edited++
				} else {
					m.Unedited++
				}
			}
			n = len(list)
			return nil
		})
		if err != nil {
			return m, fmt.Errorf("cannot mine what was sent: %w", err)
		}
		if n < reflectBatch {
			return m, nil
		}
	}
}

// Reflections answers what was mined, newest first.
func (o *Outbox) Reflections(ctx context.Context, limit int) (list []Reflection, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (f Reflection, err error) {
			var at int64
			err = r.Scan(&f.ID, &f.Draft, &f.Origin, &f.Edited, &f.Diff, &at)
			f.At = record.Time(at)
			return f, err
		}, qReflections, limit)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the reflections: %w", err)
	}
	return list, nil
}

// Corrections tells how many released messages there were, and how many of them
// a person had changed first. Over none, a rate would be undefined.
func (o *Outbox) Corrections(ctx context.Context) (edited, released int, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		if err := tx.Row(qReflectionCount, []any{1}, &edited); err != nil {
			return err
		}
		return tx.Row(qReflectionCount, []any{0}, &released)
	})
	if err != nil {
		return 0, 0, fmt.Errorf("cannot count the corrections: %w", err)
	}
	return edited, released + edited, nil
}
