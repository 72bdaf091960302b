package localslack

import (
	"encoding/json"
	"net/http"
	"slices"
)

type submitRequest struct {
	User   string     `json:"user"`
	ViewID string     `json:"view_id"`
	Values formValues `json:"values"`
}

// viewAck is what an app may answer a view_submission with.
type viewAck struct {
	Action string            `json:"response_action,omitempty"`
	Errors map[string]string `json:"errors,omitempty"`
	View   json.RawMessage   `json:"view,omitempty"`
}

// postSubmit is POST /_local/submit. What Slack's client refuses never reaches
// the app: a required field left empty, a text too long. The app's answer is
// then carried out: errors shown, the view replaced, another put on top, all
// closed; without one, this view closes.
func (w *Workspace) postSubmit(r *http.Request, q submitRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	files, err := w.submittedFiles(u, q)
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.Lock()
	v := w.modals.find(q.ViewID)
	if v == nil || v.User != u.ID {
		s.mu.Unlock()
		return nil, bad("view_not_found", u.Name+" has no open modal "+q.ViewID)
	}
	if refused := w.enter(v, q.Values, files); len(refused) > 0 {
		s.mu.Unlock()
		return map[string]any{"ok": true, "ack": viewAck{Action: "errors", Errors: refused}, "client": true}, nil
	}
	a := w.appByID(v.App) // a modal is never kept, so its app is here
	p := w.gesture(a, "view_submission", u)
	p["view"], p["response_urls"] = w.wireView(v), []any{}
	p["trigger_id"] = w.modals.newTrigger(a, u.ID, v.ID, s)
	s.mu.Unlock()

	ack, status := a.interact(r, "view_submission", p)
	if status != "acked" {
		return map[string]any{"ok": false, "error": status, "what": "the app didn't answer in time; the modal stays open", "ack": nil}, nil
	}
	var answer viewAck
	if !isNull(ack) && json.Unmarshal(ack, &answer) != nil {
		return nil, bad("invalid_ack", "the app's answer can't be read: "+string(clip(ack)))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.carryOut(v, answer); err != nil {
		return nil, err
	}
	return map[string]any{"ok": true, "ack": answer}, nil
}

// submittedFiles stores the files of file inputs: by block and action, the ids.
func (w *Workspace) submittedFiles(u *user, q submitRequest) (map[[2]string][]string, error) {
	w.store.mu.RLock()
	v := w.modals.find(q.ViewID)
	var inputs []element
	if v != nil {
		inputs = interactive(v.Blocks)
	}
	w.store.mu.RUnlock()
	out := map[[2]string][]string{}
	for _, el := range inputs {
		raw := q.Values[el.BlockID][el.ActionID]
		if el.Type != "file_input" || isNull(raw) {
			continue
		}
		var list []attachment
		if json.Unmarshal(raw, &list) != nil {
			return nil, bad("invalid_value", "the value of a file input must be a list of {name, content_base64}")
		}
		if most := el.fields().MaxFiles; most > 0 && len(list) > most {
			return nil, bad("too_many_files", "the file input takes fewer files")
		}
		ids, err := w.attach(u, list)
		if err != nil {
			return nil, err
		}
		out[[2]string{el.BlockID, el.ActionID}] = ids
	}
	return out, nil
}

// enter puts what the form holds into the view's state and returns what
// Slack's client would refuse, by block. The caller holds the store's lock.
func (w *Workspace) enter(v *view, form formValues, files map[[2]string][]string) map[string]string {
	refused := map[string]string{}
	for _, el := range interactive(v.Blocks) {
		el = w.suggested.give(v.User, el)
		if raw, given := form[el.BlockID][el.ActionID]; given {
			state, err := el.state(raw)
			switch {
			case el.Type == "file_input":
				list := []any{}
				for _, id := range files[[2]string{el.BlockID, el.ActionID}] {
					list = append(list, w.store.files[id].wire(w.store))
				}
				v.values.set(el.BlockID, el.ActionID, encode(map[string]any{"type": el.Type, "files": list}))
			case err != nil:
				refused[el.BlockID] = err.Error()
			case state != nil:
				v.values.set(el.BlockID, el.ActionID, state)
			}
		}
		if el.Input && !el.Optional && refused[el.BlockID] == "" && emptyState(v.values[el.BlockID][el.ActionID]) {
			refused[el.BlockID] = "Please complete this required field."
		}
	}
	return refused
}

// carryOut does what the app answered. The caller holds the store's lock.
func (w *Workspace) carryOut(v *view, a viewAck) error {
	switch a.Action {
	case "":
		w.closeView(v, false)
		return nil
	case "clear":
		w.closeView(v, true)
		return nil
	case "errors":
		var inputs []string
		for _, el := range interactive(v.Blocks) {
			if el.Input {
				inputs = append(inputs, el.BlockID)
			}
		}
		if len(a.Errors) == 0 {
			return bad("invalid_ack", "the app answered with errors and named none")
		}
		for block := range a.Errors {
			if !slices.Contains(inputs, block) {
				return bad("invalid_ack", "we had some trouble connecting: the app reported an error for "+block+", which is no input block of the view")
			}
		}
		return nil
	case "update", "push":
		next, err := parseView(a.View)
		if err != nil {
			return bad("invalid_view", "the app's view was refused: "+err.Error())
		}
		if a.Action == "push" {
			next.App = v.App
			if err := w.pushOn(v, next); err != nil {
				return bad("push_limit_reached", "three views are open already")
			}
			return nil
		}
		v.replaceWith(next)
		v.Hash = newHash(w.cfg.Now())
		w.showView("update", v)
		return nil
	}
	return bad("invalid_ack", "the app answered with the unknown response_action "+a.Action)
}

// closeView closes one view, or all of its user's. The caller holds the
// store's lock.
func (w *Workspace) closeView(v *view, all bool) []*view {
	closed := w.modals.close(v, all)
	op := "close"
	if all {
		op = "clear"
	}
	w.showView(op, v)
	return closed
}

type closeRequest struct {
	User   string `json:"user"`
	ViewID string `json:"view_id"`
	All    bool   `json:"all"` // the cross instead of Cancel: the whole stack goes
}

// postClose is POST /_local/close. The app hears of it where it asked to.
func (w *Workspace) postClose(r *http.Request, q closeRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.Lock()
	v := w.modals.find(q.ViewID)
	if v == nil || v.User != u.ID {
		s.mu.Unlock()
		return nil, bad("view_not_found", u.Name+" has no open modal "+q.ViewID)
	}
	cleared := q.All || v.ClearOnClose
	var tell []map[string]any
	for _, c := range w.closeView(v, cleared) {
		if c.NotifyOnClose {
			p := w.gesture(w.appByID(c.App), "view_closed", u)
			p["view"], p["is_cleared"] = w.wireView(c), cleared
			tell = append(tell, p)
		}
	}
	s.mu.Unlock()
	out := map[string]any{"ok": true, "ack": nil}
	for _, p := range tell {
		ack, status := w.appByID(p["api_app_id"].(string)).interact(r, "view_closed", p)
		out["ack"], out["status"] = orNull(ack), status
	}
	return out, nil
}
