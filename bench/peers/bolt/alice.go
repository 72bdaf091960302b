package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack/person"
)

// alice is the person on the other side.
type alice struct{ person.Person }

// hears waits until n finished messages of the bot hold these words.
func (a alice) hears(ctx context.Context, thread string, n int, words string) error {
	return until(ctx, func() error {
		list, err := a.Reads(ctx, thread)
		if err != nil {
			return err
		}
		found := 0
		for _, m := range list {
			if !m.Streaming() && strings.Contains(m.Words(), words) {
				found++
			}
		}
		if found < n {
			return fmt.Errorf("%q has not been said: %+v", words, list)
		}
		return nil
	})
}

// card waits for a message with an Approve.
func (a alice) card(ctx context.Context, thread string) (approve person.Button, err error) {
	err = until(ctx, func() error {
		list, err := a.Reads(ctx, thread)
		if err != nil {
			return err
		}
		for _, m := range list {
			if b, ok := m.Button("Approve"); ok {
				approve = b
				return nil
			}
		}
		return errors.New("no card asks for an approval")
	})
	return approve, err
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
	err := a.Do(ctx, http.MethodGet, "log?since=0", nil, &log)
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
	return person.Poll(ctx, 2*time.Millisecond, look)
}
