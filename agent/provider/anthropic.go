package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"sort"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
)

const (
	anthropicBase    = "https://api.anthropic.com/v1"
	anthropicVersion = "2023-06-01"
	// The API wants a limit where ours is open.
	anthropicMaxTokens = 8192
)

// messages is a Model over Anthropic's Messages API.
type messages struct {
	endpoint
	cfg Config
}

func newMessages(name string, c Config, d Deps) *messages {
	base := c.BaseURL
	if base == "" {
		base = anthropicBase
	}
	m := &messages{endpoint: newEndpoint(name, base, c, d), cfg: c}
	if d.Key != "" {
		m.header.Set("X-Api-Key", d.Key)
	}
	m.header.Set("Anthropic-Version", anthropicVersion)
	return m
}

func (m *messages) Name() string { return m.model }
func (m *messages) Window() int  { return m.cfg.ContextWindow }

// Probe has nothing to ask: the API does not tell its windows.
func (m *messages) Probe(context.Context) error { return nil }

// ListModels answers what the account may use, sorted.
func (m *messages) ListModels(ctx context.Context) ([]Listed, error) {
	var answer struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if _, err := m.getJSON(ctx, m.base, "/models?limit=1000", nil, &answer); err != nil {
		return nil, err
	}
	out := make([]Listed, 0, len(answer.Data))
	for _, l := range answer.Data {
		out = append(out, Listed{ID: l.ID, OwnedBy: "anthropic"})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

// Stream asks for one turn.
func (m *messages) Stream(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	begun := false
	tell := func(d agent.Delta) {
		begun = true
		emit(d)
	}
	notice := func(s string) { emit(agent.Delta{Notice: s}) }
	return m.retry(ctx, func() bool { return begun }, notice, func() (agent.Turn, error) { return m.once(ctx, req, tell) })
}

func (m *messages) once(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	payload, err := m.payload(req)
	if err != nil {
		return agent.Turn{}, &agent.ModelError{Kind: agent.ErrInvalid, Model: m.model, What: "cannot write the question as JSON: " + err.Error(), Err: err}
	}
	b, err := m.post(ctx, "POST", "/messages", payload)
	if err != nil {
		return agent.Turn{}, err
	}
	defer b.close()
	a := &blocks{emit: emit}
	err = m.read(ctx, b, a)
	usage, written := a.usage.tokens()
	usage = priced(m.cfg, usage, 0.1, 0.25*float64(written)) // a cache write costs a quarter more, a read a tenth
	if err != nil {
		return agent.Turn{Usage: usage}, err
	}
	turn := a.turn()
	turn.Usage = usage
	return turn, nil
}

// typed is an object that has nothing but a type.
type typed struct {
	Type string `json:"type"`
}

var ephemeral = typed{Type: "ephemeral"}

type anthropicRequest struct {
	Model     string             `json:"model"`
	MaxTokens int                `json:"max_tokens"`
	Tools     []anthropicTool    `json:"tools,omitempty"`
	System    []block            `json:"system,omitempty"`
	Messages  []anthropicMessage `json:"messages"`
	Choice    *typed             `json:"tool_choice,omitempty"`
	Thinking  *thinkingParam     `json:"thinking,omitempty"`
	Stream    bool               `json:"stream"`
}

type thinkingParam struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type anthropicTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
}

type anthropicMessage struct {
	Role    string `json:"role"`
	Content []any  `json:"content"` // *block, or a thinking block's own bytes
}

type block struct {
	Type         string          `json:"type"`
	Text         string          `json:"text,omitempty"`
	ID           string          `json:"id,omitempty"`
	Name         string          `json:"name,omitempty"`
	Input        json.RawMessage `json:"input,omitempty"`
	ToolUseID    string          `json:"tool_use_id,omitempty"`
	Content      string          `json:"content,omitempty"`
	IsError      bool            `json:"is_error,omitempty"`
	Source       *imageSource    `json:"source,omitempty"`
	CacheControl *typed          `json:"cache_control,omitempty"`
}

type imageSource struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

func (m *messages) payload(req agent.Request) ([]byte, error) {
	w := anthropicRequest{Model: m.cfg.Model, MaxTokens: req.MaxTokens, Stream: true}
	if w.MaxTokens == 0 {
		w.MaxTokens = anthropicMaxTokens
	}
	for _, t := range req.Tools {
		w.Tools = append(w.Tools, anthropicTool{t.Name, t.Description, t.Schema})
	}
	if req.NoCalls && len(w.Tools) > 0 { // a history with tool blocks wants its tools declared
		w.Choice = &typed{"none"}
	}
	if req.System != "" {
		w.System = []block{{Type: "text", Text: req.System, CacheControl: &ephemeral}}
	}
	thinks := true // whether the open round of calls can go on thinking
	ids := wireIDs{strict: true}
	for _, msg := range folded(req.Messages) {
		role, content := "user", []any(nil)
		switch msg.Role {
		case agent.Assistant:
			role = "assistant"
			thoughts := thoughtsOf(msg.Reasoning)
			for _, t := range thoughts {
				content = append(content, t)
			}
			if strings.TrimSpace(msg.Text) != "" {
				content = append(content, &block{Type: "text", Text: strings.TrimRight(msg.Text, " \t\r\n")})
			}
			for _, c := range msg.Calls {
				content = append(content, &block{Type: "tool_use", ID: ids.call(c), Name: c.Tool, Input: sendable(c.Args)})
			}
			if len(msg.Calls) > 0 && len(thoughts) == 0 {
				thinks = false
			}
		case agent.ToolRole:
			content = append(content, &block{Type: "tool_result", ToolUseID: ids.result(msg), Content: orBlank(msg.Text), IsError: msg.IsError})
		default:
			thinks = true
			text, seen := pictures(msg, m.cfg.Vision)
			for _, i := range seen {
				content = append(content, &block{Type: "image", Source: &imageSource{"base64", i.MIME, base64.StdEncoding.EncodeToString(i.Data)}})
			}
			content = append(content, &block{Type: "text", Text: orBlank(text)})
		}
		if n := len(w.Messages); n > 0 && w.Messages[n-1].Role == role {
			w.Messages[n-1].Content = append(w.Messages[n-1].Content, content...)
			continue
		}
		w.Messages = append(w.Messages, anthropicMessage{Role: role, Content: content})
	}
	if m.cfg.Thinking > 0 && thinks {
		w.Thinking = &thinkingParam{"enabled", m.cfg.Thinking}
		w.MaxTokens = max(w.MaxTokens, m.cfg.Thinking+1024)
	}
	markLast(w.Messages)
	return marshal(w)
}

// markLast puts the moving cache breakpoint on the last block that may carry
// one: thinking blocks may not.
func markLast(ms []anthropicMessage) {
	for i := len(ms) - 1; i >= 0; i-- {
		for j := len(ms[i].Content) - 1; j >= 0; j-- {
			if b, ok := ms[i].Content[j].(*block); ok {
				b.CacheControl = &ephemeral
				return
			}
		}
	}
}

// thoughtsOf reads the thinking blocks that this adapter kept, byte for byte:
// their signature covers them.
func thoughtsOf(reasoning json.RawMessage) []json.RawMessage {
	var k struct {
		Blocks []json.RawMessage `json:"anthropic"`
	}
	if len(reasoning) == 0 || json.Unmarshal(reasoning, &k) != nil {
		return nil
	}
	return k.Blocks
}
