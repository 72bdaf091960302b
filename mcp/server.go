package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/mecha-slack/mecha-slack/tools"
)

// State is how a server is doing.
type State string

const (
	Starting    State = "starting"    // not listed yet; it joins at the next run
	Ready       State = "ready"       // listed: its tools are offered
	Failed      State = "failed"      // it did not start; tried again after a pause
	Quarantined State = "quarantined" // it died again and again; not tried again before a restart
	Refused     State = "refused"     // its names collide with others
	Disabled    State = "disabled"    // by configuration
)

// pauses are waited after each death in a row. After the last the server is quarantined: whatever is wrong with it, a
// person has to look.
var pauses = []time.Duration{0, time.Second, 5 * time.Second, 30 * time.Second}

// livedWell is how long a process must live for its death not to count with earlier ones.
const livedWell = time.Minute

// server is one configured server: what it lists, and its processes by the workspace that they stand in.
type server struct {
	cfg     Config
	deps    Deps
	log     *slog.Logger
	life    context.Context // of all its processes
	running sync.WaitGroup
	relists *rate.Limiter

	mu        sync.Mutex
	state     State
	closed    bool
	joined    bool // it was part of a surface
	lastErr   error
	deaths    int
	notBefore time.Time
	started   time.Time
	procs     map[string]*process
	tools     []*tool
	held      []held
	warnings  []string
	abilities abilities
	known     *knownServer
}

// held is a tool that is listed and not offered.
type held struct {
	tool *tool  // nil if it cannot be read
	name string // as it would be offered
	why  string
	// changed: it waits for somebody to accept its new definition.
	changed bool
}

// abilities are what a server has besides tools.
type abilities struct {
	resources bool
	prompts   []string
}

func newServer(life context.Context, cfg Config, deps Deps) *server {
	s := &server{cfg: cfg, deps: deps, log: deps.Log.With("mcp_server", cfg.Name), life: life,
		relists: rate.NewLimiter(rate.Every(relistEvery), 3), state: Starting, procs: map[string]*process{}}
	if cfg.Disabled {
		s.state = Disabled
	}
	return s
}

// acquire gives a running process that stands in workspace, and starts one where there is none. The caller owes a
// release. The start is not the caller's: a call that is given up does not cost the next one the process.
func (s *server) acquire(ctx context.Context, thread, workspace string) (*process, error) {
	s.mu.Lock()
	p := s.procs[workspace]
	if p == nil || p.halted() { // one that is on its way out is no help any more
		if err := s.mayStart(); err != nil {
			s.mu.Unlock()
			return nil, err
		}
		p = newProcess(s, thread, workspace, s.deps.Now())
		s.procs[workspace] = p
		s.running.Go(func() { p.live(s.life) })
	}
	p.calls++
	s.mu.Unlock()
	select {
	case <-p.ready:
		if p.err != nil {
			s.release(p)
			return nil, p.err
		}
		return p, nil
	case <-ctx.Done():
		s.release(p)
		return nil, fmt.Errorf("gave up while it was starting: %w", context.Cause(ctx))
	}
}

func (s *server) release(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.calls--
	p.lastUsed = s.deps.Now()
}

// mayStart is called with mu held.
func (s *server) mayStart() error {
	switch {
	case s.closed:
		return errors.New("it has been closed")
	case s.state == Refused:
		return s.lastErr
	case s.state == Quarantined:
		return fmt.Errorf("it is quarantined after %d failures in a row (%w); mend it and restart", s.deaths, s.lastErr)
	case s.deps.Now().Before(s.notBefore):
		return fmt.Errorf("%w; it is tried again in %s", s.lastErr, s.notBefore.Sub(s.deps.Now()).Round(time.Second))
	}
	return nil
}

// leave takes a process off the list. An end that nobody asked for counts as a death.
func (s *server) leave(p *process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.procs[p.workspace] == p {
		delete(s.procs, p.workspace)
	}
	if !p.halted() && s.life.Err() == nil {
		s.count(p, err)
	}
}

// died ends a process that is of no use any more, and counts it as a death.
func (s *server) died(p *process, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !p.halted() {
		s.count(p, err)
		p.halt()
	}
}

// count is called with mu held.
func (s *server) count(p *process, err error) {
	if s.closed {
		return
	}
	now := s.deps.Now()
	if now.Sub(p.started) >= livedWell {
		s.deaths = 0
	}
	s.deaths++
	s.lastErr = err
	if s.cfg.URL != "" {
		s.deaths = min(s.deaths, len(pauses)) // what is far away mends itself, without a restart of ours
	}
	if s.deaths > len(pauses) {
		s.state = Quarantined
		s.log.Error("MCP server is quarantined; mend it and restart", "failures", s.deaths, "error", err)
		return
	}
	s.notBefore = now.Add(pauses[s.deaths-1])
	if s.state == Starting {
		s.state = Failed
	}
	s.log.Warn("MCP server failed", "error", err, "failures", s.deaths, "pause", pauses[s.deaths-1])
}

// discover starts the server for the sake of its list. A server of scope thread is ended again at once: its processes
// start when a thread first needs one.
func (s *server) discover() {
	p, err := s.acquire(s.life, "", "")
	if err != nil {
		return // leave has said so
	}
	s.release(p)
	if !s.cfg.Shared() {
		p.halt()
		<-p.gone
	}
}

// rediscover tries a server again that failed, without waiting for it.
func (s *server) rediscover() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Failed || s.procs[""] != nil || s.mayStart() != nil {
		return
	}
	s.running.Go(s.discover)
}

// adopt takes a list over as what the server offers from now on.
func (s *server) adopt(ctx context.Context, sess *session, raws []json.RawMessage) error {
	var offered []*tool
	var withheld []held
	seen, listed := map[string]bool{}, map[string]bool{}
	s.mu.Lock()
	s.known = knownAs(s.cfg, sess.serverName())
	s.mu.Unlock()
	for _, raw := range raws[:min(len(raws), maxListed)] {
		d, err := define(s.cfg, raw)
		listed[d.name] = true
		if err == nil && seen[d.offered] {
			err = errors.New("it is listed twice")
		}
		seen[d.offered] = true
		if err != nil {
			withheld = append(withheld, held{name: d.offered, why: err.Error()})
			continue
		}
		t := s.newTool(d)
		if h := s.pinned(ctx, t); h != nil {
			withheld = append(withheld, *h)
			continue
		}
		offered = append(offered, t)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	slices.SortFunc(offered, func(a, b *tool) int { return strings.Compare(a.def.offered, b.def.offered) })
	has := abilities{resources: sess.capabilities().Resources != nil}
	if sess.capabilities().Prompts != nil {
		has.prompts = sess.prompts(ctx)
	}
	for name := range s.cfg.Tools {
		if !listed[name] {
			s.warn(fmt.Sprintf("[mcp.tools.%s] matches nothing: it has no tool of that name", name))
		}
	}
	for _, h := range withheld {
		s.warn(fmt.Sprintf("its tool %s is withheld: %s", oneLine(h.name, 64), h.why))
	}
	for _, t := range offered {
		if looks := looksLikeSending(t.def.name, t.def.schema); t.label.unlabelled && looks != "" && t.label.caps.Egress == tools.None {
			s.warn(fmt.Sprintf("its tool %s declares nothing about the outside world, but %s; if it sends, write "+
				"external_send = true under [mcp.tools.%s]", t.def.offered, looks, oneLine(t.def.name, 64)))
		}
	}
	for _, t := range offered {
		if names := refusedArguments(t.def.schema); len(names) > 0 {
			s.warn(fmt.Sprintf("its tool %s has arguments whose names some providers refuse, Anthropic's among them (%s): with such "+
				"a provider, every turn that offers it fails; leave it out there by [tools] or --tool", t.def.offered, strings.Join(names, ", ")))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.held, s.abilities = offered, withheld, has
	if s.state == Starting || s.state == Failed {
		s.state = Ready
		s.started = s.deps.Now()
	}
	return nil
}

func (s *server) newTool(d definition) *tool {
	s.mu.Lock()
	known := s.known.tool(d.name)
	s.mu.Unlock()
	return &tool{srv: s, def: d, label: labelOf(d.annotations, known, s.cfg.Capabilities, s.cfg.Tools[d.name], s.deps.Unannotated)}
}

// pinned asks for a tool's pin and says why it is held, if it is.
func (s *server) pinned(ctx context.Context, t *tool) *held {
	if s.deps.Pins == nil {
		return nil
	}
	state, err := s.deps.Pins.Check(ctx, s.cfg.Name, t.def.offered, t.def.hash, t.def.raw)
	switch {
	case err != nil:
		return &held{tool: t, name: t.def.offered, why: "its pin could not be looked up: " + err.Error(), changed: true}
	case state == PinNew, state == PinSame, state == PinAccepted:
		return nil
	}
	return &held{tool: t, name: t.def.offered, changed: true,
		why: "its name, description, schema or hints changed; look at the difference and run `mecha-slack mcp accept " + t.def.offered + "`"}
}

// recheck looks whether held tools have been accepted meanwhile.
func (s *server) recheck(ctx context.Context) {
	s.mu.Lock()
	list := slices.Clone(s.held)
	s.mu.Unlock()
	for _, h := range list {
		if !h.changed || s.pinned(ctx, h.tool) != nil {
			continue
		}
		s.mu.Lock()
		before := len(s.held)
		s.held = slices.DeleteFunc(s.held, func(o held) bool { return o.tool == h.tool })
		if len(s.held) < before { // unless the list was replaced while we asked
			s.tools = append(slices.Clone(s.tools), h.tool)
			slices.SortFunc(s.tools, func(a, b *tool) int { return strings.Compare(a.def.offered, b.def.offered) })
		}
		s.mu.Unlock()
	}
}

// withhold takes a tool off the surface because a process of its server lists it differently, and puts the new
// definition before whoever accepts it.
func (s *server) withhold(ctx context.Context, t *tool, d definition) {
	other := s.newTool(d)
	h := s.pinned(ctx, other)
	if h == nil {
		return // accepted meanwhile: the next list has it
	}
	s.mu.Lock()
	s.tools = slices.DeleteFunc(slices.Clone(s.tools), func(o *tool) bool { return o == t })
	if !slices.ContainsFunc(s.held, func(o held) bool { return o.name == h.name }) {
		s.held = append(s.held, *h)
	}
	s.mu.Unlock()
	s.warn(fmt.Sprintf("its tool %s is withheld: %s", h.name, h.why))
}

// warn says something once, in the log and in the status.
func (s *server) warn(text string) {
	s.mu.Lock()
	known := slices.Contains(s.warnings, text)
	if !known && len(s.warnings) < 100 {
		s.warnings = append(s.warnings, text)
	}
	s.mu.Unlock()
	if !known {
		s.log.Warn("MCP server: " + text)
	}
}

// noise hears of what is on standard output and is of no use. Each kind is named once.
func (s *server) noise(n noise) {
	s.warn(n.What)
	s.log.Debug("MCP server writes to stdout", "text", oneLine(string(n.Text), 200))
}

// pretty reports whether the server was seen to spread its JSON over lines.
func (s *server) pretty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.warnings, prettyJSON)
}

// idle halts the processes that nobody has used since before.
func (s *server) idle(before time.Time) {
	if s.cfg.Shared() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.procs {
		if p.calls == 0 && p.lastUsed.Before(before) {
			p.halt()
			delete(s.procs, p.workspace)
		}
	}
}

// sleep ends the process of a workspace and waits for it.
func (s *server) sleep(workspace string) {
	s.mu.Lock()
	p := s.procs[workspace]
	s.mu.Unlock()
	if p != nil && workspace != "" {
		p.halt()
		<-p.gone
	}
}

// close ends every process and waits for all.
func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for _, p := range s.procs {
		p.halt()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// after runs something that outlives a call, and that close waits for.
func (s *server) after(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Go(f)
	}
}
