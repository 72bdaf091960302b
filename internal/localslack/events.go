package localslack

import (
	"encoding/base64"
	"encoding/json"
	"strings"
)

// eventCallback is the payload of an events_api envelope.
type eventCallback struct {
	Token               string          `json:"token"`
	TeamID              string          `json:"team_id"`
	ContextTeamID       string          `json:"context_team_id"`
	ContextEnterpriseID *string         `json:"context_enterprise_id"`
	APIAppID            string          `json:"api_app_id"`
	Event               json.RawMessage `json:"event"`
	Type                string          `json:"type"`
	EventID             string          `json:"event_id"`
	EventTime           int64           `json:"event_time"`
	Authorizations      []authorization `json:"authorizations"`
	IsExtSharedChannel  bool            `json:"is_ext_shared_channel"`
	EventContext        string          `json:"event_context"`
}

type authorization struct {
	EnterpriseID        *string `json:"enterprise_id"`
	TeamID              string  `json:"team_id"`
	UserID              string  `json:"user_id"`
	IsBot               bool    `json:"is_bot"`
	IsEnterpriseInstall bool    `json:"is_enterprise_install"`
}

// sendEvent delivers one event to the app. kind is the inner event's type; the
// members of outer replace those of the callback around it.
func (w *Workspace) sendEvent(kind, channelID string, event json.RawMessage, outer ...map[string]json.RawMessage) (eventID string, sent bool) {
	s := w.store
	id := newID("Ev0", 10)
	payload := encode(&eventCallback{
		Token: s.Verify, TeamID: s.TeamID, ContextTeamID: s.TeamID, APIAppID: w.app.id, Event: event,
		Type: "event_callback", EventID: id, EventTime: w.cfg.Now().Unix(),
		Authorizations: []authorization{{TeamID: s.TeamID, UserID: w.app.bot.ID, IsBot: true}},
		EventContext: "4-" + base64.RawURLEncoding.EncodeToString(
			encode(map[string]string{"et": kind, "tid": s.TeamID, "aid": w.app.id, "cid": channelID})),
	})
	for _, members := range outer {
		for k, v := range members {
			payload = replaceMember(payload, k, v)
		}
	}
	return id, w.app.sockets.deliver(&envelope{kind: "events_api", event: kind, eventID: id, payload: payload})
}

// sees reports whether the app is in ch, and with that hears what happens there.
func (w *Workspace) sees(ch *channel) bool {
	w.store.mu.RLock()
	defer w.store.mu.RUnlock()
	return ch.has(w.app.bot.ID)
}

// announce sends the events of a new message: message, and app_mention beside
// it, with an event id of its own, where a person named the bot in a channel.
func (w *Workspace) announce(ch *channel, m *wireMessage) {
	if !w.sees(ch) {
		return
	}
	e := *m
	e.Channel, e.EventTS, e.ChannelType = ch.ID, m.TS, ch.kind()
	event := encode(&e)
	if !ch.IM && m.BotID == "" && mentions(m.Text, w.app.bot.ID) {
		mention := *m
		mention.Type, mention.Subtype, mention.Channel, mention.EventTS = "app_mention", "", ch.ID, m.TS
		w.sendEvent("app_mention", ch.ID, encode(&mention))
	}
	w.sendEvent("message", ch.ID, event)
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
	if !w.sees(ch) {
		return
	}
	at := w.eventTS()
	e.Type, e.Hidden, e.Channel, e.TS, e.EventTS, e.ChannelType = "message", true, ch.ID, at, at, ch.kind()
	w.sendEvent("message", ch.ID, encode(&e))
}

// eventTS is a timestamp for an event that has no message of its own.
func (w *Workspace) eventTS() string {
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	return w.store.nextTS().String()
}
