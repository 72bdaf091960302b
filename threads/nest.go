package threads

import (
	"context"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// nesting is what a helper's conversation has from the run that started it.
type nesting struct {
	th   Thread
	info RunInfo
	seat *seat
}

var _ agent.Nester = (*journal)(nil)

// nestedKey is a helper's conversation: rows of its own, under its parent's key.
func nestedKey(parent, call string) string { return parent + "#" + call }

// Nest opens a helper's conversation, or takes it up where a crash left it. It
// is a thread of its own in the record, which nobody lists and no actor wakes:
// the parent's call goes on with it. Its messages, calls and taint stand there;
// its cards, drafts and costs are the parent's.
func (j *journal) Nest(ctx context.Context, a agent.NestAsk) (n agent.Nested, err error) {
	key := nestedKey(j.thread, a.Call.ID)
	c := &journal{t: j.t, thread: key, fenced: j.fenced, run: j.run, fence: j.fence, clock: j.clock, loc: j.loc, nest: j.nest}
	n = agent.Nested{
		Thread: key, Journal: c, Open: map[string]agent.CallState{},
		Approver: &approver{t: j.t, j: c, th: j.nest.th, run: j.nest.info, seat: j.nest.seat, sink: a.Sink},
		// A helper's drafts are its parent's: what becomes of them is told to a
		// conversation that goes on.
		Stager: &stager{t: j.t, j: c, th: j.nest.th, jail: a.Env.Workspace},
	}
	err = j.write(ctx, func(tx *record.Tx) error {
		p := j.nest.th
		made, err := insertThread(tx, Thread{
			Key: key, Team: p.Team, Channel: p.Channel, ThreadTS: p.ThreadTS, Surface: p.Surface, Owner: p.Owner,
			Title: a.Name + ": " + title(a.Task), Kind: "subagent", State: Idle, Mode: p.Mode, Workspace: pathOf(a.Env.Workspace, p),
		})
		if err != nil {
			return err
		}
		if made {
			if err := insertMarks(tx, key, a.Env.Taint.Marks); err != nil {
				return err
			}
			// The parent's words, not the owner's.
			if err := insertMessage(tx, key, j.run, agent.Message{Turn: 1, Role: agent.User, Author: agent.ByHarness, Text: a.Task}); err != nil {
				return err
			}
		}
		th, err := getThread(tx, key)
		if err != nil {
			return err
		}
		all, err := messagesOf(tx, key)
		if err != nil {
			return err
		}
		open, err := record.Collect(tx, scanCall, qCallsOpen, key)
		if err != nil {
			return err
		}
		for _, o := range open {
			n.Open[o.ID] = o.state
		}
		n.History, n.Words, n.Taint, n.Turn = visible(all), words(all, th.Taint), th.Taint, th.Turn+1
		return nil
	})
	if err != nil {
		return n, fmt.Errorf("cannot keep the conversation of a helper of %s: %w", j.thread, err)
	}
	return n, nil
}

func pathOf(j *jail.Jail, p Thread) string {
	if j == nil {
		return p.Workspace
	}
	return j.Path()
}
