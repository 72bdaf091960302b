// Package config is the one configuration file as a typed tree: $MECHA_HOME's
// config.toml, and nothing else. Each room declares its own table; this package
// reads them together, fills in defaults, and refuses an unknown key with its
// line and the nearest known one.
//
// It must never read a file in a workspace, an environment variable, or a
// secret's value from anywhere but the file.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/agent/provider"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// Config is config.toml. Every table is optional.
type Config struct {
	DefaultProvider string                     `toml:"default_provider"`
	Providers       map[string]provider.Config `toml:"providers"`
	Agent           Agent                      `toml:"agent"`
	Tools           tools.Config               `toml:"tools"`
	Security        tools.Security             `toml:"security"`
	Sandbox         sandbox.Config             `toml:"sandbox"`
	Outbox          outbox.Config              `toml:"outbox"`
	MCP             []mcp.Config               `toml:"mcp"`
	Search          []tools.SearchConfig       `toml:"search"`
	Image           tools.ImageConfig          `toml:"image"`
	Slack           Slack                      `toml:"slack"`
	Digest          Digest                     `toml:"digest"`
	Rule            []agent.RuleConfig         `toml:"rule"`
	Approval        Approval                   `toml:"approval"`
	Hook            []agent.HookConfig         `toml:"hook"`
	Subagent        []agent.SubagentConfig     `toml:"subagent"`
	Skills          agent.SkillsConfig         `toml:"skills"`
	Messages        Messages                   `toml:"messages"`
	Record          Record                     `toml:"record"`
	Work            Work                       `toml:"work"`

	path string
}

// Agent is the [agent] table.
type Agent struct {
	SystemPrompt     string  `toml:"system_prompt"` // added to ours
	SystemPromptFile string  `toml:"system_prompt_file"`
	MaxTurns         int     `toml:"max_turns"`         // a run; 40
	MaxTokens        int     `toml:"max_tokens"`        // asked of the model per turn; its default if 0
	MaxOutputTokens  int     `toml:"max_output_tokens"` // a run; no bound if 0
	MaxCostUSD       float64 `toml:"max_cost_usd"`      // a run; no bound if 0
	MaxWallSecs      int     `toml:"max_wall_secs"`     // a run, waiting for people excepted; no bound if 0
	CompactAtTokens  int     `toml:"compact_at_tokens"` // two thirds of the window if 0
	CompactKeep      int     `toml:"compact_keep_recent"`
	Timezone         string  `toml:"timezone"` // of the owner, where Slack does not tell

	Thread threads.Limits `toml:"thread"` // over all runs of one conversation
	Day    threads.Limits `toml:"day"`    // over all runs of one day, by the owner's clock
}

// Slack is the [slack] table. Owners are bound in the record, not here.
type Slack struct {
	MaxConcurrent       int       `toml:"max_concurrent"`        // runs at once; 3
	ApprovalTimeoutSecs int       `toml:"approval_timeout_secs"` // 600
	DefaultMode         string    `toml:"default_mode"`          // [tools] permission_mode if empty
	MaxTurns            int       `toml:"max_turns"`
	MaxCostUSD          float64   `toml:"max_cost_usd"`
	StreamFlushChars    int       `toml:"stream_flush_chars"` // 256
	StreamFlushMS       int       `toml:"stream_flush_ms"`    // 750
	MaxUploadMB         int       `toml:"max_upload_mb"`      // 25
	Streaming           string    `toml:"streaming"`          // auto, native, update, off
	Approvers           Approvers `toml:"approvers"`          // user id → tools that they decide, or "*"
	TrustedChannels     []string  `toml:"trusted_channels"`   // where private data may be shown
}

// Digest is the [digest] table.
type Digest struct {
	Schedule  string `toml:"schedule"`   // 0 8 * * *
	Timezone  string `toml:"timezone"`   // the owner's
	Channel   string `toml:"channel"`    // the owner's DM
	WhenEmpty string `toml:"when_empty"` // silent, say
}

// Approval is the [approval] table.
type Approval struct {
	// StrictInlineEval makes interpreters that are handed code at least a
	// prompt; true unless written false.
	StrictInlineEval *bool `toml:"strict_inline_eval"`
}

// Strict tells what StrictInlineEval means.
func (a Approval) Strict() bool { return a.StrictInlineEval == nil || *a.StrictInlineEval }

// Messages is the [messages] table: words between an owner's agents.
type Messages struct {
	Enabled bool `toml:"enabled"`
}

// Record is the [record] table.
type Record struct {
	Path string `toml:"path"` // mecha.db in the home
}

// Work is the [work] table.
type Work struct {
	Keep int `toml:"keep"` // days that an idle thread's directory is kept; for ever if 0
}

// Default is what an empty file means.
func Default() Config {
	return Config{
		Tools:    tools.Config{PermissionMode: "ask", ShellTimeoutSecs: 120, UnannotatedMCP: "closed"},
		Agent:    Agent{MaxTurns: 40, CompactKeep: 6},
		Sandbox:  sandbox.Config{Kind: "auto"},
		Security: tools.Security{Trifecta: tools.TrifectaBlock},
		Outbox:   outbox.Config{StaleAfter: outbox.Duration(48 * time.Hour)},
		Slack:    Slack{MaxConcurrent: 3, ApprovalTimeoutSecs: 600, StreamFlushChars: 256, StreamFlushMS: 750, MaxUploadMB: 25, Streaming: "auto"},
		Digest:   Digest{Schedule: "0 8 * * *", WhenEmpty: "silent"},
	}
}

// Load reads the file at path over the defaults. A missing file is the
// defaults.
func Load(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		c := Default()
		c.path = path
		return c, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("cannot read the configuration: %w", err)
	}
	return Parse(path, string(b))
}

// Parse reads a file's text; path is for its messages.
func Parse(path, text string) (Config, error) {
	c := Default()
	c.path = path
	meta, err := toml.Decode(text, &c)
	if err != nil {
		var pe toml.ParseError
		if errors.As(err, &pe) {
			return Config{}, fmt.Errorf("%s, line %d: %s", path, pe.Position.Line, strings.TrimPrefix(pe.Message, "toml: "))
		}
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	if keys := meta.Undecoded(); len(keys) > 0 {
		return Config{}, unknown(path, text, keys)
	}
	if err := noTable(path, text, meta); err != nil {
		return Config{}, err
	}
	if err := c.Validate(); err != nil {
		return Config{}, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Validate refuses what cannot work, naming the key.
func (c Config) Validate() error {
	errs := []error{c.Security.Validate(), c.Image.Validate(), c.Outbox.Validate(), c.Tools.Validate()}
	for _, s := range c.Search {
		errs = append(errs, s.Validate())
	}
	names := map[string]bool{}
	for _, m := range c.MCP {
		errs = append(errs, m.Validate())
		if names[m.Name] {
			errs = append(errs, fmt.Errorf("two [[mcp]] tables are named %q", m.Name))
		}
		names[m.Name] = true
	}
	if _, err := agent.NewHooks(c.Hook, nil); err != nil {
		errs = append(errs, err)
	}
	if _, err := agent.NewRules(c.Rule, c.Approval.Strict()); err != nil {
		errs = append(errs, err)
	}
	for _, r := range c.Rule {
		if r.Decision != agent.RuleForbid && slices.Contains(c.Outbox.Tools, r.Tool) {
			errs = append(errs, fmt.Errorf("[[rule]] %s: the tool is routed to the outbox, where every call waits for a person: only forbid means anything there", r.Tool))
		}
	}
	for _, s := range c.Subagent {
		errs = append(errs, s.Validate())
		if _, ok := c.Providers[s.Provider]; s.Provider != "" && !ok {
			errs = append(errs, fmt.Errorf("[[subagent]] %s: provider is %q, but there is no [providers.%s]", s.Name, s.Provider, s.Provider))
		}
	}
	if c.Agent.MaxWallSecs < 0 {
		errs = append(errs, errors.New("[agent] max_wall_secs is negative; 0 or left out means no bound"))
	}
	for name, p := range c.Providers {
		if err := p.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("[providers.%s] %w", name, err))
		}
		for _, other := range p.Fallbacks {
			if _, ok := c.Providers[other]; !ok || other == name {
				errs = append(errs, fmt.Errorf("[providers.%s] fallbacks names %q: write the names of other [providers.NAME] tables", name, other))
			}
		}
	}
	if c.DefaultProvider != "" {
		if _, ok := c.Providers[c.DefaultProvider]; !ok {
			errs = append(errs, fmt.Errorf("default_provider is %q, but there is no [providers.%s]", c.DefaultProvider, c.DefaultProvider))
		}
	}
	switch c.Digest.WhenEmpty {
	case "silent", "say":
	default:
		errs = append(errs, fmt.Errorf("[digest] when_empty is silent or say, not %q", c.Digest.WhenEmpty))
	}
	zone := c.Digest.Timezone
	if zone == "" {
		zone = "UTC"
	}
	if _, err := triggers.Parse(c.Digest.Schedule, zone); err != nil {
		errs = append(errs, fmt.Errorf("[digest] schedule: %w", err))
	}
	if c.Agent.Timezone != "" {
		if _, err := time.LoadLocation(c.Agent.Timezone); err != nil {
			errs = append(errs, fmt.Errorf("[agent] timezone: there is no %q", c.Agent.Timezone))
		}
	}
	switch c.Slack.Streaming {
	case "auto", "native", "update", "off":
	default:
		errs = append(errs, fmt.Errorf("[slack] streaming is auto, native, update or off, not %q", c.Slack.Streaming))
	}
	errs = append(errs, c.Threads().Validate())
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Threads is what the sessions read of it.
func (c Config) Threads() threads.Config {
	t := threads.Config{
		MaxConcurrent:   c.Slack.MaxConcurrent,
		ApprovalTimeout: time.Duration(c.Slack.ApprovalTimeoutSecs) * time.Second,
		DefaultMode:     threads.Mode(cmp.Or(c.Slack.DefaultMode, c.Tools.PermissionMode)),
		MaxTurns:        c.Agent.MaxTurns,
		MaxCost:         c.Agent.MaxCostUSD,
		MaxWall:         time.Duration(c.Agent.MaxWallSecs) * time.Second,
		Thread:          c.Agent.Thread,
		Day:             c.Agent.Day,
		MaxOutputTokens: c.Agent.MaxOutputTokens,
		TurnTokens:      c.Agent.MaxTokens,
		CompactAt:       c.Agent.CompactAtTokens,
		KeepRecent:      c.Agent.CompactKeep,
		OutputBudget:    c.Tools.OutputBudgetBytes,
	}
	if c.Slack.MaxTurns > 0 {
		t.MaxTurns = c.Slack.MaxTurns
	}
	if c.Slack.MaxCostUSD > 0 {
		t.MaxCost = c.Slack.MaxCostUSD
	}
	return t
}

// Path is where the configuration was (or would be) read.
func (c Config) Path() string { return c.path }

// SecretEnv names the environment variables that hold secrets by this
// configuration.
func (c Config) SecretEnv() []string {
	list := []string{"SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"}
	for _, p := range c.Providers {
		if p.APIKeyEnv != "" {
			list = append(list, p.APIKeyEnv)
		}
		for _, name := range p.HeadersEnv {
			list = append(list, name)
		}
	}
	for _, s := range c.Search {
		if s.APIKeyEnv != "" {
			list = append(list, s.APIKeyEnv)
		}
	}
	for _, m := range c.MCP {
		for _, name := range m.HeadersEnv {
			list = append(list, name)
		}
	}
	return list
}

// Secrets are the values that the file itself holds.
func (c Config) Secrets() []string {
	var list []string
	for _, p := range c.Providers {
		list = append(list, p.APIKey)
	}
	for _, s := range c.Search {
		list = append(list, s.APIKey)
	}
	return list
}
