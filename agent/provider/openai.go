package provider

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"

	openai "github.com/sashabaranov/go-openai"

	"github.com/mecha-slack/mecha-slack/agent"
)

const openAIBase = "https://api.openai.com/v1"

// chat is a Model over Chat Completions.
type chat struct {
	endpoint
	cfg    Config
	quirks *quirks
	window atomic.Int64
	probed atomic.Pointer[string] // profile, as asked
}

func newChat(name string, c Config, d Deps) *chat {
	base := c.BaseURL
	if base == "" {
		base = openAIBase
	}
	profile := c.Profile
	if profile == "" {
		profile = profileOf(base)
	}
	m := &chat{endpoint: newEndpoint(name, base, c, d), cfg: c, quirks: quirksOf(profile)}
	m.probed.Store(&profile)
	m.window.Store(int64(c.ContextWindow))
	if d.Key != "" {
		m.header.Set("Authorization", "Bearer "+d.Key)
		if strings.Contains(base, ".openai.azure.com") {
			m.header.Set("Api-Key", d.Key)
		}
	}
	return m
}

func (m *chat) Name() string { return m.model }
func (m *chat) Window() int  { return int(m.window.Load()) }

// Stream asks for one turn.
func (m *chat) Stream(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	begun := false
	tell := func(d agent.Delta) {
		begun = true
		emit(d)
	}
	notice := func(s string) { emit(agent.Delta{Notice: s}) }
	return m.retry(ctx, func() bool { return begun }, notice, func() (agent.Turn, error) {
		for {
			turn, err := m.once(ctx, req, tell)
			var me *agent.ModelError
			if errors.As(err, &me) && me.Kind == agent.ErrInvalid && !begun && m.quirks.learn(me.Status, me.What) {
				continue
			}
			return turn, err
		}
	})
}

func (m *chat) once(ctx context.Context, req agent.Request, emit func(agent.Delta)) (agent.Turn, error) {
	payload, err := m.payload(req)
	if err != nil {
		return agent.Turn{}, &agent.ModelError{Kind: agent.ErrInvalid, Model: m.model, What: "cannot write the question as JSON: " + err.Error(), Err: err}
	}
	b, err := m.post(ctx, "POST", "/chat/completions", payload)
	if err != nil {
		return agent.Turn{}, err
	}
	defer b.close()
	a := &assembler{emit: emit}
	if err := m.read(ctx, b, a); err != nil {
		return agent.Turn{Usage: m.priced(a.usage.tokens())}, err
	}
	turn := a.turn()
	turn.Usage = m.priced(turn.Usage)
	if turn.Model == "" {
		turn.Model = m.cfg.Model
	}
	return turn, nil
}

func (m *chat) priced(u agent.Usage) agent.Usage { return priced(m.cfg, u, 1, 0) }

// priced adds the cost where it is not told and both prices are known.
// cachedPart is what a cached token costs, as a part of an input token, where
// no price of its own is configured; extra is added input (cache writes).
func priced(c Config, u agent.Usage, cachedPart, extra float64) agent.Usage {
	if u.Cost != nil || c.InputPrice == nil || c.OutputPrice == nil {
		return u
	}
	cached := *c.InputPrice * cachedPart
	if c.CachedPrice != nil {
		cached = *c.CachedPrice
	}
	cost := ((float64(u.In-u.Cached)+extra)**c.InputPrice + float64(u.Cached)*cached + float64(u.Out)**c.OutputPrice) / 1e6
	u.Cost = &cost
	return u
}

// wireRequest is go-openai's request with our messages and tools: its own
// message type drops an empty content, which several servers refuse, and knows
// one spelling of reasoning.
type wireRequest struct {
	openai.ChatCompletionRequest
	Messages    []wireMessage `json:"messages"`
	Tools       []wireTool    `json:"tools,omitempty"`
	Temperature *float64      `json:"temperature,omitempty"` // 0 is a temperature
}

type wireMessage struct {
	Role             string            `json:"role"`
	Content          any               `json:"content,omitempty"` // a string or parts
	ToolCalls        []openai.ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string            `json:"tool_call_id,omitempty"`
	ReasoningContent *string           `json:"reasoning_content,omitempty"`
	Reasoning        *string           `json:"reasoning,omitempty"`
	ReasoningDetails json.RawMessage   `json:"reasoning_details,omitempty"`
}

type wireTool struct {
	Type     openai.ToolType           `json:"type"`
	Function openai.FunctionDefinition `json:"function"`
}

func (m *chat) payload(req agent.Request) ([]byte, error) {
	s := m.quirks.shape()
	w := wireRequest{ChatCompletionRequest: openai.ChatCompletionRequest{Model: m.cfg.Model, Stream: true}}
	if !s.noUsageOption {
		w.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	}
	if s.newMaxTokens {
		w.MaxCompletionTokens = req.MaxTokens
	} else {
		//lint:ignore SA1019 OpenAI has retired it; most other servers know nothing else.
		w.MaxTokens = req.MaxTokens
	}
	if !s.noTemperature {
		w.Temperature = m.cfg.Temperature
	}
	if !s.noSeed {
		w.Seed = m.cfg.Seed
	}
	if !s.noEffort {
		w.ReasoningEffort = m.cfg.Effort
	}
	for _, t := range req.Tools {
		if req.NoCalls { // absent is the one spelling of "none" that every server knows
			break
		}
		w.Tools = append(w.Tools, wireTool{openai.ToolTypeFunction, openai.FunctionDefinition{Name: t.Name, Description: t.Description, Parameters: t.Schema}})
	}
	if req.System != "" {
		w.Messages = append(w.Messages, wireMessage{Role: openai.ChatMessageRoleSystem, Content: req.System})
	}
	ids := wireIDs{}
	for _, g := range folded(req.Messages) {
		w.Messages = append(w.Messages, m.message(g, s, &ids))
	}
	return marshal(w)
}

func (m *chat) message(msg agent.Message, s shape, ids *wireIDs) wireMessage {
	switch msg.Role {
	case agent.ToolRole:
		return wireMessage{Role: openai.ChatMessageRoleTool, ToolCallID: ids.result(msg), Content: orBlank(msg.Text)}
	case agent.Assistant:
		w := wireMessage{Role: openai.ChatMessageRoleAssistant}
		if msg.Text != "" {
			w.Content = msg.Text
		}
		for _, c := range msg.Calls {
			w.ToolCalls = append(w.ToolCalls, openai.ToolCall{ID: ids.call(c), Type: openai.ToolTypeFunction, Function: openai.FunctionCall{Name: c.Tool, Arguments: string(sendable(c.Args))}})
		}
		if s.echo != echoNone {
			var k kept
			if len(msg.Reasoning) > 0 {
				_ = json.Unmarshal(msg.Reasoning, &k) // another provider's: nothing to give back
			}
			w.ReasoningContent, w.Reasoning, w.ReasoningDetails = k.Content, k.Reasoning, k.Details
			if s.echo == echoAll && w.ReasoningContent == nil {
				thought := k.Think
				if k.Reasoning != nil {
					thought = *k.Reasoning
				}
				w.ReasoningContent = &thought
			}
		}
		return w
	}
	w := wireMessage{Role: openai.ChatMessageRoleUser, Content: orBlank(msg.Text)}
	if len(msg.Images) > 0 {
		text, seen := pictures(msg, m.cfg.Vision)
		w.Content = orBlank(text)
		if len(seen) > 0 {
			parts := []openai.ChatMessagePart{{Type: openai.ChatMessagePartTypeText, Text: orBlank(text)}}
			for _, i := range seen {
				parts = append(parts, openai.ChatMessagePart{Type: openai.ChatMessagePartTypeImageURL, ImageURL: &openai.ChatMessageImageURL{URL: "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)}})
			}
			w.Content = parts
		}
	}
	return w
}
