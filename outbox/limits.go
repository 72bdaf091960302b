package outbox

import (
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

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
		for who := range recipients(dests) {
			count[who]++
		}
	}
	for who := range recipients(d.Destinations) {
		if count[who] >= p.PerRecipientDay {
			return &LimitError{fmt.Sprintf("%s may send %d a day to one recipient, and %s has had %d in the last 24 hours", d.Tool, p.PerRecipientDay, who, count[who])}
		}
	}
	return nil
}

// recipients are the different people, channels and accounts among the
// destinations, in one spelling each.
func recipients(dests []tools.Destination) map[string]bool {
	who := map[string]bool{}
	for _, t := range dests {
		switch t.Kind {
		case tools.ToAddress, tools.ToChannel, tools.ToAccount:
			who[bare(t.Value)] = true
		}
	}
	return who
}

// bare is an address without the name beside it.
func bare(s string) string {
	s = strings.TrimSpace(s)
	if a, err := mail.ParseAddress(s); err == nil {
		s = a.Address
	}
	return strings.ToLower(s)
}
