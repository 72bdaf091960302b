package outbox

import (
	"errors"
	"fmt"
	"strings"
)

var (
	ErrNotFound = errors.New("no such draft")
	// ErrPruned: the drafting conversation is gone, so that nobody can tell
	// what a draft answered.
	ErrPruned = errors.New("the conversation is not kept any more")
	// ErrSecondLook: approving this draft takes a second press.
	ErrSecondLook = errors.New("this draft takes a second look before it is sent")
	// ErrPaused: releases are frozen.
	ErrPaused = errors.New("everything is paused; press Resume first")

	// errRaced cannot be: there is one writer, and the state was read before.
	errRaced = errors.New("the draft changed within one transaction; nothing was written")
)

// StateError says that a draft is not in a state for what was tried, and how
// it got where it is.
type StateError struct {
	Draft Draft
	Tried string
}

func (e *StateError) Error() string {
	s := fmt.Sprintf("cannot %s draft %s: it is %s", e.Tried, e.Draft.ID, e.Draft.Became())
	switch e.Draft.State {
	case Uncertain:
		s += "; look where it would have arrived, and settle that first (It arrived…, It did not…, or outbox reconcile)"
	case Approved:
		s += "; it goes out when it is due, and can be taken back until then (Cancel, or outbox cancel)"
	}
	return s
}

// ChangedError says that a draft is not what was shown any more.
type ChangedError struct{ Draft Draft }

func (e *ChangedError) Error() string {
	return fmt.Sprintf("draft %s has changed since it was shown (it is at revision %d now); read it again", e.Draft.ID, e.Draft.Revision)
}

// NotYoursError says that a person may not decide about a draft, and why.
type NotYoursError struct{ Why string }

func (e *NotYoursError) Error() string { return e.Why }

// LimitError says which configured limit an approval would pass.
type LimitError struct{ Why string }

func (e *LimitError) Error() string { return e.Why }

// AmbiguousError says that a prefix names several drafts.
type AmbiguousError struct {
	Prefix string
	IDs    []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is the beginning of several drafts: %s", e.Prefix, strings.Join(e.IDs, ", "))
}

// FieldError says which argument of an edit is wrong.
type FieldError struct{ Arg, Why string }

func (e *FieldError) Error() string {
	if e.Arg == "" {
		return e.Why
	}
	return fmt.Sprintf("%s: %s", e.Arg, e.Why)
}

// Became says in words how a draft stands: "released by U1, 09:15".
func (d Draft) Became() string {
	s := string(d.State)
	switch {
	case d.ResolvedBy == "":
	case d.State == Releasing || d.State == Uncertain: // it was approved, and nobody has decided since
		s += ", approved by " + d.ResolvedBy
	default:
		s += " by " + d.ResolvedBy
	}
	if d.Resolved != nil {
		s += ", " + d.Resolved.Format("2006-01-02 15:04")
	}
	if d.Reason != "" && d.State == Rejected {
		s += ": " + d.Reason
	}
	return s
}
