package outbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

const qAttemptsSince = `SELECT d.destinations FROM attempts a JOIN drafts d ON d.id = a.draft WHERE a.started >= ? AND d.tool = ? AND a.outcome IS NOT 'failed'`

// limits counts from attempts, not from what was said to be sent: an unknown
// outcome may have been delivered.
func (o *Outbox) limits(tx *record.Tx, p Policy, d row) error {
	if p.PerDay == 0 && p.PerRecipientDay == 0 {
		return nil
	}
	since := tx.Now().Add(-24 * time.Hour).UnixMilli()
	sent, err := record.Collect(tx, func(r record.Scanner) (dests []tools.Destination, err error) {
		var s string
		if err = r.Scan(&s); err != nil {
			return nil, err
		}
		return dests, parse("of the last day", "destinations", s, &dests)
	}, qAttemptsSince, since, d.Tool)
	if err != nil {
		return fmt.Errorf("cannot count what was sent: %w", err)
	}
	if p.PerDay > 0 && len(sent) >= p.PerDay {
		return &LimitError{fmt.Sprintf("%s may send %d a day, and %d have gone out in the last 24 hours", d.Tool, p.PerDay, len(sent))}
	}
	if p.PerRecipientDay == 0 {
		return nil
	}
	count := map[string]int{}
	for _, dests := range sent {
		var once []string
		for _, t := range dests {
			if v := strings.ToLower(t.Value); t.Kind == tools.ToAddress && !slices.Contains(once, v) {
				once = append(once, v)
				count[v]++
			}
		}
	}
	for _, t := range d.Destinations {
		if v := strings.ToLower(t.Value); t.Kind == tools.ToAddress && count[v] >= p.PerRecipientDay {
			return &LimitError{fmt.Sprintf("%s may send %d a day to one recipient, and %s has had %d in the last 24 hours", d.Tool, p.PerRecipientDay, t.Value, count[v])}
		}
	}
	return nil
}
