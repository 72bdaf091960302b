package localslack

import (
	"encoding/json"
	"net/http"
	"strings"
)

// What a person does to an app: press, submit, close, run, open. Each becomes
// an envelope with the fields of Slack's real payloads, and waits for its ack.

// gesture is the part that all interactive payloads share.
func (w *Workspace) gesture(kind string, u *user) map[string]any {
	s := w.store
	return map[string]any{"type": kind, "api_app_id": w.app.id, "token": s.Verify,
		"user":       map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": s.TeamID},
		"team":       map[string]any{"id": s.TeamID, "domain": s.Domain},
		"enterprise": nil, "is_enterprise_install": false}
}

func wireChannelRef(ch *channel) map[string]any {
	name := ch.Name
	if ch.IM {
		name = "directmessage"
	}
	return map[string]any{"id": ch.ID, "name": name}
}

func (w *Workspace) interact(r *http.Request, kind string, payload map[string]any) (json.RawMessage, string) {
	return w.app.sockets.ask(r.Context(), &envelope{kind: "interactive", event: kind, payload: encode(payload), answers: true})
}

type clickRequest struct {
	User     string          `json:"user"`
	Channel  string          `json:"channel"`
	TS       string          `json:"ts"`
	ViewID   string          `json:"view_id"`
	ActionID string          `json:"action_id"`
	BlockID  string          `json:"block_id"`
	Value    json.RawMessage `json:"value"`
	Values   formValues      `json:"values"` // what else the view's form holds at that moment
	ThreadTS string          `json:"thread_ts"`
}

// formValues are what a form holds: by block, by action.
type formValues map[string]map[string]json.RawMessage

// postClick is POST /_local/click: a button or a pick, in a message or a view.
func (w *Workspace) postClick(r *http.Request, q clickRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	w.store.mu.Lock()
	var payload map[string]any
	if q.ViewID != "" {
		payload, err = w.clickView(u, q)
	} else {
		payload, err = w.clickMessage(u, q)
	}
	w.store.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ack, status := w.interact(r, "block_actions", payload)
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": payload["trigger_id"]}, nil
}

// clickMessage makes the payload of a press in a message. The caller holds the
// store's lock.
func (w *Workspace) clickMessage(u *user, q clickRequest) (map[string]any, error) {
	s := w.store
	ch, err := w.place(q.Channel, u)
	if err != nil {
		return nil, err
	}
	ts, _ := parseTS(q.TS)
	m := ch.find(ts)
	ephemeral := false
	if m == nil {
		m = s.findEphemeral(u.ID, ts)
		ephemeral = m != nil
	}
	if m == nil {
		return nil, bad("message_not_found", "there is no message "+q.TS+" that "+u.Name+" sees in that channel")
	}
	el, ok := findElement(m.Blocks, q.BlockID, q.ActionID)
	if !ok && m.Stream != nil {
		for _, c := range m.Stream.Chunks {
			if el, ok = findElement(c.Blocks, q.BlockID, q.ActionID); ok {
				break
			}
		}
	}
	if !ok {
		return nil, bad("element_not_found", "the message has no element with the action_id "+q.ActionID+"; it may have changed")
	}
	action, state, err := w.action(el, q.Value)
	if err != nil {
		return nil, err
	}
	vals := initialValues(m.Blocks)
	if state != nil {
		vals.set(el.BlockID, el.ActionID, state)
	}
	p := w.gesture("block_actions", u)
	container := map[string]any{"type": "message", "message_ts": m.TS.String(), "channel_id": ch.ID, "is_ephemeral": ephemeral}
	if m.ThreadTS != 0 {
		container["thread_ts"] = m.ThreadTS.String()
	}
	p["container"], p["channel"], p["state"], p["actions"] = container, wireChannelRef(ch), map[string]any{"values": vals}, []any{action}
	if !ephemeral {
		p["message"] = s.wire(m)
	}
	p["trigger_id"] = w.modals.newTrigger(u.ID, "", s)
	p["response_url"] = w.hooks.add(w, "actions", hook{channel: ch.ID, thread: m.ThreadTS, user: u.ID, origin: m.TS, ephem: ephemeral})
	return p, nil
}

// clickView makes the payload of a press in a modal or a Home tab, and keeps
// what was picked.
func (w *Workspace) clickView(u *user, q clickRequest) (map[string]any, error) {
	v := w.viewOf(u, q.ViewID)
	if v == nil {
		return nil, bad("view_not_found", u.Name+" has no open view "+q.ViewID)
	}
	el, ok := findElement(v.Blocks, q.BlockID, q.ActionID)
	if !ok {
		return nil, bad("element_not_found", "the view has no element with the action_id "+q.ActionID)
	}
	w.fillIn(v, q.Values)
	action, state, err := w.action(el, q.Value)
	if err != nil {
		return nil, err
	}
	if state != nil {
		v.values.set(el.BlockID, el.ActionID, state)
	}
	p := w.gesture("block_actions", u)
	p["container"] = map[string]any{"type": "view", "view_id": v.ID}
	p["view"], p["actions"] = w.wireView(v), []any{action}
	p["state"] = map[string]any{"values": v.stateValues()}
	p["trigger_id"] = w.modals.newTrigger(u.ID, v.ID, w.store)
	return p, nil
}

// viewOf is an open modal or the Home view of u. The caller holds the store's lock.
func (w *Workspace) viewOf(u *user, id string) *view {
	if v := w.modals.find(id); v != nil && v.User == u.ID {
		return v
	}
	if v := w.store.homes[u.ID]; v != nil && v.ID == id {
		return v
	}
	return nil
}

// fillIn takes over what a form holds where it makes sense; judging comes with
// the submit.
func (w *Workspace) fillIn(v *view, form formValues) {
	for block, actions := range form {
		for action, raw := range actions {
			if el, ok := findElement(v.Blocks, block, action); ok && el.Type != "file_input" {
				if state, err := el.state(raw); err == nil && state != nil {
					v.values.set(block, action, state)
				}
			}
		}
	}
}

// action is one entry of a payload's actions, and the new state of what was
// picked; nil for a button.
func (w *Workspace) action(el element, value json.RawMessage) (map[string]any, json.RawMessage, error) {
	f := el.fields()
	a := map[string]any{"type": el.Type, "action_id": el.ActionID, "block_id": el.BlockID, "action_ts": timestamp(w.cfg.Now().UnixMicro()).String()}
	switch el.Type {
	case "button", "workflow_button", "icon_button":
		if f.Text != nil {
			a["text"] = f.Text
		}
		if f.Value != "" {
			a["value"] = f.Value
		}
		if f.Style != "" {
			a["style"] = f.Style
		}
		return a, nil, nil
	case "feedback_buttons":
		for _, raw := range []json.RawMessage{f.Positive, f.Negative} {
			var b struct {
				Value string          `json:"value"`
				Text  json.RawMessage `json:"text"`
			}
			if json.Unmarshal(raw, &b) == nil && b.Value == oneString(value) {
				a["value"], a["text"] = b.Value, b.Text
				return a, nil, nil
			}
		}
		return nil, nil, bad("invalid_value", "value must be that of one of the two feedback buttons")
	}
	state, err := el.state(value)
	if err != nil {
		return nil, nil, bad("invalid_value", err.Error())
	}
	if state == nil {
		return nil, nil, bad("not_pressable", "an element of type "+el.Type+" can't be pressed")
	}
	var fields map[string]json.RawMessage
	json.Unmarshal(state, &fields) // ours, so an object
	for k, v := range fields {
		a[k] = v
	}
	var p struct {
		Placeholder json.RawMessage `json:"placeholder"`
	}
	if json.Unmarshal(el.raw, &p) == nil && p.Placeholder != nil {
		a["placeholder"] = p.Placeholder
	}
	if el.Type == "overflow" {
		return a, nil, nil
	}
	return a, state, nil
}

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
	known := false
	for _, c := range w.app.commands {
		known = known || c.Command == q.Command
	}
	if !known {
		return nil, bad("unknown_command", q.Command+" is not a command of the app")
	}
	s := w.store
	s.mu.Lock()
	ch, err := w.place(q.Channel, u)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	hk := hook{channel: ch.ID, user: u.ID}
	url := w.hooks.add(w, "commands", hk)
	trigger := w.modals.newTrigger(u.ID, "", s)
	p := map[string]any{"token": s.Verify, "team_id": s.TeamID, "team_domain": s.Domain, "channel_id": ch.ID,
		"channel_name": wireChannelRef(ch)["name"], "user_id": u.ID, "user_name": u.Name, "command": q.Command,
		"text": strings.TrimSpace(q.Text), "api_app_id": w.app.id, "is_enterprise_install": "false", "response_url": url, "trigger_id": trigger}
	s.mu.Unlock()
	ack, status := w.app.sockets.ask(r.Context(), &envelope{kind: "slash_commands", event: q.Command, payload: encode(p), answers: true})
	if status == "acked" {
		w.answerCommand(url, ack)
	}
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": trigger}, nil
}

// answerCommand shows what a slash command was acked with, by the same way as
// its response_url and without costing one of its uses.
func (w *Workspace) answerCommand(url string, ack json.RawMessage) {
	a := args{}
	if isNull(ack) || a.addJSON(ack) != nil || (!a.has("text") && !a.has("blocks") && !a.has("attachments")) {
		return
	}
	secret := url[strings.LastIndexByte(url, '/')+1:]
	w.store.mu.Lock()
	w.hooks.open[secret].left++
	w.store.mu.Unlock()
	bot := principal{kind: botToken, user: w.app.bot, app: w.app}
	if err := w.useHook(&call{w: w, name: "response_url", args: a, who: bot}, secret); err != nil {
		w.log.Warn("the answer to a slash command was refused", "error", err)
	}
}

type shortcutRequest struct {
	User       string `json:"user"`
	CallbackID string `json:"callback_id"`
	Channel    string `json:"channel"`
	TS         string `json:"ts"`
}

// postShortcut is POST /_local/shortcut: a global one, or one on a message.
func (w *Workspace) postShortcut(r *http.Request, q shortcutRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	var sc *Shortcut
	for i := range w.app.shortcuts {
		if w.app.shortcuts[i].CallbackID == q.CallbackID {
			sc = &w.app.shortcuts[i]
		}
	}
	if sc == nil {
		return nil, bad("unknown_shortcut", q.CallbackID+" is not a shortcut of the app")
	}
	s := w.store
	s.mu.Lock()
	kind := "shortcut"
	p := w.gesture(kind, u)
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
		p["response_url"] = w.hooks.add(w, "app", hook{channel: ch.ID, thread: m.ThreadTS, user: u.ID, origin: m.TS})
	}
	p["callback_id"], p["action_ts"] = sc.CallbackID, timestamp(w.cfg.Now().UnixMicro()).String()
	p["trigger_id"] = w.modals.newTrigger(u.ID, "", s)
	s.mu.Unlock()
	ack, status := w.interact(r, kind, p)
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": p["trigger_id"]}, nil
}

type homeRequest struct {
	User string `json:"user"`
	Tab  string `json:"tab"` // "home" unless given; "messages" is the app's direct messages
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
	s := w.store
	s.mu.RLock()
	e := map[string]any{"type": "app_home_opened", "user": u.ID, "channel": "", "tab": q.Tab}
	if ch := s.im(u.ID, w.app.bot.ID); ch != nil {
		e["channel"] = ch.ID
	}
	if v := s.homes[u.ID]; v != nil && q.Tab == "home" {
		e["view"] = w.wireView(v)
	}
	s.mu.RUnlock()
	e["event_ts"] = w.eventTS()
	w.sendEvent("app_home_opened", e["channel"].(string), encode(e))
	return okay, nil
}
