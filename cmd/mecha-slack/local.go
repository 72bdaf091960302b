package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/demomail"
	"github.com/mecha-slack/mecha-slack/internal/localslack"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// demoServer is the name under which `local` wires the demo mail server.
const demoServer = "mail"

func addRunFlags(cmd *cobra.Command, f *runFlags) {
	cmd.Flags().StringArrayVar(&f.tools, "tool", nil, "offer only this tool (may be given several times)")
	cmd.Flags().BoolVar(&f.noMCP, "no-mcp", false, "start no MCP servers")
	cmd.Flags().BoolVar(&f.noSkills, "no-skills", false, "offer no skills")
	cmd.Flags().BoolVar(&f.noMsgs, "no-messages", false, "offer no messages between agents")
	cmd.Flags().BoolVar(&f.noCompact, "no-compact-tool", false, "do not offer the compact tool")
}

func addModelFlags(cmd *cobra.Command, f *modelFlags) {
	cmd.Flags().StringVar(&f.url, "model-url", "", "an OpenAI-compatible endpoint, up to and with /v1")
	cmd.Flags().StringVar(&f.name, "model", "", "a model's name at --model-url, a configured provider, or auto")
}

func (c *cli) localCmd() *cobra.Command {
	var (
		addr, ready string
		noDemo      bool
		model       modelFlags
		run         runFlags
	)
	cmd := &cobra.Command{
		Use:   "local",
		Short: "Everything on this machine: a Slack-like workspace in your browser, the bot, a model, a mail server",
		Long: `local needs no account, no key and no file: it starts a Slack-compatible workspace
in this process, connects the bot to it as it would connect to Slack, and prints the
address of a page. With the rule-based model, nothing leaves this machine.

Your threads, drafts and the workspace are kept in the home and go on next time.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.local(cmd.Context(), addr, ready, noDemo, model, run)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8484", "where the page and the workspace's API listen; loopback only")
	cmd.Flags().StringVar(&ready, "ready", "", "write this file (JSON, mode 0600) once a message would be answered")
	cmd.Flags().BoolVar(&noDemo, "no-demo", false, "do not add the demo mail server and its routes")
	cmd.Flags().BoolVar(&model.offline, "offline", false, "insist that no words leave this machine")
	addModelFlags(cmd, &model)
	addRunFlags(cmd, &run)
	return cmd
}

func (c *cli) local(ctx context.Context, addr, ready string, noDemo bool, mf modelFlags, rf runFlags) error {
	h, err := c.openHome(true)
	if err != nil {
		return err
	}
	offered := make(chan []found, 1)
	if mf.url == "" && mf.name == "" && !mf.offline {
		go func() { offered <- c.findModels(ctx) }()
	} else {
		offered <- nil
	}
	model, err := c.chooseModel(ctx, h, mf, true)
	if err != nil {
		return err
	}
	defer model.close()
	if mf.offline && !model.local {
		return usagef("--offline: the model answers elsewhere (%s)", model.line)
	}
	maildir := ""
	if !noDemo && !slices.ContainsFunc(h.config.MCP, func(m mcp.Config) bool { return m.Name == demoServer }) {
		if maildir, err = c.addDemo(h); err != nil {
			return err
		}
	}
	// The home comes before the port: a second start says who holds it.
	own, err := h.holdHome(ctx)
	if err != nil {
		return err
	}
	self, err := localslack.ParseManifest(manifest)
	if err != nil {
		return errors.Join(err, own.release())
	}
	ws, err := localslack.Start(ctx, localslack.Config{Addr: addr, Dir: h.path("workspace"), Log: h.log, Banner: banner(model), Manifests: []localslack.Manifest{self}})
	if err != nil {
		return errors.Join(err, own.release())
	}
	defer ws.Close()
	at := ws.Ready()
	var people []bot.Person
	for _, u := range at.Users {
		if u.Owner {
			people = append(people, bot.Person{Team: at.TeamID, User: u.ID, Role: bot.Owner, Name: u.Name, Zone: localZone(c), DM: at.DMs[u.Name]})
		}
	}
	if h.config.Slack.Approvers == nil {
		h.config.Slack.Approvers = map[string][]string{}
	}
	for _, u := range at.Users {
		if u.Name == "bob" {
			h.config.Slack.Approvers[u.ID] = []string{"*"}
		}
	}
	c.addSecret(h, at.BotToken)
	c.addSecret(h, at.AppToken)
	answering := make(chan struct{})
	s, err := c.serve(ctx, h, own, slackAt{apiURL: at.APIURL, botToken: at.BotToken, appToken: at.AppToken, trusted: []string{"#general"}, owners: people}, model, rf, func() { close(answering) })
	if err != nil {
		return err
	}
	select {
	case <-answering:
	case <-s.done:
		return errors.Join(errors.New("the bot did not connect to the local workspace"), s.stop())
	case <-ctx.Done():
		return s.stop()
	}
	if ready != "" {
		if err := writeReady(ready, readyFile{Ready: at, Maildir: maildir, Home: h.dir, PID: os.Getpid()}); err != nil {
			return errors.Join(err, s.stop())
		}
	}
	c.printLocal(ctx, h, s, at, model, maildir, <-offered)
	select {
	case <-ctx.Done():
	case <-s.done:
	}
	fmt.Fprintln(c.Stdout, "\nStopping…")
	err = s.stop()
	if ready != "" {
		os.Remove(ready)
	}
	return err
}

func banner(m chosen) string {
	if m.line == "offline rules (no key, no network)" {
		return "A rule-based stand-in answers here, not a language model. Start with --model auto, --model-url or a [providers] table to use a real one."
	}
	return ""
}

// printLocal says where the page is, who you are, which model answers and where
// words go.
func (c *cli) printLocal(ctx context.Context, h *home, s *serving, at localslack.Ready, model chosen, maildir string, offered []found) {
	w := c.Stdout
	you := "you"
	for _, u := range at.Users {
		if u.Owner {
			you = u.Name
		}
	}
	fmt.Fprintln(w, "mecha-slack local")
	fmt.Fprintf(w, "  page     %s/#key=%s        you are %s, the owner\n", at.URL, at.ControlToken, you)
	line := model.line
	if len(offered) > 0 {
		line += ".  Found " + offered[0].what + ": --model auto uses it, --model-url any other"
	}
	fmt.Fprintf(w, "  model    %s\n", line)
	a := s.app
	var names []string
	if reg, err := a.surface(threadsNone, nil); err == nil {
		names = reg.Names()
	}
	shell := "shell withheld: " + a.noShell
	switch {
	case !a.included("shell") || !h.config.Tools.Offers("shell"):
		shell = "shell left out"
	case a.sandbox != nil:
		shell = "shell: " + a.sandbox.Describe()
	}
	var where string
	switch {
	case maildir != "" && model.local && len(h.config.MCP) == 1 && len(h.config.Search) == 0:
		where = " · mail: demo Maildir, nothing leaves this machine"
		if slices.Contains(names, "http_fetch") {
			where += " but what http_fetch asks for"
		}
	case maildir != "":
		where = " · mail: demo Maildir"
	}
	fmt.Fprintf(w, "  tools    %d, %s%s\n", len(names), oneLine(shell), where)
	fmt.Fprintf(w, "  record   %s\n", c.short(h.recordPath()))
	for _, warn := range a.startWarnings(ctx) {
		fmt.Fprintf(w, "  ⚠        %s\n", oneLine(warn))
	}
	fmt.Fprintln(w, "Ctrl-C stops it; your threads stay.")
}

// addDemo seeds the Maildir and wires our own binary as its server, with its
// routes, into the configuration of this start.
func (c *cli) addDemo(h *home) (string, error) {
	maildir := h.path("maildir")
	if err := demomail.Seed(maildir); err != nil {
		return "", fmt.Errorf("cannot make the demo mailbox: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot find our own binary, which is the demo mail server too: %w", err)
	}
	h.config.MCP = append(h.config.MCP, mcp.Config{
		Name: demoServer, Command: self, Args: []string{"demo-mail", "--maildir", maildir},
		Tools: map[string]mcp.Widening{"mail_list": {UntrustedInput: true}, "mail_get_thread": {UntrustedInput: true}},
	})
	for _, name := range []string{"mail__mail_send", "mail__mail_reply"} {
		if !slices.Contains(h.config.Outbox.Tools, name) {
			h.config.Outbox.Tools = append(h.config.Outbox.Tools, name)
		}
		if _, ok := h.config.Outbox.Reconcile[name]; !ok {
			if h.config.Outbox.Reconcile == nil {
				h.config.Outbox.Reconcile = map[string]outbox.Reconcile{}
			}
			h.config.Outbox.Reconcile[name] = outbox.Reconcile{Tool: "mail__mail_list", Args: map[string]string{"query": "in:sent key:{{key}}"}}
		}
	}
	return maildir, nil
}

// localZone is the time zone of this machine's user, by its IANA name.
func localZone(c *cli) string {
	if tz := c.env("TZ"); tz != "" {
		if _, err := time.LoadLocation(tz); err == nil {
			return tz
		}
	}
	if target, err := filepath.EvalSymlinks("/etc/localtime"); err == nil {
		if _, name, ok := strings.Cut(target, "zoneinfo/"); ok {
			if _, err := time.LoadLocation(name); err == nil {
				return name
			}
		}
	}
	return "UTC"
}

// readyFile is what --ready writes (CONTRACT.md).
type readyFile struct {
	localslack.Ready
	Maildir string `json:"maildir"` // "": none
	Home    string `json:"home"`    // "": a workspace alone
	PID     int    `json:"pid"`
}

// writeReady writes the file whole or not at all: whoever waits for it may read
// it at once.
func writeReady(path string, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b.Bytes())
	if err := errors.Join(err, f.Chmod(0o600), f.Close()); err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	return nil
}
