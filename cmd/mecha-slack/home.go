package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/config"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/internal/redact"
)

// home is the directory of everything that is kept, and what was read there.
type home struct {
	dir    string
	config config.Config
	log    *slog.Logger
	mask   *redact.Redactor
}

func (h *home) path(elem ...string) string {
	return filepath.Join(append([]string{h.dir}, elem...)...)
}

// skills is where the skills are, and which of them are wanted.
func (h *home) skills() agent.SkillsConfig {
	c := h.config.Skills
	if c.Dir == "" {
		c.Dir = h.path("skills")
	}
	return c
}

// work is the directory that holds every thread's workspace.
func (h *home) work(elem ...string) string {
	root := h.config.Tools.Workspace
	if root == "" {
		root = h.path("work")
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

func (h *home) recordPath() string {
	if p := h.config.Record.Path; p != "" {
		return p
	}
	return h.path("mecha.db")
}

// homeDir resolves --home, $MECHA_HOME, ~/.mecha-slack, without making it.
func (c *cli) homeDir() (string, error) {
	dir := c.homeFlag
	if dir == "" {
		dir = c.env("MECHA_HOME")
	}
	if dir == "" {
		user := c.env("HOME")
		if user == "" {
			return "", errors.New("cannot tell where the home is: neither --home, MECHA_HOME nor HOME is set")
		}
		dir = filepath.Join(user, ".mecha-slack")
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("cannot resolve the home %s: %w", dir, err)
	}
	return abs, nil
}

// openHome reads the home's configuration and makes the logger. make creates
// the directory where it is missing: only commands that will write to it do.
func (c *cli) openHome(mk bool) (*home, error) {
	dir, err := c.homeDir()
	if err != nil {
		return nil, err
	}
	if mk {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the home %s: %w; choose another with --home", dir, err)
		}
		if err := closeHome(dir); err != nil {
			return nil, err
		}
	}
	if st, err := os.Stat(dir); err == nil && !st.IsDir() {
		return nil, fmt.Errorf("the home %s is not a directory; choose another with --home", dir)
	}
	h := &home{dir: dir, mask: redact.New()}
	if h.config, err = config.Load(h.path("config.toml")); err != nil {
		return nil, err
	}
	for _, name := range h.config.SecretEnv() {
		c.addSecret(h, c.env(name))
	}
	for _, s := range h.config.Secrets() {
		c.addSecret(h, s)
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, usagef("--log-level is debug, info, warn or error, not %q", c.logLevel)
	}
	var handler slog.Handler
	switch c.logFormat {
	case "text":
		handler = slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: level})
	case "json":
		handler = slog.NewJSONHandler(c.Stderr, &slog.HandlerOptions{Level: level})
	default:
		return nil, usagef("--log-format is text or json, not %q", c.logFormat)
	}
	h.log = slog.New(h.mask.Handler(handler))
	return h, nil
}

// closeHome makes a home that others may read one for its owner alone. A
// directory that holds anything but what a home does (--home . in a project) is
// left as it is; doctor tells of it.
func closeHome(dir string) error {
	st, err := os.Stat(dir)
	if err != nil || !st.IsDir() || st.Mode().Perm()&0o077 == 0 {
		return nil // what else is wrong is said by who opens it
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot look into the home: %w", err)
	}
	ours := []string{"config.toml", "credentials.toml", "lock", "maildir", "outgoing", "servers", "skills", "spill", "tmp", "work", "workspace", "logs", "outbox"}
	for _, e := range entries {
		if !slices.Contains(ours, e.Name()) && !strings.HasPrefix(e.Name(), "mecha.db") {
			return nil
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("the home can be read by others, and closing it failed: %w", err)
	}
	return nil
}

func (c *cli) addSecret(h *home, s string) {
	if s != "" {
		h.mask.Add(s)
		c.secrets = append(c.secrets, s)
	}
}

// redact hides loaded secrets in a line for stderr.
func (c *cli) redact(s string) string {
	r := redact.New(c.secrets...)
	return r.String(s)
}

// openRecord opens the record for a command. hold takes the home's lock and
// may migrate; without it the record must be there and current.
func (h *home) openRecord(ctx context.Context, hold bool) (*record.DB, *record.Hold, error) {
	if hold {
		lock, err := record.TryHold(h.dir)
		if err != nil {
			var held *record.HeldError
			if errors.As(err, &held) {
				return nil, nil, refused(err)
			}
			return nil, nil, err
		}
		db, err := record.Open(ctx, h.recordPath(), record.Options{Migrate: true})
		if err != nil {
			lock.Release()
			return nil, nil, err
		}
		return db, lock, nil
	}
	db, err := record.Open(ctx, h.recordPath(), record.Options{})
	switch {
	case errors.Is(err, record.ErrMissing):
		return nil, nil, fmt.Errorf("there is no record at %s yet: start `mecha-slack local` or `mecha-slack connect` once", h.recordPath())
	case errors.Is(err, record.ErrOlder):
		return nil, nil, refused(err)
	case err != nil:
		return nil, nil, err
	}
	return db, nil, nil
}

// short shows a path under the user's home with ~.
func (c *cli) short(path string) string {
	if user := c.env("HOME"); user != "" && strings.HasPrefix(path, user+"/") {
		return "~" + strings.TrimPrefix(path, user)
	}
	return path
}
