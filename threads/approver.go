package threads

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// approver asks people, by cards that are rows: a decision after a restart
// works as well as one before.
type approver struct {
	t    *Threads
	j    *journal
	th   Thread
	run  RunInfo
	seat *seat
	sink agent.Sink
}

var _ agent.Approver = (*approver)(nil)

// noAnswer is how long the check of the timeout waits at least: less would spin
// while nothing is connected.
const noAnswer = time.Second

func (a *approver) Approve(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	var row Approval
	var decided agent.Decision
	err := a.j.write(ctx, func(tx *record.Tx) error {
		decided = nil
		th, err := getThread(tx, a.th.Key)
		if err != nil {
			return err
		}
		old, known, err := getApproval(tx, ask.Call.ID)
		if err != nil {
			return err
		}
		if known {
			row = old
			if old.State == "pending" {
				_, err = move(tx, th.Key, evWait, "")
			}
			return err
		}
		if decided, err = a.standing(tx, th, ask); err != nil || decided != nil {
			return err
		}
		return a.card(tx, th, ask)
	})
	if err != nil || decided != nil {
		return decided, err
	}
	if d := row.decision(); d != nil {
		return d, nil
	}
	return a.wait(ctx, ask)
}

// standing is the answer that needs no card: a mode, a grant, nobody there.
func (a *approver) standing(tx *record.Tx, th Thread, ask agent.Ask) (agent.Decision, error) {
	name := ask.Tool.Name()
	if th.Mode == ModeReadOnly && !ask.ReadOnly {
		return agent.Blocked{Reason: fmt.Sprintf("this thread is in read-only mode, and `%s` changes something. The owner can press the mode button in the thread; reading and drafting work.", name)}, nil
	}
	if !ask.Forced {
		if th.Mode == ModeAllow {
			return agent.Allow{By: "mode allow"}, nil
		}
		if ask.Permitted {
			return agent.Allow{By: "a rule"}, nil
		}
		by, err := record.Collect(tx, scanString, qGrantUse, a.run.ID, name, grantScope(ask), pinOf(ask.Tool))
		if err != nil {
			return nil, err
		}
		if len(by) > 0 {
			return agent.Allow{By: by[0]}, nil
		}
	}
	if a.run.Unattended {
		return agent.Blocked{Reason: fmt.Sprintf("`%s` needs approval and this run is non-interactive: nobody is there to ask. Do without it, or draft it; the owner can run it from the thread later.", name)}, nil
	}
	if th.Latch {
		return agent.Blocked{Reason: "nobody answered the last card, so I ask nobody until the owner is back. Go on without it, or stop and say what is missing."}, nil
	}
	return nil, nil
}

// card commits the question, its post and the thread's state together.
func (a *approver) card(tx *record.Tx, th Thread, ask agent.Ask) error {
	facts := Facts{Description: ask.Tool.Description(), Capabilities: ask.Capabilities, Destinations: ask.Destinations, Workspace: th.Workspace, Pin: pinOf(ask.Tool), GrantScope: grantScope(ask)}
	if s, ok := ask.Tool.(tools.Sourced); ok {
		facts.Server = s.Source()
	}
	f, err := encode(facts)
	if err != nil {
		return err
	}
	scope := ask.Scope
	if ask.Forced {
		scope = ""
	}
	sum := sha256.Sum256([]byte(ask.Call.Tool + "\x00" + string(ask.Call.Args)))
	if _, err := tx.Exec(qApprovalInsert, ask.Call.ID, th.Key, a.run.ID, ask.Call.Tool, string(ask.Call.Args), hex.EncodeToString(sum[:]), ask.Why, ask.Forced, scope, string(f), tx.NowMS()); err != nil {
		return err
	}
	if _, err := insertPost(tx, Post{Thread: th.Key, Kind: PostApproval, Ref: ask.Call.ID, Place: th.Surface}); err != nil {
		return err
	}
	if _, err := tx.Exec(qRunState, "awaiting", a.run.ID); err != nil {
		return err
	}
	_, err = move(tx, th.Key, evWait, "")
	return err
}

func grantScope(ask agent.Ask) string {
	if s, ok := ask.Tool.(tools.Scoped); ok {
		return s.Scope(ask.Call.Args)
	}
	return ""
}

func pinOf(t tools.Tool) string {
	if p, ok := t.(tools.Pinned); ok {
		return p.Pin()
	}
	return ""
}

// wait gives the run's place back, waits for a decision or for the time to
// pass, and takes a place again.
func (a *approver) wait(ctx context.Context, ask agent.Ask) (agent.Decision, error) {
	ready := a.t.listen(ask.Call.ID)
	defer a.t.unlisten(ask.Call.ID, ready)
	a.seat.leave()
	defer a.j.clock.waited(a.t.Now(), a.t.Now)
	a.sink.Event(agent.Event{Kind: agent.CallWaiting, Turn: ask.Turn, Call: ask.Call, Headline: tools.Headline(ask.Call.Args)})
	last := a.t.uptime()
	for {
		row, left, err := a.look(ctx, ask.Call.ID, &last)
		if err != nil {
			return nil, err
		}
		if d := row.decision(); d != nil {
			return d, a.proceed(ctx)
		}
		if left <= 0 {
			if err := a.giveUp(ctx, row); err != nil {
				return nil, err
			}
			continue
		}
		timer := time.NewTimer(max(left, noAnswer))
		select {
		case <-ready:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
		timer.Stop()
	}
}

// look reads the card's row and counts the time that it has stood while bot
// was connected.
func (a *approver) look(ctx context.Context, call string, last *time.Duration) (row Approval, left time.Duration, err error) {
	now := a.t.uptime()
	add := now - *last
	*last = now
	err = a.t.db.Write(context.WithoutCancel(ctx), func(tx *record.Tx) error {
		var known bool
		if row, known, err = getApproval(tx, call); err != nil || !known {
			return errors.Join(err, notFoundIf(!known, call))
		}
		if row.State != "pending" || add == 0 {
			return nil
		}
		row.Waited += add
		_, err := tx.Exec(qApprovalWaited, row.Waited.Milliseconds(), call)
		return err
	})
	return row, a.t.cfg.ApprovalTimeout - row.Waited, err
}

// giveUp marks the card unanswered, and asks nobody again until the owner
// shows: an hour of cards that nobody reads helps nobody.
func (a *approver) giveUp(ctx context.Context, row Approval) error {
	return a.j.write(ctx, func(tx *record.Tx) error {
		n, err := tx.Exec(qApprovalDecide, "unanswered", "", "", tx.NowMS(), row.Call, row.Digest)
		if err != nil || n == 0 {
			return err
		}
		_, err = tx.Exec(qThreadLatch, true, row.Thread)
		return err
	})
}

func (a *approver) proceed(ctx context.Context) error {
	if err := a.seat.retake(ctx); err != nil {
		return err
	}
	return a.j.write(ctx, func(tx *record.Tx) error {
		if _, err := tx.Exec(qRunState, "running", a.run.ID); err != nil {
			return err
		}
		_, err := move(tx, a.th.Key, evProceed, "")
		return err
	})
}

// decision reads the row as the loop's answer; nil while it is pending.
func (a Approval) decision() agent.Decision {
	switch a.State {
	case "approved":
		return agent.Allow{By: a.By}
	case "denied":
		return agent.Deny{By: a.By, Reason: a.Reason}
	case "unanswered":
		return agent.Blocked{Reason: "nobody answered in time. It was not run. Go on without it, or stop and say what is missing."}
	case "void":
		return agent.Blocked{Reason: "the question was withdrawn: " + a.Reason}
	}
	return nil
}

// listen registers a wait for a call's decision.
func (t *Threads) listen(call string) chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(chan struct{}, 1)
	t.asks[call] = c
	return c
}

func (t *Threads) unlisten(call string, c chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.asks[call] == c {
		delete(t.asks, call)
	}
}

func (t *Threads) decided(call string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.asks[call]; c != nil {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (t *Threads) uptime() time.Duration {
	if t.Uptime != nil {
		return t.Uptime()
	}
	return time.Duration(t.Now().UnixMilli()) * time.Millisecond
}
