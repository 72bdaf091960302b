package provider

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
)

// assembler puts one Chat Completions answer together out of its chunks,
// streamed or whole.
type assembler struct {
	progress // finished: a finish_reason or [DONE]
	emit     func(agent.Delta)
	text     strings.Builder
	thought  strings.Builder // out of <think>
	content  strings.Builder // reasoning_content
	plain    strings.Builder // reasoning
	details  details         // reasoning_details
	think    thinker
	calls    []*openCall
	finish   string
	usage    *wireUsage
	model    string
}

// openCall is a call that is arriving.
type openCall struct {
	id    string
	index *int
	name  string
	args  strings.Builder
}

// complete tells that another fragment could only break the arguments.
func (c *openCall) complete() bool {
	s := strings.TrimSpace(c.args.String())
	return strings.HasSuffix(s, "}") && json.Valid([]byte(s))
}

// chunk is what we read of a chunk, or of a whole answer.
type chunk struct {
	Model   string          `json:"model"`
	Error   json.RawMessage `json:"error"`
	Choices []struct {
		Index        int             `json:"index"`
		Delta        *delta          `json:"delta"`
		Message      *delta          `json:"message"`
		FinishReason *string         `json:"finish_reason"`
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *wireUsage `json:"usage"`
}

type delta struct {
	Content          json.RawMessage `json:"content"`
	Refusal          *string         `json:"refusal"`
	ReasoningContent *string         `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
	ToolCalls        []callDelta     `json:"tool_calls"`
}

type callDelta struct {
	Index    json.RawMessage `json:"index"`
	ID       json.RawMessage `json:"id"`
	Function struct {
		Name      *string         `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"function"`
}

type wireUsage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    *struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CacheHit int      `json:"prompt_cache_hit_tokens"` // DeepSeek's spelling
	Cost     *float64 `json:"cost"`                    // OpenRouter's
}

// tokens counts cached ones once: they are part of In.
func (u *wireUsage) tokens() agent.Usage {
	if u == nil {
		return agent.Usage{}
	}
	t := agent.Usage{In: u.Prompt, Out: u.Completion, Cached: u.CacheHit, Cost: u.Cost}
	if u.Details != nil {
		t.Cached = max(t.Cached, u.Details.Cached)
	}
	return t
}

// errIn is an error that the provider put where an answer belongs.
type errIn struct {
	status int
	text   string
}

func (e *errIn) Error() string { return e.text }

// feed takes one event's data. Its error is *errIn, or a JSON one.
func (a *assembler) feed(data []byte) error {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return nil
	}
	if string(data) == "[DONE]" {
		a.finished, a.over = true, true
		return nil
	}
	if piece, ok := plainText(data); ok {
		a.addText(piece)
		return nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" && string(c.Error) != `""` && string(c.Error) != "false" {
		return &errIn{errorStatus(c.Error), errorValue(c.Error)}
	}
	if c.Model != "" {
		a.model = c.Model
	}
	if c.Usage != nil {
		a.usage = c.Usage // later ones replace: they are totals, not parts
	}
	if len(c.Choices) == 0 && c.Usage == nil && c.Model == "" {
		var o struct{ Message, Detail json.RawMessage }
		if json.Unmarshal(data, &o) == nil && len(o.Message)+len(o.Detail) > 0 {
			return &errIn{0, errorText(data)}
		}
	}
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue // we ask for one answer
		}
		if len(ch.Error) > 0 && string(ch.Error) != "null" {
			return &errIn{errorStatus(ch.Error), errorValue(ch.Error)}
		}
		for _, d := range []*delta{ch.Delta, ch.Message} {
			if d != nil {
				a.delta(d)
			}
		}
		if ch.FinishReason != nil && *ch.FinishReason != "" {
			if *ch.FinishReason == "error" {
				return &errIn{0, "the provider ended the answer with an error"}
			}
			a.finish, a.finished = *ch.FinishReason, true
		}
	}
	return nil
}

// whole takes an answer that was not streamed: a chunk with a message in it.
func (a *assembler) whole(data []byte) error { return a.feed(data) }

func (a *assembler) delta(d *delta) {
	if s := textOf(d.Content); s != "" {
		a.addText(s)
	}
	if d.Refusal != nil && *d.Refusal != "" {
		a.addText(*d.Refusal)
	}
	shown := ""
	if d.ReasoningContent != nil {
		a.content.WriteString(*d.ReasoningContent)
		shown = *d.ReasoningContent
	}
	if s := textOf(d.Reasoning); s != "" {
		a.plain.WriteString(s)
		shown = s
	}
	a.details.add(d.ReasoningDetails)
	if shown != "" {
		a.emit(agent.Delta{Reasoning: shown})
	}
	for _, c := range d.ToolCalls {
		a.call(c)
	}
}

func (a *assembler) addText(s string) {
	text, thought := a.think.feed(s)
	a.split(text, thought)
}

func (a *assembler) split(text, thought string) {
	if thought != "" {
		a.thought.WriteString(thought)
		a.emit(agent.Delta{Reasoning: thought})
	}
	if text != "" {
		a.text.WriteString(text)
		a.emit(agent.Delta{Text: text})
	}
}

// textOf reads a string, or the text parts of a list.
func textOf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// call files a fragment with its call. What tells calls apart, most trusted
// first: an id seen before, a new id, the index, the order. Every rule here
// answers a server that was met: all indexes 0, none, late ones, names repeated
// in every fragment, a fresh id in every fragment, whole calls without any id.
func (a *assembler) call(d callDelta) {
	id, index := idOf(d.ID), indexOf(d.Index)
	name := ""
	if d.Function.Name != nil {
		name = *d.Function.Name
	}
	args := argsOf(d.Function.Arguments)

	c := a.find(id, index, name, args)
	if c == nil {
		c = &openCall{id: id, index: index, name: name}
		a.calls = append(a.calls, c)
		if name != "" {
			a.emit(agent.Delta{CallName: name})
		}
	} else {
		if c.index == nil {
			c.index = index
		}
		if c.id == "" {
			c.id = id
		}
		switch {
		case name == "" || name == c.name:
		case c.name == "":
			c.name = name
			a.emit(agent.Delta{CallName: name})
		case c.args.Len() == 0:
			c.name += name // a name in pieces
		}
	}
	if args != "" && !(args == "{}" && c.complete()) {
		c.args.WriteString(args)
	}
}

// find answers the open call that a fragment continues; nil: it begins one.
func (a *assembler) find(id string, index *int, name, args string) *openCall {
	if len(a.calls) == 0 {
		return nil
	}
	last := a.calls[len(a.calls)-1]
	if id != "" {
		for _, c := range a.calls {
			if c.id == id {
				return c
			}
		}
	}
	var byIndex *openCall
	if index != nil {
		for i := len(a.calls) - 1; i >= 0 && byIndex == nil; i-- { // the latest: indexes may all be 0
			if c := a.calls[i]; c.index != nil && *c.index == *index {
				byIndex = c
			}
		}
	}
	switch {
	case name == "" && byIndex != nil:
		return byIndex // also with a fresh id: a call has a name
	case name == "" && index != nil && last.index != nil && id != "":
		return nil // a new index and a new id; its name comes later
	case name == "":
		return last // a late index, or none
	case id != "":
		if byIndex != nil && byIndex.id == "" && byIndex.name == "" {
			return byIndex
		}
		if byIndex == nil && last.id == "" && last.index == nil && last.name == name && !last.complete() {
			return last // the id comes late
		}
		return nil
	}
	// A name without an id: the name repeated, or the next call.
	c := byIndex
	if index == nil {
		c = last
	}
	if c == nil || c.name != "" && c.name != name || c.complete() && strings.TrimSpace(args) != "" {
		return nil
	}
	return c
}

func idOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if len(raw) > 0 && string(raw) != "null" { // a number
		return string(raw)
	}
	return ""
}

func indexOf(raw json.RawMessage) *int {
	var n int
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &n) != nil {
		return nil
	}
	return &n
}

// argsOf reads arguments: a piece of a string, or an object as it stands.
func argsOf(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// turn answers the finished answer.
func (a *assembler) turn() agent.Turn {
	a.split(a.think.end())
	t := agent.Turn{Text: a.text.String(), Reasoning: a.reasoning(), Usage: a.usage.tokens(), Model: a.model, Stop: agent.StopEnd}
	switch a.finish {
	case "length", "max_tokens", "max_output_tokens", "model_length":
		t.Stop = agent.StopLength
	case "content_filter", "safety", "SAFETY", "RECITATION":
		t.Stop = agent.StopFiltered
	}
	for _, c := range a.calls {
		args := strings.TrimSpace(c.args.String())
		if args == "" {
			args = "{}"
		}
		if !json.Valid([]byte(args)) && t.Stop == agent.StopLength || c.name == "" {
			t.Cut = append(t.Cut, c.name)
			continue
		}
		t.Calls = append(t.Calls, agent.Call{WireID: c.id, Tool: c.name, Args: json.RawMessage(args)})
	}
	if len(t.Calls) > 0 && t.Stop == agent.StopEnd {
		t.Stop = agent.StopCalls // whatever the provider called it
	}
	return t
}

// kept is Turn.Reasoning of this adapter: the fields as they came, to be given
// back under the same names. Thoughts out of <think> are kept and never sent.
type kept struct {
	Content   *string         `json:"reasoning_content,omitempty"`
	Reasoning *string         `json:"reasoning,omitempty"`
	Details   json.RawMessage `json:"reasoning_details,omitempty"`
	Think     string          `json:"think,omitempty"`
}

func (a *assembler) reasoning() json.RawMessage {
	k := kept{Details: a.details.join(), Think: a.thought.String()}
	if a.content.Len() > 0 {
		s := a.content.String()
		k.Content = &s
	}
	if a.plain.Len() > 0 {
		s := a.plain.String()
		k.Reasoning = &s
	}
	if k.Content == nil && k.Reasoning == nil && k.Details == nil && k.Think == "" {
		return nil
	}
	b, err := marshal(k)
	if err != nil {
		return nil // strings and valid raw JSON: cannot happen
	}
	return b
}

// marshal is json.Marshal without HTML escaping.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
