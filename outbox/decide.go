package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Decision is a person's yes to what was shown: a revision and its digest.
type Decision struct {
	ID       string
	Revision int
	Digest   string // Draft.Digest, or Draft.Seal, which binds to the attempts that were shown as well
	By       string // a Slack user, or local:<uid>
	Surface  string // slack, terminal
	Team     string // of the surface; "" = the terminal
	Second   bool   // the second press of a draft that takes two
	At       *time.Time
}

// Approve commits an approval, by compare-and-set on state, revision, digest
// and the number of attempts and reconciliations. With the last needed one the
// draft is approved, and whoever dispatches releases it: now, after the hold of
// its policy, or not before At. The draft is answered as it stands then.
func (o *Outbox) Approve(ctx context.Context, c Decision) (Draft, error) {
	people, err := o.people(ctx)
	if err != nil {
		return Draft{}, err
	}
	return o.decide(ctx, c.ID, c.By, c.Surface, "approve", func(tx *record.Tx, d row) error {
		switch {
		case d.State != Pending:
			return &StateError{Draft: d.Draft, Tried: "approve"}
		case d.Revision != c.Revision || c.Digest != d.Digest && c.Digest != d.Seal():
			return &ChangedError{Draft: d.Draft}
		case c.Team != "" && d.Team != "" && c.Team != d.Team:
			return &NotYoursError{"this draft belongs to another workspace; it is decided there"}
		case d.SecondLook() && !c.Second:
			return ErrSecondLook
		}
		p := o.cfg.policy(d.Tool)
		if err := mayApprove(p, d, c.By, people); err != nil {
			return err
		}
		if err := o.limits(tx, p, d); err != nil {
			return err
		}
		others := len(d.Approvals)
		if at := terminals(d.Approvals); at >= 0 && people.owner(c.By) {
			// It may have been this owner who sat at the terminal: one person.
			if _, err := tx.Exec(qApprovalVoid, d.ID, d.Approvals[at].By); err != nil {
				return err
			}
			others--
		}
		if _, err := tx.Exec(qApprovalInsert, d.ID, d.Revision, d.Digest, c.By, c.Surface, d.rounds(), tx.NowMS()); err != nil {
			return err
		}
		at := later(d.NotBefore, c.At)
		if others+1 < p.Needs() {
			_, err := tx.Exec(qDraftNotBefore, ms(at), d.ID)
			return err
		}
		var hold *time.Time
		if p.Hold > 0 {
			t := tx.Now().Add(time.Duration(p.Hold))
			hold = &t
		}
		n, err := tx.Exec(qDraftApproved, ms(hold), ms(at), c.By, d.ID, d.Revision, d.Digest)
		if err == nil && n == 0 {
			err = errRaced
		}
		return err
	})
}

// later: each of several approvers may put a release off, none brings it forward.
func later(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.After(*a) {
		return b
	}
	return a
}

func mayApprove(p Policy, d row, by string, o owners) error {
	if !named(p, by) {
		return &NotYoursError{fmt.Sprintf("drafts of %s are approved by %s", d.Tool, strings.Join(p.Approvers, ", "))}
	}
	if !p.RequesterMay() {
		switch {
		case by == d.Requester || local(by) && local(d.Requester):
			return &NotYoursError{"you asked for this draft, or edited it last; somebody else has to approve it"}
		case local(by) && o.owner(d.Requester):
			return &NotYoursError{fmt.Sprintf("%s asked for this draft, or edited it last, and nobody can tell which owner sits at a terminal; somebody else has to approve it in Slack", d.Requester)}
		case local(d.Requester) && o.owner(by):
			return &NotYoursError{"this draft was edited last at the terminal, and nobody can tell which owner sat there; a named approver who is no owner has to approve it"}
		}
	}
	for _, a := range d.Approvals {
		switch {
		case a.By == by || local(a.By) && local(by):
			return &NotYoursError{fmt.Sprintf("you have approved this already; it needs %d people", p.Needs())}
		case local(by) && o.owner(a.By):
			return &NotYoursError{fmt.Sprintf("%s has approved this already, and nobody can tell which owner sits at a terminal; it needs %d people, each as themselves in Slack", a.By, p.Needs())}
		}
	}
	return nil
}

// owners are the Slack users who own this bot: whoever sits at the terminal is
// one of them, and nobody can tell which. So where two different people are
// wanted, the terminal is never a second one beside an owner, who may be the
// first: not beside one who asked, and not beside one who approved. An owner's
// press in Slack takes the place of an approval at the terminal.
type owners struct {
	all   []string
	known bool
}

func (o *Outbox) people(ctx context.Context) (owners, error) {
	if o.Owners == nil {
		return owners{}, nil
	}
	all, err := o.Owners(ctx)
	if err != nil {
		return owners{}, fmt.Errorf("cannot tell who owns this bot: %w", err)
	}
	return owners{all, true}, nil
}

// owner: where nobody can tell, everybody may be one.
func (o owners) owner(by string) bool {
	return !local(by) && by != "" && (!o.known || slices.Contains(o.all, by))
}

// terminals is where the approval of a terminal stands; -1: there is none.
func terminals(list []Approval) int {
	return slices.IndexFunc(list, func(a Approval) bool { return local(a.By) })
}

// named tells whether a policy lets a person decide. The terminal is one owner,
// one decision under any policy (DESIGN.md §8).
func named(p Policy, by string) bool {
	return len(p.Approvers) == 0 || slices.Contains(p.Approvers, by) || local(by)
}

func local(by string) bool { return strings.HasPrefix(by, "local:") }

// Reject ends a draft unsent; the reason reaches the conversation.
func (o *Outbox) Reject(ctx context.Context, id, by, surface, reason string) (Draft, error) {
	return o.decide(ctx, id, by, surface, "reject", func(tx *record.Tx, d row) error {
		if _, ok := d.State.next(actReject); !ok {
			return &StateError{Draft: d.Draft, Tried: "reject"}
		}
		return resolve(tx, d, Rejected, by, reason)
	})
}

// Cancel takes an approved draft that has not been dispatched back to pending;
// its approvals are void.
func (o *Outbox) Cancel(ctx context.Context, id, by, surface string) (Draft, error) {
	return o.decide(ctx, id, by, surface, "cancel", func(tx *record.Tx, d row) error {
		if d.State != Approved {
			return &StateError{Draft: d.Draft, Tried: "cancel"}
		}
		if _, err := tx.Exec(qApprovalsVoid, d.ID); err != nil {
			return err
		}
		n, err := tx.Exec(qDraftCancel, d.ID)
		if err == nil && n == 0 {
			err = errRaced
		}
		return err
	})
}

// Reconcile settles an unknown outcome with what a person established. It
// never sends: delivered resolves the draft, not-delivered allows a fresh
// review.
func (o *Outbox) Reconcile(ctx context.Context, id, outcome, evidence, by, surface string) (Draft, error) {
	if outcome != "delivered" && outcome != "not-delivered" {
		return Draft{}, &FieldError{"outcome", "is delivered or not-delivered"}
	}
	if strings.TrimSpace(evidence) == "" {
		return Draft{}, &FieldError{"evidence", "say what you saw: a message id, a log line, an empty Sent folder"}
	}
	return o.decide(ctx, id, by, surface, "reconcile "+outcome, func(tx *record.Tx, d row) error {
		if d.State != Uncertain {
			return &StateError{Draft: d.Draft, Tried: "reconcile"}
		}
		if err := mayReconcile(o.cfg.policy(d.Tool), d, by); err != nil {
			return err
		}
		if _, err := tx.Exec(qReconcileInsert, d.ID, outcome, evidence, by, tx.NowMS()); err != nil {
			return err
		}
		if _, err := tx.Exec(qProposalDrop, d.ID); err != nil {
			return err
		}
		if outcome == "delivered" {
			return resolve(tx, d, Released, by, "")
		}
		return back(tx, d, "not delivered, as "+by+" established: "+evidence)
	})
}

func mayReconcile(p Policy, d row, by string) error {
	if !named(p, by) {
		return &NotYoursError{fmt.Sprintf("drafts of %s are settled by %s", d.Tool, strings.Join(p.Approvers, ", "))}
	}
	return nil
}

// decide runs fn over the draft as it is, in one transaction with its row in
// the audit trail; a refusal leaves a row as well.
func (o *Outbox) decide(ctx context.Context, id, by, surface, verb string, fn func(*record.Tx, row) error) (Draft, error) {
	var d row
	var no error // a refusal; fn answers one before it writes anything
	err := o.db.Write(ctx, func(tx *record.Tx) (err error) {
		if d, err = o.get(tx, id); err != nil {
			return err
		}
		if no = fn(tx, d); no != nil {
			if !decided(no) {
				return no
			}
			return note(tx, d, by, surface, verb, "refused: "+no.Error())
		}
		o.step(verb + ": written")
		if err := note(tx, d, by, surface, verb, "done"); err != nil {
			return err
		}
		d, err = o.get(tx, id)
		o.step(verb + ": noted")
		return err
	})
	if err != nil {
		return Draft{}, err
	}
	o.step(verb + ": committed")
	return d.Draft, no
}

// decided tells a refusal by the rules (which is noted) from a failure.
func decided(err error) bool {
	var state *StateError
	var changed *ChangedError
	var yours *NotYoursError
	var limit *LimitError
	return errors.As(err, &state) || errors.As(err, &changed) || errors.As(err, &yours) || errors.As(err, &limit) || errors.Is(err, ErrSecondLook)
}

func resolve(tx *record.Tx, d row, to State, by, reason string) error {
	n, err := tx.Exec(qDraftResolve, to, tx.NowMS(), by, reason, d.ID, d.State)
	if err == nil && n == 0 {
		err = errRaced
	}
	return err
}

// back returns a draft to pending: whatever approved it is void, so that a
// fresh review is needed.
func back(tx *record.Tx, d row, lastError string) error {
	if _, err := tx.Exec(qApprovalsVoid, d.ID); err != nil {
		return err
	}
	n, err := tx.Exec(qDraftBack, lastError, d.ID, d.State)
	if err == nil && n == 0 {
		err = errRaced
	}
	return err
}
