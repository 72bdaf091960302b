package localslack

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// eventCallback is the payload of an events_api envelope, as far as it is the
// same in all of an app's; the event and what is its alone are put in beside it.
type eventCallback struct {
	Token               string          `json:"token"`
	TeamID              string          `json:"team_id"`
	ContextTeamID       string          `json:"context_team_id"`
	ContextEnterpriseID *string         `json:"context_enterprise_id"`
	APIAppID            string          `json:"api_app_id"`
	Type                string          `json:"type"`
	Authorizations      []authorization `json:"authorizations"`
	IsExtSharedChannel  bool            `json:"is_ext_shared_channel"`
}

type authorization struct {
	EnterpriseID        *string `json:"enterprise_id"`
	TeamID              string  `json:"team_id"`
	UserID              string  `json:"user_id"`
	IsBot               bool    `json:"is_bot"`
	IsEnterpriseInstall bool    `json:"is_enterprise_install"`
}

// sendEvent delivers one event to an app. kind is the inner event's type; the
// members of outer replace those of the callback around it.
func (w *Workspace) sendEvent(a *app, kind, channelID string, event json.RawMessage, outer ...map[string]json.RawMessage) (eventID string, sent bool) {
	if !w.deliverable(a) {
		return "", false
	}
	id := newID("Ev0", 10)
	payload := w.payload(a, id, kind, channelID, event)
	for _, members := range outer {
		for k, v := range members {
			payload = replaceMember(payload, k, v)
		}
	}
	return id, a.sockets.deliver(&envelope{kind: "events_api", event: kind, eventID: id, payload: payload})
}

// callback is what is the same in all event payloads of an app.
func (w *Workspace) callback(a *app) json.RawMessage {
	team := w.store.TeamID
	return encode(&eventCallback{
		Token: a.verify, TeamID: team, ContextTeamID: team, APIAppID: a.id, Type: "event_callback",
		Authorizations: []authorization{{TeamID: team, UserID: a.bot.ID, IsBot: true}},
	})
}

// eventContext is what event_context holds.
type eventContext struct {
	ET  string `json:"et"`
	TID string `json:"tid"`
	AID string `json:"aid"`
	CID string `json:"cid"`
}

// payload puts an event into the callback around it.
func (w *Workspace) payload(a *app, id, kind, channelID string, event json.RawMessage) json.RawMessage {
	context := encode(&eventContext{kind, w.store.TeamID, a.id, channelID})
	out := make([]byte, 0, len(a.callback)+len(event)+2*len(context)+128)
	out = append(out, a.callback[:len(a.callback)-1]...)
	out = append(append(out, `,"event_id":"`...), id...)
	out = strconv.AppendInt(append(out, `","event_time":`...), w.cfg.Now().Unix(), 10)
	out = base64.RawURLEncoding.AppendEncode(append(out, `,"event_context":"4-`...), context)
	out = append(append(out, `","event":`...), event...)
	return append(out, '}')
}

// deliverable counts a delivery against the app's hour. An app that has had its
// share hears app_rate_limited instead, once a minute.
func (w *Workspace) deliverable(a *app) bool {
	if w.limits.scale <= 0 {
		return true
	}
	now := w.clock.Now()
	ok, tell := a.hourly.take(now, int(maxDeliveries*w.limits.scale))
	if tell {
		payload := encode(map[string]any{"type": "app_rate_limited", "token": a.verify, "team_id": w.store.TeamID, "api_app_id": a.id,
			"minute_rate_limited": now.Truncate(time.Minute).Unix()})
		a.sockets.deliver(&envelope{kind: "events_api", event: "app_rate_limited", payload: payload})
	}
	return ok
}

// tell delivers an event to every app that is in ch, or with a nil ch to every
// app, as far as it subscribed to such events.
func (w *Workspace) tell(ch *channel, kind string, event map[string]any) {
	id := ""
	event["type"], event["event_ts"] = kind, w.eventTS()
	for _, a := range w.hearers(ch, kind) {
		if ch != nil {
			id = ch.ID
		}
		w.sendEvent(a, kind, id, encode(event))
	}
}

// hearers are the apps that are in ch and subscribed to such events.
func (w *Workspace) hearers(ch *channel, kind string) (out []*app) {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	for _, a := range w.apps {
		if (ch == nil || ch.has(a.bot.ID)) && a.hears(kind, ch) {
			out = append(out, a)
		}
	}
	return out
}

// sendMembership tells of a member that came or went: the app itself, though it
// is no longer in the channel, and those that are.
func (w *Workspace) sendMembership(kind string, ch *channel, user, inviter string) {
	e := map[string]any{"type": kind, "user": user, "channel": ch.ID, "channel_type": "C", "team": w.store.TeamID, "event_ts": w.eventTS()}
	if !ch.public() {
		e["channel_type"] = "G"
	}
	if inviter != "" {
		e["inviter"] = inviter
	}
	apps := w.hearers(ch, kind)
	if own := w.appOf(user); own != nil && own.hears(kind, ch) && !slices.Contains(apps, own) {
		apps = append(apps, own)
	}
	for _, a := range apps {
		w.sendEvent(a, kind, ch.ID, encode(e))
	}
}

// announce sends the events of a new message: message, and app_mention beside
// it, with an event id of its own, where a person named the bot in a channel.
func (w *Workspace) announce(ch *channel, m *wireMessage) {
	if !ch.IM && m.BotID == "" {
		for _, a := range w.hearers(ch, "app_mention") {
			if mentions(m.Text, a.bot.ID) {
				mention := *m
				mention.Type, mention.Subtype, mention.Channel, mention.EventTS = "app_mention", "", ch.ID, m.TS
				w.sendEvent(a, "app_mention", ch.ID, encode(&mention))
			}
		}
	}
	w.announceLinks(ch, m)
	apps := w.hearers(ch, "message")
	if len(apps) == 0 {
		return
	}
	e := *m
	e.Channel, e.EventTS, e.ChannelType = ch.ID, m.TS, ch.kind()
	event := encode(&e)
	for _, a := range apps {
		w.sendEvent(a, "message", ch.ID, event)
	}
}

func mentions(text, userID string) bool {
	return strings.Contains(text, "<@"+userID+">") || strings.Contains(text, "<@"+userID+"|")
}

// messageEvent is a message event about another message.
type messageEvent struct {
	Type            string       `json:"type"`
	Subtype         string       `json:"subtype"`
	Hidden          bool         `json:"hidden"`
	Channel         string       `json:"channel"`
	Message         *wireMessage `json:"message,omitempty"`
	PreviousMessage *wireMessage `json:"previous_message,omitempty"`
	DeletedTS       string       `json:"deleted_ts,omitempty"`
	TS              string       `json:"ts"`
	EventTS         string       `json:"event_ts"`
	ChannelType     string       `json:"channel_type"`
}

// announceChange sends message_changed.
func (w *Workspace) announceChange(ch *channel, before, after *wireMessage) {
	w.announceAbout(ch, messageEvent{Subtype: "message_changed", Message: after, PreviousMessage: before})
}

// announceDeletion sends message_deleted.
func (w *Workspace) announceDeletion(ch *channel, before *wireMessage) {
	w.announceAbout(ch, messageEvent{Subtype: "message_deleted", DeletedTS: before.TS, PreviousMessage: before})
}

func (w *Workspace) announceAbout(ch *channel, e messageEvent) {
	apps := w.hearers(ch, "message")
	if len(apps) == 0 {
		return
	}
	at := w.eventTS()
	e.Type, e.Hidden, e.Channel, e.TS, e.EventTS, e.ChannelType = "message", true, ch.ID, at, at, ch.kind()
	event := encode(&e)
	for _, a := range apps {
		w.sendEvent(a, "message", ch.ID, event)
	}
}

// eventTS is a timestamp for an event that has no message of its own.
func (w *Workspace) eventTS() string {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return w.store.nextTS().String()
}
