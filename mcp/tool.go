package mcp

import (
	"context"
	"encoding/json"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mecha-slack/mecha-slack/tools"
)

// tool is one tool of a server. Nothing that runs it can tell it from a tool of our own.
type tool struct {
	srv   *server
	def   definition
	label label
}

var (
	_ tools.Tool      = (*tool)(nil)
	_ tools.Pinned    = (*tool)(nil)
	_ tools.Sourced   = (*tool)(nil)
	_ tools.Addressed = (*tool)(nil)
	_ tools.Homed     = (*homed)(nil)
)

func (t *tool) Name() string                     { return t.def.offered }
func (t *tool) Description() string              { return t.def.description }
func (t *tool) InputSchema() json.RawMessage     { return t.def.schema }
func (t *tool) ReadOnly() bool                   { return t.label.readOnly }
func (t *tool) Capabilities() tools.Capabilities { return t.label.caps }
func (t *tool) Pin() string                      { return t.def.hash }
func (t *tool) Source() string                   { return t.srv.cfg.Name }
func (t *tool) Hints() tools.Hints               { return t.label.hints }

// Call hands the call to the process of env's workspace, once.
func (t *tool) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	s := t.srv
	workspace := ""
	if !s.cfg.Shared() {
		if env.Workspace == nil {
			return failed(false, "%s runs in the workspace of a thread, and there is none", s.cfg.Name), nil
		}
		workspace = env.Workspace.Path()
	}
	if len(in) == 0 {
		in = json.RawMessage("{}")
	}
	out, again := t.attempt(ctx, in, env, workspace)
	if again {
		// The process ended before a byte of the call reached it, so this is still the first time that it is sent.
		out, _ = t.attempt(ctx, in, env, workspace)
	}
	return out, nil
}

// attempt hands the call over. again is true where that did not happen because the process had just ended.
func (t *tool) attempt(ctx context.Context, in json.RawMessage, env *tools.Env, workspace string) (out tools.Output, again bool) {
	s := t.srv
	p, err := s.acquire(ctx, env.Thread, workspace)
	if err != nil {
		return quoting(err, failed(false, "%s is not running: %v", s.cfg.Name, err)), false
	}
	defer s.release(p)
	d, ok := p.lists(t.def.name)
	if !ok {
		return failed(false, "%s does not list %s any more", s.cfg.Name, t.def.offered), false
	}
	if d.hash != t.def.hash {
		s.withhold(ctx, t, d)
		out := failed(false, "%s changed its tool %s since it was listed. Nothing was sent to it; the owner decides with "+
			"`mecha-slack mcp accept %s`", s.cfg.Name, t.def.offered, t.def.offered)
		out.Refusal = true
		return out, false
	}
	asker := env.Thread
	if env.Unattended {
		asker = "" // nobody is there whom the server could ask
	}
	done := p.working(asker)
	a := p.sess.call(ctx, t.def.name, in, env.IdempotencyKey, env.Progress)
	done()
	switch {
	case a.Err == nil, ctx.Err() != nil, errors.Is(a.Err, errTooLong):
	case errors.Is(a.Err, errNoAnswer):
		s.after(func() { p.wake(s.life) })
	case connectionOver(p, a.Err):
		a.Err = p.cause(ctx, a.Err)
		again = !a.Handed && p.child != nil // what a server far away turned away is not posted again either
	}
	return readAnswer(s.cfg.Name, a, newKeeper(env, t.def.offered)), again
}

// connectionOver reports whether a call failed with its connection. Over HTTP a call may fail alone.
func connectionOver(p *process, err error) bool {
	return p.child != nil || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing)
}

// homed is a tool of a shared server: it runs in a directory of its own, where relative paths of a thread mean nothing.
type homed struct {
	*tool
	home string
}

func (h *homed) Home() string { return h.home }

func (h *homed) Description() string {
	return h.def.description + "\n\n(This tool does not run in your workspace: give it absolute paths.)"
}

// surface is the tool in the shape in which it is offered.
func (t *tool) surface() tools.Tool {
	if t.srv.cfg.Shared() && t.srv.cfg.URL == "" {
		return &homed{tool: t, home: t.srv.home()}
	}
	return t
}
