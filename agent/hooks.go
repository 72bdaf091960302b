package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// HookConfig is one [[hook]]: a command of the owner's that is asked before a
// call, told after it, or told at the end of a run.
type HookConfig struct {
	Event       string   `toml:"event"` // pre_tool, post_tool, session_end
	Command     string   `toml:"command"`
	Tools       []string `toml:"tools"` // empty: all
	TimeoutSecs int      `toml:"timeout_secs"`
}

// Events of hooks.
const (
	HookPreTool    = "pre_tool"
	HookPostTool   = "post_tool"
	HookSessionEnd = "session_end"

	hookTimeout = 10 * time.Second
	hookSees    = 4000 // characters of a result
)

// Hooks runs configured commands with `sh -c` in the run's workspace, one JSON
// object on their standard input. A pre_tool hook fails closed: only exit 0
// allows. They see the environment of every child of ours, which holds none of
// our keys.
type Hooks struct {
	list []HookConfig
	dir  string
	log  *slog.Logger
}

// NewHooks checks the configuration. The list may be empty.
func NewHooks(list []HookConfig, log *slog.Logger) (*Hooks, error) {
	var errs []error
	for i, h := range list {
		switch h.Event {
		case HookPreTool, HookPostTool, HookSessionEnd:
		default:
			errs = append(errs, fmt.Errorf("[[hook]] %d: event is %s, %s or %s, not %q", i+1, HookPreTool, HookPostTool, HookSessionEnd, h.Event))
		}
		if strings.TrimSpace(h.Command) == "" {
			errs = append(errs, fmt.Errorf("[[hook]] %d: command is empty", i+1))
		}
		if h.TimeoutSecs < 0 {
			errs = append(errs, fmt.Errorf("[[hook]] %d: timeout_secs is negative", i+1))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Hooks{list: slices.Clone(list), log: log}, nil
}

// In is the same hooks, run in a directory: the loop says which.
func (h *Hooks) In(dir string) ToolHook {
	c := *h
	c.dir = dir
	return &c
}

// hookInput is what a hook reads.
type hookInput struct {
	Event   string          `json:"event"`
	Tool    string          `json:"tool,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	IsError *bool           `json:"is_error,omitempty"`
	Output  string          `json:"output,omitempty"`
	Thread  string          `json:"thread,omitempty"`
	Run     string          `json:"run,omitempty"`
	Cause   Cause           `json:"cause,omitempty"`
}

// Pre asks every pre_tool hook for this tool; the first denial wins.
func (h *Hooks) Pre(ctx context.Context, tool string, args json.RawMessage) (deny string) {
	for _, c := range h.list {
		if c.Event != HookPreTool || !c.wants(tool) {
			continue
		}
		res, err := h.run(ctx, c, hookInput{Event: HookPreTool, Tool: tool, Input: args})
		said := oneLine(string(res.Stdout)+" "+string(res.Stderr), 1000)
		switch {
		case err != nil:
			return fmt.Sprintf("it could not be asked, and that counts as no (%s)", oneLine(err.Error(), 300))
		case res.ExitCode == 0:
		case res.ExitCode == 2:
			return or(said, "no reason was given")
		default:
			return fmt.Sprintf("it failed with exit status %d, and that counts as no: %s", res.ExitCode, or(said, "it said nothing"))
		}
	}
	return ""
}

// Post tells what became of a call. It changes nothing.
func (h *Hooks) Post(ctx context.Context, tool string, args json.RawMessage, r Result) {
	failed := r.Outcome != CallOK
	h.tell(ctx, hookInput{Event: HookPostTool, Tool: tool, Input: args, IsError: &failed, Output: clip(r.Content, hookSees)})
}

// End tells that a run is over.
func (h *Hooks) End(ctx context.Context, thread, run string, o Outcome) {
	h.tell(ctx, hookInput{Event: HookSessionEnd, Thread: thread, Run: run, Cause: o.Cause})
}

func (h *Hooks) tell(ctx context.Context, in hookInput) {
	for _, c := range h.list {
		if c.Event != in.Event || !c.wants(in.Tool) {
			continue
		}
		res, err := h.run(ctx, c, in)
		if err != nil || res.ExitCode != 0 {
			h.log.Warn("a hook failed", "event", in.Event, "tool", in.Tool, "exit", res.ExitCode, "error", err)
		}
	}
}

func (c HookConfig) wants(tool string) bool {
	return tool == "" || len(c.Tools) == 0 || slices.Contains(c.Tools, tool)
}

// run starts one hook. The time covers everything, its reading of our input
// included: a hook that never reads must not hang the run.
func (h *Hooks) run(ctx context.Context, c HookConfig, in hookInput) (child.Result, error) {
	var stdin bytes.Buffer
	enc := json.NewEncoder(&stdin)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		return child.Result{}, fmt.Errorf("writing the hook's input: %w", err)
	}
	limit := hookTimeout
	if c.TimeoutSecs > 0 {
		limit = time.Duration(c.TimeoutSecs) * time.Second
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	return child.Run(ctx, child.Spec{
		Path: "sh", Args: []string{"-c", c.Command}, Dir: h.dir, Stdin: &stdin, MaxOutput: 64 << 10, Grace: time.Second,
		Env: child.Env(nil, nil, map[string]string{"MECHA_WORKSPACE": h.dir}),
	})
}
