package person

import (
	"encoding/json"
	"strings"
)

// Message is one of the bot's messages as it stands.
type Message struct {
	User   string            `json:"user"`
	TS     string            `json:"ts"`
	Text   string            `json:"text"`
	Blocks []json.RawMessage `json:"blocks"`
	Stream *struct {
		State  string `json:"state"`
		Chunks []struct {
			Text string `json:"text"`
		} `json:"chunks"`
	} `json:"stream"`
}

// Streaming tells that more of it is to come.
func (m Message) Streaming() bool { return m.Stream != nil && m.Stream.State == "streaming" }

// Button is one that can be pressed.
type Button struct{ ts, action, block string }

// Button finds a button by its label.
func (m Message) Button(label string) (Button, bool) {
	for _, raw := range m.Blocks {
		var b struct {
			Type     string `json:"type"`
			ID       string `json:"block_id"`
			Elements []struct {
				Action string          `json:"action_id"`
				Text   json.RawMessage `json:"text"` // an object of a button, a string of other elements
			} `json:"elements"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			var text struct{ Text string }
			if json.Unmarshal(e.Text, &text) == nil && text.Text == label {
				return Button{m.TS, e.Action, b.ID}, true
			}
		}
	}
	return Button{}, false
}

// Words is what a person reads of it.
func (m Message) Words() string {
	var b strings.Builder
	if m.Stream != nil {
		for _, c := range m.Stream.Chunks {
			b.WriteString(c.Text)
		}
	}
	for _, raw := range m.Blocks {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			readable(v, &b)
		}
	}
	if b.Len() == 0 {
		return m.Text
	}
	return b.String()
}

func readable(v any, b *strings.Builder) {
	switch v := v.(type) {
	case map[string]any:
		if s, ok := v["text"].(string); ok {
			b.WriteString(s + " ")
		}
		for _, key := range []string{"text", "fields", "elements"} {
			readable(v[key], b)
		}
	case []any:
		for _, e := range v {
			readable(e, b)
		}
	}
}
