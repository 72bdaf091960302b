package threads

import (
	"context"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Who acts: a person on a surface.
type Who struct {
	Team, User string
	Surface    string // slack, terminal
}

func (w Who) act(verb, kind, ref, outcome string) Act {
	return Act{Team: w.Team, User: w.User, Surface: w.Surface, Verb: verb, Kind: kind, Ref: ref, Outcome: outcome}
}

// Choice is what a call's card offers.
type Choice string

const (
	Approve    Choice = "approve"
	ApproveRun Choice = "approve_run" // allow for this run
	RejectCall Choice = "reject"
)

// DecideCall answers a call's card, once: the first press wins, by
// compare-and-set on the pending row and its digest. It answers the row as it
// is now; fresh is false where it had been decided (or withdrawn) before, and
// the row says how.
func (t *Threads) DecideCall(ctx context.Context, who Who, call, digest string, c Choice, reason string) (a Approval, fresh bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		var known bool
		if a, known, err = getApproval(tx, call); err != nil || !known {
			return errors.Join(err, notFoundIf(!known, call))
		}
		if c == ApproveRun && a.Scope == "" {
			return fmt.Errorf("this call cannot be allowed for the run: it is asked each time")
		}
		state := "approved"
		if c == RejectCall {
			state = "denied"
		}
		n, err := tx.Exec(qApprovalDecide, state, who.User, reason, tx.NowMS(), call, digest)
		if err != nil {
			return err
		}
		fresh = n > 0
		outcome := "already " + a.State
		if fresh {
			outcome = "done"
			if c == ApproveRun {
				if _, err := tx.Exec(qGrantInsert, a.Run, a.Tool, a.Facts.GrantScope, a.Facts.Pin, who.User, tx.NowMS()); err != nil {
					return err
				}
			}
		}
		if err := insertAct(tx, who.act(string(c), "call", call, outcome)); err != nil {
			return err
		}
		if _, err := tx.Exec(qThreadLatch, false, a.Thread); err != nil {
			return err
		}
		a, _, err = getApproval(tx, call)
		return err
	})
	if err != nil {
		return a, false, fmt.Errorf("cannot decide call %s: %w", call, err)
	}
	t.decided(call)
	return a, fresh, nil
}

// AskAgain queues, as the owner's wish, that a call which went unanswered be
// asked once more: the model is told, and asks with a new card.
func (t *Threads) AskAgain(ctx context.Context, who Who, call string) error {
	var key string
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		a, known, err := getApproval(tx, call)
		if err != nil || !known {
			return errors.Join(err, notFoundIf(!known, call))
		}
		if a.State != "unanswered" && a.State != "void" {
			return fmt.Errorf("this call was %s; there is nothing to ask again", a.State)
		}
		key = a.Thread
		return t.say(tx, who, key, "again:"+call, fmt.Sprintf("I am back. Please ask me again for `%s` with exactly these arguments: %s", a.Tool, a.Args))
	})
	if err == nil {
		t.wake(key)
	}
	return err
}

// say queues words that the owner sent by a button. id makes them once.
func (t *Threads) say(tx *record.Tx, who Who, key, id, text string) error {
	th, err := getThread(tx, key)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(qInboxInsert, "button", th.Team, th.Channel, fmt.Sprintf("%d.%s", tx.NowMS(), id), key, who.User, text, nil, "queued", tx.NowMS()); err != nil {
		return err
	}
	if _, err := tx.Exec(qThreadLatch, false, key); err != nil {
		return err
	}
	_, err = move(tx, key, evMessage, "")
	return err
}

// AnswerQuestion answers what ask_user parked; the conversation goes on with the
// answer as the owner's next words. fresh is false where it was settled before.
func (t *Threads) AnswerQuestion(ctx context.Context, who Who, id, answer string) (q Question, fresh bool, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qQuestionResolve, "answered", answer, who.User, tx.NowMS(), id)
		if err != nil {
			return err
		}
		fresh = n > 0
		if q, err = getQuestion(tx, id); err != nil {
			return err
		}
		if err := insertAct(tx, who.act("answer", "question", id, map[bool]string{true: "done", false: "already " + q.State}[fresh])); err != nil || !fresh {
			return err
		}
		return t.say(tx, who, q.Thread, "answer:"+id, "You asked: "+q.Text+"\nMy answer: "+answer)
	})
	if err != nil {
		return q, false, fmt.Errorf("cannot answer question %s: %w", id, err)
	}
	t.wake(q.Thread)
	return q, fresh, nil
}

// Stop ends a thread's run at a safe point; what it has said stays. It answers
// whether there was one. It does not wait: the run ends in its own time.
func (t *Threads) Stop(ctx context.Context, who Who, key string) (bool, error) {
	stopped := false
	if a := t.actor(key); a != nil {
		stopped = a.stop(agent.StoppedBy{Who: who.User})
	}
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		outcome := "done"
		if !stopped {
			outcome = "nothing was running"
		}
		return insertAct(tx, who.act("stop", "thread", key, outcome))
	})
	return stopped, err
}

// SetMode changes what a thread asks for, from the next call on.
func (t *Threads) SetMode(ctx context.Context, who Who, key string, m Mode) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qThreadMode, m, tx.NowMS(), key)
		if err == nil && n == 0 {
			err = notFoundIf(true, key)
		}
		if err != nil {
			return err
		}
		return insertAct(tx, who.act("mode "+string(m), "thread", key, "done"))
	})
}

const settingPaused = "paused"

// Pause stops every run and lets none begin until Resume. Releases are frozen
// by whoever dispatches them: it reads Paused.
func (t *Threads) Pause(ctx context.Context, who Who) (stopped int, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if err := setSetting(tx, settingPaused, who.User); err != nil {
			return err
		}
		return insertAct(tx, who.act("pause", "everything", "", "done"))
	})
	if err != nil {
		return 0, fmt.Errorf("cannot pause: %w", err)
	}
	return t.stopAll(who.User), nil
}

// Resume lets runs begin again; what was queued meanwhile goes first.
func (t *Threads) Resume(ctx context.Context, who Who) error {
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		if err := setSetting(tx, settingPaused, ""); err != nil {
			return err
		}
		return insertAct(tx, who.act("resume", "everything", "", "done"))
	})
	if err != nil {
		return fmt.Errorf("cannot resume: %w", err)
	}
	var keys []string
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		if keys, err = record.Collect(tx, scanString, qInboxWaiting); err != nil {
			return err
		}
		// What a crash interrupted while everything was paused goes on as well.
		live, err := record.Collect(tx, scanThread, qThreadsLive)
		for _, th := range live {
			keys = append(keys, th.Key)
		}
		return err
	})
	for _, k := range keys {
		t.wake(k)
	}
	return err
}

// Paused tells whether everything is paused.
func (t *Threads) Paused(ctx context.Context) (paused bool, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		v, err := getSetting(tx, settingPaused)
		paused = v != ""
		return err
	})
	return paused, err
}

// Setting reads a single value of the record, "" where it is unset.
func (t *Threads) Setting(ctx context.Context, key string) (v string, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		v, err = getSetting(tx, key)
		return err
	})
	return v, err
}

// SetSetting commits a single value.
func (t *Threads) SetSetting(ctx context.Context, key, value string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return setSetting(tx, key, value) })
}

// Move shows the thread elsewhere from now on: an alias of the same session.
// A channel's thread that turned private goes on in its owner's DM.
func (t *Threads) Move(ctx context.Context, key string, to Place) error {
	return t.db.Write(ctx, func(tx *record.Tx) error {
		if _, err := tx.Exec(qAliasInsert, to.Team, to.Channel, to.ThreadTS, key); err != nil {
			return err
		}
		_, err := tx.Exec(qThreadSurface, to.Channel, to.ThreadTS, tx.NowMS(), key)
		return err
	})
}
