package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// runFlags narrow what a run gets: on local, connect and tools.
type runFlags struct {
	tools     []string
	noMCP     bool
	noSkills  bool
	noMsgs    bool
	noCompact bool
	replace   func(tools.Tool) tools.Tool // a rehearsal's stand-ins; nil: none
}

// app is the product, assembled: every room over one record. It is made by
// commands that run the bot and by those that release a draft without one.
type app struct {
	home    *home
	db      *record.DB
	threads *threads.Threads
	outbox  *outbox.Outbox
	servers *mcp.Servers // nil: none configured, or --no-mcp
	sandbox sandbox.Backend
	noShell string // why shell is withheld
	flags   runFlags
	log     *slog.Logger

	builtins []tools.Tool
	withheld []tools.Withheld
	extra    []tools.Tool // of bot
	skills   *agent.Skills
	tokens   []string // our own Slack tokens: no server is handed one
	scratch  string   // of one that only looks, gone with stop; "" otherwise

	models *models // nil: this start answers nobody
	// triggerNamed finds a trigger; nil: this start has none.
	triggerNamed func(ctx context.Context, name string) (triggers.Trigger, error)
	warnings     []string
}

// rooms makes the sessions and the outbox over an open record: enough to read,
// and to decide. What a release or a run needs beyond comes with surface.
func (c *cli) rooms(h *home, db *record.DB, flags runFlags) *app {
	a := &app{home: h, db: db, flags: flags, log: h.log}
	a.threads = threads.New(h.config.Threads(), threads.Deps{
		DB: db, Work: h.work(), Spill: h.path("spill"), Log: h.log,
		Security: h.config.Security,
		Surface:  a.surface,
		System:   a.system,
		Model:    func(threads.Thread) (agent.Model, error) { return a.models.helper("", "") },
		Sleep: func(workspace string) {
			if a.servers != nil {
				a.servers.Sleep(workspace)
			}
		},
	})
	a.outbox = outbox.New(db, h.config.Outbox, outbox.Deps{
		Surface: release{a}, Transcript: a.threads, Floor: a.threads, Secret: h.mask.Holds, Redact: h.mask.String, Paused: a.threads.Paused, Log: h.log,
	})
	a.outbox.Owners = func(ctx context.Context) (users []string, err error) {
		list, err := bot.People{DB: db}.Owners(ctx, "")
		for _, o := range list {
			users = append(users, o.User)
		}
		return users, err
	}
	a.threads.Outbox = a.outbox
	return a
}

// start opens what runs and releases need: the sandbox, the built-in tools and
// the MCP servers. Only the holder of the home's lock calls it.
func (a *app) start(ctx context.Context, c *cli) error {
	cfg := a.home.config
	if _, err := a.threads.Sweep(ctx); err != nil {
		return fmt.Errorf("cannot look for processes that an earlier run left behind: %w", err)
	}
	if err := a.openTools(ctx, c); err != nil {
		return err
	}
	if a.flags.noMCP || len(cfg.MCP) == 0 {
		return nil
	}
	if err := os.MkdirAll(a.home.path("tmp"), 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", a.home.path("tmp"), err)
	}
	reserved := []string{}
	for _, t := range a.own() {
		reserved = append(reserved, t.Name())
	}
	var err error
	a.servers, err = mcp.Start(ctx, cfg.MCP, mcp.Deps{
		Pins: a.threads, Sandbox: a.confined(), Network: cfg.Sandbox.Network, Log: a.log, Version: version(), Timezone: cfg.Agent.Timezone,
		Env: c.lookupEnv, Own: a.tokens, Reserved: reserved, Unannotated: cfg.Tools.UnannotatedMCP,
		Home:    func(server string) string { return a.home.path("servers", server) },
		Scratch: a.home.path("tmp"),
		Elicit:  a.threads.Elicit,
		Children: func(owner string, id child.Ident) func() {
			done, err := a.threads.Child(owner, id)
			if err != nil {
				a.log.Warn("cannot note a server's process", "owner", owner, "error", err)
				return func() {}
			}
			return done
		},
	})
	if err != nil {
		return err
	}
	return nil
}

// openTools proves the sandbox and makes the built-in tools.
func (a *app) openTools(ctx context.Context, c *cli) error {
	cfg := a.home.config
	var err error
	if a.sandbox, a.noShell, err = sandbox.Select(ctx, cfg.Sandbox, []string{a.home.dir}); err != nil {
		return err
	}
	a.builtins, a.withheld, err = tools.Builtins(tools.Deps{
		Config: cfg.Tools, Search: cfg.Search, Image: cfg.Image, Security: cfg.Security, Sandbox: a.sandbox, Withheld: a.noShell,
		Handles: a.threads, Todos: a.threads, Drafts: a.draftState, Getenv: c.env,
		MaxShow: int64(cfg.Slack.MaxUploadMB) << 20,
		Children: func(_ context.Context, env *tools.Env, id child.Ident) (func(), error) {
			return a.threads.Child("shell:"+env.Call, id)
		},
	})
	if err != nil {
		return err
	}
	return a.openPolicy()
}

// openPolicy reads what narrows or adds to a run by configuration: rules, hooks,
// skills.
func (a *app) openPolicy() error {
	cfg := a.home.config
	hooks, err := agent.NewHooks(cfg.Hook, a.log)
	if err != nil {
		return err
	}
	if len(cfg.Hook) > 0 {
		a.threads.Hooks = hooks
	}
	if a.threads.Rules, err = agent.NewRules(cfg.Rule, cfg.Approval.Strict()); err != nil {
		return err
	}
	if a.flags.noSkills {
		return nil
	}
	skills, withheld, err := agent.LoadSkills(a.home.skills(), a.threads)
	if err != nil {
		return err
	}
	a.skills = skills
	a.withheld = append(a.withheld, withheld...)
	return nil
}

// delegates are the configured subagents over a surface. One that cannot be
// offered is said out loud at start.
func (a *app) delegates(reg *tools.Registry) ([]tools.Tool, []tools.Withheld, error) {
	return agent.Subagents(a.home.config.Subagent, agent.SubagentDeps{
		Model: a.models.helper, Tools: reg, Routed: a.outbox.Routed, Durable: true,
	})
}

// confined is the sandbox for servers that ask for one: none is not a sandbox.
func (a *app) confined() sandbox.Backend {
	if a.sandbox != nil && a.sandbox.Name() == "none" {
		return nil
	}
	return a.sandbox
}

// own are the tools that no server brings.
func (a *app) own() []tools.Tool {
	list := slices.Clone(a.builtins)
	deps := agent.ToolDeps{Recall: a.threads, Compact: !a.flags.noCompact, AskUser: true, Goals: goals{a}}
	if a.home.config.Messages.Enabled && !a.flags.noMsgs {
		deps.Letters = letters{a}
	}
	for _, t := range agent.Tools(deps) {
		if a.home.config.Tools.Offers(t.Name()) {
			list = append(list, t)
		}
	}
	if a.skills != nil {
		if t := a.skills.Tool(); t != nil {
			list = append(list, t)
		}
	}
	return append(list, a.extra...)
}

// all is everything that a run could get, before flags narrow it.
func (a *app) all(ctx context.Context) []tools.Tool {
	list := a.own()
	if a.servers != nil {
		list = append(list, a.servers.Tools(ctx)...)
	}
	if a.flags.replace != nil {
		for i, t := range list {
			list[i] = a.flags.replace(t)
		}
	}
	return list
}

// surface is what a run of a thread gets; only narrows it further.
func (a *app) surface(th threads.Thread, only []string) (*tools.Registry, error) {
	all := a.all(context.Background())
	reg, err := tools.NewRegistry(all...)
	if err != nil {
		return nil, err
	}
	known := len(all)
	if len(a.home.config.Subagent) > 0 {
		more, _, err := a.delegates(reg)
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	if th.Kind == triggerKind && a.home.config.Tools.Offers(quietName) {
		all = append(all, quietTool{}) // however a run is narrowed; no subagent speaks for it
	}
	if len(all) > known {
		if reg, err = tools.NewRegistry(all...); err != nil {
			return nil, err
		}
	}
	return reg.Only(func(t tools.Tool) bool {
		return t.Name() == quietName || a.included(t.Name()) && (len(only) == 0 || slices.Contains(only, t.Name()))
	}), nil
}

// included tells whether --tool leaves a tool in.
func (a *app) included(name string) bool {
	return len(a.flags.tools) == 0 || slices.Contains(a.flags.tools, name)
}

// unknown are the names that --tool asks for and that nothing here has: a typing
// error must not pass for an empty surface.
func (a *app) unknown(list []tools.Tool) (names []string) {
	known := map[string]bool{}
	for _, t := range list {
		known[t.Name()] = true
	}
	for _, w := range a.withheld { // said with its reason
		known[w.Name] = true
	}
	for _, s := range a.home.config.Subagent {
		known[s.Name] = true
	}
	for _, name := range a.flags.tools {
		if !known[name] {
			names = append(names, name)
		}
	}
	return names
}

func (a *app) system(th threads.Thread) string {
	cfg := a.home.config
	o := agent.PromptOptions{Persona: cfg.Agent.SystemPrompt, Workspace: th.Workspace, Shell: a.sandbox != nil, Search: len(cfg.Search) > 0, Slack: true, Unattended: th.Kind == triggerKind, Planning: th.Planning}
	if cfg.Agent.SystemPromptFile != "" {
		if b, err := os.ReadFile(cfg.Agent.SystemPromptFile); err == nil {
			o.Persona = strings.TrimSpace(o.Persona + "\n" + string(b))
		} else {
			a.log.Warn("cannot read [agent] system_prompt_file", "error", err)
		}
	}
	rules, err := a.outbox.Rules(context.Background())
	if err != nil {
		a.log.Warn("cannot read the writing rules", "error", err)
	}
	if len(rules) > 0 {
		o.Persona = strings.TrimSpace(o.Persona + "\n\nHow the owner wants drafts written:\n- " + strings.Join(rules, "\n- "))
	}
	for _, t := range a.all(context.Background()) {
		if a.outbox.Routed(t) {
			o.Routed = append(o.Routed, t.Name())
		}
	}
	slices.Sort(o.Routed)
	if a.skills != nil {
		o.Skills = a.skills.Prompt()
	}
	return agent.SystemPrompt(o)
}

// warn collects what a start has to say out loud.
func (a *app) startWarnings(ctx context.Context) []string {
	warn := slices.Clone(a.warnings)
	all := a.all(ctx)
	reg, err := tools.NewRegistry(all...)
	if err != nil {
		return append(warn, err.Error())
	}
	for _, name := range a.unknown(all) {
		warn = append(warn, fmt.Sprintf("--tool %s: there is no such tool now; `mecha-slack tools` lists them", name))
	}
	if _, withheld, err := a.delegates(reg); err != nil {
		warn = append(warn, err.Error())
	} else {
		for _, w := range withheld {
			warn = append(warn, fmt.Sprintf("[[subagent]] %s is withheld: %s", w.Name, w.Why))
		}
	}
	for _, w := range a.outbox.Unmatched(reg, func(name string) bool { return !a.included(name) }) {
		if a.servers != nil {
			for _, name := range a.home.config.Outbox.Tools {
				if why := a.servers.Absent(name); why != "" && strings.Contains(w, "`"+name+"`") {
					w = fmt.Sprintf("[outbox] routes `%s`, which is not there now: %s", name, why)
				}
			}
		}
		warn = append(warn, w)
	}
	if a.servers != nil {
		for _, s := range a.servers.Status() {
			warn = append(warn, s.Warnings...)
		}
	}
	if a.sandbox != nil && a.sandbox.Name() == "none" {
		warn = append(warn, "[sandbox] kind = \"none\": shell runs unconfined, as you; it can reach the record and your files")
	}
	return warn
}

// stop ends what start opened.
func (a *app) stop() {
	if a.servers != nil {
		a.servers.Close()
	}
	if a.skills != nil {
		a.skills.Close()
	}
	for _, t := range a.builtins {
		if c, ok := t.(io.Closer); ok {
			c.Close()
		}
	}
	if a.scratch != "" {
		os.RemoveAll(a.scratch)
	}
}

// release is how the outbox reaches a draft's real tool.
type release struct{ a *app }

func (r release) Find(name string) tools.Tool {
	for _, t := range r.a.all(context.Background()) {
		if t.Name() == name {
			return t
		}
	}
	return nil
}

func (r release) Open(ctx context.Context, d outbox.Draft) (tools.Tool, *tools.Env, func(), error) {
	t := r.Find(d.Tool)
	if t == nil {
		why := "it is not a tool that this start has"
		if r.a.servers != nil {
			if s := r.a.servers.Absent(d.Tool); s != "" {
				why = s
			}
		}
		return nil, nil, nil, fmt.Errorf("`%s` cannot be called now: %s", d.Tool, why)
	}
	if err := os.MkdirAll(d.Workspace, 0o700); err != nil {
		return nil, nil, nil, fmt.Errorf("cannot open the draft's directory: %w", err)
	}
	j, err := jail.Open(d.Workspace)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("cannot open the draft's directory: %w", err)
	}
	env := &tools.Env{Workspace: j, Unattended: true, Progress: func(string) {}}
	return t, env, func() { j.Close() }, nil
}

func (c *cli) lookupEnv(name string) (string, bool) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(c.Env[i], name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// checkHome refuses a workspace arrangement in which a jail would hold the home.
func checkHome(h *home) error {
	work := h.work()
	for _, kept := range []string{h.dir, h.recordPath()} {
		if err := jail.CheckWorkspace(work, kept); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(work, 0o700); err != nil {
		return fmt.Errorf("cannot make %s: %w", work, err)
	}
	probe := filepath.Join(h.dir, ".writable")
	f, err := os.OpenFile(probe, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("cannot write to the home: %w; choose another with --home", err)
	}
	f.Close()
	os.Remove(probe)
	return nil
}
