package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Delegate is a tool that hands a task to a child agent. The gate judges its call
// like any other; what it does is a run of its own, which has the parent's
// policies and pays from the parent's budget.
type Delegate interface {
	Delegates() bool
	Delegate(ctx context.Context, in json.RawMessage, env *tools.Env, p Parent) (tools.Output, error)
}

// Parent is what a run hands on to the helper that one of its calls starts: all
// that must not be escaped by delegating. Steering, questions to the owner and
// messages to other agents stay with the parent.
type Parent struct {
	Call     Call
	Run      string
	Model    Model
	Security tools.Security
	Hooks    ToolHook
	Rules    Rules
	Planning bool
	Words    []tools.Words // the owner's are the owner's for a helper too
	Journal  Journal       // a Nester keeps the helper's conversation
	Left     time.Duration // of the run's time; 0: no bound
	Log      *slog.Logger
	Now      func() time.Time
	// Over tells that the parent's budget is used up, helpers included.
	Over func(context.Context) (Cause, string)
	// Spend takes what a turn of the helper cost.
	Spend func(Usage)
	// Show puts a step of the helper on the parent's card.
	Show func(text string)
}

// parent is this run as its helper sees it.
func (l *loop) parent(g *gated) Parent {
	p := Parent{
		Call: g.Call, Run: l.ID, Model: l.Model, Security: l.Security, Hooks: l.Hooks, Rules: l.Rules, Planning: l.Planning,
		Words: g.words, Journal: l.Journal, Log: l.Log, Now: l.Now, Spend: l.helped.add, Show: g.env.Progress,
	}
	if l.Budget.Wall > 0 {
		p.Left = max(l.Budget.Wall-g.elapsed, time.Second)
	}
	before, used := Used{Turns: -1, Usage: addUsage(l.Before.Usage, l.out.Usage)}, l.Ceiling
	p.Over = func(ctx context.Context) (Cause, string) {
		l.helped.mu.Lock()
		now := before
		now.Usage = addUsage(now.Usage, l.helped.usage)
		l.helped.mu.Unlock()
		b := l.Budget
		b.Turns = 0 // a helper has its own
		if cause, why := b.over(now); cause != "" || used == nil {
			return cause, why
		}
		return used(ctx)
	}
	return p
}

// Nester is a Journal that can keep a helper's conversation beside its parent's,
// with everything that a run has: without one a helper works in memory, nobody
// can be asked and nothing is staged.
type Nester interface {
	// Nest opens the conversation of the helper that a call starts: with the task
	// in it the first time, as far as it came after a crash. Its writes stand
	// under the parent's fence.
	Nest(ctx context.Context, a NestAsk) (Nested, error)
}

// NestAsk is what a helper's conversation begins with.
type NestAsk struct {
	Call Call // of the parent, that started it
	Name string
	Task string
	Env  *tools.Env // of that call, with the workspace that the helper is confined to
	Sink Sink       // told that a call waits for a person
}

// Nested is a helper's conversation.
type Nested struct {
	Thread   string // its own key: recall, todo and handles are apart from the parent's
	Journal  Journal
	Approver Approver
	Stager   Stager
	History  []Message
	Open     map[string]CallState
	Words    []tools.Words
	Taint    tools.Taint
	Turn     int // its next
}

// subagent is a child agent as a tool.
type subagent struct {
	cfg   SubagentConfig
	deps  SubagentDeps
	tools *tools.Registry
}

func (s *subagent) Name() string { return s.cfg.Name }
func (s *subagent) Description() string {
	return s.cfg.Description + " (A helper of its own with a fresh memory: give it everything that it needs to know in the task.)"
}
func (s *subagent) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","minLength":1,"maxLength":20000,"description":"The whole task, self-contained"}},"required":["task"],"additionalProperties":false}`)
}

// ReadOnly: the call itself changes nothing. What the helper wants to change asks
// a person, call by call.
func (s *subagent) ReadOnly() bool  { return true }
func (s *subagent) Delegates() bool { return true }

func (s *subagent) routed(t tools.Tool) bool { return s.deps.Routed != nil && s.deps.Routed(t) }

// Capabilities are those of all its tools together, asked for each time: they
// only ever widen. A routed tool is drafted and never runs here, so it brings
// nothing in and lets nothing out.
func (s *subagent) Capabilities() tools.Capabilities {
	var c tools.Capabilities
	for _, t := range s.tools.All() {
		if !s.routed(t) {
			c = c.Union(t.Capabilities())
		}
	}
	return c
}

// Repeatable: a helper whose conversation is kept goes on where it was; another
// may begin again where everything that it could do is repeatable.
func (s *subagent) Repeatable() bool {
	for _, t := range s.tools.All() {
		if !s.deps.Durable && !repeatable(t) {
			return false
		}
	}
	return true
}

// Call is for who has no run of its own: nobody is asked, nothing is kept.
func (s *subagent) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	return s.Delegate(ctx, in, env, Parent{})
}

// Delegate runs the helper.
func (s *subagent) Delegate(ctx context.Context, in json.RawMessage, env *tools.Env, p Parent) (tools.Output, error) {
	var args struct{ Task string }
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	model := p.Model
	if s.cfg.Provider != "" || s.cfg.Model != "" || model == nil {
		var err error
		if model, err = s.deps.Model(s.cfg.Provider, s.cfg.Model); err != nil {
			return tools.Fail("the helper has no model: " + err.Error()), nil
		}
	}
	confined := *env
	if s.cfg.Workspace != "" && env.Workspace != nil {
		sub, err := env.Workspace.Sub(s.cfg.Workspace)
		if err != nil {
			return tools.Fail(fmt.Sprintf("the helper's directory cannot be opened: %v", err)), nil
		}
		defer sub.Close()
		confined.Workspace = sub
	}
	progress := p.Show
	if progress == nil {
		progress = env.Progress
	}
	sink := childSink{progress}
	w := &watched{}
	n := Nested{Thread: env.Thread, Journal: &ephemeral{}, Approver: nobodyHere{}, Stager: nowhere{s.routed}, Turn: 1,
		History: []Message{{Role: User, Author: ByHarness, Text: args.Task}}} // the parent's words, not the owner's
	if nester, ok := p.Journal.(Nester); ok {
		var err error
		if n, err = nester.Nest(ctx, NestAsk{Call: p.Call, Name: s.cfg.Name, Task: args.Task, Env: &confined, Sink: sink}); err != nil {
			return tools.Output{}, fmt.Errorf("cannot keep the conversation of the helper %s: %w", s.cfg.Name, err)
		}
	}
	w.see(n.History)
	turns := s.cfg.MaxTurns
	if turns == 0 {
		turns = 12
	}
	out := Do(ctx, &Run{
		ID: or(p.Run, env.Run), Thread: n.Thread, Model: model, Tools: s.tools, Security: p.Security,
		Budget: Budget{Turns: turns, Wall: p.Left}, Ceiling: p.Over, spend: p.Spend, Now: p.Now,
		System: s.prompt(p.Planning), History: n.History, Open: n.Open, Words: append(p.Words[:len(p.Words):len(p.Words)], n.Words...),
		Taint: env.Taint.With(n.Taint.Marks...), // a child sent into an armed conversation starts armed
		Turn:  n.Turn, Unattended: true, Planning: p.Planning,
		Journal: w.over(n.Journal), Approver: n.Approver, Stager: n.Stager, Sink: sink, Hooks: sessionless(p.Hooks), Rules: p.Rules, Log: p.Log,
		Env: func(call string, _ int, taint tools.Taint) *tools.Env {
			e := confined
			e.Call, e.Taint, e.Unattended, e.Thread = call, taint, true, n.Thread
			return &e
		},
	})
	if out.Err != nil && isFenced(out.Err) {
		return tools.Output{}, out.Err
	}
	if ctx.Err() != nil {
		return tools.Fail("the helper was stopped before it had an answer"), nil
	}
	return s.result(w, out), nil
}

func (s *subagent) prompt(planning bool) string {
	o := PromptOptions{Name: s.cfg.Name, Unattended: true, Persona: s.cfg.SystemPrompt, Planning: planning}
	for _, t := range s.tools.All() {
		if s.routed(t) {
			o.Routed = append(o.Routed, t.Name())
		}
	}
	p := SystemPrompt(o)
	if k := s.cfg.AnswerShape; k.Kind != "" {
		want := k.Kind
		if k.Kind == "choice" {
			want = "exactly one of: " + strings.Join(k.Choices, ", ")
		}
		p += "\n\nYour last answer is only the answer itself, without any other word: " + want + "."
	}
	return p
}

// result makes the child's last words the tool's answer. They are a stranger's
// as soon as a stranger's text was before the child, unless they have the shape
// that can carry none.
func (s *subagent) result(w *watched, out Outcome) tools.Output {
	answer := strings.TrimSpace(w.last)
	var notes []string
	switch {
	case out.Cause == Failed && out.Err != nil:
		notes = append(notes, "the helper failed: "+oneLine(out.Err.Error(), 300))
	case out.Cause != Completed:
		notes = append(notes, fmt.Sprintf("the helper stopped early (%s)", out.Cause))
	}
	if out.Staged > 0 {
		notes = append(notes, fmt.Sprintf("%d of its calls became drafts: drafted, not sent", out.Staged))
	}
	if out.Denied > 0 {
		notes = append(notes, fmt.Sprintf("the owner said no to %d of its calls", out.Denied))
	}
	if out.Blocked > 0 {
		notes = append(notes, fmt.Sprintf("%d of its calls were blocked", out.Blocked))
	}
	res := tools.Output{IsError: answer == "" || out.Cause == Failed, External: w.external, Stranger: w.stranger}
	if s.cfg.TrustedOutput {
		if fact, ok := s.cfg.AnswerShape.parse(answer); ok {
			answer, res.External, res.Stranger = fact, false, false
		} else {
			notes = append(notes, "its answer does not have the shape that was agreed, so it counts as a stranger's text")
			res.External = true
		}
	}
	if answer == "" {
		answer = "(no answer)"
	}
	if len(notes) > 0 {
		answer += "\n\n[" + strings.Join(notes, "; ") + "]"
	}
	res.Content = answer
	return res
}

// watched remembers of a helper's conversation what its answer is judged by.
type watched struct {
	last     string
	external bool
	stranger bool // a stranger's text was before it, whatever its tools declare
}

// see takes what an interrupted helper had before.
func (w *watched) see(history []Message) {
	for _, m := range history {
		w.external, w.stranger = w.external || m.External, w.stranger || m.External
		if m.Role == Assistant && m.Author == ByModel && len(m.Calls) == 0 && strings.TrimSpace(m.Text) != "" {
			w.last = m.Text
		}
	}
}

// over is j, watched. Historian is j's.
func (w *watched) over(j Journal) Journal {
	if h, ok := j.(Historian); ok {
		return struct {
			watchedJournal
			Historian
		}{watchedJournal{j, w}, h}
	}
	return watchedJournal{j, w}
}

type watchedJournal struct {
	Journal
	w *watched
}

func (j watchedJournal) Turn(ctx context.Context, n int, t *Turn) error {
	err := j.Journal.Turn(ctx, n, t)
	if err == nil && strings.TrimSpace(t.Text) != "" && len(t.Calls) == 0 {
		j.w.last = t.Text
	}
	return err
}

func (j watchedJournal) Result(ctx context.Context, r Result) error {
	j.w.external = j.w.external || r.External
	for _, m := range r.Marks {
		j.w.stranger = j.w.stranger || m.Leg == tools.Untrusted
	}
	return j.Journal.Result(ctx, r)
}

// ephemeral is the journal of a child that nothing keeps. A crash loses it, and
// its parent's call with it, which is then made again or told as unknown.
type ephemeral struct{ n int }

func (e *ephemeral) Turn(_ context.Context, _ int, t *Turn) error {
	for i := range t.Calls {
		e.n++
		t.Calls[i].ID = "s" + strconv.Itoa(e.n)
	}
	return nil
}
func (e *ephemeral) Call(context.Context, string, CallState, json.RawMessage) error { return nil }
func (e *ephemeral) Result(context.Context, Result) error                           { return nil }
func (e *ephemeral) Note(context.Context, int, string) error                        { return nil }
func (e *ephemeral) Compact(context.Context, int, []int64, string) error            { return nil }
func (e *ephemeral) Steering(context.Context, int) ([]Message, error)               { return nil, nil }

// nobodyHere answers for a child that nothing keeps: it has no card to show.
type nobodyHere struct{}

func (nobodyHere) Approve(context.Context, Ask) (Decision, error) {
	return Blocked{Reason: "this call needs a person's eyes, and a helper has nobody to ask. Say in your answer what you would have done."}, nil
}

// nowhere is where a child that nothing keeps stages: a routed call of it fails,
// it never runs.
type nowhere struct{ routed func(tools.Tool) bool }

func (n nowhere) Routed(t tools.Tool) bool { return n.routed(t) }
func (nowhere) Stage(context.Context, Staging) (Result, error) {
	return Result{}, errors.New("this helper has no outbox")
}

// sessionless hooks hear of calls and not of the end: the session is the
// parent's.
func sessionless(h ToolHook) ToolHook {
	if h == nil {
		return nil
	}
	return struct{ ToolHook }{h}
}

// childSink shows what a child does on its parent's line.
type childSink struct{ progress func(string) }

func (c childSink) Event(e Event) {
	if c.progress == nil {
		return
	}
	what := strings.TrimSpace(e.Call.Tool + " " + e.Headline)
	switch e.Kind {
	case CallStarted:
		c.progress(what)
	case CallWaiting:
		c.progress(what + ": waits for you")
	case CallDone:
		switch e.Outcome {
		case CallOK, CallError:
		case CallStaged:
			c.progress(what + ": drafted, not sent")
		default:
			c.progress(strings.TrimSuffix(what+": "+string(e.Outcome)+", "+e.Text, ", "))
		}
	}
}

func (childSink) Show(context.Context, string, []ShownFile) error {
	return errors.New("a helper has no thread to show a file in")
}
