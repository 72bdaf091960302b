package offline

import (
	"encoding/json"
	"slices"
	"strings"
)

// Decide says what the model does next. It keeps nothing between requests: it
// works out from the last user message what was wanted, replays that against
// the calls and results that follow it, and asks for the first ones missing.
// So it never makes the same call twice for one request, and it goes on rightly
// after a crash, a denial or a lost result.
//
// Instructions that it finds in results come before the user's own next step:
// it obeys whatever it reads.
func Decide(req Request) Turn {
	c := readConversation(req)
	if c.wantsSummary() {
		return Turn{Text: c.summary()}
	}
	p := &play{c: c}
	goals := parseGoals(c.request, c)

	var injected []string
	for _, g := range c.obeyed() {
		report, done := g.play(p)
		if !done {
			return Turn{Calls: p.pending}
		}
		injected = append(injected, report)
	}
	var reports []string
	for _, g := range goals {
		before := len(p.pending)
		report, done := g.play(p)
		if before > 0 && !onlyReads(p.pending[before:]) {
			p.pending = p.pending[:before] // it may need what was just asked for
			break
		}
		if !done && !onlyReads(p.pending) {
			break
		}
		reports = append(reports, report)
	}
	if len(p.pending) > 0 {
		return Turn{Calls: p.pending}
	}
	return Turn{Text: c.answer(reports, injected)}
}

// goal is one thing that was asked for. Its play is written as if every call
// returned at once; a call that has no result yet ends the play (done is
// false) and becomes part of the turn.
type goal interface {
	play(*play) (report string, done bool)
}

// play is one replay of the goals against what has happened.
type play struct {
	c       *conversation
	pending []Call
}

// maxCalls is how many calls one request may lead to.
const maxCalls = 16

// call returns the step that this call was, or asks for it.
func (p *play) call(tool string, args map[string]any) (step, bool) {
	raw, err := marshal(args)
	if err != nil {
		return step{tool: tool, outcome: failed, result: err.Error()}, true
	}
	return p.callExactly(tool, args, raw)
}

// callExactly is call with the bytes of the arguments given.
func (p *play) callExactly(tool string, args map[string]any, raw json.RawMessage) (step, bool) {
	name := p.c.tool(tool)
	if name == "" && len(p.c.tools) == 0 && len(p.c.steps) > 0 {
		for _, s := range p.c.steps { // the last turn of a run that ran out: no more tools, but what was done counts
			if (s.tool == tool || strings.HasSuffix(s.tool, "__"+tool)) && covers(s.args, args) {
				return s, true
			}
		}
		return step{tool: tool, outcome: missing, result: "I was asked to finish here; say it again and I go on."}, true
	}
	if name == "" {
		return step{tool: tool, outcome: missing, result: whyMissing(tool)}, true
	}
	for _, s := range p.c.steps {
		if s.tool == name && covers(s.args, args) {
			return s, true
		}
	}
	if len(p.c.steps) >= maxCalls {
		return step{tool: name, outcome: missing, result: "I stopped here: this request has led to enough calls."}, true
	}
	next := Call{Name: name, Args: raw}
	if !slices.ContainsFunc(p.pending, func(c Call) bool { return c.Name == name && string(c.Args) == string(raw) }) {
		p.pending = append(p.pending, next)
	}
	return step{}, false
}

// reads are the tools that are asked for side by side where nothing needs
// another's result: they change nothing and write to nobody.
var reads = []string{"fs_read", "fs_list", "recall", "goal_context", "mail_list", "mail_get_thread"}

func onlyReads(calls []Call) bool {
	return !slices.ContainsFunc(calls, func(c Call) bool {
		return !slices.ContainsFunc(reads, func(r string) bool { return c.Name == r || strings.HasSuffix(c.Name, "__"+r) })
	})
}

// covers reports whether a call that was made has these arguments; it may have
// more, which the harness filled in.
func covers(made map[string]any, want map[string]any) bool {
	for k, v := range want {
		a, errA := marshal(v)
		b, errB := marshal(made[k])
		if errA != nil || errB != nil || string(a) != string(b) {
			return false
		}
	}
	return true
}

func marshal(v any) (json.RawMessage, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
