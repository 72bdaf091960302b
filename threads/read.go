package threads

import (
	"context"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// Thread answers one thread with its taint.
func (t *Threads) Thread(ctx context.Context, key string) (th Thread, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		th, err = getThread(tx, key)
		return err
	})
	return th, err
}

// List answers the newest threads, without their taint's marks.
func (t *Threads) List(ctx context.Context, limit int) (list []Thread, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanThread, qThreadList, limit)
		return err
	})
	return list, err
}

// Live answers the threads in which something runs, waits its turn or waits for
// a person.
func (t *Threads) Live(ctx context.Context) (list []Thread, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanThread, qThreadsLive)
		return err
	})
	return list, err
}

// KeyOf answers the thread that a place belongs to, aliases included; ok is
// false where no thread is there.
func (t *Threads) KeyOf(ctx context.Context, p Place) (key string, ok bool, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		alias, err := record.Collect(tx, scanString, qAliasGet, p.Team, p.Channel, p.ThreadTS)
		if err != nil {
			return err
		}
		if len(alias) > 0 {
			key, ok = alias[0], true
			return nil
		}
		k := Key(p.Team, p.Channel, p.ThreadTS, "")
		list, err := record.Collect(tx, scanThread, qThreadGet, k)
		key, ok = k, len(list) > 0
		return err
	})
	return key, ok, err
}

// RunInfo answers one run.
func (t *Threads) RunInfo(ctx context.Context, id string) (u RunInfo, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		u, err = getRun(tx, id)
		return err
	})
	return u, err
}

// Runs answers a thread's runs, oldest first.
func (t *Threads) Runs(ctx context.Context, key string) (list []RunInfo, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanRun, qRunsOf, key)
		return err
	})
	return list, err
}

// TurnText is what one turn of a run said.
type TurnText struct {
	Turn int
	Text string
}

// Texts answers what a run has said so far, turn by turn: what its answer in
// Slack must hold, whole, once it has ended.
func (t *Threads) Texts(ctx context.Context, run string) (list []TurnText, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list = nil
		u, err := getRun(tx, run)
		if err != nil {
			return err
		}
		all, err := messagesOf(tx, u.Thread)
		for _, m := range all {
			if m.run == run && m.Role == agent.Assistant && m.Text != "" {
				list = append(list, TurnText{m.Turn, m.Text})
			}
		}
		return err
	})
	return list, err
}

// Answer is the last text of a run: what its owner reads.
func (t *Threads) Answer(ctx context.Context, run string) (string, error) {
	list, err := t.Texts(ctx, run)
	if err != nil || len(list) == 0 {
		return "", err
	}
	return list[len(list)-1].Text, nil
}

// CallLine is one call of a run as its stream shows it.
type CallLine struct {
	ID      string
	Turn    int
	Tool    string
	Args    string
	State   agent.CallState
	Outcome agent.CallOutcome
}

// Calls answers a run's calls in order.
func (t *Threads) Calls(ctx context.Context, run string) (list []CallLine, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		rows, err := record.Collect(tx, scanCall, qCallsOf, run)
		list = make([]CallLine, 0, len(rows))
		for _, c := range rows {
			list = append(list, CallLine{c.ID, c.turn, c.Tool, string(c.Args), c.state, c.outcome})
		}
		return err
	})
	return list, err
}

// Approval answers a call's card; ErrNotFound where it never asked.
func (t *Threads) Approval(ctx context.Context, call string) (a Approval, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		var ok bool
		if a, ok, err = getApproval(tx, call); err == nil && !ok {
			err = notFoundIf(true, call)
		}
		return err
	})
	return a, err
}

// PendingApprovals answers the calls that wait for a person, oldest first.
func (t *Threads) PendingApprovals(ctx context.Context) (list []Approval, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanApproval, qApprovalsPending)
		return err
	})
	return list, err
}

// Question answers one question.
func (t *Threads) Question(ctx context.Context, id string) (q Question, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		q, err = getQuestion(tx, id)
		return err
	})
	return q, err
}

// OpenQuestions answers the questions that wait, oldest first.
func (t *Threads) OpenQuestions(ctx context.Context) (list []Question, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanQuestion, qQuestionsOpen)
		return err
	})
	return list, err
}

// Entry is one message of a transcript.
type Entry struct {
	agent.Message
	Run     string
	Dropped bool // compacted away; kept on record
	Created time.Time
}

// Transcript answers a thread's messages, oldest first, dropped ones included.
func (t *Threads) Transcript(ctx context.Context, key string) (list []Entry, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		all, err := messagesOf(tx, key)
		list = make([]Entry, 0, len(all))
		for _, m := range all {
			list = append(list, Entry{m.Message, m.run, m.dropped, m.created})
		}
		return err
	})
	return list, err
}

// Place of the queue in which a thread waits, from 1; 0: it does not.
func (t *Threads) QueuePlace(key string) int { return t.queue.place(key) }

// PastCalls are the calls of a conversation with their results, oldest first:
// where outbox finds the message that a draft answers. A thread that is gone
// was pruned, which is not the same as none.
func (t *Threads) PastCalls(ctx context.Context, key string) ([]outbox.PastCall, error) {
	all, err := t.Transcript(ctx, key)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, outbox.ErrPruned
	}
	var list []outbox.PastCall
	at := map[string]int{}
	for _, m := range all {
		for _, c := range m.Calls {
			at[c.ID] = len(list)
			list = append(list, outbox.PastCall{CallID: c.ID, Tool: c.Tool, Args: c.Args})
		}
		if i, ok := at[m.CallID]; ok && m.CallID != "" {
			list[i].Result, list[i].External, list[i].Answered = m.Text, m.External, true
		}
	}
	return list, nil
}
