package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/threads"
)

// intakeWorkers commit envelopes side by side: the record groups what waits
// together into one fsync. As many envelopes as this are acknowledged by one: a
// thousand a second, also while the disk takes a quarter of a second for it.
const intakeWorkers = 256

// lateWorkers do what comes after the ack and may have to wait for Slack.
const lateWorkers = 16

// later does what was put off.
func (b *Bot) later(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case do := <-b.work:
			do()
		}
	}
}

// putOff has do done soon, elsewhere: what it waits for holds up no ack.
func (b *Bot) putOff(ctx context.Context, do func()) {
	select {
	case b.work <- do:
	case <-ctx.Done():
	}
}

// intake takes envelopes to the record and acknowledges them: ack after one
// commit, never after work.
func (b *Bot) intake(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-b.envelope:
			b.take(ctx, e)
		}
	}
}

func (b *Bot) take(ctx context.Context, e envelope) {
	switch e.Type {
	case "events_api":
		var ev event
		if err := json.Unmarshal(e.Payload, &ev); err != nil {
			b.Log.Warn("an event does not parse; it is acknowledged and left", "error", err)
			e.ack(nil)
			return
		}
		after, err := b.event(ctx, ev)
		if err != nil {
			// Not acknowledged: Slack sends it again.
			if ctx.Err() == nil {
				b.Log.Error("cannot keep an event; Slack will send it again", "event", ev.ID, "error", err)
			}
			return
		}
		e.ack(nil)
		if after != nil {
			b.putOff(ctx, after)
		}
	case "interactive":
		b.interactive(ctx, e)
	case "slash_commands":
		b.slash(ctx, e)
	default:
		e.ack(nil)
	}
}

// event commits what an event says, and answers what is to be done after the
// ack.
func (b *Bot) event(ctx context.Context, e event) (after func(), err error) {
	// One name for the app, whoever tells of a message: catch-up must find what
	// came live, and the other way round.
	e.App = b.me.App
	ev := e.Event
	if (door{me: b.me, owner: true, known: true}).admit(e) == drop {
		return nil, nil // noise, whoever it is of: nobody is looked up for it
	}
	d := door{me: b.me}
	r, err := b.role(ctx, e.Team, e.author())
	if err != nil {
		return nil, err
	}
	d.owner = r == Owner
	if d.owner && ev.ThreadTS != "" && ev.Channel != "" {
		_, d.known, err = b.Threads.KeyOf(ctx, threads.Place{Team: e.Team, Channel: ev.Channel, ThreadTS: ev.ThreadTS})
		if err != nil {
			return nil, err
		}
	}
	switch d.admit(e) {
	case keyOnly:
		if err := b.heard(ctx, e); err != nil {
			return nil, err
		}
		if !d.owner {
			b.Log.Info("a message of somebody who is no owner is ignored", "team", e.Team, "user", ev.User, "channel", ev.Channel)
		}
		return nil, b.Threads.Ignore(ctx, e.App, e.Team, ev.Channel, ev.TS, e.ID)
	case message:
		return b.message(ctx, e)
	case codeSent:
		return b.codeSent(ctx, e)
	case edited:
		return nil, b.Threads.Edited(ctx, e.Team, ev.Channel, ev.Message.TS, plain(ev.Message.Text, b.me.User))
	case deleted:
		ts := ev.DeletedTS
		if ts == "" && ev.Previous != nil {
			ts = ev.Previous.TS
		}
		return nil, b.Threads.Deleted(ctx, e.Team, ev.Channel, ts)
	case homeOpened:
		return func() { b.home(ctx, e.Team, ev.User) }, nil
	case stopPressed:
		if r != Owner && r != Approver {
			return nil, nil
		}
		return b.keep(ctx, gestureStop+":"+e.ID, Press{Kind: gestureStop, Team: e.Team, User: ev.User, Channel: ev.Channel, ThreadTS: ev.ThreadTS})
	}
	return nil, nil
}

// message takes an owner's words to their session, or, where they are one of
// the few command words, to the command: control never waits behind a turn.
func (b *Bot) message(ctx context.Context, e event) (after func(), err error) {
	ev := e.Event
	text := plain(ev.Text, b.me.User)
	if p, ok := b.word(e, text); ok {
		return b.keep(ctx, wordKey(ev.Channel, ev.TS), p)
	}
	in := b.incoming(e, text)
	rec, err := b.Threads.Receive(ctx, in)
	if err != nil || !rec.Queued {
		return nil, err
	}
	return func() { b.received(ctx, e, rec.Thread) }, nil
}

// working is the status of a thread that has not said anything yet.
const working = "is working…"

// received tells a person that their message was taken, where nothing else soon
// will.
func (b *Bot) received(ctx context.Context, e event, key string) {
	if paused, err := b.Threads.Paused(ctx); err == nil && paused {
		if at, err := b.placeOf(ctx, key); err == nil {
			if err := b.note(ctx, at, "", "Everything is paused: I keep this, and take it up after `resume`."); err != nil {
				b.Log.Error("cannot say that everything is paused", "error", err)
			}
		}
		return
	}
	b.status(ctx, key, working)
}

// Queued tells a thread its place among those that wait to run. It is a preview:
// `status` and the Home tab say it at any time.
func (b *Bot) Queued(ctx context.Context, key string, place int) {
	b.putOff(ctx, func() {
		b.status(ctx, key, fmt.Sprintf("waits for a place to run: number %d (stop takes it out)", place))
	})
}

// incoming is a message as the sessions take it.
func (b *Bot) incoming(e event, text string) threads.Incoming {
	ev := e.Event
	in := threads.Incoming{App: e.App, Team: e.Team, Channel: ev.Channel, TS: ev.TS, ThreadTS: ev.ThreadTS, Event: e.ID, User: ev.User, Text: text}
	for _, f := range ev.Files {
		u := f.URL
		if u == "" {
			u = f.URLPrivate
		}
		in.Files = append(in.Files, threads.InFile{ID: f.ID, Name: f.Name, Size: f.Size, MIME: f.MIME, URL: u})
	}
	for _, a := range ev.Attachments {
		if t := strings.TrimSpace(strings.Join([]string{a.Pretext, a.Title, a.Text}, "\n")); t != "" {
			in.Quotes = append(in.Quotes, threads.Quote{From: a.AuthorName, Text: html.UnescapeString(t)})
		}
	}
	return in
}

var mention = regexp.MustCompile(`<@([A-Z0-9]+)(\|[^>]*)?>`)
var link = regexp.MustCompile(`<(https?://[^>|]+|mailto:[^>|]+)(?:\|([^>]*))?>`)

// plain is a message as its author typed it: our mention is taken out, links
// and entities are unwrapped as Slack wraps them.
func plain(text, me string) string {
	text = mention.ReplaceAllStringFunc(text, func(m string) string {
		if g := mention.FindStringSubmatch(m); g[1] == me {
			return ""
		}
		return m
	})
	text = link.ReplaceAllStringFunc(text, func(m string) string {
		g := link.FindStringSubmatch(m)
		if rest, ok := strings.CutPrefix(g[1], "mailto:"); ok {
			return rest
		}
		if g[2] != "" && !strings.HasSuffix(g[1], g[2]) && !strings.HasSuffix(g[1], g[2]+"/") {
			return g[2] + " (" + g[1] + ")"
		}
		return g[1]
	})
	return strings.TrimSpace(html.UnescapeString(text))
}

// interaction is a payload of a press, as far as it is looked at here.
type interaction struct {
	Type    string `json:"type"`
	Trigger string `json:"trigger_id"`
	Team    struct {
		ID string `json:"id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Team string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID string `json:"id"`
	} `json:"channel"`
	Message   json.RawMessage `json:"message"`
	Container struct {
		Channel  string `json:"channel_id"`
		TS       string `json:"message_ts"`
		ThreadTS string `json:"thread_ts"`
		View     string `json:"view_id"`
	} `json:"container"`
	View struct {
		ID       string `json:"id"`
		Root     string `json:"root_view_id"`
		Hash     string `json:"hash"`
		Callback string `json:"callback_id"`
		Meta     string `json:"private_metadata"`
		State    struct {
			Values json.RawMessage `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Callback string `json:"callback_id"`
	Response string `json:"response_url"`
	Actions  []struct {
		ActionID string `json:"action_id"`
		BlockID  string `json:"block_id"`
		Value    string `json:"value"`
		Selected struct {
			Value string `json:"value"`
		} `json:"selected_option"`
	} `json:"actions"`
}

func (b *Bot) interactive(ctx context.Context, e envelope) {
	var in interaction
	if err := json.Unmarshal(e.Payload, &in); err != nil {
		b.Log.Warn("an interaction does not parse; it is acknowledged and left", "error", err)
		e.ack(nil)
		return
	}
	p := Press{
		Kind: in.Type, Team: in.Team.ID, User: in.User.ID, UserName: in.User.Name, TriggerID: in.Trigger,
		Channel: in.Container.Channel, TS: in.Container.TS, ThreadTS: in.Container.ThreadTS,
		ViewID: in.View.ID, ViewHash: in.View.Hash, RootView: in.View.Root, Callback: in.View.Callback, Meta: in.View.Meta, State: in.View.State.Values,
		Message: in.Message, Response: in.Response,
	}
	if p.Team == "" {
		p.Team = in.User.Team
	}
	if p.Channel == "" {
		p.Channel = in.Channel.ID
	}
	if p.Callback == "" {
		p.Callback = in.Callback
	}
	if len(in.Actions) > 0 {
		a := in.Actions[0]
		p.ActionID, p.BlockID, p.Value = a.ActionID, a.BlockID, a.Value
		if p.Value == "" {
			p.Value = a.Selected.Value
		}
	}
	if p.Team != b.me.Team {
		e.ack(nil)
		return
	}
	if in.Type == "view_submission" {
		answer, cancel := context.WithTimeout(ctx, 2500*time.Millisecond)
		defer cancel()
		e.ack(b.submitted(answer, p))
		return
	}
	b.keepAck(ctx, e, p)
}

// slash takes /mecha.
func (b *Bot) slash(ctx context.Context, e envelope) {
	var in struct {
		Team     string `json:"team_id"`
		User     string `json:"user_id"`
		Name     string `json:"user_name"`
		Channel  string `json:"channel_id"`
		Command  string `json:"command"`
		Text     string `json:"text"`
		Trigger  string `json:"trigger_id"`
		Response string `json:"response_url"`
	}
	if err := json.Unmarshal(e.Payload, &in); err != nil || in.Team != b.me.Team {
		e.ack(nil)
		return
	}
	p := Press{Kind: "slash_command", Team: in.Team, User: in.User, UserName: in.Name, Channel: in.Channel, Callback: in.Command, Text: in.Text, TriggerID: in.Trigger, Response: in.Response}
	b.keepAck(ctx, e, p)
}
