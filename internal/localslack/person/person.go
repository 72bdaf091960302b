// Package person is somebody who uses the local workspace by program: types,
// reads and presses through its own door (/_local/), as a person does in its
// page. It owns no state, and knows nothing of the app on the other side.
package person

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
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// maxAnswer bounds what the workspace is listened to, in bytes.
const maxAnswer = 16 << 20

// Person is one of the workspace's people, by the name that it was seeded with.
type Person struct {
	At   localslack.Ready
	Name string
}

// DM is the person's direct messages with the bot.
func (p Person) DM() string { return p.At.DMs[p.Name] }

// ID is the person's user id; "" where the workspace has no such person.
func (p Person) ID() string {
	for _, u := range p.At.Users {
		if u.Name == p.Name {
			return u.ID
		}
	}
	return ""
}

// Do calls the workspace's door. out, where not nil, takes the answer.
func (p Person) Do(ctx context.Context, method, path string, body, out any) error {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, p.At.URL+"/_local/"+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.At.ControlToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("the local workspace answers %s with HTTP %d: %.200s", path, res.StatusCode, b)
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}

// Say types into the DM with the bot, into a thread of it unless "", and answers
// the message's timestamp.
func (p Person) Say(ctx context.Context, thread, text string) (ts string, err error) {
	body := map[string]string{"user": p.Name, "channel": p.DM(), "text": text}
	if thread != "" {
		body["thread_ts"] = thread
	}
	var a struct{ TS string }
	err = p.Do(ctx, http.MethodPost, "message", body, &a)
	return a.TS, err
}

// Reads answers the bot's messages in a thread of the DM, oldest first.
func (p Person) Reads(ctx context.Context, thread string) ([]Message, error) {
	var a struct{ Messages []Message }
	err := p.Do(ctx, http.MethodGet, "messages?channel="+url.QueryEscape(p.DM())+"&thread_ts="+url.QueryEscape(thread), nil, &a)
	return slices.DeleteFunc(a.Messages, func(m Message) bool { return m.User != p.At.BotUserID }), err
}

// Press presses a button of a message.
func (p Person) Press(ctx context.Context, b Button) error {
	return p.Do(ctx, http.MethodPost, "click", map[string]string{"user": p.Name, "channel": p.DM(), "ts": b.ts, "action_id": b.action, "block_id": b.block}, nil)
}

// Submit fills every field of the newest modal with text, where nothing is filled
// in already, and sends it. It waits for a modal until ctx ends.
func (p Person) Submit(ctx context.Context, text string) error {
	type field struct {
		Type    string `json:"type"`
		ID      string `json:"block_id"`
		Element struct {
			Action  string `json:"action_id"`
			Initial string `json:"initial_value"`
		} `json:"element"`
	}
	return Poll(ctx, 30*time.Millisecond, func() error {
		var a struct {
			Modals []struct {
				ID     string  `json:"id"`
				Blocks []field `json:"blocks"`
			} `json:"modals"`
		}
		if err := p.Do(ctx, http.MethodGet, "views?user="+url.QueryEscape(p.Name), nil, &a); err != nil {
			return err
		}
		for _, v := range slices.Backward(a.Modals) {
			values := map[string]map[string]string{}
			for _, b := range v.Blocks {
				if b.Type != "input" {
					continue
				}
				value := text
				if b.Element.Initial != "" {
					value = b.Element.Initial
				}
				values[b.ID] = map[string]string{b.Element.Action: value}
			}
			if len(values) > 0 {
				return p.Do(ctx, http.MethodPost, "submit", map[string]any{"user": p.Name, "view_id": v.ID, "values": values}, nil)
			}
		}
		return errors.New("no form has opened")
	})
}

// Poll looks again and again until look answers nil, or ctx ends; then the last
// answer counts that was not cut off by that.
func Poll(ctx context.Context, every time.Duration, look func() error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for {
		err := look()
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-tick.C:
		}
	}
}
