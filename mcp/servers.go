package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Servers are all configured servers. Its methods are safe for concurrent use.
type Servers struct {
	deps    Deps
	list    []*server
	end     context.CancelFunc
	janitor sync.WaitGroup
}

// Start starts every server once, all together, and waits for them until the deadline; a late one joins at the next
// run. A server that is broken is reported and absent. An error is for what a person has to mend in the configuration:
// a bad table, `sandbox = true` without a sandbox, our own token handed to a server, or a name without prefix that is
// taken. Whoever gets Servers owes them a Close.
func Start(ctx context.Context, configs []Config, deps Deps) (*Servers, error) {
	if err := validate(configs); err != nil {
		return nil, err
	}
	deps = deps.withDefaults()
	if deps.Unannotated != UnannotatedClosed && deps.Unannotated != UnannotatedOpen {
		return nil, fmt.Errorf("[tools] unannotated_mcp is closed or open, not %q", deps.Unannotated)
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	s := &Servers{deps: deps, end: end}
	var errs []error
	for _, cfg := range configs {
		srv := newServer(life, cfg, deps)
		s.list = append(s.list, srv)
		if !cfg.Disabled {
			errs = append(errs, srv.check())
		}
	}
	if err := errors.Join(errs...); err != nil {
		end()
		return nil, err
	}
	var listed sync.WaitGroup
	for _, srv := range s.list {
		if srv.cfg.Disabled {
			continue
		}
		listed.Add(1)
		srv.running.Go(func() {
			defer listed.Done()
			srv.discover()
		})
	}
	s.janitor.Go(func() { s.putToBed(life) })
	all := make(chan struct{})
	go func() { // ends with the last server's first start, which Close waits for too
		listed.Wait()
		close(all)
	}()
	deadline := time.NewTimer(deps.StartTimeout)
	defer deadline.Stop()
	select {
	case <-all:
	case <-deadline.C:
		for _, srv := range s.list {
			srv.mu.Lock()
			late := srv.state == Starting
			srv.mu.Unlock()
			if late {
				srv.log.Warn("MCP server is late; it joins at the next run", "waited", deps.StartTimeout)
			}
		}
	case <-ctx.Done():
		s.Close()
		return nil, fmt.Errorf("starting MCP servers: %w", context.Cause(ctx))
	}
	if _, err := s.surface(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Tools is the surface of the next run: what servers list now, without what is withheld. Asking also tries failed
// servers again, in the background, and looks whether withheld tools were accepted.
func (s *Servers) Tools(ctx context.Context) []tools.Tool {
	for _, srv := range s.list {
		srv.recheck(ctx)
		srv.rediscover()
	}
	list, _ := s.surface()
	return list
}

// surface puts the tools together. Whoever was there before keeps its names: a late server that collides is refused.
// Among those that come together, servers with a prefix are first: their names are theirs by construction, so that a
// collision costs the one without.
func (s *Servers) surface() ([]tools.Tool, error) {
	taken := map[string]string{resourceTool: "the tool that reads resources"}
	for _, name := range s.deps.Reserved {
		taken[name] = "a built-in tool"
	}
	var list []tools.Tool
	var errs []error
	order := slices.Clone(s.list)
	slices.SortStableFunc(order, func(a, b *server) int { return a.rank() - b.rank() })
	for _, srv := range order {
		srv.mu.Lock()
		state, ts := srv.state, srv.tools
		srv.mu.Unlock()
		if state != Ready {
			continue
		}
		if err := collision(srv, ts, taken); err != nil {
			errs = append(errs, err)
			srv.refuse(err)
			continue
		}
		srv.mu.Lock()
		srv.joined = true
		srv.mu.Unlock()
		for _, t := range ts {
			taken[t.def.offered] = "MCP server `" + srv.cfg.Name + "`"
			list = append(list, t.surface())
		}
	}
	if r := newReader(s.list); r != nil {
		list = append(list, r)
	}
	return list, errors.Join(errs...)
}

// rank says who comes first to a name.
func (s *server) rank() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.joined:
		return 0
	case s.cfg.Prefixed():
		return 1
	}
	return 2
}

func collision(srv *server, ts []*tool, taken map[string]string) error {
	for _, t := range ts {
		if by, ok := taken[t.def.offered]; ok {
			return fmt.Errorf("MCP server `%s`: its tool %q has the name of %s. Set prefix_tools = true for it, or disable one of the two",
				srv.cfg.Name, t.def.offered, by)
		}
	}
	return nil
}

// refuse takes a server off the surface for good: its names are taken.
func (s *server) refuse(err error) {
	s.mu.Lock()
	s.state, s.lastErr = Refused, err
	for _, p := range s.procs {
		p.halt()
	}
	s.mu.Unlock()
	s.log.Error("MCP server is refused", "error", err)
}

// putToBed ends the processes of threads that have been quiet.
func (s *Servers) putToBed(ctx context.Context) {
	tick := time.NewTicker(max(s.deps.Idle/4, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			for _, srv := range s.list {
				srv.idle(s.deps.Now().Add(-s.deps.Idle))
			}
		}
	}
}

// Sleep ends the processes that stand in a workspace and waits until they are gone. The next call there starts new ones.
func (s *Servers) Sleep(workspace string) {
	var wg sync.WaitGroup
	for _, srv := range s.list {
		wg.Go(func() { srv.sleep(workspace) })
	}
	wg.Wait()
}

// Close ends every process and waits until all are gone. It may be called twice.
func (s *Servers) Close() {
	var wg sync.WaitGroup
	for _, srv := range s.list {
		wg.Go(srv.close)
	}
	wg.Wait()
	s.end()
	s.janitor.Wait()
}
