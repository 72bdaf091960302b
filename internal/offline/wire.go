package offline

import (
	"encoding/json"
	"strings"
)

// Request is the body of a chat completion, as far as a turn depends on it.
type Request struct {
	Model               string          `json:"model"`
	Messages            []Message       `json:"messages"`
	Tools               []Tool          `json:"tools,omitempty"`
	ToolChoice          json.RawMessage `json:"tool_choice,omitempty"`
	Stream              bool            `json:"stream,omitempty"`
	StreamOptions       *StreamOptions  `json:"stream_options,omitempty"`
	MaxTokens           *int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens *int            `json:"max_completion_tokens,omitempty"`
	Temperature         *float64        `json:"temperature,omitempty"`
	N                   *int            `json:"n,omitempty"`
}

// StreamOptions asks for the usage chunk.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// Message is one message of the conversation.
type Message struct {
	Role       string     `json:"role"`
	Content    Content    `json:"content"`
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

// Content is a message's text: a string on the wire, or an array of parts.
type Content struct {
	Text  string
	Parts []Part
	// Set tells an empty string from a missing or null content.
	Set bool
}

// Part is one element of an array content.
type Part struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
}

// UnmarshalJSON takes a string, an array of parts, or null.
func (c *Content) UnmarshalJSON(raw []byte) error {
	*c = Content{}
	if string(raw) == "null" {
		return nil
	}
	c.Set = true
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &c.Parts); err != nil {
			return err
		}
		var texts []string
		for _, p := range c.Parts {
			if p.Type == "text" {
				texts = append(texts, p.Text)
			}
		}
		c.Text = strings.Join(texts, "\n")
		return nil
	}
	return json.Unmarshal(raw, &c.Text)
}

// MarshalJSON writes it back as it came.
func (c Content) MarshalJSON() ([]byte, error) {
	switch {
	case c.Parts != nil:
		return json.Marshal(c.Parts)
	case !c.Set && c.Text == "":
		return []byte("null"), nil
	}
	return json.Marshal(c.Text)
}

// ToolCall is a call that an assistant message made.
type ToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function FunctionCall `json:"function"`
}

// FunctionCall names a tool and its arguments: a string that holds JSON.
type FunctionCall struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is a tool that the model may call.
type Tool struct {
	Type     string       `json:"type"`
	Function ToolFunction `json:"function"`
}

// ToolFunction describes it.
type ToolFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Usage counts tokens, at four bytes each: plausible, and the same everywhere.
type Usage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
}

const bytesPerToken = 4

func tokens(bytes int) int { return (bytes + bytesPerToken - 1) / bytesPerToken }

// usageOf measures a request and its answer.
func usageOf(body []byte, t Turn) Usage {
	out := len(t.Text)
	for _, c := range t.Calls {
		out += len(c.Name) + len(c.Args) + 16 // the frame around a call
	}
	u := Usage{PromptTokens: tokens(len(body)), CompletionTokens: max(1, tokens(out))}
	u.TotalTokens = u.PromptTokens + u.CompletionTokens
	return u
}

// completion and chunk are the two shapes of an answer.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   *Usage   `json:"usage,omitempty"`
}

type choice struct {
	Index        int            `json:"index"`
	Message      *answerMessage `json:"message,omitempty"`
	Delta        *delta         `json:"delta,omitempty"`
	FinishReason *string        `json:"finish_reason"`
}

type answerMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
}

type delta struct {
	Role             string      `json:"role,omitempty"`
	Content          *string     `json:"content,omitempty"`
	ReasoningContent string      `json:"reasoning_content,omitempty"`
	ToolCalls        []callDelta `json:"tool_calls,omitempty"`
}

type callDelta struct {
	Index    int               `json:"index"`
	ID       string            `json:"id,omitempty"`
	Type     string            `json:"type,omitempty"`
	Function functionCallDelta `json:"function"`
}

type functionCallDelta struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// apiError is the body of a refusal, as OpenAI words it.
type apiError struct {
	Status  int     `json:"-"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

func (e *apiError) Error() string { return e.Message }
