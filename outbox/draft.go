package outbox

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// State of a draft (DESIGN.md §7).
type State string

const (
	Pending    State = "pending"
	Approved   State = "approved" // until a hold or a schedule passes
	Releasing  State = "releasing"
	Uncertain  State = "uncertain" // a person reconciles it
	Released   State = "released"
	Rejected   State = "rejected"
	Superseded State = "superseded"
	Expired    State = "expired"
)

// Kind of a draft: configuration decides it, never the tool.
type Kind string

const (
	Message Kind = "message"
	Publish Kind = "publish"
)

// Draft is a staged call, in the shape of `outbox show --json` (CONTRACT.md).
type Draft struct {
	ID              string              `json:"id"`
	State           State               `json:"state"`
	Tool            string              `json:"tool"`
	Kind            Kind                `json:"kind"`
	Summary         string              `json:"summary"`
	ArgsBefore      json.RawMessage     `json:"args_before"`
	Args            json.RawMessage     `json:"args"`
	Revision        int                 `json:"revision"`
	Digest          string              `json:"digest"`
	Workspace       string              `json:"workspace"`
	Team            string              `json:"team"`
	Thread          string              `json:"thread"`
	Run             string              `json:"run"`
	CallID          string              `json:"call_id"`
	Requester       string              `json:"requester"`
	Edited          bool                `json:"edited"`
	Stale           bool                `json:"stale"`
	FilledDefaults  []string            `json:"filled_defaults"`
	Files           []File              `json:"files"`
	Taint           tools.Taint         `json:"taint"`
	Destinations    []tools.Destination `json:"destinations"`
	Tainted         bool                `json:"tainted"` // both legs were in the conversation
	Red             bool                `json:"red"`     // only a stranger named a destination
	Approvals       []Approval          `json:"approvals"`
	NeedsApprovals  int                 `json:"needs_approvals"`
	HoldUntil       *time.Time          `json:"hold_until"`
	NotBefore       *time.Time          `json:"not_before"`
	Supersedes      string              `json:"supersedes"`
	SupersededBy    string              `json:"superseded_by"`
	LastError       string              `json:"last_error"`
	Source          *Source             `json:"source,omitempty"` // where asked for
	Bundle          *Bundle             `json:"bundle,omitempty"` // of a publication, where asked for
	Attempts        []Attempt           `json:"attempts"`
	Reconciliations []Reconciliation    `json:"reconciliations"`
	Proposal        *Proposal           `json:"proposal"` // null: nothing was found out
	IdempotencyKey  string              `json:"idempotency_key"`
	Created         time.Time           `json:"created"`
	Resolved        *time.Time          `json:"resolved"`
	ResolvedBy      string              `json:"resolved_by"`
	Reason          string              `json:"reason"`

	Version int64 `json:"-"` // rises with every change
}

// File is an argument's file, hashed at staging and again before dispatch.
type File struct {
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// Approval is a person's yes to one revision.
type Approval struct {
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Digest string    `json:"digest"`
}

// Attempt is one try to deliver.
type Attempt struct {
	Started time.Time  `json:"started"`
	Ended   *time.Time `json:"ended"`
	Outcome string     `json:"outcome"` // delivered, failed, unknown; "" while it runs
	Error   string     `json:"error"`
	Answer  string     `json:"answer"`
}

// Reconciliation is what a person established about an unknown outcome.
type Reconciliation struct {
	Outcome  string    `json:"outcome"` // delivered, not-delivered
	Evidence string    `json:"evidence"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
}

// Proposal is what a reconciler found; a person confirms it.
type Proposal struct {
	Outcome  string    `json:"outcome"` // delivered, not-delivered, unclear
	Evidence string    `json:"evidence"`
	At       time.Time `json:"at"`
}

// Words say what is proposed.
func (p Proposal) Words() string {
	switch p.Outcome {
	case ProposeArrived:
		return "proposed: it arrived"
	case ProposeNotArrived:
		return "proposed: it did not arrive"
	}
	return "look whether it is this one"
}

// Source is the message being answered, in a third party's words, from the
// drafting conversation's own transcript. None and pruned are different.
type Source struct {
	Status string `json:"status"` // found, none, pruned
	Text   string `json:"text"`
	Tool   string `json:"tool"`
	CallID string `json:"call_id"`
	Arg    string `json:"arg"` // the identifier that joined them
}

// Waiting tells that somebody has still to do something about it.
func (d Draft) Waiting() bool {
	switch d.State {
	case Pending, Approved, Releasing, Uncertain:
		return true
	}
	return false
}

// SecondLook tells whether approving takes a second press: tainted, red, or
// after a failed attempt. Clean drafts take one, since ceremony that adds
// nothing teaches people to tap through.
func (d Draft) SecondLook() bool {
	return d.Tainted || d.Red || len(d.Attempts) > 0
}

// Seal is what a button or a script that has shown the draft binds to: its
// digest, and how many attempts and reconciliations there were. After a failed
// attempt, a press of the old card is no approval of another one.
func (d Draft) Seal() string { return d.Digest + "#" + strconv.Itoa(d.rounds()) }

func (d Draft) rounds() int { return len(d.Attempts) + len(d.Reconciliations) }
