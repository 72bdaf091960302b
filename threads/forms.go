package threads

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
)

// PostForm is the card of a question that an MCP server asks in the middle of a
// call (an elicitation); ref = its id, body = what was asked.
const PostForm PostKind = "form"

// Form is such a question. It lives as long as the call that waits for it: what
// was asked is in its post, what came of it in the audit trail, and that it is
// open only in the process that could still answer.
type Form struct {
	ID      string          `json:"id"`
	Thread  string          `json:"thread"`
	Server  string          `json:"server"`
	Message string          `json:"message"`          // the server's words
	Schema  json.RawMessage `json:"schema,omitempty"` // the server's words: a flat object of simple fields
	Created time.Time       `json:"-"`
	Place   Place           `json:"-"` // of its card
	State   FormState       `json:"-"`
	By      string          `json:"-"`
	Sent    json.RawMessage `json:"-"` // what the server was answered
	At      time.Time       `json:"-"` // of its end
}

// FormState is how a form stands.
type FormState string

const (
	FormOpen     FormState = "open"
	FormAccepted FormState = "accept"
	FormDeclined FormState = "decline" // by a person
	FormGone     FormState = "cancel"  // unanswered: the time passed, or its call is over
)

const qFormEnd = `SELECT verb, user, outcome, at FROM actions WHERE kind = 'form' AND ref = ? AND verb IN ('accept', 'decline', 'cancel') AND outcome >= 'done' AND outcome < 'donf' ORDER BY id LIMIT 1`

const qFormPost = `SELECT body FROM posts WHERE kind = 'form' AND ref = ? ORDER BY id LIMIT 1`

// Forms without an end, oldest first. When a process begins, whoever asked them
// is gone, and their cards have to say so.
const qFormsOpen = `SELECT ref, body, created, channel, thread_ts FROM posts WHERE kind = 'form' AND NOT EXISTS (SELECT 1 FROM actions WHERE kind = 'form' AND ref = posts.ref AND verb IN ('accept', 'decline', 'cancel') AND outcome >= 'done' AND outcome < 'donf') ORDER BY id`

// forms are those that wait for a person, by id.
type forms struct {
	mu   sync.Mutex
	open map[string]chan formAnswer
}

type formAnswer struct {
	state   FormState
	content json.RawMessage
}

func (f *forms) add(id string) <-chan formAnswer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[string]chan formAnswer{}
	}
	c := make(chan formAnswer, 1)
	f.open[id] = c
	return c
}

// take ends a form for everybody else: whoever gets its channel decides.
func (f *forms) take(id string) chan formAnswer {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.open[id]
	delete(f.open, id)
	return c
}

func (f *forms) isOpen(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open[id] != nil
}

// Elicit shows a server's question in the thread whose call runs and waits for
// an owner (mcp.Elicitor). It declines where nobody has answered a card for a
// while, and gives up when the time of approvals passes or the call ends.
func (t *Threads) Elicit(ctx context.Context, q mcp.Question) (action string, content map[string]any, err error) {
	f := Form{ID: "q" + t.NewID(), Thread: q.Thread, Server: q.Server, Message: q.Message, Schema: q.Schema}
	body, err := encode(f)
	if err != nil {
		return "", nil, err
	}
	ready := t.forms.add(f.ID)
	defer t.forms.take(f.ID)
	asked := false
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		th, err := getThread(tx, q.Thread)
		if err != nil || th.Latch {
			return err // the owner is away: nobody would see it
		}
		asked = true
		_, err = insertPost(tx, Post{Thread: th.Key, Kind: PostForm, Ref: f.ID, Place: th.Surface, Body: json.RawMessage(body)})
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("cannot show the question of MCP server %s: %w", q.Server, err)
	}
	if !asked {
		return string(FormDeclined), nil, nil
	}
	defer t.giveWay(ctx, q.Thread)()
	timer := time.NewTimer(t.cfg.ApprovalTimeout)
	defer timer.Stop()
	var a formAnswer
	select {
	case a = <-ready:
	case <-timer.C:
		a = t.withdrawForm(ctx, f.ID, ready)
	case <-ctx.Done():
		a = t.withdrawForm(ctx, f.ID, ready)
	}
	if a.state != FormAccepted {
		return string(a.state), nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(a.content))
	d.UseNumber()
	return string(a.state), content, d.Decode(&content)
}

// withdrawForm ends a form that nobody answered, unless somebody just did: what
// is in the record then is what the server hears.
func (t *Threads) withdrawForm(ctx context.Context, id string, ready <-chan formAnswer) formAnswer {
	if t.forms.take(id) == nil {
		return <-ready
	}
	if err := t.endForm(context.WithoutCancel(ctx), Who{Surface: "clock"}, id, FormGone, nil); err != nil {
		t.Log.Warn("cannot note that a server's question went unanswered", "form", id, "error", err)
	}
	return formAnswer{state: FormGone}
}

func (t *Threads) endForm(ctx context.Context, who Who, id string, s FormState, content json.RawMessage) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return settleForm(tx, who, id, s, content) })
}

func settleForm(tx *record.Tx, who Who, id string, s FormState, content json.RawMessage) error {
	outcome := "done"
	if len(content) > 0 {
		outcome += ": " + string(content)
	}
	if err := insertAct(tx, who.act(string(s), "form", id, outcome)); err != nil {
		return err
	}
	_, err := tx.Exec(qPostWant, PostForm, id)
	return err
}

// Form answers a server's question as it stands; ErrNotFound where there is none.
func (t *Threads) Form(ctx context.Context, id string) (f Form, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		bodies, err := record.Collect(tx, scanString, qFormPost, id)
		if err != nil || len(bodies) == 0 {
			return orNotFound(err, "question "+id)
		}
		if err := json.Unmarshal([]byte(bodies[0]), &f); err != nil {
			return fmt.Errorf("cannot read the question %s: %w", id, err)
		}
		f.State = FormGone
		if t.forms.isOpen(id) {
			f.State = FormOpen
		}
		_, err = record.Collect(tx, func(r record.Scanner) (struct{}, error) {
			var outcome string
			var at int64
			err := r.Scan(&f.State, &f.By, &outcome, &at)
			if sent, ok := strings.CutPrefix(outcome, "done: "); ok {
				f.Sent = json.RawMessage(sent)
			}
			f.At = record.Time(at)
			return struct{}{}, err
		}, qFormEnd, id)
		return err
	})
	return f, err
}

// OpenForms answers the servers' questions that wait, oldest first: as far as the
// record knows, whichever process could still answer.
func (t *Threads) OpenForms(ctx context.Context) (list []Form, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = openForms(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the questions of MCP servers: %w", err)
	}
	return list, nil
}

func openForms(tx *record.Tx) ([]Form, error) {
	return record.Collect(tx, func(r record.Scanner) (Form, error) {
		f := Form{State: FormOpen}
		var id, body string
		var created int64
		if err := r.Scan(&id, &body, &created, &f.Place.Channel, &f.Place.ThreadTS); err != nil {
			return f, err
		}
		if err := json.Unmarshal([]byte(body), &f); err != nil {
			return f, fmt.Errorf("cannot read the question %s: %w", id, err)
		}
		f.ID, f.Created = id, record.Time(created)
		f.Place.Team, _, _ = strings.Cut(f.Thread, "/")
		return f, nil
	}, qFormsOpen)
}

// orphanForms ends what an earlier process asked: its servers are gone.
func orphanForms(tx *record.Tx) error {
	list, err := openForms(tx)
	for _, f := range list {
		if err == nil {
			err = settleForm(tx, Who{Surface: "clock"}, f.ID, FormGone, nil)
		}
	}
	return err
}

// AnswerForm answers a server's question, once: content is the form as filled
// in, nil declines. fresh is false where it was settled before, or its call is
// over.
func (t *Threads) AnswerForm(ctx context.Context, who Who, id string, content json.RawMessage) (f Form, fresh bool, err error) {
	if f, err = t.Form(ctx, id); err != nil {
		return f, false, err
	}
	c := t.forms.take(id)
	if c == nil {
		return f, false, nil
	}
	a := formAnswer{state: FormDeclined, content: content}
	if content != nil {
		a.state = FormAccepted
	}
	if err := t.endForm(ctx, who, id, a.state, content); err != nil {
		c <- formAnswer{state: FormDeclined}
		return f, false, fmt.Errorf("cannot note the answer to %s; the server was told no: %w", f.Server, err)
	}
	c <- a
	f, err = t.Form(ctx, id)
	return f, true, err
}
