package threads

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
)

// Looking is mcp.Pins for a command that only looks: it compares, and pins
// nothing, so that a list of tools never accepts one. A change that it sees is
// put before whoever accepts it, as any other look does.
type Looking struct{ *Threads }

// Check compares a tool with its pin; a tool that has none is new.
func (l Looking) Check(ctx context.Context, server, name, hash string, def json.RawMessage) (state mcp.PinState, err error) {
	err = l.db.Read(ctx, func(tx *record.Tx) error {
		pins, err := record.Collect(tx, scanPin, qPinOne, name)
		switch {
		case err != nil:
			return err
		case len(pins) == 0:
			state = mcp.PinNew
		case pins[0].Hash == hash:
			state = mcp.PinSame
		default:
			state = mcp.PinChanged
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("cannot compare tool %s with its pin: %w", name, err)
	}
	if state == mcp.PinChanged {
		return l.Threads.Check(ctx, server, name, hash, def)
	}
	return state, nil
}
