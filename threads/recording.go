package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// ErrNoSurface: what a run was told and offered is not on record.
var ErrNoSurface = errors.New("what it was told and offered is not on record: an earlier version made it, or it never had a turn")

// Recording answers a run as the record has it, for a replay. What was
// summarised since is there again, whole, and the summaries are not: whole tells
// that it is so.
func (t *Threads) Recording(ctx context.Context, run string) (r agent.Recording, whole bool, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		info, err := getRun(tx, run)
		if err != nil {
			return err
		}
		if info.Surface == "" {
			return ErrNoSurface
		}
		var body string
		if err := tx.Row(qSurfaceGet, []any{info.Surface}, &body); err != nil {
			return err
		}
		var s Surface
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			return err
		}
		r.System = s.System
		for _, o := range s.Tools {
			r.Tools = append(r.Tools, agent.ToolDef{Name: o.Name, Description: o.Description, Schema: o.Schema})
		}
		all, err := messagesOf(tx, info.Thread)
		if err != nil {
			return err
		}
		end, from := 0, -1
		for i, m := range all {
			if i > 0 && all[i-1].dropped && !m.dropped && m.Author == agent.ByHarness && m.Role == agent.User {
				whole = true
				continue // the summary of what stands before it
			}
			r.Messages = append(r.Messages, m.Message)
			if m.run == run {
				end = len(r.Messages)
				if from < 0 {
					from = end - 1
				}
			}
		}
		if from < 0 {
			return ErrNoSurface
		}
		r.Messages, r.From = r.Messages[:end], from
		return nil
	})
	if err != nil {
		return r, whole, fmt.Errorf("cannot replay run %s: %w", run, err)
	}
	return r, whole, nil
}
