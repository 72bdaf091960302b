package localslack

import (
	"encoding/json"
	"net/http"
	"strings"
)

// Slash commands, shortcuts, and looking at an app's Home tab.

type commandRequest struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	Command string `json:"command"`
	Text    string `json:"text"`
}

// postCommand is POST /_local/command. What the app acks with is shown to who
// ran the command, or to all where it says so.
func (w *Workspace) postCommand(r *http.Request, q commandRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	a := w.command(q.Command)
	if a == nil {
		return nil, bad("unknown_command", q.Command+" is not a command of any app here")
	}
	s := w.store
	s.mu.Lock()
	ch, err := w.place(q.Channel, u)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	hk := hook{app: a, channel: ch.ID, user: u.ID}
	url := w.hooks.add(w, "commands", hk)
	trigger := w.modals.newTrigger(a, u.ID, "", s)
	p := map[string]any{"token": a.verify, "team_id": s.TeamID, "team_domain": s.Domain, "channel_id": ch.ID,
		"channel_name": wireChannelRef(ch)["name"], "user_id": u.ID, "user_name": u.Name, "command": q.Command,
		"text": strings.TrimSpace(q.Text), "api_app_id": a.id, "is_enterprise_install": "false", "response_url": url, "trigger_id": trigger}
	s.mu.Unlock()
	ack, status := a.sockets.ask(r.Context(), &envelope{kind: "slash_commands", event: q.Command, payload: encode(p), answers: true})
	if status == "acked" {
		w.answerCommand(a, url, ack)
	}
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": trigger}, nil
}

// answerCommand shows what a slash command was acked with, by the same way as
// its response_url and without costing one of its uses.
func (w *Workspace) answerCommand(by *app, url string, ack json.RawMessage) {
	a := args{}
	if isNull(ack) || a.addJSON(ack) != nil || (!a.has("text") && !a.has("blocks") && !a.has("attachments")) {
		return
	}
	secret := url[strings.LastIndexByte(url, '/')+1:]
	w.store.mu.Lock()
	w.hooks.open[secret].left++
	w.store.mu.Unlock()
	bot := principal{kind: botToken, user: by.bot, app: by}
	if err := w.useHook(&call{w: w, name: "response_url", args: a, who: bot}, secret); err != nil {
		w.log.Warn("the answer to a slash command was refused", "error", err)
	}
}

type shortcutRequest struct {
	User       string `json:"user"`
	CallbackID string `json:"callback_id"`
	AppID      string `json:"app_id"` // where two apps have the same callback_id
	Channel    string `json:"channel"`
	TS         string `json:"ts"`
}

// postShortcut is POST /_local/shortcut: a global one, or one on a message.
func (w *Workspace) postShortcut(r *http.Request, q shortcutRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	a, sc := w.shortcut(q.AppID, q.CallbackID, q.TS != "")
	if a == nil {
		return nil, bad("unknown_shortcut", q.CallbackID+" is not a shortcut of any app here")
	}
	s := w.store
	s.mu.Lock()
	kind := "shortcut"
	p := w.gesture(a, kind, u)
	if sc.Type == "message" {
		kind = "message_action"
		ch, err := w.place(q.Channel, u)
		var m *message
		if err == nil {
			ts, _ := parseTS(q.TS)
			if m = ch.find(ts); m == nil {
				err = bad("message_not_found", "there is no message "+q.TS+" in that channel")
			}
		}
		if err != nil {
			s.mu.Unlock()
			return nil, err
		}
		p["type"], p["channel"], p["message_ts"], p["message"] = kind, wireChannelRef(ch), m.TS.String(), s.wire(m)
		p["response_url"] = w.hooks.add(w, "app", hook{app: a, channel: ch.ID, thread: m.ThreadTS, user: u.ID, origin: m.TS})
	}
	p["callback_id"], p["action_ts"] = sc.CallbackID, timestamp(w.cfg.Now().UnixMicro()).String()
	p["trigger_id"] = w.modals.newTrigger(a, u.ID, "", s)
	s.mu.Unlock()
	ack, status := a.interact(r, kind, p)
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": p["trigger_id"]}, nil
}

type homeRequest struct {
	User  string `json:"user"`
	Tab   string `json:"tab"` // "home" unless given; "messages" is the app's direct messages
	AppID string `json:"app_id"`
}

// postHome is POST /_local/home: someone looks at the app.
func (w *Workspace) postHome(_ *http.Request, q homeRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	if q.Tab == "" {
		q.Tab = "home"
	}
	a := w.appByID(q.AppID)
	if a == nil {
		return nil, bad("unknown_app", "there is no app "+q.AppID)
	}
	if !a.hears("app_home_opened", nil) {
		return okay, nil
	}
	s := w.store
	s.mu.RLock()
	e := map[string]any{"type": "app_home_opened", "user": u.ID, "channel": "", "tab": q.Tab}
	if ch := s.im(u.ID, a.bot.ID); ch != nil {
		e["channel"] = ch.ID
	}
	if v := s.homes[homeKey{u.ID, a.id}]; v != nil && q.Tab == "home" {
		e["view"] = w.wireView(v)
	}
	s.mu.RUnlock()
	e["event_ts"] = w.eventTS()
	w.sendEvent(a, "app_home_opened", e["channel"].(string), encode(e))
	return okay, nil
}
