package agent

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
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
	Provider      string      `toml:"provider"`  // a [providers.NAME]; empty: the parent's
	Model         string      `toml:"model"`     // of that provider; empty: its own
	Workspace     string      `toml:"workspace"` // a directory of the parent's, to which it is confined
	TrustedOutput bool        `toml:"trusted_output"`
	AnswerShape   AnswerShape `toml:"answer_shape"`
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
	if c.Workspace != "" && !filepath.IsLocal(c.Workspace) {
		bad("workspace = %q: write a directory within the thread's own, such as \"reports\"", c.Workspace)
	}
	if c.MaxTurns < 0 {
		bad("max_turns is negative")
	}
	return errors.Join(errs...)
}

// SubagentDeps is what helpers need from outside. Everything else they have from
// the run that calls them (Parent).
type SubagentDeps struct {
	// Model answers for a profile that names a provider or a model; asked when
	// the helper is called.
	Model  func(provider, model string) (Model, error)
	Tools  *tools.Registry       // the parent's surface
	Routed func(tools.Tool) bool // nil: nothing is
	// Durable: the journals of runs keep a helper's conversation (Nester), so
	// that a helper which a crash interrupted goes on where it was.
	Durable bool
}

// Subagents makes the tools. A profile whose tools are not all there is withheld
// with the reason.
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
		made = append(made, &subagent{cfg: c, deps: d, tools: d.Tools.Only(func(t tools.Tool) bool { return allowed[t.Name()] })})
	}
	return made, withheld, errors.Join(errs...)
}

func unusable(c SubagentConfig, d SubagentDeps) string {
	for _, name := range c.Tools {
		t := d.Tools.Get(name)
		if t == nil {
			return fmt.Sprintf("its tool %s does not exist in this surface", name)
		}
		if _, nested := t.(Delegate); nested {
			return fmt.Sprintf("its tool %s is a subagent itself", name)
		}
		if personal(t) {
			return fmt.Sprintf("its tool %s speaks for the conversation itself, and a helper has none; leave it out of tools", name)
		}
	}
	return ""
}

// Personal tools speak for a whole conversation: they write to other agents, or
// end the run with a question to the owner. A helper gets none of them.
type Personal interface{ Personal() bool }

func personal(t tools.Tool) bool {
	p, ok := t.(Personal)
	return ok && p.Personal()
}
