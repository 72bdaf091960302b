package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// alice is the owner in a rehearsal: she types, reads and presses through the
// local workspace's own door, as a person does in its page.
type alice struct {
	at localslack.Ready
}

// said is one of the bot's messages as it stands.
type said struct {
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

func (p alice) do(ctx context.Context, method, path string, body, out any) error {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.at.URL+"/_local/"+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.at.ControlToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the local workspace answers %s with HTTP %d: %.200s", path, res.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// say types into her DM with the bot, and answers the thread.
func (p alice) say(ctx context.Context, text string) (thread string, err error) {
	var a struct{ TS string }
	err = p.do(ctx, http.MethodPost, "message", map[string]any{"user": "alice", "channel": p.at.DMs["alice"], "text": text}, &a)
	return a.TS, err
}

// reads answers the bot's messages in a thread.
func (p alice) reads(ctx context.Context, thread string) ([]said, error) {
	var a struct{ Messages []said }
	err := p.do(ctx, http.MethodGet, "messages?channel="+url.QueryEscape(p.at.DMs["alice"])+"&thread_ts="+url.QueryEscape(thread), nil, &a)
	return slices.DeleteFunc(a.Messages, func(m said) bool { return m.User != p.at.BotUserID }), err
}

// press presses a button of a message.
func (p alice) press(ctx context.Context, m said, b pressable) error {
	return p.do(ctx, http.MethodPost, "click", map[string]any{"user": "alice", "channel": p.at.DMs["alice"], "ts": m.TS, "action_id": b.action, "block_id": b.block}, nil)
}

// submit fills every field of the modal that opens, and sends it.
func (p alice) submit(ctx context.Context, text string) error {
	type field struct {
		Type    string `json:"type"`
		ID      string `json:"block_id"`
		Element struct {
			Action  string `json:"action_id"`
			Initial string `json:"initial_value"`
		} `json:"element"`
	}
	return poll(ctx, func() error {
		var a struct {
			Modals []struct {
				ID     string  `json:"id"`
				Blocks []field `json:"blocks"`
			} `json:"modals"`
		}
		if err := p.do(ctx, http.MethodGet, "views?user=alice", nil, &a); err != nil {
			return err
		}
		for _, v := range slices.Backward(a.Modals) {
			values := map[string]map[string]string{}
			for _, b := range v.Blocks {
				if b.Type == "input" {
					values[b.ID] = map[string]string{b.Element.Action: firstOf(b.Element.Initial, text)}
				}
			}
			if len(values) > 0 {
				return p.do(ctx, http.MethodPost, "submit", map[string]any{"user": "alice", "view_id": v.ID, "values": values}, nil)
			}
		}
		return errors.New("no form has opened")
	})
}

// pressable is a button.
type pressable struct{ action, block string }

// button finds a button by its label.
func (m said) button(label string) (pressable, bool) {
	for _, raw := range m.Blocks {
		var b struct {
			Type     string `json:"type"`
			ID       string `json:"block_id"`
			Elements []struct {
				Action string          `json:"action_id"`
				Text   json.RawMessage `json:"text"`
			} `json:"elements"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			var text struct{ Text string }
			if json.Unmarshal(e.Text, &text) == nil && text.Text == label {
				return pressable{e.Action, b.ID}, true
			}
		}
	}
	return pressable{}, false
}

// words is what a person reads of a message.
func (m said) words() string {
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

// poll looks until look answers nil, or ctx ends; then the last answer counts.
func poll(ctx context.Context, look func() error) error {
	tick := time.NewTicker(30 * time.Millisecond)
	defer tick.Stop()
	for {
		err := look()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}
