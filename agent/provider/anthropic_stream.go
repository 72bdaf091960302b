package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
)

// blocks puts one Messages answer together out of its events.
type blocks struct {
	progress // finished: a stop_reason; over: message_stop
	emit     func(agent.Delta)
	open     []*openBlock // by arrival; index says which
	usage    anthropicUsage
	model    string
	stop     string
}

type openBlock struct {
	index int
	kind  string
	raw   json.RawMessage // as it began
	id    string
	name  string
	text  strings.Builder // text, or thinking
	sign  strings.Builder
	args  strings.Builder
}

type anthropicUsage struct {
	Input        int `json:"input_tokens"`
	Output       int `json:"output_tokens"`
	CacheRead    int `json:"cache_read_input_tokens"`
	CacheWritten int `json:"cache_creation_input_tokens"`
}

// merge takes a later frame: its numbers are totals, and it may leave out what
// an earlier one told.
func (u *anthropicUsage) merge(v *anthropicUsage) {
	if v == nil {
		return
	}
	set := func(have *int, now int) {
		if now > 0 {
			*have = now
		}
	}
	set(&u.Input, v.Input)
	set(&u.Output, v.Output)
	set(&u.CacheRead, v.CacheRead)
	set(&u.CacheWritten, v.CacheWritten)
}

func (u anthropicUsage) tokens() (t agent.Usage, written int) {
	return agent.Usage{In: u.Input + u.CacheRead + u.CacheWritten, Out: u.Output, Cached: u.CacheRead}, u.CacheWritten
}

type wireBlock struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	Sign     string          `json:"signature"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
}

type anthropicEvent struct {
	Type    string          `json:"type"`
	Index   int             `json:"index"`
	Error   json.RawMessage `json:"error"`
	Message *struct {
		Model string          `json:"model"`
		Usage *anthropicUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta *struct {
		Type        string  `json:"type"`
		Text        string  `json:"text"`
		PartialJSON string  `json:"partial_json"`
		Thinking    string  `json:"thinking"`
		Signature   string  `json:"signature"`
		StopReason  *string `json:"stop_reason"`
	} `json:"delta"`
	Usage *anthropicUsage `json:"usage"`
}

func (a *blocks) feed(data []byte) error {
	if len(bytes.TrimSpace(data)) == 0 || string(data) == "[DONE]" {
		return nil
	}
	var e anthropicEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			a.model = e.Message.Model
			a.usage.merge(e.Message.Usage)
		}
	case "content_block_start":
		return a.begin(e.Index, e.Block)
	case "content_block_delta":
		b := a.at(e.Index)
		if b == nil || e.Delta == nil {
			return nil
		}
		switch e.Delta.Type {
		case "text_delta":
			b.text.WriteString(e.Delta.Text)
			a.emit(agent.Delta{Text: e.Delta.Text})
		case "input_json_delta":
			b.args.WriteString(e.Delta.PartialJSON)
		case "thinking_delta":
			b.text.WriteString(e.Delta.Thinking)
			a.emit(agent.Delta{Reasoning: e.Delta.Thinking})
		case "signature_delta":
			b.sign.WriteString(e.Delta.Signature)
		}
	case "message_delta":
		a.usage.merge(e.Usage)
		if e.Delta != nil && e.Delta.StopReason != nil {
			a.stop, a.finished = *e.Delta.StopReason, true
		}
	case "message_stop":
		a.finished, a.over = true, true
	case "error":
		return &errIn{anthropicStatus(e.Error), errorValue(e.Error)}
	}
	return nil // ping, and what is new
}

func (a *blocks) begin(index int, raw json.RawMessage) error {
	var w wireBlock
	if err := json.Unmarshal(raw, &w); err != nil {
		return err
	}
	b := &openBlock{index: index, kind: w.Type, raw: bytes.Clone(raw), id: w.ID, name: w.Name}
	switch w.Type {
	case "text":
		b.text.WriteString(w.Text)
		if w.Text != "" {
			a.emit(agent.Delta{Text: w.Text})
		}
	case "thinking":
		b.text.WriteString(w.Thinking)
		b.sign.WriteString(w.Sign)
	case "tool_use":
		if in := strings.TrimSpace(string(w.Input)); in != "" && in != "{}" && in != "null" {
			b.args.WriteString(in)
		}
		a.emit(agent.Delta{CallName: w.Name})
	}
	a.open = append(a.open, b)
	return nil
}

func (a *blocks) at(index int) *openBlock {
	for i := len(a.open) - 1; i >= 0; i-- {
		if a.open[i].index == index {
			return a.open[i]
		}
	}
	return nil
}

// whole reads an answer that was not streamed.
func (a *blocks) whole(data []byte) error {
	var m struct {
		Type    string            `json:"type"`
		Model   string            `json:"model"`
		Content []json.RawMessage `json:"content"`
		Stop    string            `json:"stop_reason"`
		Usage   *anthropicUsage   `json:"usage"`
		Error   json.RawMessage   `json:"error"`
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if m.Type == "error" || len(m.Error) > 0 {
		return &errIn{anthropicStatus(m.Error), errorValue(m.Error)}
	}
	a.model, a.stop, a.finished = m.Model, m.Stop, true
	a.usage.merge(m.Usage)
	for i, raw := range m.Content {
		if err := a.begin(i, raw); err != nil {
			return err
		}
	}
	return nil
}

// anthropicStatus is the HTTP status that an error's type stands for.
func anthropicStatus(raw json.RawMessage) int {
	var e struct{ Type string }
	_ = json.Unmarshal(raw, &e)
	switch e.Type {
	case "invalid_request_error":
		return 400
	case "authentication_error":
		return 401
	case "billing_error":
		return 402
	case "permission_error":
		return 403
	case "not_found_error":
		return 404
	case "request_too_large":
		return 413
	case "rate_limit_error":
		return 429
	case "overloaded_error":
		return 529
	}
	return 500
}

func (a *blocks) turn() agent.Turn {
	t := agent.Turn{Model: a.model, Stop: agent.StopEnd}
	switch a.stop {
	case "max_tokens", "model_context_window_exceeded":
		t.Stop = agent.StopLength
	case "refusal":
		t.Stop = agent.StopFiltered
	}
	var text strings.Builder
	var thoughts []json.RawMessage
	for _, b := range a.open {
		switch b.kind {
		case "text":
			text.WriteString(b.text.String())
		case "thinking":
			if b.sign.Len() == 0 {
				continue // cut off; it could not be given back
			}
			if raw, err := marshal(struct {
				Type      string `json:"type"`
				Thinking  string `json:"thinking"`
				Signature string `json:"signature"`
			}{"thinking", b.text.String(), b.sign.String()}); err == nil {
				thoughts = append(thoughts, raw)
			}
		case "redacted_thinking":
			thoughts = append(thoughts, b.raw)
		case "tool_use":
			args := strings.TrimSpace(b.args.String())
			if args == "" {
				args = "{}"
			}
			if !json.Valid([]byte(args)) && t.Stop == agent.StopLength || b.name == "" {
				t.Cut = append(t.Cut, b.name)
				continue
			}
			t.Calls = append(t.Calls, agent.Call{WireID: b.id, Tool: b.name, Args: json.RawMessage(args)})
		}
	}
	t.Text = text.String()
	if len(thoughts) > 0 {
		t.Reasoning, _ = marshal(map[string]any{"anthropic": thoughts})
	}
	if len(t.Calls) > 0 && t.Stop == agent.StopEnd {
		t.Stop = agent.StopCalls
	}
	return t
}
