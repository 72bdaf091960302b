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
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// alice is the person on the other side.
type alice struct{ at localslack.Ready }

func (a alice) do(ctx context.Context, method, path string, body, out any) error {
	var in io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		in = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.at.URL+"/_local/"+path, in)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.at.ControlToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return err
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: HTTP %d: %.200s", path, res.StatusCode, b)
	case out == nil:
		return nil
	}
	return json.Unmarshal(b, out)
}

func (a alice) say(ctx context.Context, thread, text string) (ts string, err error) {
	body := map[string]string{"user": "alice", "channel": a.at.DMs["alice"], "text": text}
	if thread != "" {
		body["thread_ts"] = thread
	}
	var m struct{ TS string }
	err = a.do(ctx, http.MethodPost, "message", body, &m)
	return m.TS, err
}

type message struct {
	User   string
	TS     string
	Text   string
	Blocks []struct {
		ID       string `json:"block_id"`
		Type     string
		Elements json.RawMessage
	}
	Stream *struct {
		State  string
		Chunks []struct{ Text string }
	}
}

func (m message) words() string {
	words := m.Text
	if m.Stream != nil {
		words = ""
		for _, c := range m.Stream.Chunks {
			words += c.Text
		}
	}
	return words
}

func (a alice) reads(ctx context.Context, thread string) (list []message, err error) {
	var all struct{ Messages []message }
	err = a.do(ctx, http.MethodGet, "messages?channel="+url.QueryEscape(a.at.DMs["alice"])+"&thread_ts="+url.QueryEscape(thread), nil, &all)
	for _, m := range all.Messages {
		if m.User == a.at.BotUserID {
			list = append(list, m)
		}
	}
	return list, err
}

// hears waits until n finished messages of the bot hold these words.
func (a alice) hears(ctx context.Context, thread string, n int, words string) error {
	return until(ctx, func() error {
		list, err := a.reads(ctx, thread)
		if err != nil {
			return err
		}
		found := 0
		for _, m := range list {
			if (m.Stream == nil || m.Stream.State != "streaming") && strings.Contains(m.words(), words) {
				found++
			}
		}
		if found < n {
			return fmt.Errorf("%q has not been said: %+v", words, list)
		}
		return nil
	})
}

// card is the message with an Approve, and that button.
type card struct{ ts, action, block string }

func (a alice) card(ctx context.Context, thread string) (c card, err error) {
	err = until(ctx, func() error {
		list, err := a.reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range list {
			for _, b := range m.Blocks {
				var elements []struct {
					Action string          `json:"action_id"`
					Text   json.RawMessage `json:"text"`
				}
				if b.Type != "actions" || json.Unmarshal(b.Elements, &elements) != nil {
					continue
				}
				for _, e := range elements {
					var text struct{ Text string }
					if json.Unmarshal(e.Text, &text) == nil && text.Text == "Approve" {
						c = card{m.TS, e.Action, b.ID}
						return nil
					}
				}
			}
		}
		return errors.New("no card asks for an approval")
	})
	return c, err
}

func (a alice) press(ctx context.Context, c card) error {
	return a.do(ctx, http.MethodPost, "click", map[string]string{"user": "alice", "channel": a.at.DMs["alice"], "ts": c.ts, "action_id": c.action, "block_id": c.block}, nil)
}

type entry struct {
	At         time.Time
	Kind       string
	Method     string
	EventID    string `json:"event_id"` // none of a press
	EnvelopeID string `json:"envelope_id"`
}

func (a alice) log(ctx context.Context) ([]entry, error) {
	var log struct{ Entries []entry }
	err := a.do(ctx, http.MethodGet, "log?since=0", nil, &log)
	return log.Entries, err
}

func (a alice) connected(ctx context.Context) error {
	list, err := a.log(ctx)
	for _, e := range list {
		if e.Kind == "socket" {
			return err
		}
	}
	return errors.Join(err, errors.New("no socket is open"))
}

// acks are the times from an envelope's way out to its ack: of events, and of
// presses.
func (a alice) acks(ctx context.Context) (events, presses []time.Duration, err error) {
	list, err := a.log(ctx)
	out := map[string]entry{}
	for _, e := range list {
		switch was, sent := out[e.EnvelopeID]; {
		case e.EnvelopeID == "":
		case e.Kind == "envelope":
			out[e.EnvelopeID] = e
		case e.Kind == "ack" && sent && was.EventID == "":
			presses = append(presses, e.At.Sub(was.At))
		case e.Kind == "ack" && sent:
			events = append(events, e.At.Sub(was.At))
		}
	}
	return events, presses, err
}

// until looks again and again, for half a minute.
func until(ctx context.Context, look func() error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
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
