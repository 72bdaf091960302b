package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/agent/provider"
)

// probeTimeout bounds how long a start waits for an endpoint to say what the
// configuration leaves open.
const probeTimeout = 2 * time.Second

// provider connects a [providers.NAME] with its fallbacks. model replaces its
// own where it is given. A fallback that cannot be made stops nothing either: it
// is left out, and the line says so.
func (c *cli) provider(ctx context.Context, h *home, name, model string) (chosen, error) {
	p, ok := h.config.Providers[name]
	if !ok {
		return chosen{}, fmt.Errorf("there is no [providers.%s] in %s", name, c.short(h.config.Path()))
	}
	if model != "" {
		p.Model = model
	}
	first, err := c.connectModel(ctx, name, p)
	if err != nil {
		return chosen{}, err
	}
	first.other = func(ctx context.Context, model string) (chosen, error) { return c.provider(ctx, h, name, model) }
	if len(p.Fallbacks) == 0 {
		return first, nil
	}
	var others []provider.Model
	for _, name := range p.Fallbacks {
		more, err := c.connectModel(ctx, name, h.config.Providers[name])
		if err != nil {
			first.line += "; the fallback " + name + " is left out: " + oneLine(err.Error())
			continue
		}
		others = append(others, more.model.(provider.Model))
		first.line += "; where it cannot be reached: " + more.line
		first.local = first.local && more.local
	}
	first.model = provider.WithFallbacks(first.model.(provider.Model), others...)
	return first, nil
}

// connectModel makes the adapter and asks the endpoint what the configuration
// leaves open. An endpoint that is down, or a key that is missing, is told at
// start and not at the first message, but stops nothing: it may come back, and
// many a server on this machine takes any key.
func (c *cli) connectModel(ctx context.Context, name string, p provider.Config) (chosen, error) {
	u, err := url.Parse(p.BaseURL)
	if err != nil {
		return chosen{}, fmt.Errorf("[providers.%s] base_url does not parse: %w", name, err)
	}
	key, headers, missing := p.Secrets(c.env)
	if name == modelURL {
		missing = nil // the usual variable, not one that somebody named
	}
	if p.Model == "" {
		list, err := listModels(ctx, p.BaseURL, key)
		if err != nil {
			return chosen{}, fmt.Errorf("cannot ask %s which models it serves: %w; is it running? (--model names one)", p.BaseURL, err)
		}
		p.Model = list[0]
	}
	m, err := provider.New(name, p, provider.Deps{Key: key, Headers: headers, Now: time.Now})
	if err != nil {
		return chosen{}, err
	}
	where, local := u.Host, loopback(u.Hostname())
	if p.BaseURL == "" {
		where = "the provider"
	}
	line := fmt.Sprintf("%s at %s", p.Model, where)
	if !local {
		line += " (what you type and what tools return goes there)"
	}
	if missing != nil {
		line += "; " + missing.Error()
	}
	probe, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if err := m.Probe(probe); err != nil {
		line += "; it does not answer now: " + oneLine(err.Error())
	} else if m.Window() == 0 {
		line += "; it does not say how long a conversation may be: set context_window"
	}
	other := func(ctx context.Context, model string) (chosen, error) {
		q := p
		q.Model, q.ContextWindow = model, 0 // the window was the other model's
		return c.connectModel(ctx, name, q)
	}
	return chosen{model: m, line: line, local: local, close: func() {}, other: other}, nil
}

// models are those of a start: the one that was chosen, and others for who is
// configured to have one of their own. Each is connected once.
type models struct {
	start chosen
	named func(ctx context.Context, provider, model string) (chosen, error)

	mu   sync.Mutex
	made map[[2]string]agent.Model
}

// helper answers the model of a provider; empty names mean the start's. What is
// connected here for the first time waits for its endpoint, briefly.
func (m *models) helper(provider, model string) (agent.Model, error) {
	if m == nil || m.start.model == nil {
		return nil, errors.New("no model is configured: write a [providers.NAME] table, or start with --model-url or --model auto")
	}
	if provider == "" && model == "" {
		return m.start.model, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at := [2]string{provider, model}
	if known := m.made[at]; known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*probeTimeout)
	defer cancel()
	var got chosen
	var err error
	if provider == "" {
		got, err = m.start.other(ctx, model)
	} else {
		got, err = m.named(ctx, provider, model)
	}
	if err != nil {
		return nil, fmt.Errorf("the model %s cannot be had: %w", strings.Trim(provider+"/"+model, "/"), err)
	}
	if m.made == nil {
		m.made = map[[2]string]agent.Model{}
	}
	m.made[at] = got.model
	return got.model, nil
}
