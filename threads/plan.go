package threads

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// Plan is a run that no message asks for: a trigger's prompt in a thread of its
// own, whose root message stands already.
type Plan struct {
	Place   Place // of the root message
	Owner   string
	Trigger string
	Title   string
	Prompt  string
	// Owned: the prompt is the owner's own words. Otherwise (it was left behind
	// by a conversation) it never counts as such.
	Owned bool
	// Quoted is a stranger\'s text that the run is about (a message that it was
	// fired by); its taint is the caller\'s to give.
	Quoted                    string
	Taint                     tools.Taint // what the prompt brings along
	Mode                      Mode
	Tools                     []string // empty: all
	MaxTurns, MaxOutputTokens int
	MaxCost                   float64
	Timeout                   time.Duration
}

// plan is what a run keeps of it.
type plan struct {
	Tools           []string `json:"tools,omitempty"`
	MaxTurns        int      `json:"max_turns,omitempty"`
	MaxOutputTokens int      `json:"max_output_tokens,omitempty"`
	MaxCost         float64  `json:"max_cost,omitempty"`
	TimeoutMS       int64    `json:"timeout_ms,omitempty"`
}

func getPlan(tx *record.Tx, run string) (p plan, err error) {
	var s string
	if err := tx.Row(qRunConfig, []any{run}, &s); err != nil {
		return p, notFound("run "+run, err)
	}
	return p, json.Unmarshal([]byte(s), &p)
}

// Begin commits an unattended run and wakes its thread. Await tells its end.
func (t *Threads) Begin(ctx context.Context, p Plan) (run string, err error) {
	key := Key(p.Place.Team, p.Place.Channel, p.Place.ThreadTS, "")
	kept, err := encode(plan{p.Tools, p.MaxTurns, p.MaxOutputTokens, p.MaxCost, p.Timeout.Milliseconds()})
	if err != nil {
		return "", err
	}
	run = "r" + t.NewID()
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if err := t.ensure(tx, key, p.Place.Team, p.Place.Channel, p.Place.ThreadTS, p.Owner, "trigger", p.Title); err != nil {
			return err
		}
		if _, err := tx.Exec(qThreadMode, p.Mode, tx.NowMS(), key); err != nil {
			return err
		}
		if err := insertMarks(tx, key, p.Taint.Marks); err != nil {
			return err
		}
		if _, err := tx.Exec(qRunInsert, run, key, 0, "queued", "", p.Trigger, true, 1, string(kept), tx.NowMS()); err != nil {
			return err
		}
		m := agent.Message{Turn: 1, Role: agent.User, Author: agent.ByOwner, Person: p.Owner, Text: p.Prompt}
		if !p.Owned {
			m.Author, m.Person = agent.ByHarness, ""
		}
		if p.Quoted != "" {
			q := agent.Message{Turn: 1, Role: agent.User, Author: agent.ByThirdParty, External: true, Text: "The message that this is about; somebody else's words, not the owner's:\n" + p.Quoted}
			if err := insertMessage(tx, key, run, q); err != nil {
				return err
			}
		}
		if err := t.deliver(tx, ToTrigger+p.Trigger, key, run, 1); err != nil {
			return err
		}
		if err := insertMessage(tx, key, run, m); err != nil {
			return err
		}
		_, err := move(tx, key, evMessage, "")
		return err
	})
	if err != nil {
		return "", fmt.Errorf("cannot begin the run of %s: %w", p.Trigger, err)
	}
	t.wake(key)
	return run, nil
}

// Await waits until a run has ended (or was parked) and answers it with its
// last words.
func (t *Threads) Await(ctx context.Context, run string) (RunInfo, string, error) {
	changed, cancel := t.db.Subscribe()
	defer cancel()
	for {
		u, err := t.RunInfo(ctx, run)
		if err != nil {
			return u, "", err
		}
		if !u.Ended.IsZero() {
			text, err := t.Answer(ctx, run)
			return u, text, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return u, "", context.Cause(ctx)
		}
	}
}

// park keeps the question that ended a run, and its card.
func (t *Threads) park(tx *record.Tx, b begun, o agent.Outcome) error {
	if o.Question == nil {
		return errors.New("a run was parked without a question")
	}
	options, err := encode(append([]string{}, o.Question.Options...))
	if err != nil {
		return err
	}
	th, err := getThread(tx, b.thread.Key)
	if err != nil {
		return err
	}
	id := "q" + t.NewID()
	if _, err := tx.Exec(qQuestionInsert, id, th.Key, b.run.ID, "", o.Question.Text, string(options), th.Taint.Private || th.Taint.Untrusted, tx.NowMS()); err != nil {
		return err
	}
	_, err = insertPost(tx, Post{Thread: th.Key, Kind: PostQuestion, Ref: id, Place: th.Surface})
	return err
}
