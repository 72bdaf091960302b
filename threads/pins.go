package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const qPinAccept = `UPDATE tool_pins SET hash = next_hash, def = next, next = NULL, next_hash = NULL, by = ?1, changed = ?2 WHERE name = ?3 AND next IS NOT NULL AND (?4 = '' OR next_hash = ?4)`

const qPinOne = `SELECT name, server, hash, coalesce(next_hash, ''), def, coalesce(next, ''), by, changed FROM tool_pins WHERE name = ?`

const qPinsChanged = `SELECT name, server, hash, coalesce(next_hash, ''), def, coalesce(next, ''), by, changed FROM tool_pins WHERE next IS NOT NULL ORDER BY server, name`

// A card of a change is named TOOL@HASH; no tool's name holds an @.
const qPinCards = `UPDATE posts SET want = want + 1 WHERE kind = 'pin' AND ref >= ?1 || '@' AND ref < ?1 || 'A'`

// PostPin is the card of a tool that its server describes differently than when
// it was pinned; ref = PinRef.
const PostPin PostKind = "pin"

// PinRef names the card of one change of a tool.
func PinRef(tool, hash string) string { return tool + "@" + hash }

// Pin is a tool's definition as it is pinned, and the one that waits to be
// accepted, if its server gives another now.
type Pin struct {
	Tool, Server   string
	Hash, NextHash string // NextHash is empty where no change waits
	Was, Now       json.RawMessage
	By             string // who accepted the pinned one; empty: first seen
	Changed        time.Time
}

// PinChange is a tool's definition as pinned and as its server gives it now.
type PinChange struct{ Was, Now json.RawMessage }

func scanPin(r record.Scanner) (p Pin, err error) {
	var was, now string
	var changed int64
	err = r.Scan(&p.Tool, &p.Server, &p.Hash, &p.NextHash, &was, &now, &p.By, &changed)
	p.Was, p.Now, p.Changed = json.RawMessage(was), json.RawMessage(now), record.Time(changed)
	return p, err
}

// redrawPins asks for a tool's cards to be rendered again where n rows changed.
func redrawPins(tx *record.Tx, tool string, n int64, err error) error {
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.Exec(qPinCards, tool)
	return err
}

// PinOf answers what is known of a tool's definition.
func (t *Threads) PinOf(ctx context.Context, tool string) (p Pin, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, scanPin, qPinOne, tool)
		if err != nil || len(list) == 0 {
			return orNotFound(err, "tool "+tool)
		}
		p = list[0]
		return nil
	})
	return p, err
}

// ChangedPins answers every change that waits, by server and name.
func (t *Threads) ChangedPins(ctx context.Context) (list []Pin, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanPin, qPinsChanged)
		return err
	})
	return list, err
}

// ChangedPin answers a change that waits; ErrNotFound where none does.
func (t *Threads) ChangedPin(ctx context.Context, tool string) (PinChange, error) {
	p, err := t.PinOf(ctx, tool)
	if err == nil && p.NextHash == "" {
		err = fmt.Errorf("a change of tool %s: %w", tool, ErrNotFound)
	}
	return PinChange{p.Was, p.Now}, err
}

// AcceptPin makes a tool's changed definition the pinned one.
func (t *Threads) AcceptPin(ctx context.Context, who Who, tool string) error {
	return t.AcceptPinAs(ctx, who, tool, "")
}

// AcceptPinAs is AcceptPin for whoever read one certain change, by its hash:
// ErrNotFound where that is not the one that waits.
func (t *Threads) AcceptPinAs(ctx context.Context, who Who, tool, hash string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qPinAccept, who.User, tx.NowMS(), tool, hash)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("a change of tool %s: %w", tool, ErrNotFound)
		}
		if err := insertAct(tx, who.act("accept", "tool", tool, "done")); err != nil {
			return err
		}
		return redrawPins(tx, tool, n, nil)
	})
}

// orNotFound is err, or that what was read is not there.
func orNotFound(err error, what string) error {
	if err == nil {
		err = fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return err
}
