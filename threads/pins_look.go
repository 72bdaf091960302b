package threads

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
)

// Looking is mcp.Pins for a command that only looks: it compares, and keeps
// nothing, so that a list of tools never pins one.
type Looking struct{ *Threads }

// Check compares a tool with its pin; a tool that has none is new.
func (l Looking) Check(ctx context.Context, _, name, hash string, _ json.RawMessage) (state mcp.PinState, err error) {
	err = l.db.Read(ctx, func(tx *record.Tx) error {
		hashes, err := record.Collect(tx, func(r record.Scanner) (hash string, err error) {
			var next string
			err = r.Scan(&hash, &next)
			return hash, err
		}, qPinGet, name)
		switch {
		case err != nil:
			return err
		case len(hashes) == 0:
			state = mcp.PinNew
		case hashes[0] == hash:
			state = mcp.PinSame
		default:
			state = mcp.PinChanged
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot compare tool %s with its pin: %w", name, err)
	}
	return state, nil
}
