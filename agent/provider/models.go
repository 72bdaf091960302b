package provider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
)

// listedModel is an entry of GET /models in the dialects that say how long a
// conversation may be.
type listedModel struct {
	ID            string `json:"id"`
	OwnedBy       string `json:"owned_by"`
	MaxModelLen   int    `json:"max_model_len"`  // vLLM
	ContextLength int    `json:"context_length"` // OpenRouter, Together
	ContextWindow int    `json:"context_window"` // Groq
	TopProvider   struct {
		ContextLength int `json:"context_length"`
	} `json:"top_provider"`
}

func (l listedModel) window() int {
	for _, n := range []int{l.MaxModelLen, l.TopProvider.ContextLength, l.ContextLength, l.ContextWindow} {
		if n > 0 {
			return n
		}
	}
	return 0
}

func (e *endpoint) getJSON(ctx context.Context, base, path string, payload []byte, into any) (server string, err error) {
	asked := *e
	asked.base = base
	method := "GET"
	if payload != nil {
		method = "POST"
	}
	b, err := asked.post(ctx, method, path, payload)
	if err != nil {
		return "", err
	}
	defer b.close()
	text, err := io.ReadAll(io.LimitReader(b, 16<<20))
	if err != nil {
		return "", e.cut(ctx, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return "", &agent.ModelError{Kind: agent.ErrInvalid, Model: e.model, What: fmt.Sprintf("%s%s answered no JSON: %s", base, path, e.quoteOnly(errorText(text))), Err: err}
	}
	return b.Header.Get("Server"), nil
}

// ListModels answers what the endpoint serves, sorted.
func (m *chat) ListModels(ctx context.Context) ([]Listed, error) {
	list, _, err := m.list(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Listed, 0, len(list))
	for _, l := range list {
		out = append(out, Listed{ID: l.ID, Window: l.window(), OwnedBy: l.OwnedBy})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

func (m *chat) list(ctx context.Context) ([]listedModel, string, error) {
	var answer struct {
		Data []listedModel `json:"data"`
	}
	server, err := m.getJSON(ctx, m.base, "/models", nil, &answer)
	return answer.Data, server, err
}

// Probe asks for profile and window. What the configuration says stands.
func (m *chat) Probe(ctx context.Context) error {
	list, server, err := m.list(ctx)
	if err != nil {
		return err
	}
	window := 0
	profile := *m.probed.Load()
	for _, l := range list {
		if profile == "" {
			switch {
			case l.OwnedBy == "llamacpp" || strings.HasPrefix(server, "llama.cpp"):
				profile = ProfileLlama
			case l.OwnedBy == "vllm":
				profile = ProfileVLLM
			case l.OwnedBy == "library":
				profile = ProfileOllama
			}
		}
		if l.ID == m.cfg.Model || len(list) == 1 { // the only one it has, whatever it is called
			window = l.window()
		}
	}
	if profile == "" {
		profile = ProfileCompatible
	}
	m.probed.Store(&profile)
	root := strings.TrimSuffix(m.base, "/v1")
	switch profile {
	case ProfileLlama: // n_ctx_train in the list is the model's, not the server's
		var props struct {
			Settings struct {
				NCtx int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		if _, err := m.getJSON(ctx, root, "/props", nil, &props); err == nil {
			window = props.Settings.NCtx
		}
	case ProfileOllama: // what a running model was loaded with, not what it could take
		var ps struct {
			Models []struct {
				Name          string `json:"name"`
				Model         string `json:"model"`
				ContextLength int    `json:"context_length"`
			} `json:"models"`
		}
		if _, err := m.getJSON(ctx, root, "/api/ps", nil, &ps); err == nil {
			for _, l := range ps.Models {
				if l.Name == m.cfg.Model || l.Model == m.cfg.Model {
					window = l.ContextLength
				}
			}
		}
	}
	if m.cfg.ContextWindow == 0 && window > 0 {
		m.window.Store(int64(window))
	}
	return nil
}
