package outbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// What a reconciler proposes. Unclear: something like it is there, and only a
// person can tell whether it is this one.
const (
	ProposeArrived    = "delivered"
	ProposeNotArrived = "not-delivered"
	ProposeUnclear    = "unclear"
)

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
		if r.Proposal != nil && r.Proposal.Outcome == p.Outcome {
			return nil // looked again, and it is as it was: the card stands
		}
		if _, err := tx.Exec(qProposalPut, d.ID, p.Outcome, p.Evidence, tx.NowMS()); err != nil {
			return err
		}
		if err := note(tx, r, "mecha-slack", "reconciler", "propose "+p.Outcome, "done"); err != nil {
			return err
		}
		o.step("propose: written")
		_, err = tx.Exec(qDraftTouch, d.ID)
		return err
	})
	if err != nil {
		return d, fmt.Errorf("cannot keep what `%s` found: %w", by.Tool, err)
	}
	return o.Get(ctx, d.ID)
}

// lookFor asks the reconciler's tool twice: for the draft, and in the same words
// for something that never was. Only what the second answer lacks was found.
//
// A mark of this very delivery (its key, its Message-ID) that the first answer
// holds more often than the second repeats its own says that it arrived. No
// difference says that nothing is there: a tool that answers "no results for X"
// says so of any X. Anything else is for a person to judge: a mail with the same
// subject may be another one, and a clock differs every time.
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
	known, other, err := terms(by.Args, d)
	if err != nil {
		return Proposal{}, err
	}
	question, answer, err := o.ask(ctx, t, env, by.Args, known)
	if err != nil {
		return Proposal{}, err
	}
	_, control, err := o.ask(ctx, t, env, by.Args, other)
	if err != nil {
		return Proposal{}, err
	}
	repeated := control
	for _, what := range slices.SortedFunc(maps.Keys(known), func(a, b string) int { return len(known[b]) - len(known[a]) }) {
		repeated = strings.ReplaceAll(repeated, other[what], known[what])
	}
	asked := fmt.Sprintf("(%s %s)", by.Tool, short(string(question), 300))
	if answer == control || answer == repeated {
		return Proposal{Outcome: ProposeNotArrived, Evidence: fmt.Sprintf("nothing there %s. It answered: %s", asked, excerpt(answer, 0))}, nil
	}
	for _, mark := range marksOf(d) {
		if strings.Count(answer, mark) > strings.Count(repeated, mark) {
			return Proposal{Outcome: ProposeArrived, Evidence: fmt.Sprintf("found it: %s %s", excerpt(answer, strings.LastIndex(answer, mark)), asked)}, nil
		}
	}
	return Proposal{Outcome: ProposeUnclear, Evidence: fmt.Sprintf("something like it is there: %s %s", excerpt(answer, 0), asked)}, nil
}

// ask calls the reconciler's tool once.
func (o *Outbox) ask(ctx context.Context, t tools.Tool, env *tools.Env, template, terms map[string]string) (args json.RawMessage, answer string, err error) {
	if args, err = fillIn(t, template, terms); err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, o.ReleaseTimeout)
	defer cancel()
	out, err := t.Call(ctx, args, env)
	switch {
	case err != nil:
		return nil, "", err
	case out.IsError || out.Unknown:
		return nil, "", fmt.Errorf("it answered: %s", short(out.Content, 300))
	}
	return args, out.Content, nil
}

// messageID is how mail servers and their tools spell it.
var messageID = regexp.MustCompile(`(?i)message[-_ ]?id["']?\s*(?:is)?[:=]?\s*["']?<([^<>\s]{3,200})>`)

// MessageID is the one that a tool named in what it answered, or a reconciler
// found; "" where nobody did.
func (d Draft) MessageID() (id string) {
	texts := make([]string, 0, 2*len(d.Attempts)+1)
	for _, a := range d.Attempts {
		texts = append(texts, a.Error, a.Answer)
	}
	if d.Proposal != nil && d.Proposal.Outcome == ProposeArrived {
		texts = append(texts, d.Proposal.Evidence)
	}
	for _, s := range texts {
		if m := messageID.FindStringSubmatch(s); m != nil {
			id = m[1]
		}
	}
	return id
}

// marksOf are what a delivery of this draft, and nothing else, is known by.
func marksOf(d Draft) []string {
	marks := []string{d.IdempotencyKey}
	if id := d.MessageID(); id != "" {
		marks = append(marks, id)
	}
	return marks
}

var placeholder = regexp.MustCompile(`\{\{\s*([a-z_]+(?:\.[^{}\s]+)?)\s*\}\}`)

// terms are what a template's placeholders stand for: in this draft, and in one
// that never was.
func terms(template map[string]string, d Draft) (known, other map[string]string, err error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(d.Args, &args); err != nil {
		return nil, nil, fmt.Errorf("the draft's arguments do not parse: %w", err)
	}
	known, other = map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(template)) {
		for _, m := range placeholder.FindAllStringSubmatch(template[name], -1) {
			what := m[1]
			v := ""
			switch arg, isArg := strings.CutPrefix(what, "args."); {
			case what == "key":
				v = d.IdempotencyKey
			case what == "message_id":
				v = d.MessageID()
			case isArg && len(args[arg]) > 0:
				v = prose(args[arg])
			}
			if v == "" {
				return nil, nil, fmt.Errorf("%s in `%s` stands for nothing that this draft has", m[0], name)
			}
			known[what], other[what] = v, nonsense(v)
		}
	}
	return known, other, nil
}

// nonsense is a text of the same shape that nothing was ever known by.
func nonsense(s string) string {
	other := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9':
			return '0' + ('9'-r+5)%10
		case r >= 'a' && r <= 'z':
			return 'a' + ('z'-r+7)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + ('Z'-r+7)%26
		case unicode.IsLetter(r):
			return 'q'
		}
		return r
	}, s)
	if other == s {
		other += "-q7"
	}
	return other
}

// fillIn makes the arguments of a search from its template.
func fillIn(t tools.Tool, template, terms map[string]string) (json.RawMessage, error) {
	var schema struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	_ = json.Unmarshal(t.InputSchema(), &schema) // without one, every value is text
	args := map[string]json.RawMessage{}
	for name, v := range template {
		s := placeholder.ReplaceAllStringFunc(v, func(m string) string { return terms[placeholder.FindStringSubmatch(m)[1]] })
		args[name] = json.RawMessage(text(s))
		if typ := schema.Properties[name].Type; typ != nil && typ != "string" && json.Valid([]byte(s)) {
			args[name] = json.RawMessage(s)
		}
	}
	out, _, err := tools.ParseArgs(t, json.RawMessage(text(args)))
	return out, err
}

// excerpt is the part of an answer around a place, from where a line begins.
func excerpt(s string, at int) string {
	from := max(0, at-250)
	if nl := strings.IndexByte(s[from:], '\n'); from > 0 && nl >= 0 && from+nl < at {
		from += nl + 1
	}
	for from > 0 && from < len(s) && s[from]&0xc0 == 0x80 {
		from--
	}
	return short(strings.TrimSpace(s[from:]), 400)
}
