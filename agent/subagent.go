package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// SubagentConfig is one [[subagent]]: a child agent that the model calls like
// any other tool, with a task, and whose last answer is the result.
type SubagentConfig struct {
	Name          string      `toml:"name"`
	Description   string      `toml:"description"` // what decides whether it is ever asked
	Tools         []string    `toml:"tools"`       // exactly these; empty: none
	SystemPrompt  string      `toml:"system_prompt"`
	MaxTurns      int         `toml:"max_turns"` // 12
	Provider      string      `toml:"provider"`  // empty: the parent's
	TrustedOutput bool        `toml:"trusted_output"`
	AnswerShape   AnswerShape `toml:"answer_shape"`
}

// AnswerShape is what an answer must be to come back as a fact and not as a
// stranger's text: "number", "boolean", or one of a list.
type AnswerShape struct {
	Kind    string
	Choices []string
}

// UnmarshalTOML reads a word or a list.
func (s *AnswerShape) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		s.Kind = v
		return nil
	case []any:
		s.Kind = "choice"
		for _, e := range v {
			c, ok := e.(string)
			if !ok || strings.TrimSpace(c) == "" {
				return errors.New("answer_shape: a list holds the allowed answers, in words")
			}
			s.Choices = append(s.Choices, c)
		}
		return nil
	}
	return errors.New(`answer_shape is "number", "boolean" or a list of answers`)
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Validate refuses a profile that promises trust without a way to earn it.
func (c SubagentConfig) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("[[subagent]] %s: %s", c.Name, fmt.Sprintf(format, args...)))
	}
	if !toolName.MatchString(c.Name) {
		bad("name is 1 to 64 of A-Z a-z 0-9 _ -")
	}
	if strings.TrimSpace(c.Description) == "" {
		bad("description is missing: it decides whether the agent ever delegates to it")
	}
	switch c.AnswerShape.Kind {
	case "", "number", "boolean":
	case "choice":
		if len(c.AnswerShape.Choices) == 0 {
			bad("answer_shape is an empty list")
		}
	default:
		bad(`answer_shape is "number", "boolean" or a list of answers, not %q`, c.AnswerShape.Kind)
	}
	if c.TrustedOutput != (c.AnswerShape.Kind != "") {
		bad("trusted_output and answer_shape need each other: an answer is trusted only as far as it has a shape that carries no words of a stranger")
	}
	if c.MaxTurns < 0 {
		bad("max_turns is negative")
	}
	return errors.Join(errs...)
}

// SubagentDeps is what a child shares with its parent.
type SubagentDeps struct {
	Model    func(provider string) (Model, error) // "" is the parent's
	Tools    *tools.Registry                      // the parent's surface
	Routed   func(tools.Tool) bool                // nil: nothing is
	Security tools.Security
	Hooks    ToolHook
	Rules    Rules
	Log      *slog.Logger
}

// Subagents makes the tools. A profile whose tools are not all there, or not
// all read-only, is withheld with the reason: a child works without a card and
// without drafts, so it may look and may not act.
func Subagents(list []SubagentConfig, d SubagentDeps) (made []tools.Tool, withheld []tools.Withheld, err error) {
	var errs []error
	for _, c := range list {
		if err := c.Validate(); err != nil {
			errs = append(errs, err)
			continue
		}
		if why := unusable(c, d); why != "" {
			withheld = append(withheld, tools.Withheld{Name: c.Name, Why: why})
			continue
		}
		allowed := map[string]bool{}
		for _, name := range c.Tools {
			allowed[name] = true
		}
		model, err := d.Model(c.Provider)
		if err != nil {
			withheld = append(withheld, tools.Withheld{Name: c.Name, Why: err.Error()})
			continue
		}
		made = append(made, &subagent{cfg: c, deps: d, model: model, tools: d.Tools.Only(func(t tools.Tool) bool { return allowed[t.Name()] })})
	}
	return made, withheld, errors.Join(errs...)
}

func unusable(c SubagentConfig, d SubagentDeps) string {
	for _, name := range c.Tools {
		t := d.Tools.Get(name)
		switch {
		case t == nil:
			return fmt.Sprintf("its tool %s does not exist in this surface", name)
		case !t.ReadOnly() || d.Routed != nil && d.Routed(t):
			return fmt.Sprintf("its tool %s changes something, and a child's calls cannot be shown to a person; leave it out of tools", name)
		}
		if _, nested := t.(Delegate); nested {
			return fmt.Sprintf("its tool %s is a subagent itself", name)
		}
	}
	return ""
}

// subagent is a child agent as a tool.
type subagent struct {
	cfg   SubagentConfig
	deps  SubagentDeps
	model Model
	tools *tools.Registry
}

func (s *subagent) Name() string { return s.cfg.Name }
func (s *subagent) Description() string {
	return s.cfg.Description + " (A helper of its own with a fresh memory: give it everything that it needs to know in the task.)"
}
func (s *subagent) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"task":{"type":"string","minLength":1,"maxLength":20000,"description":"The whole task, self-contained"}},"required":["task"],"additionalProperties":false}`)
}
func (s *subagent) ReadOnly() bool  { return true }
func (s *subagent) Delegates() bool { return true }

// Capabilities are those of all its tools together, asked for each time: they
// only ever widen.
func (s *subagent) Capabilities() tools.Capabilities {
	var c tools.Capabilities
	for _, t := range s.tools.All() {
		c = c.Union(t.Capabilities())
	}
	return c
}

// Repeatable where everything that it could do is.
func (s *subagent) Repeatable() bool {
	for _, t := range s.tools.All() {
		if !repeatable(t) {
			return false
		}
	}
	return true
}

func (s *subagent) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct{ Task string }
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	j := &ephemeral{}
	turns := s.cfg.MaxTurns
	if turns == 0 {
		turns = 12
	}
	out := Do(ctx, &Run{
		ID: env.Run, Thread: env.Thread, Model: s.model, Tools: s.tools, Security: s.deps.Security,
		Budget:  Budget{Turns: turns},
		System:  s.prompt(),
		History: []Message{{Role: User, Author: ByHarness, Text: args.Task}}, // the parent's words, not the owner's
		Taint:   env.Taint,                                                   // a child sent into an armed conversation starts armed
		Turn:    1, Unattended: true,
		Journal: j, Approver: nobodyHere{}, Sink: childSink{env.Progress}, Hooks: s.deps.Hooks, Rules: s.deps.Rules, Log: s.deps.Log,
		Env: func(call string, _ int, taint tools.Taint) *tools.Env {
			e := *env
			e.Call, e.Taint, e.Unattended = env.Call+"."+call, taint, true
			return &e
		},
	})
	if ctx.Err() != nil {
		return tools.Fail("the helper was stopped before it had an answer"), nil
	}
	return s.result(j, out), nil
}

func (s *subagent) prompt() string {
	p := SystemPrompt(PromptOptions{Name: s.cfg.Name, Unattended: true, Persona: s.cfg.SystemPrompt})
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
func (s *subagent) result(j *ephemeral, out Outcome) tools.Output {
	answer := strings.TrimSpace(j.last)
	var notes []string
	switch {
	case out.Cause == Failed && out.Err != nil:
		notes = append(notes, "the helper failed: "+oneLine(out.Err.Error(), 300))
	case out.Cause != Completed:
		notes = append(notes, fmt.Sprintf("the helper stopped early (%s)", out.Cause))
	}
	if out.Blocked > 0 {
		notes = append(notes, fmt.Sprintf("%d of its calls were blocked", out.Blocked))
	}
	res := tools.Output{IsError: answer == "" || out.Cause == Failed, External: j.external, Stranger: j.stranger}
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

// parse reads an answer of the shape, and writes it in our own spelling: not a
// byte of it is the child's.
func (s AnswerShape) parse(answer string) (string, bool) {
	a := strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), "."))
	switch s.Kind {
	case "number":
		n, err := strconv.ParseFloat(a, 64)
		if err != nil || len(a) > 32 {
			return "", false
		}
		return strconv.FormatFloat(n, 'g', -1, 64), true
	case "boolean":
		switch a {
		case "true", "yes":
			return "true", true
		case "false", "no":
			return "false", true
		}
	case "choice":
		for _, c := range s.Choices {
			if strings.EqualFold(c, a) || strings.EqualFold(c, strings.TrimSpace(answer)) {
				return c, true
			}
		}
	}
	return "", false
}

// ephemeral is the journal of a child. A crash loses it, and its parent's call
// with it, which is then made again or told as unknown.
type ephemeral struct {
	n        int
	last     string
	external bool
	stranger bool // a stranger's text was before it, whatever its tools declare
}

func (e *ephemeral) Turn(_ context.Context, _ int, t *Turn) error {
	for i := range t.Calls {
		e.n++
		t.Calls[i].ID = "s" + strconv.Itoa(e.n)
	}
	if strings.TrimSpace(t.Text) != "" && len(t.Calls) == 0 {
		e.last = t.Text
	}
	return nil
}
func (e *ephemeral) Call(context.Context, string, CallState, json.RawMessage) error { return nil }
func (e *ephemeral) Result(_ context.Context, r Result) error {
	e.external = e.external || r.External
	for _, m := range r.Marks {
		e.stranger = e.stranger || m.Leg == tools.Untrusted
	}
	return nil
}
func (e *ephemeral) Note(context.Context, int, string) error             { return nil }
func (e *ephemeral) Compact(context.Context, int, []int64, string) error { return nil }
func (e *ephemeral) Steering(context.Context, int) ([]Message, error)    { return nil, nil }

// nobodyHere answers for a child: it has no card to show.
type nobodyHere struct{}

func (nobodyHere) Approve(context.Context, Ask) (Decision, error) {
	return Blocked{Reason: "this call needs a person's eyes, and a helper has nobody to ask. Say in your answer what you would have done."}, nil
}

// childSink shows what a child does on its parent's line.
type childSink struct{ progress func(string) }

func (c childSink) Event(e Event) {
	if e.Kind == CallStarted && c.progress != nil {
		c.progress(strings.TrimSpace(e.Call.Tool + " " + e.Headline))
	}
}

func (childSink) Show(context.Context, string, []ShownFile) error {
	return errors.New("a helper has no thread to show a file in")
}
