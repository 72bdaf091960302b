package mcp

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// ServerStatus is how one server is doing, for people: `mcp list`, doctor, the Home tab.
type ServerStatus struct {
	Name        string       `json:"name"`
	State       State        `json:"state"`
	Scope       string       `json:"scope"`
	Transport   string       `json:"transport"` // stdio or http
	Sandboxed   bool         `json:"sandboxed"`
	LastError   string       `json:"last_error,omitempty"` // may hold the server's words
	Started     time.Time    `json:"started,omitzero"`     // when it was listed first
	Processes   []Process    `json:"processes,omitempty"`
	MemoryKB    int64        `json:"memory_kb"` // of all its processes, with what they started
	Tools       []ToolStatus `json:"tools"`
	Quarantined []Withheld   `json:"quarantined,omitempty"`
	Unlabelled  []string     `json:"unlabelled,omitempty"` // nobody says whether they reach the open world
	Prompts     []string     `json:"prompts,omitempty"`
	Resources   bool         `json:"resources"`
	Warnings    []string     `json:"warnings,omitempty"` // whole sentences, with the server's name
}

// Process is one running process of a server.
type Process struct {
	PID       int       `json:"pid"`
	Thread    string    `json:"thread,omitempty"`
	Workspace string    `json:"workspace,omitempty"`
	Started   time.Time `json:"started"`
	MemoryKB  int64     `json:"memory_kb"`
}

// ToolStatus is one offered tool.
type ToolStatus struct {
	Name         string             `json:"name"`
	ReadOnly     bool               `json:"read_only"`
	Capabilities tools.Capabilities `json:"capabilities"`
	Unlabelled   bool               `json:"unlabelled"`
	Unchecked    bool               `json:"unchecked,omitempty"` // its schema does not compile
}

// Withheld is a tool that is listed and not offered.
type Withheld struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// Accept tells that `mcp accept NAME` would offer it.
	Accept bool `json:"accept"`
}

// Status tells about every configured server, in the order of the configuration.
func (s *Servers) Status() []ServerStatus {
	memory := footprints()
	out := make([]ServerStatus, 0, len(s.list))
	for _, srv := range s.list {
		out = append(out, srv.status(memory))
	}
	return out
}

// Standing is Status without what processes take of memory: cheap, and the same as long as nothing happens.
func (s *Servers) Standing() []ServerStatus {
	out := make([]ServerStatus, 0, len(s.list))
	for _, srv := range s.list {
		out = append(out, srv.status(nil))
	}
	return out
}

// Measure fills in the memory of processes that some other process of this machine told of.
func Measure(list []ServerStatus) {
	memory := footprints()
	for i := range list {
		list[i].MemoryKB = 0
		for j := range list[i].Processes {
			p := &list[i].Processes[j]
			p.MemoryKB = memory.of(p.PID)
			list[i].MemoryKB += p.MemoryKB
		}
	}
}

func (s *server) status(memory footprint) ServerStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := ServerStatus{
		Name: s.cfg.Name, State: s.state, Scope: ScopeThread, Transport: "stdio", Sandboxed: s.cfg.Sandbox,
		Started: s.started, Resources: s.abilities.resources, Prompts: slices.Clone(s.abilities.prompts),
		Tools: []ToolStatus{},
	}
	if s.lastErr != nil {
		st.LastError = s.lastErr.Error()
	}
	for _, w := range s.warnings {
		st.Warnings = append(st.Warnings, "MCP server `"+s.cfg.Name+"`: "+w)
	}
	if s.cfg.Shared() {
		st.Scope = ScopeShared
	}
	if s.cfg.URL != "" {
		st.Transport = "http"
	}
	for _, p := range s.procs {
		select {
		case <-p.ready:
		default:
			continue
		}
		if p.child == nil {
			continue
		}
		m := memory.of(p.child.PID())
		st.MemoryKB += m
		st.Processes = append(st.Processes, Process{PID: p.child.PID(), Thread: p.thread, Workspace: p.workspace, Started: p.started, MemoryKB: m})
	}
	slices.SortFunc(st.Processes, func(a, b Process) int { return a.PID - b.PID })
	for _, t := range s.tools {
		st.Tools = append(st.Tools, ToolStatus{Name: t.def.offered, ReadOnly: t.label.readOnly, Capabilities: t.label.caps,
			Unlabelled: t.label.unlabelled, Unchecked: t.def.unchecked})
		if t.label.unlabelled {
			st.Unlabelled = append(st.Unlabelled, t.def.offered)
		}
	}
	for _, h := range s.held {
		st.Quarantined = append(st.Quarantined, Withheld{Name: h.name, Why: h.why, Accept: h.changed})
	}
	return st
}

// Absent says why a route or a rule that names a tool finds none: its server is not running, which mends itself, or
// there is no such thing, which a person has to mend. It is empty where a tool of that name is offered.
func (s *Servers) Absent(name string) string {
	off := ""
	for _, srv := range s.list {
		st := srv.status(nil)
		for _, t := range st.Tools {
			if t.Name == name && st.State == Ready {
				return ""
			}
		}
		for _, q := range st.Quarantined {
			if q.Name == name {
				return fmt.Sprintf("%s is withheld: %s", name, q.Why)
			}
		}
		switch {
		case st.State == Ready:
		case srv.cfg.Prefixed() && strings.HasPrefix(name, srv.cfg.Name+"__"):
			return fmt.Sprintf("MCP server `%s` is not running (%s)", st.Name, st.State)
		case !srv.cfg.Prefixed() && st.State != Disabled:
			off = fmt.Sprintf("%s matches nothing that runs; MCP server `%s`, whose tools have no prefix, is not running (%s)", name, st.Name, st.State)
		}
	}
	if off != "" {
		return off
	}
	return name + " matches nothing"
}

// footprint is what every process of this machine takes, and where it comes from.
type footprint map[int]struct {
	parent, group int
	kb            int64
}

// of adds up a process, its group, and whatever descends from it: a sandbox starts its child in a group of its own.
func (f footprint) of(pid int) (kb int64) {
	for id, p := range f {
		mine := id == pid || p.group == pid
		for up, steps := p.parent, 0; !mine && up > 1 && steps < 64; steps++ {
			mine = up == pid
			up = f[up].parent
		}
		if mine {
			kb += p.kb
		}
	}
	return kb
}

// footprints is empty where there is no /proc.
func footprints() footprint {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	pageKB := int64(os.Getpagesize() / 1024)
	out := footprint{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		b, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// Counted from the last bracket: the name before it may hold anything.
		f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		const ppid, pgrp, rss = 1, 2, 21
		if len(f) <= rss {
			continue
		}
		p := out[pid]
		var err1, err2, err3 error
		p.parent, err1 = strconv.Atoi(f[ppid])
		p.group, err2 = strconv.Atoi(f[pgrp])
		p.kb, err3 = strconv.ParseInt(f[rss], 10, 64)
		if p.kb *= pageKB; err1 == nil && err2 == nil && err3 == nil {
			out[pid] = p
		}
	}
	return out
}
