package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/agent/provider"
	"github.com/mecha-slack/mecha-slack/internal/offline"
)

// modelFlags choose who answers: on local and connect.
type modelFlags struct {
	url     string
	name    string // or auto
	offline bool
}

// chosen is the model of a start, with what its line says.
type chosen struct {
	model agent.Model
	line  string // "offline rules (no key, no network)"
	local bool   // words stay on this machine
	close func()
	// other is another model of the same endpoint.
	other func(ctx context.Context, name string) (chosen, error)
}

// found is a model server on this machine, or a key in the environment: offered
// on the model line, used only where somebody says so.
type found struct {
	what string // Ollama on :11434
	url  string
	name string
	key  string
}

// modelURL is the name of the provider that --model-url makes.
const modelURL = "model-url"

// localServers are the ports that model servers of one machine usually have.
var localServers = []struct{ name, addr string }{
	{"Ollama", "127.0.0.1:11434"}, {"llama-server", "127.0.0.1:8080"}, {"LM Studio", "127.0.0.1:1234"}, {"vLLM", "127.0.0.1:8000"},
}

// chooseModel picks the model: flags first, then the configured provider, then
// (for local) the rule-based one, which never leaves this machine.
func (c *cli) chooseModel(ctx context.Context, h *home, f modelFlags, standIn bool) (chosen, error) {
	if f.offline && (f.url != "" || f.name == "auto") {
		u, err := url.Parse(f.url)
		if f.name == "auto" || err != nil || !loopback(u.Hostname()) {
			return chosen{}, usagef("--offline insists that nothing leaves this machine: it goes with no --model auto, and with a loopback --model-url only")
		}
	}
	switch {
	case f.url != "":
		cfg := provider.Config{Kind: provider.KindOpenAI, BaseURL: strings.TrimSuffix(f.url, "/"), Model: f.name, APIKeyEnv: "OPENAI_API_KEY"}
		return c.connectModel(ctx, modelURL, cfg)
	case f.name == "auto":
		list := c.findModels(ctx)
		if len(list) == 0 {
			return chosen{}, errors.New("--model auto found nothing: OPENAI_API_KEY is not set, and no model server answers on 127.0.0.1:11434, 8080, 1234 or 8000; start one, or name it with --model-url")
		}
		return c.connectModel(ctx, "auto", provider.Config{Kind: provider.KindOpenAI, BaseURL: list[0].url, Model: list[0].name, APIKey: list[0].key})
	case f.name != "":
		if _, ok := h.config.Providers[f.name]; ok {
			return c.provider(ctx, h, f.name, "")
		}
		if f.name == offline.ModelName {
			break
		}
		return chosen{}, fmt.Errorf("there is no [providers.%s] in %s; write one, or give its address with --model-url", f.name, c.short(h.config.Path()))
	case h.config.DefaultProvider != "" && !f.offline:
		return c.provider(ctx, h, h.config.DefaultProvider, "")
	case len(h.config.Providers) == 1 && !f.offline:
		for name := range h.config.Providers {
			return c.provider(ctx, h, name, "")
		}
	case len(h.config.Providers) > 1 && !f.offline:
		return chosen{}, errors.New("several [providers.NAME] are configured: say which with default_provider, or --model NAME")
	}
	if !standIn {
		return chosen{}, errors.New("no model is configured: write a [providers.NAME] table in config.toml (see docs/configuration.md), or use --model auto or --model-url")
	}
	return c.offlineModel(ctx, h)
}

// offlineModel starts the rule-based stand-in: the same wire as a real one.
func (c *cli) offlineModel(ctx context.Context, h *home) (chosen, error) {
	srv, err := offline.Start(ctx, offline.Config{Log: h.log})
	if err != nil {
		return chosen{}, err
	}
	m, err := provider.New("offline", provider.Config{Kind: provider.KindOpenAI, BaseURL: srv.URL(), Model: offline.ModelName, Profile: provider.ProfileCompatible, ContextWindow: 65536}, provider.Deps{Now: time.Now})
	if err != nil {
		srv.Close()
		return chosen{}, err
	}
	only := func(_ context.Context, name string) (chosen, error) {
		return chosen{}, fmt.Errorf("the rule-based stand-in is the only model of this start, so there is no %s", name)
	}
	return chosen{model: m, line: "offline rules (no key, no network)", local: true, close: func() { srv.Close() }, other: only}, nil
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// findModels looks for a key in the environment, and for model servers on this
// machine, all together, within 200 ms.
func (c *cli) findModels(ctx context.Context) []found {
	if c.env("MECHA_NO_DISCOVERY") != "" {
		return nil
	}
	list := make([]found, len(localServers)+1)
	if key := c.env("OPENAI_API_KEY"); key != "" {
		list[0] = found{what: "OPENAI_API_KEY in the environment", url: "https://api.openai.com/v1", name: "gpt-4.1-mini", key: key}
		if base := c.env("OPENAI_BASE_URL"); base != "" {
			list[0].url, list[0].name = strings.TrimSuffix(base, "/"), ""
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	var wg sync.WaitGroup
	for i, s := range localServers {
		wg.Go(func() {
			base := "http://" + s.addr + "/v1"
			names, err := listModels(ctx, base, "")
			if err != nil {
				return
			}
			_, port, _ := net.SplitHostPort(s.addr)
			list[i+1] = found{what: s.name + " on :" + port, url: base, name: names[0]}
		})
	}
	wg.Wait()
	var out []found
	for _, f := range list {
		if f.what != "" {
			out = append(out, f)
		}
	}
	return out
}

// listModels asks an endpoint which models it serves.
func listModels(ctx context.Context, base, key string) ([]string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(base, "/")+"/models", nil)
	if err != nil {
		return nil, err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP %d", res.StatusCode)
	}
	var a struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&a); err != nil {
		return nil, fmt.Errorf("its list of models does not parse: %w", err)
	}
	var names []string
	for _, m := range a.Data {
		if m.ID != "" {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it serves no model")
	}
	return names, nil
}
