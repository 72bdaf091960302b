package threads

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// PostGoal is a goal's card; ref = goal.
const PostGoal PostKind = "goal"

// ErrNotPlanning: a thread's planning phase is over already.
var ErrNotPlanning = errors.New("it is not in the planning phase any more")

// PostPlan stands below a plan, with the way out of the planning phase; ref = thread.
const PostPlan PostKind = "plan"

// GoalByAgent stands in Goal.ProposedBy where the agent proposed it.
const GoalByAgent = "agent"

// maxGoal is how long a goal may be, in bytes.
const maxGoal = 2000

// ProposeGoal lays a goal before the owner as a card in the conversation. It
// changes nothing until it is accepted there. A newer proposal takes an older
// one's place; the same one again is the same card. by is GoalByAgent or a
// person; taint is what the conversation holds.
func (t *Threads) ProposeGoal(ctx context.Context, key, text, by string, taint tools.Taint) (g Goal, err error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxGoal {
		return g, fmt.Errorf("a goal is a text of 1 to %d bytes, not of %d", maxGoal, len(text))
	}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		th, err := getThread(tx, key)
		if err != nil {
			return err
		}
		list, err := record.Collect(tx, scanGoal, qGoalsOf, key)
		if err != nil {
			return err
		}
		for _, old := range list {
			if old.Text == text {
				g = old
				return nil
			}
		}
		id := "g" + t.NewID()
		if _, err := tx.Exec(qGoalReplace, by, tx.NowMS(), key, "proposed", id); err != nil {
			return err
		}
		for _, old := range list {
			if old.State == "proposed" {
				if _, err := tx.Exec(qPostWant, PostGoal, old.ID); err != nil {
					return err
				}
			}
		}
		if _, err := tx.Exec(qGoalInsert, id, key, text, by, taint.Private, taint.Untrusted, tx.NowMS()); err != nil {
			return err
		}
		if _, err := insertPost(tx, Post{Thread: key, Kind: PostGoal, Ref: id, Place: th.Surface}); err != nil {
			return err
		}
		g, err = getGoal(tx, id)
		return err
	})
	if err != nil {
		return g, fmt.Errorf("cannot propose a goal for thread %s: %w", key, err)
	}
	return g, nil
}

// DecideGoal accepts or rejects a goal, once; an accepted one takes the place of
// the one before. fresh is false where it had been decided already.
func (t *Threads) DecideGoal(ctx context.Context, who Who, id string, accept bool) (g Goal, fresh bool, err error) {
	verb, state := "reject", "rejected"
	if accept {
		verb, state = "accept", "active"
	}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qGoalDecide, state, who.User, tx.NowMS(), id)
		if err != nil {
			return err
		}
		fresh = n > 0
		if g, err = getGoal(tx, id); err != nil {
			return err
		}
		outcome := "already " + g.State
		if fresh {
			outcome = "done"
		}
		if fresh && accept {
			list, err := record.Collect(tx, scanGoal, qGoalsOf, g.Thread)
			if err != nil {
				return err
			}
			if _, err := tx.Exec(qGoalReplace, who.User, tx.NowMS(), g.Thread, "active", id); err != nil {
				return err
			}
			for _, old := range list {
				if old.State == "active" && old.ID != id {
					if _, err := tx.Exec(qPostWant, PostGoal, old.ID); err != nil {
						return err
					}
				}
			}
		}
		if _, err := tx.Exec(qPostWant, PostGoal, id); err != nil {
			return err
		}
		return insertAct(tx, who.act(verb, "goal", id, outcome))
	})
	if err != nil {
		return g, false, fmt.Errorf("cannot decide goal %s: %w", id, err)
	}
	return g, fresh, nil
}

// Goal answers one goal.
func (t *Threads) Goal(ctx context.Context, id string) (g Goal, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		g, err = getGoal(tx, id)
		return err
	})
	return g, err
}

// ActiveGoal answers the goal of a conversation that an owner accepted; ok is
// false where there is none.
func (t *Threads) ActiveGoal(ctx context.Context, key string) (g Goal, ok bool, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, scanGoal, qGoalsOf, key)
		for _, x := range list {
			if x.State == "active" {
				g, ok = x, true
			}
		}
		return err
	})
	return g, ok, err
}

// GoalProposed answers the goal that waits for an owner; ok is false where none does.
func (t *Threads) GoalProposed(ctx context.Context, key string) (g Goal, ok bool, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err := record.Collect(tx, scanGoal, qGoalsOf, key)
		for _, x := range list {
			if x.State == "proposed" {
				g, ok = x, true
			}
		}
		return err
	})
	return g, ok, err
}

// SetPlanning lets a thread's runs only look and plan, or ends that: from the
// next run on. An owner's button does it, never words.
func (t *Threads) SetPlanning(ctx context.Context, who Who, key string, on bool) error {
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qThreadPlanning, on, tx.NowMS(), key)
		if err == nil && n == 0 {
			err = notFoundIf(true, key)
		}
		if err != nil {
			return err
		}
		verb := "plan first"
		if !on {
			verb = "plan no more"
		}
		if _, err := tx.Exec(qPostWant, PostPlan, key); err != nil {
			return err
		}
		return insertAct(tx, who.act(verb, "thread", key, "done"))
	})
	if err != nil {
		return fmt.Errorf("cannot change whether thread %s plans first: %w", key, err)
	}
	return nil
}

// CarryOut ends the planning of a thread and has its plan carried out.
func (t *Threads) CarryOut(ctx context.Context, who Who, key string) error {
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		th, err := getThread(tx, key)
		switch {
		case err != nil:
			return err
		case !th.Planning:
			return ErrNotPlanning
		}
		if _, err := tx.Exec(qThreadPlanning, false, tx.NowMS(), key); err != nil {
			return err
		}
		if _, err := tx.Exec(qPostWant, PostPlan, key); err != nil {
			return err
		}
		if err := insertAct(tx, who.act("carry out", "thread", key, "done")); err != nil {
			return err
		}
		return t.say(tx, who, key, "plan", "Carry out the plan.")
	})
	if err == nil {
		t.wake(key)
	}
	return err
}
