package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/mecha-slack/mecha-slack/tools"
)

// rehearsed decides what a rehearsal may call. Only what reads, and reaches
// nobody, is called; everything else that could leave a trace is stood in for.
type rehearsed struct {
	demo   string // the demo server: releases go there
	routed func(tools.Tool) bool

	mu     sync.Mutex
	stands map[string]bool // tools that are stood in for
	lose   bool            // the demo server's next answer to a send is lost
}

// replace answers the tool, or what stands in for it.
func (r *rehearsed) replace(t tools.Tool) tools.Tool {
	server := ""
	if s, ok := t.(tools.Sourced); ok {
		server = s.Source()
	}
	c := t.Capabilities()
	switch {
	case server == r.demo && server != "":
		if t.ReadOnly() {
			return t
		}
		return demoSend{foreign{t}, r}
	case server == "" && c.Egress == tools.None: // ours, in a directory that is thrown away
		return t
	case t.ReadOnly() && c.Egress == tools.None && !c.Destructive && !r.routed(t):
		return t
	}
	r.mu.Lock()
	r.stands[t.Name()] = true
	r.mu.Unlock()
	return recorder{foreign{t}}
}

// replaced are the tools that were stood in for.
func (r *rehearsed) replaced() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := make([]string, 0, len(r.stands))
	for name := range r.stands {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// loseNext has the demo server's next answer to a send go lost, after the send.
func (r *rehearsed) loseNext(lose bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose = lose
}

func (r *rehearsed) loses() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.lose
	r.lose = false
	return was
}

// foreign is a tool with all that the gate and the outbox ask of it.
type foreign struct{ tools.Tool }

func (f foreign) Source() string {
	if s, ok := f.Tool.(tools.Sourced); ok {
		return s.Source()
	}
	return ""
}

func (f foreign) Pin() string {
	if p, ok := f.Tool.(tools.Pinned); ok {
		return p.Pin()
	}
	return ""
}

func (f foreign) Hints() tools.Hints {
	if a, ok := f.Tool.(tools.Addressed); ok {
		return a.Hints()
	}
	return tools.Hints{}
}

func (f foreign) Home() string {
	if h, ok := f.Tool.(tools.Homed); ok {
		return h.Home()
	}
	return ""
}

// recorder stands in for a tool: it has its name, schema and dangers, and calls
// nothing.
type recorder struct{ foreign }

func (recorder) Call(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
	return tools.OK("This is a rehearsal: the call was recorded, and not made."), nil
}

// demoSend is a sending tool of the demo server, whose answer can go lost.
type demoSend struct {
	foreign
	r *rehearsed
}

func (d demoSend) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	out, err := d.Tool.Call(ctx, in, env)
	if err == nil && d.r.loses() {
		return tools.Output{}, errors.New("the rehearsal lost the answer on purpose")
	}
	return out, err
}
