package triggers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Message is something that was said in a channel.
type Message struct {
	Channel, TS string
	Text        string
}

const (
	maxPattern = 512
	// maxMatched is how much of a message is looked at; Slack's own limit.
	maxMatched = 40_000
	heardSpan  = time.Hour
)

// validateMessage is Validate for a trigger that a message causes: anyone who
// can write in the channel can make it run, with words of theirs. So it starts
// with both legs set, is read-only, and answers in the owner's DM.
func (t *Trigger) validateMessage() error {
	switch {
	case t.Kind != kindPrompt:
		return errors.New("only a prompt can be caused by a message")
	case t.Schedule != "":
		return errors.New("a trigger has a schedule or is caused by messages, not both")
	case t.Channel == "":
		return errors.New("a trigger that messages cause needs the channel that it watches, by its id")
	case t.Mode != "read-only":
		return errors.New("a trigger that messages cause is read-only: others' words make it run")
	case t.Pattern == "":
		return errors.New("a trigger that messages cause needs a pattern, such as (?i)deploy failed")
	case len(t.Pattern) > maxPattern:
		return fmt.Errorf("the pattern is %d bytes long; %d is the most", len(t.Pattern), maxPattern)
	}
	re, err := regexp.Compile(t.Pattern)
	if err != nil {
		return fmt.Errorf("the pattern does not parse: %w", err)
	}
	if re.MatchString("") {
		return fmt.Errorf("the pattern %q matches every message: say what to look for", t.Pattern)
	}
	t.Private, t.Untrusted = true, true
	return nil
}

// Match answers the enabled triggers that a message in a channel causes, by
// name.
func (t *Triggers) Match(ctx context.Context, channel, text string) ([]Trigger, error) {
	if err := t.refresh(ctx); err != nil {
		return nil, err
	}
	names := t.plan.matching(channel, text)
	if len(names) == 0 {
		return nil, nil
	}
	var list []Trigger
	err := t.db.Read(ctx, func(tx *record.Tx) error {
		for _, name := range names {
			tr, err := get(tx, name)
			if errors.Is(err, ErrNotFound) || err == nil && (tr.State != "enabled" || tr.OnEvent != OnMessage) {
				continue // changed since
			}
			if err != nil {
				return err
			}
			list = append(list, tr)
		}
		return nil
	})
	return list, err
}

func (p *plan) matching(channel, text string) (names []string) {
	p.mu.Lock()
	var watch []*entry
	for _, e := range p.watched[channel] {
		watch = append(watch, e)
	}
	p.mu.Unlock()
	if len(text) > maxMatched {
		text = text[:maxMatched]
	}
	for _, e := range watch {
		if e.pattern.MatchString(text) {
			names = append(names, e.name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

// Heard runs what a message causes, at most six an hour for each trigger; the
// rest, and what comes while one runs, is noted as skipped. A message that was
// heard before causes nothing again. life bounds the runs where Run, the loop,
// does not.
func (t *Triggers) Heard(ctx, life context.Context, m Message) ([]Decision, error) {
	list, err := t.Match(ctx, m.Channel, m.Text)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	hold, err := t.hold(ctx)
	if err != nil {
		return nil, err
	}
	var all []Decision
	for _, tr := range list {
		d, known, err := t.heard(ctx, life, tr, m, hold.of(tr.Kind))
		if err != nil {
			return all, err
		}
		if !known {
			all = append(all, d)
		}
	}
	return all, nil
}

func (t *Triggers) heard(ctx, life context.Context, tr Trigger, m Message, hold string) (d Decision, known bool, err error) {
	d = Decision{Trigger: tr.Name, Do: "skip", Reason: hold}
	var place *flight
	if hold == "" {
		if place = t.reserve(life, tr.Name); place == nil {
			d.Reason = overlapReason
		}
	}
	f := Fire{Trigger: tr.Name, Slots: 1, Event: m.Channel + ":" + m.TS, Text: m.Text, Status: "skipped"}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		if place != nil {
			var n int
			if err := tx.Row(qFiresHeard, []any{tr.Name, tx.Now().Add(-heardSpan).UnixMilli()}, &n); err != nil {
				return err
			}
			if n >= t.cfg.MaxHeard {
				d.Reason = fmt.Sprintf("limit: %d runs an hour", t.cfg.MaxHeard)
			} else {
				d.Do, f.Status = "run", "running"
			}
		}
		f.Reason, f.Started = d.Reason, tx.Now()
		id, fresh, err := insertFire(tx, f)
		f.ID, known = id, !fresh
		return err
	})
	if err != nil || known || d.Do != "run" {
		place.release()
		if err != nil {
			err = fmt.Errorf("cannot note what a message does to trigger %s: %w", tr.Name, err)
		}
		return d, known, err
	}
	t.start(place, tr, f, false)
	return d, false, nil
}
