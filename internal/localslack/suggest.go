package localslack

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxSuggestions is how many options an app may answer a block_suggestion with.
const maxSuggestions = 100

type suggestRequest struct {
	clickRequest
	Query string `json:"query"`
}

// postSuggest is POST /_local/suggest: someone types into an external select
// and the app is asked for options. They are remembered until one is picked.
func (w *Workspace) postSuggest(r *http.Request, q suggestRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	w.store.mu.Lock()
	a, el, o, err := w.pressed(u, q.clickRequest)
	var p map[string]any
	if err == nil {
		p, err = w.suggestion(a, u, el, o, q.Query)
	}
	w.store.mu.Unlock()
	if err != nil {
		return nil, err
	}
	ack, status := a.interact(r, "block_suggestion", p)
	if status != "acked" {
		return map[string]any{"ok": false, "error": status, "what": "the app gave no options in time"}, nil
	}
	var answer struct {
		Options []option `json:"options"`
		Groups  []struct {
			Label   json.RawMessage `json:"label"`
			Options []option        `json:"options"`
		} `json:"option_groups"`
	}
	if isNull(ack) || json.Unmarshal(ack, &answer) != nil {
		return nil, bad("invalid_ack", "the app's options can't be read: "+string(clip(ack)))
	}
	all := answer.Options
	for _, g := range answer.Groups {
		all = append(all, g.Options...)
	}
	if len(all) > maxSuggestions {
		return nil, bad("invalid_ack", "the app gave more than 100 options")
	}
	w.store.mu.Lock()
	w.suggested.keep(u.ID, el, all)
	w.store.mu.Unlock()
	return map[string]any{"ok": true, "ack": ack}, nil
}

// suggestion makes the payload of a block_suggestion. The caller holds the
// store's lock.
func (w *Workspace) suggestion(a *app, u *user, el element, o origin, query string) (map[string]any, error) {
	if !strings.HasSuffix(el.Type, "external_select") {
		return nil, bad("not_external", "an element of type "+el.Type+" has its options in itself")
	}
	least := 3 // Slack's own
	var f struct {
		Least *int `json:"min_query_length"`
	}
	if json.Unmarshal(el.raw, &f) == nil && f.Least != nil {
		least = *f.Least
	}
	if utf8.RuneCountInString(query) < least {
		return nil, bad("query_too_short", "the app wants a few more characters before it suggests anything")
	}
	p := w.gesture(a, "block_suggestion", u)
	p["action_id"], p["block_id"], p["value"], p["container"] = el.ActionID, el.BlockID, query, o.container()
	if o.v != nil {
		p["view"] = w.wireView(o.v)
		return p, nil
	}
	p["channel"], p["message"] = wireChannelRef(o.ch), w.store.wire(o.m)
	return p, nil
}

// suggested are the options that apps gave last, by person and element. The
// store's lock guards them.
type suggested map[[3]string]map[string]json.RawMessage

const maxSuggested = 1000 // elements; forgetting costs an option its words, no more

func (s suggested) keep(user string, el element, options []option) {
	if len(s) >= maxSuggested {
		clear(s)
	}
	key := [3]string{user, el.BlockID, el.ActionID}
	if s[key] == nil {
		s[key] = map[string]json.RawMessage{}
	}
	for _, o := range options {
		s[key][o.value] = o.raw
	}
}

// give puts the options that u was offered into an external select, so that a
// pick is what the app said, not only its value.
func (s suggested) give(user string, el element) element {
	offered := s[[3]string{user, el.BlockID, el.ActionID}]
	if offered == nil || !strings.HasSuffix(el.Type, "external_select") {
		return el
	}
	el.offered = offered
	return el
}
