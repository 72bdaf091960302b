package demomail

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/mail"
	"os"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Config says which mailbox is served, and to whom.
type Config struct {
	// Maildir is the mailbox's directory; it is created when missing.
	Maildir string
	// Owner is whose mailbox it is, and the sender of what goes out.
	// Empty means "Alice <alice@example.com>".
	Owner string
	// SMTP is the HOST:PORT that really delivers. Empty: mail is filed in
	// .Sent/new and goes nowhere.
	SMTP string
	// Workspace is the directory that attachment paths are relative to and
	// may not leave. Empty: $MECHA_WORKSPACE, or the working directory.
	Workspace string

	Now   func() time.Time // nil: time.Now
	NewID func() string    // ids of mails sent without an idempotency key; nil: random
	In    io.Reader        // nil: os.Stdin
	Out   io.Writer        // nil: os.Stdout
	Log   *slog.Logger     // nil: discarded
}

const defaultOwner = "Alice <alice@example.com>"

// Run serves MCP on In and Out until In ends or ctx does. The end of In is
// how a client says goodbye, so it is not an error.
func Run(ctx context.Context, cfg Config) error {
	s, err := newServer(cfg)
	if err != nil {
		return err
	}
	in, out := cfg.In, cfg.Out
	if in == nil {
		in = os.Stdin
	}
	if out == nil {
		out = os.Stdout
	}
	err = s.mcpServer().Run(ctx, &mcp.IOTransport{Reader: readCloser(in), Writer: keepOpen{out}})
	if err == nil || errors.Is(err, io.EOF) {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return fmt.Errorf("serve mail of %s over stdio: %w", cfg.Maildir, err)
}

// server is one mailbox with everything its tools need.
type server struct {
	box       *maildir
	owner     *mail.Address
	smtp      string
	workspace string
	now       func() time.Time
	newID     func() string
	log       *slog.Logger
}

func newServer(cfg Config) (*server, error) {
	if cfg.Maildir == "" {
		return nil, errors.New("serve mail: no Maildir named; give one with --maildir DIR")
	}
	if cfg.Owner == "" {
		cfg.Owner = defaultOwner
	}
	owner, err := parseAddress(cfg.Owner)
	if err != nil {
		return nil, fmt.Errorf("serve mail of %q: not a usable owner address: %w", cfg.Owner, err)
	}
	if cfg.Workspace == "" {
		cfg.Workspace = os.Getenv("MECHA_WORKSPACE")
	}
	if cfg.Workspace == "" {
		cfg.Workspace = "."
	}
	workspace, err := filepath.Abs(cfg.Workspace)
	if err != nil {
		return nil, fmt.Errorf("serve mail: find the workspace %q: %w", cfg.Workspace, err)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.NewID == nil {
		cfg.NewID = rand.Text
	}
	box, err := openMaildir(cfg.Maildir)
	if err != nil {
		return nil, err
	}
	return &server{
		box: box, owner: owner, smtp: cfg.SMTP, workspace: workspace,
		now: cfg.Now, newID: cfg.NewID, log: cfg.Log,
	}, nil
}

// readCloser keeps an input's own Close, which is what unblocks a read when
// the context ends; an input without one is simply read to its end.
func readCloser(r io.Reader) io.ReadCloser {
	if rc, ok := r.(io.ReadCloser); ok {
		return rc
	}
	return io.NopCloser(r)
}

// keepOpen leaves the output to whoever opened it.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
