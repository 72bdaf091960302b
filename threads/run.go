package threads

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// maxResumes bounds how often a run is taken up without having come further.
const maxResumes = 2

func openDir(dir string) (*jail.Jail, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the directory %s: %w", dir, err)
	}
	return jail.Open(dir)
}

// begun is a run as its first transaction left it.
type begun struct {
	thread  Thread
	run     RunInfo
	post    Post
	resumed bool
	history []stored
	open    map[string]agent.CallState
	plan    plan
}

// run makes the due run from its first transaction to its last.
func (a *actor) run(ctx context.Context, seat *seat) error {
	t := a.t
	th, err := t.Thread(ctx, a.key)
	if err != nil {
		return err
	}
	if err := a.dirs(th); err != nil {
		return t.refuse(ctx, a.key, err)
	}
	model, err := t.Model(th)
	if err != nil {
		return t.refuse(ctx, a.key, err)
	}
	if err := a.fetch(ctx); err != nil {
		return err
	}
	b, err := t.begin(ctx, a.key, model.Name(), a.missing)
	if err != nil {
		return err
	}
	if b.resumed && b.run.Resumes > maxResumes {
		return t.end(ctx, b, agent.Outcome{Cause: agent.Failed, Err: errors.New("taken up twice without coming further"),
			Say: "I was interrupted twice at the same place and came no further, so I stopped. Send a message to try again."})
	}
	surface, err := t.Surface(b.thread, b.plan.Tools)
	if err != nil {
		return t.end(ctx, b, agent.Outcome{Cause: agent.Failed, Err: err, Say: "I cannot start: " + err.Error()})
	}
	var sink agent.Sink = nobody{}
	if t.Sink != nil {
		sink = t.Sink(b.thread, b.run, b.post)
	}
	system := t.system(b.thread)
	j := &journal{t: t, thread: a.key, fenced: a.key, run: b.run.ID, fence: b.run.Fence, fetch: a.fetch, missing: a.missing,
		clock: seat.clock, loc: t.zone(b.thread)}
	seat.clock.lap(t.Now()) // the run begins now
	if j.surface, err = surfaceOf(system, surface, b.thread.Planning); err != nil {
		t.Log.Warn("what a run is offered cannot be kept; it cannot be replayed", "run", b.run.ID, "error", err)
	}
	j.nest = nesting{th: b.thread, info: b.run, seat: seat}
	r := &agent.Run{
		ID: b.run.ID, Thread: a.key, Model: model, Tools: surface, Security: t.Security,
		Budget: t.budget(b.plan), Before: agent.Used{Turns: b.run.Turns, Usage: b.run.Usage, Wall: b.run.Wall}, Ceiling: t.ceiling(b.thread, j),
		Planning: b.thread.Planning,
		System:   system, History: visible(b.history), Open: b.open, Words: words(b.history, b.thread.Taint),
		Taint: b.thread.Taint, Turn: b.thread.Turn + 1, Unattended: b.run.Unattended,
		Opening: t.opening(ctx, b.thread), Now: t.Now, Log: t.Log,
		Journal:      j,
		Approver:     &approver{t: t, j: j, th: b.thread, run: b.run, seat: seat, sink: sink},
		Stager:       &stager{t: t, j: j, th: b.thread, jail: a.jail},
		Sink:         sink,
		Hooks:        t.Hooks,
		Rules:        t.Rules,
		OutputBudget: t.cfg.OutputBudget,
		CompactAt:    t.cfg.CompactAt,
		KeepRecent:   t.cfg.KeepRecent,
		Env: func(call string, turn int, taint tools.Taint) *tools.Env {
			return &tools.Env{Workspace: a.jail, Spill: a.spill, Thread: a.key, Run: b.run.ID, Call: call, Turn: turn,
				Taint: taint, Unattended: b.run.Unattended, Progress: func(string) {},
				Enter: func(ctx context.Context) (func(), error) { return t.floors.enter(ctx, a.key) }}
		},
	}
	out := agent.Do(ctx, r)
	out.Wall = time.Duration(j.clock.lap(t.Now())) * time.Millisecond // what no turn has booked
	return t.end(ctx, b, out)
}

// clock is now, on the owner's wall.
func (t *Threads) clock(th Thread) time.Time { return t.Now().In(t.zone(th)) }

func (t *Threads) zone(th Thread) *time.Location {
	if t.Zone == nil {
		return time.UTC
	}
	return t.Zone(th)
}

// opening is what a run is told besides its message: the time, and the goal.
func (t *Threads) opening(ctx context.Context, th Thread) string {
	text := agent.ClockNote(t.clock(th))
	if g, ok, err := t.ActiveGoal(ctx, th.Key); err == nil && ok {
		text += "\n[Goal of this conversation, accepted by the owner: " + g.Text + "]"
	}
	return text
}

func (t *Threads) budget(p plan) agent.Budget {
	b := agent.Budget{Turns: t.cfg.MaxTurns, OutputTokens: t.cfg.MaxOutputTokens, Cost: t.cfg.MaxCost, TurnTokens: t.cfg.TurnTokens, Wall: t.cfg.MaxWall}
	if p.TimeoutMS > 0 {
		b.Wall = time.Duration(p.TimeoutMS) * time.Millisecond
	}
	if p.MaxTurns > 0 {
		b.Turns = p.MaxTurns
	}
	if p.MaxOutputTokens > 0 {
		b.OutputTokens = p.MaxOutputTokens
	}
	if p.MaxCost > 0 {
		b.Cost = p.MaxCost
	}
	return b
}

// system is the prompt of the thread, or nothing.
func (t *Threads) system(th Thread) string {
	if t.System == nil {
		return ""
	}
	return t.System(th)
}

// begin takes what is queued and opens a run over it, or takes up the run that
// has no end yet: one transaction, after which the fence shuts earlier runs out.
func (t *Threads) begin(ctx context.Context, key, model string, missing map[string]string) (b begun, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		b = begun{open: map[string]agent.CallState{}}
		var fence int64
		if err := tx.Row(qThreadFence, []any{key}, &fence); err != nil {
			return notFound("thread "+key, err)
		}
		run, open, err := openRun(tx, key)
		if err != nil {
			return err
		}
		th, err := getThread(tx, key)
		if err != nil {
			return err
		}
		switch {
		case open && run.State == "queued":
			if _, err := tx.Exec(qRunStart, fence, model, run.ID); err != nil {
				return err
			}
		case open:
			// Only a run that died while it worked counts as resumed: one that waited
			// for a person, or was shut down at a safe point, did no harm by it.
			b.resumed = true
			died := run.State == "running"
			if _, err := tx.Exec(qRunResume, fence, died, run.ID); err != nil {
				return err
			}
		default:
			run = RunInfo{ID: "r" + t.NewID(), Thread: key, Fence: fence, FirstTurn: th.Turn + 1}
			if _, err := tx.Exec(qRunInsert, run.ID, key, fence, "running", model, nil, false, th.Turn+1, nil, tx.NowMS()); err != nil {
				return err
			}
			if err := t.tell(tx, th, run.ID); err != nil {
				return err
			}
			if err := t.deliver(tx, key, key, run.ID, th.Turn+1); err != nil {
				return err
			}
			if err := t.take(tx, th, run.ID, th.Turn+1, missing); err != nil {
				return err
			}
		}
		if b.run, err = getRun(tx, run.ID); err != nil {
			return err
		}
		if b.plan, err = getPlan(tx, run.ID); err != nil {
			return err
		}
		if _, err := move(tx, key, evStart, ""); err != nil {
			return err
		}
		if b.thread, err = getThread(tx, key); err != nil {
			return err
		}
		if b.history, err = messagesOf(tx, key); err != nil {
			return err
		}
		calls, err := record.Collect(tx, scanCall, qCallsOpen, key)
		if err != nil {
			return err
		}
		for _, c := range calls {
			b.open[c.ID] = c.state
		}
		b.post = Post{Thread: key, Kind: PostStream, Ref: run.ID, Place: b.thread.Surface, Want: 1, State: PostIntent}
		b.post.ID, err = insertPost(tx, b.post)
		return err
	})
	if err != nil {
		return b, fmt.Errorf("cannot begin a run of thread %s: %w", key, err)
	}
	return b, nil
}

// take moves what is queued into the conversation, in the order in which it
// was written. Words that their sender did not type come first, as a third
// party's, and arm the untrusted leg.
func (t *Threads) take(tx *record.Tx, th Thread, run string, turn int, missing map[string]string) error {
	rows, err := record.Collect(tx, scanInbox, qInboxQueued, th.Key)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if _, err := t.takeOne(tx, th, r, run, turn, missing); err != nil {
			return err
		}
	}
	return nil
}

// takeOne moves one message. missing says which files could not be fetched, by
// id, and why. An owner's words while a question is open are its answer.
func (t *Threads) takeOne(tx *record.Tx, th Thread, r inboxRow, run string, turn int, missing map[string]string) ([]agent.Message, error) {
	var list []agent.Message
	var marks []tools.Mark
	for _, q := range r.extra.Quotes {
		list = append(list, agent.Message{Turn: turn, Role: agent.User, Author: agent.ByThirdParty, External: true,
			Text: fmt.Sprintf("Quoted by the owner; the words of %s, not of the owner:\n%s", orSomebody(q.From), q.Text)})
		marks = append(marks, tools.Mark{Leg: tools.Untrusted, What: "a quoted message of " + orSomebody(q.From), Turn: turn})
	}
	text := r.text
	for _, f := range r.extra.Files {
		if why := missing[f.ID]; why != "" {
			text += fmt.Sprintf("\n[attached: %s, but it could not be fetched: %s]", safeName(f.Name), why)
			continue
		}
		text += "\n" + attached(f)
		what := "the attached file " + f.Name
		marks = append(marks, tools.Mark{Leg: tools.Private, What: what, Turn: turn}, tools.Mark{Leg: tools.Untrusted, What: what, Turn: turn})
	}
	if err := answerOpen(tx, th.Key, r.user, r.text); err != nil {
		return nil, err
	}
	list = append(list, agent.Message{Turn: turn, Role: agent.User, Author: agent.ByOwner, Person: r.user, Text: strings.TrimSpace(text)})
	for _, m := range list {
		if err := insertMessage(tx, th.Key, run, m); err != nil {
			return nil, err
		}
	}
	if err := insertMarks(tx, th.Key, marks); err != nil {
		return nil, err
	}
	list[0].Marks = marks
	n, err := tx.Exec(qInboxTake, tx.NowMS(), run, r.id)
	if err == nil && n == 0 {
		err = errors.New("a message was taken twice")
	}
	return list, err
}

// answerOpen settles the question that a thread's owner has just answered in
// words: its card follows.
func answerOpen(tx *record.Tx, thread, user, text string) error {
	_, err := tx.Exec(qQuestionsAnswer, text, user, tx.NowMS(), thread)
	return err
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody else"
	}
	return name
}

func attached(f InFile) string {
	return fmt.Sprintf("[attached: ./inbox/%s, %d bytes; its content is a third party's]", safeName(f.Name), f.Size)
}

// tell puts what became of this conversation's drafts before the model, once.
func (t *Threads) tell(tx *record.Tx, th Thread, run string) error {
	if t.Outbox == nil {
		return nil
	}
	notes, err := t.Outbox.Tell(tx, th.Key)
	if err != nil {
		return err
	}
	if len(notes) == 0 {
		return nil
	}
	return insertMessage(tx, th.Key, run, agent.Message{Turn: th.Turn + 1, Role: agent.User, Author: agent.ByHarness, Text: strings.Join(notes, "\n")})
}

// end commits how the run ended, and what its thread is now.
func (t *Threads) end(ctx context.Context, b begun, o agent.Outcome) error {
	if o.Err != nil {
		t.Log.Warn("a run ended with an error", "thread", b.thread.Key, "run", b.run.ID, "cause", o.Cause, "error", o.Err)
	}
	if errors.Is(o.Err, agent.ErrFenced) {
		return nil
	}
	err := t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		if err := fenceHolds(tx, b.thread.Key, b.run.Fence); err != nil {
			return err
		}
		if err := t.wentHow(tx, b, o); err != nil {
			return err
		}
		if o.Cause == agent.Shutdown {
			_, err := tx.Exec(qRunState, "interrupted", b.run.ID)
			if err == nil {
				_, err = move(tx, b.thread.Key, evShutdown, "")
			}
			return err
		}
		if o.Say != "" {
			if err := insertMessage(tx, b.thread.Key, b.run.ID, agent.Message{Turn: b.thread.Turn + o.Turns, Role: agent.Assistant, Author: agent.ByHarness, Text: o.Say}); err != nil {
				return err
			}
		}
		ev, state, note, reason := evFinish, "done", "", ""
		switch o.Cause {
		case agent.Failed:
			ev, state = evFail, "failed"
			if o.Err != nil {
				reason = o.Err.Error()
			}
			note = o.Say
		case agent.Stopped:
			ev, state, note = evStop, "cancelled", "stopped"
		case agent.ParkedCause:
			ev = evPark
			if err := t.park(tx, b, o); err != nil {
				return err
			}
		default:
			if b.thread.Planning && o.Cause == agent.Completed {
				if _, err := insertPost(tx, Post{Thread: b.thread.Key, Kind: PostPlan, Ref: b.thread.Key, Place: b.thread.Surface}); err != nil {
					return err
				}
			}
			if t.Outbox != nil {
				waiting, err := t.Outbox.Waiting(tx, b.thread.Key)
				if err != nil {
					return err
				}
				if waiting > 0 {
					ev = evStage
				}
			}
		}
		if _, err := tx.Exec(qApprovalsVoid, "its run ended", tx.NowMS(), b.run.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(qGrantsDrop, b.run.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(qRunEnd, state, o.Cause, reason, tx.NowMS(), b.run.ID); err != nil {
			return err
		}
		if _, err := move(tx, b.thread.Key, ev, note); err != nil {
			return err
		}
		_, err := tx.Exec(qPostWant, PostStream, b.run.ID)
		return err
	})
	if errors.Is(err, agent.ErrFenced) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot note the end of run %s: %w", b.run.ID, err)
	}
	return nil
}

// refuse ends what is queued with an honest line where no run can even begin.
func (t *Threads) refuse(ctx context.Context, key string, why error) error {
	b, err := t.begin(ctx, key, "", nil)
	if err != nil {
		return err
	}
	return t.end(ctx, b, agent.Outcome{Cause: agent.Failed, Err: why, Say: "I cannot start: " + why.Error()})
}

// withdraw settles a thread that was stopped before its run began.
func (t *Threads) withdraw(ctx context.Context, key string, by agent.StoppedBy) error {
	return t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		rows, err := record.Collect(tx, scanInbox, qInboxQueued, key)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if _, err := tx.Exec(qInboxTake, tx.NowMS(), "", r.id); err != nil {
				return err
			}
		}
		if run, open, err := openRun(tx, key); err != nil {
			return err
		} else if open {
			if _, err := tx.Exec(qRunEnd, "cancelled", agent.Stopped, "", tx.NowMS(), run.ID); err != nil {
				return err
			}
			if _, err := tx.Exec(qPostWant, PostStream, run.ID); err != nil {
				return err
			}
		}
		_, err = move(tx, key, evStop, "stopped by "+by.Who)
		return err
	})
}

// nobody watches: a run without a front.
type nobody struct{}

func (nobody) Event(agent.Event) {}
func (nobody) Show(context.Context, string, []agent.ShownFile) error {
	return errors.New("this run has no thread to show a file in")
}
