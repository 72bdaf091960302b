package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/threads"
)

// withDemo adds the demo mail server where `local` was used on this home, as
// `local` itself does: its drafts and its tools are what is asked about.
func (c *cli) withDemo(h *home) error {
	if _, err := os.Stat(h.path("maildir")); err != nil {
		return nil
	}
	if slices.ContainsFunc(h.config.MCP, func(m mcp.Config) bool { return m.Name == demoServer }) {
		return nil
	}
	_, err := c.addDemo(h)
	return err
}

// look opens the tools and the servers for looking only, beside whatever runs:
// no lock is taken, no process of another is ended, no tool is pinned, nothing is
// made in the home. stop ends what it opened.
func (a *app) look(ctx context.Context, c *cli) (err error) {
	if a.scratch, err = os.MkdirTemp("", "mecha-looks-"); err != nil {
		return fmt.Errorf("cannot make a directory to start the servers in: %w", err)
	}
	if err := a.openTools(ctx, c); err != nil {
		return err
	}
	a.extra = new(bot.Bot).Tools()
	cfg := a.home.config
	if a.flags.noMCP || len(cfg.MCP) == 0 {
		return nil
	}
	var pins mcp.Pins = unpinned{}
	if a.db != nil {
		pins = threads.Looking{Threads: a.threads}
	}
	reserved := []string{}
	for _, t := range a.own() {
		reserved = append(reserved, t.Name())
	}
	log := a.log
	if c.logLevel == "warn" { // unasked for: the command says itself which server is broken
		log = slog.New(slog.DiscardHandler)
	}
	a.servers, err = mcp.Start(ctx, cfg.MCP, mcp.Deps{
		Pins: pins, Sandbox: a.confined(), Network: cfg.Sandbox.Network, Log: log, Version: version(), Timezone: cfg.Agent.Timezone,
		Env: c.lookupEnv, Own: a.tokens, Reserved: reserved, Unannotated: cfg.Tools.UnannotatedMCP,
		Home: func(server string) string {
			if dir := a.home.path("servers", server); isDir(dir) {
				return dir // with the sign-in that it keeps there
			}
			return filepath.Join(a.scratch, server)
		},
		Scratch: a.scratch,
	})
	return err
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// unpinned is for a home without a record: nothing was listed before.
type unpinned struct{}

func (unpinned) Check(context.Context, string, string, string, json.RawMessage) (mcp.PinState, error) {
	return mcp.PinNew, nil
}

// lookAt assembles a home for looking: with its record where there is one.
func (c *cli) lookAt(ctx context.Context, flags runFlags) (*app, func(), error) {
	h, err := c.openHome(false)
	if err != nil {
		return nil, nil, err
	}
	if err := c.withDemo(h); err != nil {
		return nil, nil, err
	}
	db, err := record.Open(ctx, h.recordPath(), record.Options{})
	switch {
	case errors.Is(err, record.ErrMissing), errors.Is(err, record.ErrOlder):
		db = nil
	case err != nil:
		return nil, nil, err
	}
	a := c.rooms(h, db, flags)
	end := func() {
		a.stop()
		if db != nil {
			db.Close()
		}
	}
	if err := a.look(ctx, c); err != nil {
		end()
		return nil, nil, err
	}
	return a, end, nil
}
