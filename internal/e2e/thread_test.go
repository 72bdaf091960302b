package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// thread is a conversation as a person sees it.
type thread struct {
	p       *product
	channel string
	ts      string
	user    string
	as      string // who looks; "" sees all that is not for one person
}

// message is one message as it stands.
type message struct {
	User      string            `json:"user"`
	TS        string            `json:"ts"`
	Text      string            `json:"text"`
	Blocks    []json.RawMessage `json:"blocks"`
	Files     []json.RawMessage `json:"files"`
	Ephemeral bool              `json:"ephemeral"`
	Stream    *struct {
		State  string `json:"state"`
		Chunks []struct {
			Type, Text, ID, Title, Status, Output, Details string
		} `json:"chunks"`
	} `json:"stream"`
}

// words is all that a person reads of a message.
func (m message) words() string {
	var b strings.Builder
	if m.Stream != nil {
		for _, c := range m.Stream.Chunks {
			b.WriteString(c.Text)
		}
		b.WriteString("\n")
	} else if len(m.Blocks) == 0 {
		b.WriteString(m.Text)
	}
	for _, raw := range m.Blocks {
		var v any
		if json.Unmarshal(raw, &v) == nil {
			collect(v, &b)
		}
	}
	return b.String()
}

func collect(v any, b *strings.Builder) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range []string{"text", "fields", "elements", "rows"} {
			if s, ok := v[key].(string); ok {
				b.WriteString(s)
			} else {
				collect(v[key], b)
			}
		}
		b.WriteString("\n")
	case []any:
		for _, e := range v {
			collect(e, b)
		}
	}
}

// tasks are the tool lines of a stream: the newest state of each.
func (m message) tasks() map[string]string {
	list := map[string]string{}
	if m.Stream != nil {
		for _, c := range m.Stream.Chunks {
			if c.Type == "task_update" {
				list[c.Title] = c.Status
			}
		}
	}
	return list
}

// say types a message; in a thread where th is one.
func (p *product) say(user, channel, threadTS, text string) thread {
	p.t.Helper()
	body := map[string]any{"user": user, "channel": channel, "text": text}
	if threadTS != "" {
		body["thread_ts"] = threadTS
	}
	var a struct{ TS string }
	p.must(p.post("message", body, &a))
	if threadTS == "" {
		threadTS = a.TS
	}
	return thread{p: p, channel: channel, ts: threadTS, user: user}
}

// dm types into alice's DM: a thread of its own.
func (p *product) dm(text string) thread {
	p.t.Helper()
	return p.say("alice", p.ready.DMs["alice"], "", text)
}

// say goes on in the thread.
func (t thread) say(text string) {
	t.p.t.Helper()
	t.p.say(t.user, t.channel, t.ts, text)
}

// messages are what stands in the thread, its root first.
func (t thread) messages() ([]message, error) {
	var a struct{ Messages []message }
	err := t.p.get("messages?channel="+url.QueryEscape(t.channel)+"&thread_ts="+url.QueryEscape(t.ts)+"&user="+t.as, &a)
	return a.Messages, err
}

// ours are the bot's messages.
func (t thread) ours() ([]message, error) {
	all, err := t.messages()
	var list []message
	for _, m := range all {
		if m.User == t.p.ready.BotUserID {
			list = append(list, m)
		}
	}
	return list, err
}

// all is everything that the bot has said in the thread, in one string.
func (t thread) all() (string, error) {
	list, err := t.ours()
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.words() + "\n")
	}
	return b.String(), err
}

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// wait waits until ok holds for the bot's messages.
func (t thread) wait(what string, ok func([]message) bool) []message {
	t.p.t.Helper()
	var last []message
	eventually(t.p.t, patience, what, func() error {
		list, err := t.ours()
		if err != nil {
			return err
		}
		last = list
		if !ok(list) {
			var b strings.Builder
			for _, m := range list {
				state := ""
				if m.Stream != nil {
					state = m.Stream.State
				}
				fmt.Fprintf(&b, "\n- %s %s %q", m.TS, state, m.words())
			}
			return errors.New("so far:" + b.String())
		}
		return nil
	})
	return last
}

// answered waits until n answers of the bot have ended, with their footers, and
// answers the last one's words.
func (t thread) answered(n int) string {
	t.p.t.Helper()
	var words string
	t.wait(fmt.Sprintf("the end of answer %d", n), func(list []message) bool {
		ends := 0
		words = ""
		for _, m := range list {
			if ended(m) {
				ends++
				words = m.words()
			}
		}
		return ends >= n
	})
	return words
}

// ended tells a message that ends an answer: it carries the run's footer.
func ended(m message) bool {
	w := m.words()
	return (m.Stream == nil || m.Stream.State != "streaming") && (strings.Contains(w, " turn · ") || strings.Contains(w, " turns · ") || strings.HasSuffix(strings.Trim(w, " _\n"), " turn") || strings.HasSuffix(strings.Trim(w, " _\n"), " turns"))
}

// card waits for the card whose button has this label, and answers its message.
func (t thread) card(label string) message {
	t.p.t.Helper()
	var found message
	t.wait("a card with "+label, func(list []message) bool {
		for i := len(list) - 1; i >= 0; i-- {
			if _, ok := list[i].button(label); ok {
				found = list[i]
				return true
			}
		}
		return false
	})
	return found
}

type button struct{ action, block, value string }

// button finds a button by its label.
func (m message) button(label string) (button, bool) {
	for _, raw := range m.Blocks {
		var b struct {
			Type     string `json:"type"`
			ID       string `json:"block_id"`
			Elements []struct {
				Action string          `json:"action_id"`
				Value  string          `json:"value"`
				Text   json.RawMessage `json:"text"`
			} `json:"elements"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			var text struct{ Text string }
			if json.Unmarshal(e.Text, &text) == nil && text.Text == label {
				return button{e.Action, b.ID, e.Value}, true
			}
		}
	}
	return button{}, false
}

// press presses a button of a message, as it stands by now: a card that is just
// being rendered again has new ones.
func (t thread) press(user string, m message, label string) {
	t.p.t.Helper()
	eventually(t.p.t, patience, "a press of "+label, func() error {
		list, err := t.ours()
		if err != nil {
			return err
		}
		for _, now := range list {
			if now.TS != m.TS {
				continue
			}
			if b, ok := now.button(label); ok {
				return t.click(user, now, b)
			}
		}
		return fmt.Errorf("the message has no button %q", label)
	})
}

func (t thread) click(user string, m message, b button) error {
	return t.p.post("click", map[string]any{"user": user, "channel": t.channel, "ts": m.TS, "action_id": b.action, "block_id": b.block}, nil)
}

// decide waits for the card with this button and presses it.
func (t thread) decide(label string) message {
	t.p.t.Helper()
	m := t.card(label)
	t.press(t.user, m, label)
	return m
}

// decideOn presses a button of the card that holds these words.
func (t thread) decideOn(words, label string) message {
	t.p.t.Helper()
	var found message
	t.wait("a card about "+words+" with "+label, func(list []message) bool {
		for _, m := range list {
			if _, ok := m.button(label); ok && strings.Contains(m.words(), words) {
				found = m
				return true
			}
		}
		return false
	})
	t.press(t.user, found, label)
	return found
}

// contains waits until the bot's messages hold all of these words.
func (t thread) contains(words ...string) string {
	t.p.t.Helper()
	var all string
	t.wait(fmt.Sprintf("the words %q", words), func(list []message) bool {
		all = ""
		for _, m := range list {
			all += m.words() + "\n"
		}
		for _, w := range words {
			if !strings.Contains(all, w) {
				return false
			}
		}
		return true
	})
	return all
}

// view is a modal as it is open.
type view struct {
	ID       string            `json:"id"`
	Callback string            `json:"callback_id"`
	Type     string            `json:"type"`
	Title    json.RawMessage   `json:"title"`
	Blocks   []json.RawMessage `json:"blocks"`
}

// modal waits for an open modal of a user in which an input is.
func (p *product) modal(user string) view {
	p.t.Helper()
	var v view
	eventually(p.t, patience, "a modal with an input", func() error {
		var a struct {
			Views  []view `json:"views"`
			Modals []view `json:"modals"`
		}
		if err := p.get("views?user="+user, &a); err != nil {
			return err
		}
		list := append(a.Views, a.Modals...)
		if len(list) == 0 {
			return errors.New("no view is open")
		}
		v = list[len(list)-1]
		if len(v.inputs()) == 0 {
			return fmt.Errorf("it has no input yet: %s", v.Blocks)
		}
		return nil
	})
	return v
}

// input is a field of a modal.
type input struct{ block, action, label, initial string }

func (v view) inputs() (list []input) {
	for _, raw := range v.Blocks {
		var b struct {
			Type    string `json:"type"`
			ID      string `json:"block_id"`
			Label   struct{ Text string }
			Element struct {
				Action  string `json:"action_id"`
				Initial string `json:"initial_value"`
			}
		}
		if json.Unmarshal(raw, &b) == nil && b.Type == "input" {
			list = append(list, input{b.ID, b.Element.Action, b.Label.Text, b.Element.Initial})
		}
	}
	return list
}

// submit sends a modal with its fields as they stand, but for those that set
// names by a part of their label.
func (p *product) submit(user string, v view, set map[string]string) json.RawMessage {
	p.t.Helper()
	values := map[string]map[string]any{}
	for _, in := range v.inputs() {
		text := in.initial
		for label, want := range set {
			if strings.Contains(strings.ToLower(in.label), label) {
				text = want
			}
		}
		values[in.block] = map[string]any{in.action: text}
	}
	var a json.RawMessage
	p.must(p.post("submit", map[string]any{"user": user, "view_id": v.ID, "values": values}, &a))
	return a
}
