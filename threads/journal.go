package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// journal is the durable side of one run. Every write checks the fence first.
type journal struct {
	t       *Threads
	thread  string // whose rows it writes
	fenced  string // whose fence it writes under: a helper's is its parent's
	run     string
	fence   int64
	clock   *lap
	loc     *time.Location // in which days begin
	surface *surface       // until it is noted
	nest    nesting
	fetch   func(context.Context) error // brings the files of what is queued
	missing map[string]string           // files that could not be fetched
}

var _ agent.Journal = (*journal)(nil)

const qFence = `SELECT fence FROM threads WHERE key = ?`

func fenceHolds(tx *record.Tx, thread string, fence int64) error {
	var have int64
	if err := tx.Row(qFence, []any{thread}, &have); err != nil {
		return notFound("thread "+thread, err)
	}
	if have != fence {
		return agent.ErrFenced
	}
	return nil
}

// write runs fn under the fence. A cancelled run may still note what became of
// it: the write itself is not cancelled.
func (j *journal) write(ctx context.Context, fn func(*record.Tx) error) error {
	return j.t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		if err := fenceHolds(tx, j.fenced, j.fence); err != nil {
			return err
		}
		return fn(tx)
	})
}

func (j *journal) Turn(ctx context.Context, n int, turn *agent.Turn) error {
	for i := range turn.Calls {
		turn.Calls[i].ID = "c" + j.t.NewID()
	}
	own, wall := 1, j.clock.lap(j.t.Now())
	if j.nested() {
		own, wall = 0, 0 // its parent waits meanwhile, and counts that time
	}
	err := j.write(ctx, func(tx *record.Tx) error {
		m := agent.Message{Turn: n, Role: agent.Assistant, Author: agent.ByModel, Text: turn.Text, Calls: turn.Calls, Reasoning: turn.Reasoning}
		if err := insertMessage(tx, j.thread, j.run, m); err != nil {
			return err
		}
		for i, c := range turn.Calls {
			if _, err := tx.Exec(qCallInsert, c.ID, j.thread, j.run, n, i, c.WireID, c.Tool, string(c.Args), tx.NowMS()); err != nil {
				return err
			}
		}
		var cost any
		if turn.Usage.Cost != nil {
			cost = *turn.Usage.Cost
		}
		u := turn.Usage
		if _, err := tx.Exec(qRunTurn, own, wall, u.In, u.Out, u.Cached, cost, cost, turn.Model, j.run); err != nil {
			return err
		}
		var spent float64
		if u.Cost != nil {
			spent = *u.Cost
		}
		if _, err := tx.Exec(qUsageAdd, day(j.t.Now(), j.loc), turn.Model, u.In, u.Out, u.Cached, spent, own, wall); err != nil {
			return err
		}
		if j.surface != nil {
			if err := j.surface.note(tx, j.run); err != nil {
				return err
			}
		}
		_, err := tx.Exec(qThreadTurn, n, tx.NowMS(), j.thread)
		return err
	})
	if err == nil {
		j.surface = nil // once a run is enough
	}
	return err
}

func (j *journal) nested() bool { return j.thread != j.fenced }

func (j *journal) Call(ctx context.Context, id string, s agent.CallState, args json.RawMessage) error {
	return j.write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qCallState, s, string(args), s, tx.NowMS(), id)
		return err
	})
}

func (j *journal) Result(ctx context.Context, r agent.Result) error {
	return j.write(ctx, func(tx *record.Tx) error { return j.result(tx, r) })
}

// result commits one call's answer and what it armed. A second answer to the
// same call is an error: a call is answered once.
func (j *journal) result(tx *record.Tx, r agent.Result) error {
	n, err := tx.Exec(qCallDone, r.Outcome, tx.NowMS(), r.CallID)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("call %s was answered already", r.CallID)
	}
	c, err := record.Collect(tx, scanCall, qCallGet, r.CallID)
	if err != nil || len(c) == 0 {
		return fmt.Errorf("cannot read call %s: %w", r.CallID, err)
	}
	m := agent.Message{Turn: c[0].turn, Role: agent.ToolRole, Author: agent.ByTool, Text: r.Content, CallID: r.CallID, WireID: r.WireID, Tool: r.Tool,
		IsError: r.Outcome != agent.CallOK && r.Outcome != agent.CallStaged && r.Outcome != agent.CallParked, External: r.External, Private: r.Private}
	if err := insertMessage(tx, j.thread, j.run, m); err != nil {
		return err
	}
	if err := insertMarks(tx, j.thread, r.Marks); err != nil {
		return err
	}
	_, err = tx.Exec(qRunCounts, r.Outcome == agent.CallError, r.Outcome == agent.CallStaged, r.Outcome == agent.CallBlocked, r.Outcome == agent.CallDenied, r.Outcome == agent.CallInterrupted, j.run)
	return err
}

func (j *journal) Note(ctx context.Context, n int, text string) error {
	return j.write(ctx, func(tx *record.Tx) error {
		return insertMessage(tx, j.thread, j.run, agent.Message{Turn: n, Role: agent.User, Author: agent.ByHarness, Text: text})
	})
}

func (j *journal) Compact(ctx context.Context, n int, dropped []int64, summary string) error {
	return j.write(ctx, func(tx *record.Tx) error {
		for _, id := range dropped {
			if _, err := tx.Exec(qMessageDrop, id, j.thread); err != nil {
				return err
			}
		}
		if summary == "" {
			return nil
		}
		_, err := tx.Exec(qSummaryInsert, j.thread, j.run, j.thread, n, summary, tx.NowMS())
		return err
	})
}

func (j *journal) Steering(ctx context.Context, n int) (list []agent.Message, err error) {
	if j.nested() {
		return nil, nil // what the owner says is the parent's to hear
	}
	err = j.t.db.Read(ctx, func(tx *record.Tx) error {
		rows, err := record.Collect(tx, scanInbox, qInboxQueued, j.thread)
		if len(rows) == 0 {
			list = nil
			return err
		}
		list = make([]agent.Message, len(rows))
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	if j.fetch != nil {
		if err := j.fetch(ctx); err != nil {
			return nil, err
		}
	}
	err = j.write(ctx, func(tx *record.Tx) error {
		list = nil
		th, err := getThread(tx, j.thread)
		if err != nil {
			return err
		}
		rows, err := record.Collect(tx, scanInbox, qInboxQueued, j.thread)
		if err != nil {
			return err
		}
		for _, r := range rows {
			taken, err := j.t.takeOne(tx, th, r, j.run, n, j.missing)
			if err != nil {
				return err
			}
			list = append(list, taken...)
		}
		return nil
	})
	return list, err
}

// visible is the conversation as a model may see it.
func visible(history []stored) []agent.Message {
	list := make([]agent.Message, 0, len(history))
	for _, s := range history {
		if !s.dropped {
			list = append(list, s.Message)
		}
	}
	return list
}

// words is all that the conversation has held, with whose it is: for the
// origin of destinations. Our own words and the model's are nobody's.
// A private answer of a tool that no stranger can write to is private, from
// wherever it came.
func words(history []stored, taint tools.Taint) []tools.Words {
	var list []tools.Words
	for _, s := range history {
		w := tools.Words{Text: s.Text, Call: s.CallID, Tool: s.Tool}
		switch {
		case s.Author == agent.ByOwner:
			w.Origin = tools.FromOwner
		case s.Author == agent.ByThirdParty, s.Author == agent.ByTool && s.External && (!s.Private || taint.By(s.CallID)):
			w.Origin = tools.FromThirdParty
		case s.Author == agent.ByTool && s.Private:
			w.Origin = tools.FromPrivate
		default:
			continue
		}
		list = append(list, w)
	}
	return list
}
