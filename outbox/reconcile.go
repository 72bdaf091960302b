package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// How often a reconciler is asked about one unknown outcome, and how long it is
// left alone when it could not look: what lost the answer may have taken the
// server down that is asked now.
const (
	maxLooks  = 10
	lookAgain = time.Minute
)

// search under way, or to come, for one unknown outcome.
type search struct {
	attempts int // of the draft, when it became uncertain
	tries    int
	next     time.Time
}

// look starts the configured reconcilers for uncertain drafts without a
// proposal, one after the other.
func (d *dispatcher) look(ctx context.Context) error {
	if len(d.cfg.Reconcile) == 0 {
		return nil
	}
	d.mu.Lock()
	busy := d.looking
	d.mu.Unlock()
	if busy {
		return nil
	}
	var todo []Draft
	now := d.db.Now()
	err := d.db.Read(ctx, func(tx *record.Tx) error {
		ids, err := record.Collect(tx, scanID, qDraftsUncertain)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, err := d.get(tx, id)
			if err != nil {
				return err
			}
			s := d.searches[id]
			if s.attempts != len(r.Attempts) {
				s = search{attempts: len(r.Attempts)}
			}
			if _, ok := d.cfg.Reconcile[r.Tool]; !ok || s.tries == maxLooks || s.next.After(now) {
				continue
			}
			s.tries++
			s.next = now.Add(lookAgain)
			d.searches[id] = s
			todo = append(todo, r.Draft)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cannot look for uncertain drafts: %w", err)
	}
	if len(todo) == 0 {
		return nil
	}
	d.mu.Lock()
	d.looking = true
	d.mu.Unlock()
	d.wg.Go(func() {
		for _, draft := range todo {
			var state *StateError
			if _, err := d.Propose(ctx, draft); err != nil && !errors.As(err, &state) && ctx.Err() == nil {
				d.Log.Warn("a reconciler could not look for a draft", "draft", draft.ID, "error", err)
			}
		}
		d.mu.Lock()
		d.looking = false
		d.mu.Unlock()
	})
	return nil
}

// Propose looks for a draft of unknown outcome with the read-only tool that
// [outbox.reconcile.TOOL] names, and keeps what it found as a proposal on the
// card. It never settles anything: a person confirms it with Reconcile.
func (o *Outbox) Propose(ctx context.Context, d Draft) (Draft, error) {
	if d.State != Uncertain {
		return d, &StateError{Draft: d, Tried: "look for"}
	}
	by, ok := o.cfg.Reconcile[d.Tool]
	if !ok {
		return d, fmt.Errorf("no [outbox.reconcile.%s] is configured, so that nothing can look for draft %s", d.Tool, d.ID)
	}
	p, err := o.lookFor(ctx, d, by)
	if err != nil {
		return d, fmt.Errorf("cannot look for draft %s with `%s`: %w", d.ID, by.Tool, err)
	}
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		r, err := o.get(tx, d.ID)
		if err != nil || r.State != Uncertain || r.rounds() != d.rounds() {
			return err // settled meanwhile: what was found is of no use any more
		}
		if _, err := tx.Exec(qProposalPut, d.ID, p.Outcome, p.Evidence, tx.NowMS()); err != nil {
			return err
		}
		if err := note(tx, r, "mecha-slack", "reconciler", "propose "+p.Outcome, "done"); err != nil {
			return err
		}
		o.step("propose: written")
		return touch(tx, d.ID)
	})
	if err != nil {
		return d, fmt.Errorf("cannot keep what `%s` found: %w", by.Tool, err)
	}
	return o.Get(ctx, d.ID)
}

func touch(tx *record.Tx, id string) error {
	_, err := tx.Exec(qDraftTouch, id)
	return err
}

// lookFor asks the reconciler's tool, and reads its answer: the draft arrived if
// what identifies it is in there, and not merely repeated from the question.
func (o *Outbox) lookFor(ctx context.Context, d Draft, by Reconcile) (Proposal, error) {
	opened := d
	opened.Tool = by.Tool
	t, env, done, err := o.Surface.Open(ctx, opened)
	if err != nil {
		return Proposal{}, err
	}
	defer done()
	if !t.ReadOnly() {
		return Proposal{}, fmt.Errorf("it is not read-only, and looking must change nothing")
	}
	env.Thread, env.Run, env.Call = d.Thread, d.Run, d.CallID
	if env.Progress == nil {
		env.Progress = func(string) {}
	}
	marks := marksOf(d)
	ask := func(marks map[string]string) (string, json.RawMessage, error) {
		args, err := fillIn(t, by.Args, marks, d)
		if err != nil {
			return "", nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, o.ReleaseTimeout)
		defer cancel()
		out, err := t.Call(ctx, args, env)
		switch {
		case err != nil:
			return "", nil, err
		case out.IsError || out.Unknown:
			return "", nil, fmt.Errorf("it answered: %s", short(out.Content, 300))
		}
		return out.Content, args, nil
	}
	answer, args, err := ask(marks)
	if err != nil {
		return Proposal{}, err
	}
	question := fmt.Sprintf("%s %s", by.Tool, short(string(args), 300))
	at, found := -1, ""
	for _, name := range slices.Sorted(maps.Keys(marks)) {
		if at = strings.Index(answer, marks[name]); at >= 0 {
			found = marks[name]
			break
		}
	}
	if at < 0 {
		return Proposal{Outcome: "not-delivered", Evidence: fmt.Sprintf("%s: nothing there holds %s. It answered: %s", question, strings.Join(slices.Sorted(maps.Values(marks)), " or "), excerpt(answer, 0))}, nil
	}
	// A tool that says "no results for X" repeats X. It says so for any X.
	other := map[string]string{}
	for name, v := range marks {
		other[name] = nonsense(v)
	}
	echo, _, err := ask(other)
	if err != nil {
		return Proposal{}, err
	}
	for name, v := range marks {
		echo = strings.ReplaceAll(echo, other[name], v)
	}
	if echo == answer {
		return Proposal{Outcome: "not-delivered", Evidence: fmt.Sprintf("%s: it only repeats the question. It answered: %s", question, excerpt(answer, at))}, nil
	}
	return Proposal{Outcome: "delivered", Evidence: fmt.Sprintf("%s: found %s. It answered: %s", question, found, excerpt(answer, at))}, nil
}

// messageID is how mail servers and their tools spell it.
var messageID = regexp.MustCompile(`(?i)message-id:?\s*<([^<>\s]{3,200})>`)

// marksOf are what a delivery of this draft would be known by.
func marksOf(d Draft) map[string]string {
	marks := map[string]string{"key": d.IdempotencyKey}
	for _, a := range d.Attempts {
		if m := messageID.FindStringSubmatch(a.Error + "\n" + a.Answer); m != nil {
			marks["message_id"] = m[1]
		}
	}
	return marks
}

// nonsense is a mark of the same shape that nothing was ever known by.
func nonsense(mark string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '0' + ('9'-r+5)%10
		case r >= 'a' && r <= 'z':
			return 'a' + ('z'-r+7)%26
		}
		return r
	}, mark)
}

// excerpt is the part of an answer around a place.
func excerpt(s string, at int) string {
	from := max(0, at-120)
	for from > 0 && s[from]&0xc0 == 0x80 {
		from--
	}
	return short(strings.TrimSpace(s[from:]), 400)
}

var placeholder = regexp.MustCompile(`\{\{\s*([a-z_]+(?:\.[^{}\s]+)?)\s*\}\}`)

// fillIn makes the arguments of a search from its template.
func fillIn(t tools.Tool, template, marks map[string]string, d Draft) (json.RawMessage, error) {
	var draft map[string]json.RawMessage
	if err := json.Unmarshal(d.Args, &draft); err != nil {
		return nil, fmt.Errorf("the draft's arguments do not parse: %w", err)
	}
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema(), &schema) // without one, every value is text
	args := map[string]json.RawMessage{}
	for name, v := range template {
		var missing error
		s := placeholder.ReplaceAllStringFunc(v, func(m string) string {
			what := placeholder.FindStringSubmatch(m)[1]
			if mark, ok := marks[what]; ok {
				return mark
			}
			arg, isArg := strings.CutPrefix(what, "args.")
			raw, ok := draft[arg]
			if !isArg || !ok {
				missing = fmt.Errorf("%s in `%s` stands for nothing that this draft has", m, name)
				return ""
			}
			return prose(raw)
		})
		if missing != nil {
			return nil, missing
		}
		args[name] = json.RawMessage(text(s))
		if typ := schema.Properties[name].Type; typ != nil && typ != "string" && json.Valid([]byte(s)) {
			args[name] = json.RawMessage(s)
		}
	}
	out, _, err := tools.ParseArgs(t, json.RawMessage(text(args)))
	return out, err
}
