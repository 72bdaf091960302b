package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/threads"
)

var threadsNone threads.Thread

func (c *cli) connectCmd() *cobra.Command {
	var (
		apiURL, ready string
		unit          bool
		model         modelFlags
		run           runFlags
	)
	cmd := &cobra.Command{
		Use:   "connect",
		Short: "The bot against your Slack",
		Long: `connect serves your Slack workspace over Socket Mode: no address of yours has to be
reachable from outside. Tokens come from SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or from
credentials.toml, which "mecha-slack auth" writes. "mecha-slack link" binds the owner.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if unit {
				return c.printUnit()
			}
			return c.connect(cmd.Context(), apiURL, ready, model, run)
		},
	}
	cmd.Flags().StringVar(&apiURL, "api-url", "", "another Slack-compatible API: https or loopback only (a mecha-slack workspace, for instance)")
	cmd.Flags().StringVar(&ready, "ready", "", "write this file once a message would be answered")
	cmd.Flags().BoolVar(&unit, "print-unit", false, "print a systemd user unit and exit")
	addModelFlags(cmd, &model)
	addRunFlags(cmd, &run)
	return cmd
}

func (c *cli) connect(ctx context.Context, apiURL, ready string, mf modelFlags, rf runFlags) error {
	h, err := c.openHome(true)
	if err != nil {
		return err
	}
	if apiURL != "" {
		if err := checkAPIURL(apiURL); err != nil {
			return err
		}
		if !strings.HasSuffix(apiURL, "/") {
			apiURL += "/"
		}
	}
	cred, err := c.credentials(h)
	if err != nil {
		return err
	}
	model, err := c.chooseModel(ctx, h, mf, apiURL != "")
	if err != nil {
		return err
	}
	defer model.close()
	own, err := h.holdHome(ctx)
	if err != nil {
		return err
	}
	answering := make(chan struct{})
	s, err := c.serve(ctx, h, own, slackAt{apiURL: apiURL, botToken: cred.BotToken, appToken: cred.AppToken}, model, rf, func() { close(answering) })
	if err != nil {
		return err
	}
	select {
	case <-answering:
	case <-s.done:
		return s.stop()
	case <-ctx.Done():
		return s.stop()
	}
	team, user := s.bot.Identity()
	if ready != "" {
		if err := writeReady(ready, map[string]any{"team_id": team, "bot_user_id": user, "home": h.dir, "pid": os.Getpid()}); err != nil {
			return errors.Join(err, s.stop())
		}
		defer os.Remove(ready)
	}
	fmt.Fprintln(c.Stdout, "mecha-slack connect")
	fmt.Fprintf(c.Stdout, "  slack    team %s, I am %s\n", team, user)
	fmt.Fprintf(c.Stdout, "  model    %s\n", model.line)
	fmt.Fprintf(c.Stdout, "  record   %s\n", c.short(h.recordPath()))
	owners, err := bot.People{DB: s.app.db}.Owners(ctx, team)
	if err == nil && len(owners) == 0 {
		fmt.Fprintln(c.Stdout, "  ⚠        nobody owns this bot yet: run `mecha-slack link` and send me the code")
	}
	for _, warn := range s.app.startWarnings(ctx) {
		fmt.Fprintf(c.Stdout, "  ⚠        %s\n", oneLine(warn))
	}
	fmt.Fprintln(c.Stdout, "Ctrl-C stops it; your threads stay.")
	select {
	case <-ctx.Done():
	case <-s.done:
	}
	return s.stop()
}

// checkAPIURL lets a token go to an encrypted address or to this machine only.
func checkAPIURL(s string) error {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return usagef("--api-url %q is no address", s)
	}
	if u.Scheme == "https" || u.Scheme == "http" && loopback(u.Hostname()) {
		return nil
	}
	return usagef("--api-url takes https, or http on this machine: your token would travel in the clear")
}

// credentials are the two tokens of a Slack app.
type credentials struct {
	BotToken string `toml:"bot_token"`
	AppToken string `toml:"app_token"`
}

// credentials come from the environment, or from credentials.toml in the home.
func (c *cli) credentials(h *home) (credentials, error) {
	cred := credentials{BotToken: c.env("SLACK_BOT_TOKEN"), AppToken: c.env("SLACK_APP_TOKEN")}
	if cred.BotToken == "" || cred.AppToken == "" {
		path := h.path("credentials.toml")
		if st, err := os.Stat(path); err == nil && st.Mode().Perm()&0o077 != 0 {
			return cred, fmt.Errorf("%s can be read by others (mode %o): run chmod 600 on it", c.short(path), st.Mode().Perm())
		}
		var stored credentials
		if _, err := toml.DecodeFile(path, &stored); err != nil && !errors.Is(err, os.ErrNotExist) {
			return cred, fmt.Errorf("cannot read %s: %w", c.short(path), err)
		}
		if cred.BotToken == "" {
			cred.BotToken = stored.BotToken
		}
		if cred.AppToken == "" {
			cred.AppToken = stored.AppToken
		}
	}
	if cred.BotToken == "" || cred.AppToken == "" {
		return cred, errors.New("there are no Slack tokens: set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or run `mecha-slack auth` (docs/slack.md goes from nothing to a linked bot)")
	}
	c.addSecret(h, cred.BotToken)
	c.addSecret(h, cred.AppToken)
	return cred, nil
}

// printUnit prints a systemd user unit with the PATH of now: a daemon's own is
// too short to find the servers.
func (c *cli) printUnit() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("cannot find our own binary: %w", err)
	}
	dir, err := c.homeDir()
	if err != nil {
		return err
	}
	var dirs []string
	for _, d := range filepath.SplitList(c.env("PATH")) {
		if filepath.IsAbs(d) {
			dirs = append(dirs, d)
		}
	}
	fmt.Fprintf(c.Stdout, `[Unit]
Description=mecha-slack
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=%s connect --home %s
Environment=PATH=%s
Restart=on-failure
RestartSec=10
# A run that is under way is journaled and goes on after the next start.
TimeoutStopSec=20
NoNewPrivileges=yes

[Install]
WantedBy=default.target
`, self, dir, strings.Join(dirs, ":"))
	return nil
}
