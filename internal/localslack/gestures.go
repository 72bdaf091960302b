package localslack

import (
	"encoding/json"
	"net/http"
)

// What a person does to an app: press, submit, close, run, open. Each becomes
// an envelope with the fields of Slack's real payloads, and waits for its ack.

// gesture is the part that all interactive payloads to an app share.
func (w *Workspace) gesture(a *app, kind string, u *user) map[string]any {
	s := w.store
	return map[string]any{"type": kind, "api_app_id": a.id, "token": a.verify,
		"user":       map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": s.TeamID},
		"team":       map[string]any{"id": s.TeamID, "domain": s.Domain},
		"enterprise": nil, "is_enterprise_install": false}
}

func wireChannelRef(ch *channel) map[string]any {
	name := ch.Name
	switch {
	case ch.IM:
		name = "directmessage"
	case ch.Private:
		name = "privategroup"
	}
	return map[string]any{"id": ch.ID, "name": name}
}

// interact delivers a gesture and waits for the app's answer.
func (a *app) interact(r *http.Request, kind string, payload map[string]any) (json.RawMessage, string) {
	return a.sockets.ask(r.Context(), &envelope{kind: "interactive", event: kind, payload: encode(payload), answers: true})
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
	a, el, origin, err := w.pressed(u, q)
	var payload map[string]any
	if err == nil {
		payload, err = w.press(u, q, a, el, origin)
	}
	w.store.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ack, status := a.interact(r, "block_actions", payload)
	return map[string]any{"ok": status == "acked", "status": status, "ack": orNull(ack), "trigger_id": payload["trigger_id"]}, nil
}

// origin is where an element that someone uses stands: in a message or in a view.
type origin struct {
	ch        *channel
	m         *message
	ephemeral bool
	v         *view
}

// pressed finds the element that a gesture names, where it stands, and the app
// that put it there. The caller holds the store's lock.
func (w *Workspace) pressed(u *user, q clickRequest) (*app, element, origin, error) {
	var o origin
	var a *app
	var places []json.RawMessage
	if q.ViewID != "" {
		if o.v = w.viewOf(u, q.ViewID); o.v == nil {
			return nil, element{}, o, bad("view_not_found", u.Name+" has no open view "+q.ViewID)
		}
		a, places = w.appByID(o.v.App), []json.RawMessage{o.v.Blocks}
	} else {
		if err := w.messageOf(u, q, &o); err != nil {
			return nil, element{}, o, err
		}
		if a = w.appOf(o.m.User); a == nil {
			a = w.app // a person's token posted it
		}
		places = []json.RawMessage{o.m.Blocks}
		if o.m.Stream != nil {
			for _, c := range o.m.Stream.Chunks {
				places = append(places, c.Blocks)
			}
		}
	}
	if a == nil {
		return nil, element{}, o, bad("app_not_installed", "the app of that view isn't part of this start")
	}
	if !a.manifest.Buttons {
		return nil, element{}, o, bad("interactivity_off", a.manifest.Name+" is not configured to handle interactive responses: its manifest lacks settings.interactivity.is_enabled")
	}
	for _, blocks := range places {
		if el, ok := findElement(blocks, q.BlockID, q.ActionID); ok {
			return a, el, o, nil
		}
	}
	return nil, element{}, o, bad("element_not_found", "there is no element with the action_id "+q.ActionID+" there; it may have changed")
}

// messageOf finds the message that a gesture names, an ephemeral one included.
func (w *Workspace) messageOf(u *user, q clickRequest, o *origin) (err error) {
	if o.ch, err = w.place(q.Channel, u); err != nil {
		return err
	}
	ts, _ := parseTS(q.TS)
	if o.m = o.ch.find(ts); o.m == nil {
		o.m = w.store.findEphemeral(u.ID, ts)
		o.ephemeral = o.m != nil
	}
	if o.m == nil {
		return bad("message_not_found", "there is no message "+q.TS+" that "+u.Name+" sees in that channel")
	}
	return nil
}

// press makes the payload of a press or a pick, and in a view keeps what was
// picked. The caller holds the store's lock.
func (w *Workspace) press(u *user, q clickRequest, a *app, el element, o origin) (map[string]any, error) {
	el = w.suggested.give(u.ID, el)
	action, state, err := w.action(el, q.Value)
	if err != nil {
		return nil, err
	}
	p := w.gesture(a, "block_actions", u)
	p["actions"] = []any{action}
	if o.v != nil {
		w.fillIn(o.v, q.Values)
		if state != nil {
			o.v.values.set(el.BlockID, el.ActionID, state)
		}
		p["container"], p["view"], p["state"] = o.container(), w.wireView(o.v), map[string]any{"values": o.v.stateValues()}
		p["trigger_id"] = w.modals.newTrigger(a, u.ID, o.v.ID, w.store)
		return p, nil
	}
	vals := initialValues(o.m.Blocks)
	if state != nil {
		vals.set(el.BlockID, el.ActionID, state)
	}
	p["container"], p["channel"], p["state"] = o.container(), wireChannelRef(o.ch), map[string]any{"values": vals}
	if !o.ephemeral {
		p["message"] = w.store.wire(o.m)
	}
	p["trigger_id"] = w.modals.newTrigger(a, u.ID, "", w.store)
	p["response_url"] = w.hooks.add(w, "actions", hook{app: a, channel: o.ch.ID, thread: o.m.ThreadTS, user: u.ID, origin: o.m.TS, ephem: o.ephemeral})
	return p, nil
}

// container says in a payload where the element stands.
func (o origin) container() map[string]any {
	if o.v != nil {
		return map[string]any{"type": "view", "view_id": o.v.ID}
	}
	c := map[string]any{"type": "message", "message_ts": o.m.TS.String(), "channel_id": o.ch.ID, "is_ephemeral": o.ephemeral}
	if o.m.ThreadTS != 0 {
		c["thread_ts"] = o.m.ThreadTS.String()
	}
	return c
}

// viewOf is an open modal or the Home view of u. The caller holds the store's lock.
func (w *Workspace) viewOf(u *user, id string) *view {
	if v := w.modals.find(id); v != nil && v.User == u.ID {
		return v
	}
	if v := w.homeByID(id); v != nil && v.User == u.ID {
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
				if state, err := w.suggested.give(v.User, el).state(raw); err == nil && state != nil {
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
