package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/agent/provider"
)

// modelTimeout bounds how long an endpoint is waited for by those who only ask.
const modelTimeout = 5 * time.Second

// endpointView is a provider, and what it serves.
type endpointView struct {
	Provider string            `json:"provider"`
	BaseURL  string            `json:"base_url"`
	Model    string            `json:"model"`
	Default  bool              `json:"default"`
	Found    bool              `json:"found,omitempty"` // on this machine, not configured
	Serves   []provider.Listed `json:"serves"`
	Error    string            `json:"error,omitempty"`
}

func (c *cli) modelsCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "Which models the configured providers, and this machine, serve",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := c.openHome(false)
			if err != nil {
				return err
			}
			var only string
			if len(args) > 0 {
				only = args[0]
				if _, ok := h.config.Providers[only]; !ok {
					return fmt.Errorf("there is no [providers.%s] in %s", only, c.short(h.config.Path()))
				}
			}
			list := c.endpoints(cmd.Context(), h, only)
			if asJSON {
				return c.printJSON(map[string]any{"providers": list})
			}
			return c.printModels(list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// endpoints asks every provider what it serves, all together, and looks which
// model servers this machine has.
func (c *cli) endpoints(ctx context.Context, h *home, only string) []endpointView {
	var names []string
	for name := range h.config.Providers {
		if only == "" || only == name {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	list := make([]endpointView, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { list[i] = c.askProvider(ctx, h, name) })
	}
	wg.Wait()
	if only != "" {
		return list
	}
	for _, f := range c.findModels(ctx) {
		v := endpointView{Provider: f.what, BaseURL: f.url, Model: f.name, Found: true, Serves: []provider.Listed{}}
		if u, err := url.Parse(f.url); err == nil && loopback(u.Hostname()) {
			names, err := listModels(ctx, f.url, "")
			for _, n := range names {
				v.Serves = append(v.Serves, provider.Listed{ID: n})
			}
			if err != nil {
				v.Error = err.Error()
			}
		}
		list = append(list, v)
	}
	return list
}

func (c *cli) askProvider(ctx context.Context, h *home, name string) endpointView {
	p := h.config.Providers[name]
	v := endpointView{Provider: name, BaseURL: p.BaseURL, Model: p.Model, Serves: []provider.Listed{}, Default: name == h.config.DefaultProvider || len(h.config.Providers) == 1}
	key, headers, err := p.Secrets(c.env)
	if err != nil {
		v.Error = err.Error()
		return v
	}
	m, err := provider.New(name, p, provider.Deps{Key: key, Headers: headers, Now: time.Now})
	if err != nil {
		v.Error = err.Error()
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	serves, err := m.ListModels(ctx)
	if err != nil {
		v.Error = err.Error()
		return v
	}
	v.Serves = append(v.Serves, serves...)
	return v
}

func (c *cli) printModels(list []endpointView) error {
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "No provider is configured, and no model server answers on this machine.\n`mecha-slack local` works without one; for a real model write a [providers.NAME] table, or use --model-url.")
		return nil
	}
	for _, v := range list {
		head := v.Provider
		if v.Default {
			head += " (default)"
		}
		if v.Found {
			head += " (found; not used unless you say --model auto)"
		}
		fmt.Fprintf(c.Stdout, "%s   %s   %s\n", head, firstOf(v.Model, "-"), v.BaseURL)
		if v.Error != "" {
			fmt.Fprintf(c.Stdout, "  ✕ %s\n", c.redact(plain(v.Error, 400)))
		}
		for _, m := range v.Serves {
			mark := " "
			if m.ID == v.Model {
				mark = "✓"
			}
			window := ""
			if m.Window > 0 {
				window = "   " + strconv.Itoa(m.Window) + " tokens"
			}
			fmt.Fprintf(c.Stdout, "  %s %s%s\n", mark, plain(m.ID, 120), window)
		}
	}
	return nil
}

// serves tells whether an endpoint lists a model; Ollama leaves :latest out.
func (v endpointView) serves(model string) bool {
	return slices.ContainsFunc(v.Serves, func(l provider.Listed) bool {
		return l.ID == model || strings.TrimSuffix(l.ID, ":latest") == model
	})
}
