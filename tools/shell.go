package tools

import (
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

// Children is told of every process group before its call waits for it, so
// that the record can name what a killed process left behind. ended is called
// when the group is gone. An error means that the group could not be recorded:
// it is ended at once.
type Children func(ctx context.Context, env *Env, id child.Ident) (ended func(), err error)

// shell runs a command with bash. The sandbox sits on the tool and not in the
// Env because it decides the capabilities; the workspace comes with each call.
type shell struct {
	backend  sandbox.Backend
	timeout  time.Duration
	most     int // bytes kept of each stream; shellKeeps where 0
	children Children
}

const (
	// ShellTimeout is the time of one command where nothing is configured.
	ShellTimeout = 120 * time.Second
	shellKeeps   = 8 << 20 // of each stream; what a turn cannot show is spilled whole
)

//go:embed text/shell.md
var shellText string

func (*shell) Name() string { return "shell" }
func (s *shell) Description() string {
	d := describe(shellText)
	if s.backend.NetworkOff() {
		d += " There is no network."
	}
	return d
}
func (*shell) ReadOnly() bool { return false }

// Capabilities: only a proven lack of network lowers the egress. A command's
// output is not marked as a stranger's, since nothing can see inside of it; it
// stays private, confined or not, because it reads what fs_read reads.
func (s *shell) Capabilities() Capabilities {
	c := Capabilities{PrivateData: true, Destructive: true, Egress: Chosen}
	if s.backend.NetworkOff() {
		c.Egress = None
	}
	return c
}

// Hints: a command is no destination, but it may name some. The directory is
// the jail's to judge.
func (*shell) Hints() Hints { return Hints{Mentions: []string{"command"}} }

// Opaque: what a command prints may stand in any file that it read.
func (*shell) Opaque() bool { return true }

// Contained: without a network, a confined command has no way to one.
func (s *shell) Contained() bool { return s.backend.NetworkOff() }

func (*shell) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"command":{"type":"string","minLength":1,"description":"The command, for bash -c"},` +
		`"cwd":{"type":"string","description":"Directory to run it in, relative to the workspace; the workspace if absent"}` +
		`},"required":["command"],"additionalProperties":false}`)
}

type shellArgs struct{ Command, Cwd string }

// Scope is this exact command in this directory: a grant for "ls" is none for
// "ls; curl …".
func (*shell) Scope(in json.RawMessage) string {
	var args shellArgs
	if decodeArgs(in, &args) != nil {
		return string(in)
	}
	if args.Cwd != "" && args.Cwd != "." {
		return args.Command + "\n(in " + args.Cwd + ")"
	}
	return args.Command
}

func (s *shell) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args shellArgs
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	if strings.IndexByte(args.Command, 0) >= 0 {
		return Fail("a command cannot hold a NUL byte"), nil
	}
	spec, err := s.spec(args, env)
	if err != nil {
		return Fail(fmt.Sprintf("nothing was executed: %v", err)), nil
	}
	limit := s.timeout
	if limit <= 0 {
		limit = ShellTimeout
	}
	out := s.run(ctx, spec, limit, env)
	out.What = line(args.Command, 120)
	return out, nil
}

// spec confines the command. Whatever keeps the sandbox from coming up is an
// error; there is no way around it to an unconfined run.
func (s *shell) spec(args shellArgs, env *Env) (child.Spec, error) {
	rel, err := env.Workspace.Rel(args.Cwd)
	if err != nil {
		return child.Spec{}, err
	}
	fi, err := env.Workspace.Stat(rel)
	if err != nil {
		return child.Spec{}, err
	}
	if !fi.IsDir() {
		return child.Spec{}, fmt.Errorf("cwd %s is a file, not a directory", line(args.Cwd, 200))
	}
	cmd := sandbox.Cmd{
		Argv: []string{"bash", "-c", args.Command}, Dir: env.Workspace.Path(), Cwd: filepath.Join(env.Workspace.Path(), rel),
		Network: !s.backend.NetworkOff(),
	}
	if env.Spill != nil {
		cmd.ReadOnly = []string{env.Spill.Path()}
	}
	return s.backend.Command(cmd)
}

func (s *shell) run(ctx context.Context, spec child.Spec, limit time.Duration, env *Env) Output {
	timeout := fmt.Errorf("no end within %v", limit)
	runCtx, cancel := context.WithTimeoutCause(ctx, limit, timeout)
	defer cancel()
	keep := s.most
	if keep <= 0 {
		keep = shellKeeps
	}
	stdout, stderr := &kept{most: keep}, &kept{most: keep}
	spec.Stdin, spec.Stdout, spec.Stderr = nil, stdout, stderr // no stdin is /dev/null: nothing waits for an answer
	p, err := child.Start(runCtx, spec)
	if err != nil {
		return Fail(fmt.Sprintf("nothing was executed: %v", err))
	}
	if s.children != nil {
		ended, err := s.children(ctx, env, p.Ident())
		if err != nil {
			cancel()
			_, _ = p.Wait()
			out := Fail(fmt.Sprintf("the command was ended because its process could not be recorded: %v", err))
			out.Unknown = true
			return out
		}
		defer ended()
	}
	exit, err := p.Wait()
	text := streams(stdout, stderr)
	switch {
	case runCtx.Err() != nil && (exit.Signal != 0 || exit.Code != 0):
		out := Fail(text)
		out.Unknown = true
		if context.Cause(runCtx) == timeout {
			out.Content = fmt.Sprintf("timed out: %v, so the command and everything it started was ended. Output until then:\n%s", timeout, text)
		} else {
			out.Content = fmt.Sprintf("interrupted: the command and everything it started was ended. Output until then:\n%s", text)
		}
		return out
	case err != nil:
		out := Fail(fmt.Sprintf("running the command: %v\n%s", err, text))
		out.Unknown = true
		return out
	case s.didNotStart(exit, stdout, stderr):
		return Fail("nothing was executed: the sandbox did not start: " + line(stderr.String(), 300))
	case exit.Signal != 0:
		return Fail(fmt.Sprintf("ended by signal %d (%s)\n%s", int(exit.Signal), exit.Signal, text))
	case exit.Code != 0:
		return Fail(fmt.Sprintf("exit status %d\n%s", exit.Code, text))
	}
	if exit.LeftRunning {
		text += "\n(a process that left the group still held the output)"
	}
	return OK(text)
}

// didNotStart recognises bwrap's own failure. The command itself could print
// the same; then the answer is wrong about nothing but the word.
func (s *shell) didNotStart(exit child.Exit, stdout, stderr *kept) bool {
	return s.backend.Name() == sandbox.Bwrap && exit.Code == 1 && stdout.total == 0 && bytes.HasPrefix(stderr.head, []byte("bwrap: "))
}

// streams shows standard output, then standard error.
func streams(stdout, stderr *kept) string {
	out, err := stdout.String(), stderr.String()
	switch {
	case out == "" && err == "":
		return "(no output)"
	case err == "":
		return out
	case out == "":
		return "[stderr]\n" + err
	}
	return strings.TrimSuffix(out, "\n") + "\n[stderr]\n" + err
}

// kept keeps the first bytes of a stream and drains the rest, so that a child
// is never blocked by what is not kept.
type kept struct {
	most int

	mu    sync.Mutex
	head  []byte
	total int64
}

func (k *kept) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total += int64(len(b))
	if room := k.most - len(k.head); room > 0 {
		k.head = append(k.head, b[:min(len(b), room)]...)
	}
	return len(b), nil
}

// String is what was kept, as text where it is text: what is not goes on as it
// is, for Cut to name.
func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	b := k.head
	if k.total > int64(len(b)) {
		b = wholeRunes(b)
	}
	s := string(b)
	if !legible(s) && bytes.IndexByte(b, 0) < 0 {
		s = toText(b)
	}
	if k.total > int64(len(k.head)) {
		s += fmt.Sprintf("\n[only the first %d of %d bytes of this stream were kept]", len(b), k.total)
	}
	return s
}
