package outbox

import (
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// maxTold bounds the arguments that a note about an edited draft repeats.
const maxTold = 4 << 10

// Tell answers one sentence for the model per outcome that the drafting
// conversation has not heard yet, and marks them told.
func (o *Outbox) Tell(tx *record.Tx, thread string) ([]string, error) {
	ids, err := record.Collect(tx, scanID, qDraftsUntold, thread)
	if err != nil {
		return nil, fmt.Errorf("cannot read what became of the drafts: %w", err)
	}
	var notes []string
	for _, id := range ids {
		d, err := o.get(tx, id)
		if err != nil {
			return nil, err
		}
		notes = append(notes, outcomeNote(d.Draft))
		if _, err := tx.Exec(qDraftTold, id); err != nil {
			return nil, fmt.Errorf("cannot note that the conversation heard of draft %s: %w", id, err)
		}
	}
	return notes, nil
}

// outcomeNote is the harness's own words. What a tool answered or complained
// about is a third party's text, and is left to the card.
func outcomeNote(d Draft) string {
	s := fmt.Sprintf("[outbox] Your draft %s (%s) ", d.ID, d.Summary)
	switch d.State {
	case Released:
		s += "was released by the user."
		if d.Edited {
			s += " They edited it first. What was sent: " + short(string(d.Args), maxTold)
		}
	case Rejected:
		s += "was rejected by the user and not sent."
		if d.Reason != "" {
			s += " Their reason: " + d.Reason
		}
	case Uncertain, Releasing:
		s += "was handed over, and no trustworthy answer came: nobody knows whether it arrived. Do not send it again; the user settles it."
	case Pending:
		s += "was approved and could not be sent; it waits for another review. The user sees why on its card. Do not draft it again unless they ask."
		if n := len(d.Reconciliations); n > 0 && d.Reconciliations[n-1].Outcome == "not-delivered" && (len(d.Attempts) == 0 || !d.Attempts[len(d.Attempts)-1].Started.After(d.Reconciliations[n-1].At)) {
			s = fmt.Sprintf("[outbox] Your draft %s (%s) did not arrive, as the user established; it waits for another review.", d.ID, d.Summary)
		}
	case Expired:
		s += "waited too long and has expired unsent."
	default:
		s += "is " + string(d.State) + "."
	}
	return s
}

// Waiting counts the drafts of a conversation that somebody has still to decide.
func (o *Outbox) Waiting(tx *record.Tx, thread string) (n int, err error) {
	err = tx.Row(qDraftsPendingOf, []any{thread}, &n)
	return n, err
}
