package triggers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Add makes a trigger, enabled, due from now on. A name that is taken is an
// error.
func (t *Triggers) Add(ctx context.Context, w Who, tr Trigger) (Trigger, error) {
	return t.add(ctx, w, tr, "enabled")
}

// Propose keeps a trigger that a conversation asks for, until a person accepts
// it. It keeps that conversation's taint.
func (t *Triggers) Propose(ctx context.Context, w Who, tr Trigger) (Trigger, error) {
	return t.add(ctx, w, tr, "proposed")
}

func (t *Triggers) add(ctx context.Context, w Who, tr Trigger, state string) (Trigger, error) {
	tr.State, tr.By = state, w.User
	err := t.db.Write(ctx, func(tx *record.Tx) (err error) {
		tr, err = t.AddTx(tx, w, tr)
		return err
	})
	if err == nil {
		t.nudge()
	}
	return tr, err
}

// AddTx is Add or Propose inside a transaction of the caller's (a proposal and
// its card are one commit). tr has its State and By.
func (t *Triggers) AddTx(tx *record.Tx, w Who, tr Trigger) (Trigger, error) {
	if err := tr.Validate(); err != nil {
		return tr, err
	}
	if tr.State == "proposed" && (tr.Mode != "read-only" || len(tr.Tools) > 0 || tr.Notify != "" || tr.MaxTurns != 0 || tr.MaxOutputTokens != 0 || tr.MaxCost != 0) {
		return tr, errors.New("a proposal sets name, schedule, zone, prompt and channel only; the rest is set at the terminal (mecha-slack trigger edit)")
	}
	switch old, err := get(tx, tr.Name); {
	case err == nil:
		return tr, fmt.Errorf("there is a trigger %s already (%s, %s); choose another name, or edit it", tr.Name, old.cause(), old.State)
	case !errors.Is(err, ErrNotFound):
		return tr, err
	}
	if tr.State == "proposed" {
		// A conversation can ask for any number; a person reads each.
		var waiting int
		if err := tx.Row(qProposedCount, nil, &waiting); err != nil {
			return tr, fmt.Errorf("cannot count the proposed triggers: %w", err)
		}
		if waiting >= t.cfg.MaxProposed {
			return tr, fmt.Errorf("%d proposed triggers wait for a person already; accept or delete some (mecha-slack trigger list), then propose this one again", waiting)
		}
	}
	tr.Accounted, tr.Created, tr.Updated = tx.Now(), tx.Now(), tx.Now()
	if err := put(tx, tr); err != nil {
		return tr, err
	}
	return tr, act(tx, w, tr.State, tr.Name, "done")
}

// cause is what makes a trigger run, in a word or two.
func (t Trigger) cause() string {
	if t.OnEvent == OnMessage {
		return "on messages in " + t.Channel
	}
	return t.Schedule
}

// Edit changes a trigger. A new schedule counts from now, so that no edit skips
// or repeats a slot: what was due by the old one and has not run yet is noted
// as skipped. A prompt that a person retyped is the owner's own: its taint is
// gone.
func (t *Triggers) Edit(ctx context.Context, w Who, name string, change func(*Trigger)) (tr Trigger, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		was, err := get(tx, name)
		if err != nil {
			return err
		}
		tr = was
		change(&tr)
		// What is not a person's to edit.
		tr.Name, tr.Kind, tr.State, tr.By, tr.Accounted, tr.Created, tr.Version = was.Name, was.Kind, was.State, was.By, was.Accounted, was.Created, was.Version
		tr.Private, tr.Untrusted, tr.Sources, tr.ProposedIn = was.Private, was.Untrusted, was.Sources, was.ProposedIn
		if tr.Prompt != was.Prompt {
			tr.Private, tr.Untrusted, tr.Sources, tr.ProposedIn = false, false, nil, ""
		}
		if err := tr.Validate(); err != nil {
			return err
		}
		retimed := tr.Schedule != was.Schedule || tr.Zone != was.Zone || tr.OnEvent != was.OnEvent
		if retimed && tr.Kind == kindDigest {
			return errors.New("the digest's time is configured: set schedule and timezone in [digest]")
		}
		if retimed {
			reason := "stale: its schedule was changed"
			if was.State == "disabled" {
				reason = "disabled"
			}
			if err := t.settleSlots(tx, was, reason); err != nil {
				return err
			}
			tr.Accounted = later(was.Accounted, tx.Now())
		}
		if err := put(tx, tr); err != nil {
			return err
		}
		tr.Version, tr.Updated = was.Version+1, tx.Now()
		return act(tx, w, "edit", name, "done")
	})
	if err == nil {
		t.nudge()
	}
	return tr, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// SetState enables, disables, accepts (enabled) or deletes a trigger. fresh is
// false where it was in that state already. Its ledger stays.
func (t *Triggers) SetState(ctx context.Context, w Who, name, state string) (tr Trigger, fresh bool, err error) {
	if !slices.Contains([]string{"enabled", "disabled", "deleted"}, state) {
		return tr, false, fmt.Errorf("a trigger is enabled, disabled or deleted, not %q", state)
	}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if tr, err = get(tx, name); err != nil {
			return err
		}
		if fresh = tr.State != state; !fresh {
			return act(tx, w, state, name, "already "+state)
		}
		if tr.Kind == kindDigest && state == "deleted" {
			return errors.New("the digest is built in: disable it instead")
		}
		if state == "enabled" {
			if err := tr.Validate(); err != nil {
				return fmt.Errorf("trigger %s cannot be enabled: %w", name, err)
			}
		}
		// A proposal has no slots yet.
		if reason := map[string]string{"enabled": "stale: it was " + state + " before this slot could run", "disabled": "disabled"}[tr.State]; reason != "" {
			if err := t.settleSlots(tx, tr, reason); err != nil {
				return err
			}
		}
		by := w.User
		if tr.Kind == kindDigest {
			by = tr.By
		}
		if _, err := tx.Exec(qTriggerState, state, by, tx.NowMS(), tx.NowMS(), name); err != nil {
			return fmt.Errorf("cannot make trigger %s %s: %w", name, state, err)
		}
		tr.State, tr.By, tr.Version, tr.Updated = state, by, tr.Version+1, tx.Now()
		tr.Accounted = later(tr.Accounted, tx.Now())
		return act(tx, w, state, name, "done")
	})
	if err == nil {
		t.nudge()
	}
	return tr, fresh && err == nil, err
}

// EnsureDigest keeps the built-in digest trigger at the configured schedule.
// Disabled, it stays so. Where a person's trigger has its name from before that
// was reserved, that one is left alone, and the built-in is called
// built-in-digest.
func (t *Triggers) EnsureDigest(ctx context.Context, schedule, zone string) error {
	tr := Trigger{Name: digestName, Kind: kindDigest, Schedule: schedule, Zone: zone, State: "enabled", By: "config"}
	if err := tr.Validate(); err != nil {
		return fmt.Errorf("[digest]: %w", err)
	}
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		for _, name := range []string{digestName, "built-in-digest"} {
			tr.Name, tr.Accounted, tr.Created = name, tx.Now(), tx.Now()
			old, err := get(tx, name)
			switch {
			case errors.Is(err, ErrNotFound):
				return put(tx, tr)
			case err != nil:
				return err
			case old.Kind != kindDigest:
				continue
			case old.Schedule == schedule && old.Zone == zone:
				return nil
			}
			reason := "stale: its schedule was changed"
			if old.State == "disabled" {
				reason = "disabled"
			}
			if err := t.settleSlots(tx, old, reason); err != nil {
				return err
			}
			old.Schedule, old.Zone, old.Accounted = schedule, zone, later(old.Accounted, tx.Now())
			return put(tx, old)
		}
		return errors.New("[digest]: triggers called digest and built-in-digest are in its place: rename one")
	})
	if err == nil {
		t.nudge()
	}
	return err
}
