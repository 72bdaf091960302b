package provider

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
)

// folded is a conversation as strict servers take it: no assistant message
// without content, and never two messages of one role one after the other.
func folded(in []agent.Message) []agent.Message {
	out := make([]agent.Message, 0, len(in))
	for _, m := range in {
		if m.Role == agent.Assistant && strings.TrimSpace(m.Text) == "" && len(m.Calls) == 0 {
			continue
		}
		if n := len(out); n > 0 && m.Role == agent.User && out[n-1].Role == agent.User {
			last := &out[n-1]
			last.Text = strings.TrimSpace(last.Text + "\n\n" + m.Text)
			last.Images = append(last.Images[:len(last.Images):len(last.Images)], m.Images...)
			continue
		}
		if n := len(out); n > 0 && m.Role == agent.Assistant && out[n-1].Role == agent.Assistant && len(out[n-1].Calls) == 0 {
			m.Text = strings.TrimSpace(out[n-1].Text + "\n\n" + m.Text) // a stopped answer, and what was said behind it
			out[n-1] = m
			continue
		}
		out = append(out, m)
	}
	return out
}

// wireIDs gives every call of a conversation the id that its model gave it, as
// long as that tells it from all others; some servers count from zero in every
// turn, some give none.
type wireIDs struct {
	used  map[string]bool
	given map[string]string // ours → sent
	// strict: only letters, digits, _ and - (Anthropic).
	strict bool
}

func (w *wireIDs) call(c agent.Call) string {
	if w.used == nil {
		w.used, w.given = map[string]bool{}, map[string]string{}
	}
	id := w.clean(c.WireID)
	if id == "" || w.used[id] {
		id = c.ID
	}
	for n := 2; id == "" || w.used[id]; n++ {
		id = fmt.Sprintf("call_%s_%d", c.ID, n)
	}
	w.used[id] = true
	if c.ID != "" {
		w.given[c.ID] = id
	}
	return id
}

func (w *wireIDs) result(m agent.Message) string {
	if id, ok := w.given[m.CallID]; ok {
		return id
	}
	if m.WireID != "" {
		return w.clean(m.WireID)
	}
	return m.CallID
}

func (w *wireIDs) clean(id string) string {
	if !w.strict {
		return id
	}
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, id)
}

// sendable is arguments that a server can read back: "" and what is no JSON
// object would be refused, for ever, wherever it stands in the history.
func sendable(args json.RawMessage) json.RawMessage {
	t := strings.TrimSpace(string(args))
	if !strings.HasPrefix(t, "{") || !json.Valid(args) {
		return json.RawMessage("{}")
	}
	return args
}

// orBlank keeps a content from being empty, which several servers refuse.
func orBlank(s string) string {
	if strings.TrimSpace(s) == "" {
		return "(empty)"
	}
	return s
}

// pictures splits the pictures of a message into those to send and words for
// the others.
func pictures(m agent.Message, vision bool) (text string, seen []agent.Image) {
	text = m.Text
	for _, i := range m.Images {
		if vision && len(i.Data) > 0 && strings.HasPrefix(i.MIME, "image/") {
			seen = append(seen, i)
			continue
		}
		why := "this model does not see pictures"
		if vision {
			why = "the file is not there any more"
		}
		text += fmt.Sprintf("\n[picture %s (%s), not shown: %s]", i.Path, i.MIME, why)
	}
	return text, seen
}
