package localslack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxLocalBody = 192 << 20 // files travel in it as base64
	logPage      = maxEntries
)

// localError is a refusal of a /_local/ endpoint.
type localError struct {
	status int
	code   string
	what   string // one line for a person
}

func (e *localError) Error() string { return e.code + ": " + e.what }

func bad(code, what string) error { return &localError{http.StatusBadRequest, code, what} }

var okay = map[string]bool{"ok": true}

// localRoutes are the endpoints of people and tests.
func (w *Workspace) localRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /_local/state":      w.get(w.getState),
		"GET /_local/history":    w.get(w.getHistory),
		"GET /_local/messages":   w.get(w.getMessages),
		"GET /_local/views":      w.get(w.getViews),
		"GET /_local/log":        w.get(w.getLog),
		"GET /_local/log/export": w.get(w.getExport),
		"GET /_local/events":     w.events,
		"POST /_local/message":   post(w, w.postMessage),
		"POST /_local/edit":      post(w, w.postEdit),
		"POST /_local/delete":    post(w, w.postDelete),
		"POST /_local/react":     post(w, w.postReact),
		"POST /_local/click":     post(w, w.postClick),
		"POST /_local/suggest":   post(w, w.postSuggest),
		"POST /_local/submit":    post(w, w.postSubmit),
		"POST /_local/close":     post(w, w.postClose),
		"POST /_local/command":   post(w, w.postCommand),
		"POST /_local/shortcut":  post(w, w.postShortcut),
		"POST /_local/home":      post(w, w.postHome),
		"POST /_local/stop":      post(w, w.postStop),
		"POST /_local/fault":     post(w, w.postFault),
		"POST /_local/clock":     post(w, w.postClock),
		"POST /_local/event":     post(w, w.postEvent),
	}
}

func (w *Workspace) get(f func(*http.Request) (any, error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		out, err := f(r)
		w.localAnswer(rw, out, err)
	}
}

// post reads a JSON body into T.
func post[T any](w *Workspace, f func(*http.Request, T) (any, error)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		var in T
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxLocalBody)).Decode(&in); err != nil {
			w.localAnswer(rw, nil, bad("invalid_json", "the body can't be read: "+err.Error()))
			return
		}
		out, err := f(r, in)
		w.localAnswer(rw, out, err)
	}
}

func (w *Workspace) localAnswer(rw http.ResponseWriter, out any, err error) {
	status := http.StatusOK
	if err != nil {
		var local *localError
		var api *apiError
		switch {
		case errors.As(err, &local):
			status, out = local.status, map[string]any{"ok": false, "error": local.code, "what": local.what}
		case errors.As(err, &api):
			status, out = http.StatusBadRequest, map[string]any{"ok": false, "error": api.code, "what": api.Error()}
		default:
			status, out = http.StatusInternalServerError, map[string]any{"ok": false, "error": "internal_error", "what": err.Error()}
		}
	}
	rw.Header().Set("Content-Type", "application/json; charset=utf-8")
	rw.WriteHeader(status)
	rw.Write(encode(out))
}

// person finds someone by id or name.
func (w *Workspace) person(name string) (*user, error) {
	u := w.store.userByName(name)
	if u == nil || u.Bot {
		return nil, bad("unknown_user", fmt.Sprintf("%q is not a person of this workspace; give an id or a name", name))
	}
	return u, nil
}

// place finds a channel that u may read. The caller holds the store's lock.
func (w *Workspace) place(name string, u *user) (*channel, error) {
	ch := w.store.resolve(name, u.ID)
	if ch == nil || !w.store.visible(ch, u.ID) {
		return nil, bad("channel_not_found", fmt.Sprintf("%s sees no channel %q; give an id or #name", u.Name, name))
	}
	return ch, nil
}

func (w *Workspace) getState(r *http.Request) (any, error) {
	u, err := w.person(r.URL.Query().Get("user"))
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	users, channels := []any{}, []any{}
	for _, p := range s.roster {
		users = append(users, map[string]any{"id": p.ID, "name": p.Name, "real_name": p.RealName, "is_bot": p.Bot, "owner": p.Owner})
	}
	for _, id := range s.order {
		c := s.channels[id]
		if !s.visible(c, u.ID) {
			continue
		}
		e := map[string]any{"id": c.ID, "name": c.Name, "is_im": c.IM, "is_mpim": c.Group, "is_private": c.Private, "is_archived": c.Archived,
			"is_member": c.has(u.ID), "topic": c.Topic}
		if c.Group {
			e["name"] = s.others(c, u.ID)
		}
		if c.IM {
			e["im_user"] = c.peer(u.ID)
			e["name"] = s.users[c.peer(u.ID)].Name
		}
		channels = append(channels, e)
	}
	apps, commands, shortcuts := []any{}, []any{}, []any{}
	for _, a := range w.apps {
		apps = append(apps, map[string]any{"app_id": a.id, "name": a.manifest.Name, "user_id": a.bot.ID, "home": a.manifest.Home})
		for _, c := range a.manifest.Commands {
			commands = append(commands, c)
		}
		for _, sc := range a.manifest.Shortcuts {
			shortcuts = append(shortcuts, map[string]any{"name": sc.Name, "callback_id": sc.CallbackID, "type": sc.Type, "app_id": a.id, "app": a.manifest.Name})
		}
	}
	return map[string]any{"team": map[string]any{"id": s.TeamID, "name": s.TeamName}, "banner": *w.banner.Load(), "user": u.ID,
		"bot":   map[string]any{"user_id": w.app.bot.ID, "name": w.app.bot.Name, "app_id": w.app.id},
		"users": users, "channels": channels, "apps": apps, "commands": commands, "shortcuts": shortcuts,
		"home": map[string]any{"enabled": w.app.manifest.Home}}, nil
}

// others is what a group's direct messages are called to one of its members.
func (s *store) others(c *channel, userID string) string {
	var names []string
	for _, id := range c.Members {
		if id != userID && s.users[id] != nil {
			names = append(names, s.users[id].Name)
		}
	}
	return strings.Join(names, ", ")
}

func (w *Workspace) getHistory(r *http.Request) (any, error) {
	q := r.URL.Query()
	u, err := w.person(q.Get("user"))
	if err != nil {
		return nil, err
	}
	limit, err := number(q.Get("limit"), 50, 1000)
	if err != nil {
		return nil, err
	}
	before := timestamp(1<<63 - 1)
	if s := q.Get("before"); s != "" {
		var ok bool
		if before, ok = parseTS(s); !ok {
			return nil, bad("invalid_ts", "before is not a timestamp")
		}
	}
	s := w.store
	s.mu.RLock()
	ch, err := w.place(q.Get("channel"), u)
	if err != nil {
		s.mu.RUnlock()
		return nil, err
	}
	_, to := window{latest: before}.bounds(ch.top)
	from := max(0, to-limit)
	var list []*wireMessage
	for _, m := range ch.top[from:to] {
		list = append(list, s.wireLocal(m))
	}
	since := timestamp(0)
	if from > 0 {
		since = ch.top[from].TS
	}
	for _, m := range s.ephemerals[u.ID] {
		if m.Channel == ch.ID && m.ThreadTS == 0 && m.TS > since && m.TS < before {
			list = append(list, s.wireLocal(m))
		}
	}
	s.mu.RUnlock()
	return map[string]any{"messages": inOrder(list), "has_more": from > 0}, nil
}

// getMessages is the contract's view of a channel or a thread, everything in it.
func (w *Workspace) getMessages(r *http.Request) (any, error) {
	q := r.URL.Query()
	u := w.store.roster[0]
	if name := q.Get("user"); name != "" {
		var err error
		if u, err = w.person(name); err != nil {
			return nil, err
		}
	}
	s := w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch := s.channels[q.Get("channel")]
	if ch == nil || q.Get("user") != "" {
		var err error
		if ch, err = w.place(q.Get("channel"), u); err != nil {
			return nil, err
		}
	}
	var list []*wireMessage
	var thread timestamp
	if t := q.Get("thread_ts"); t != "" {
		ts, _ := parseTS(t)
		m := ch.find(ts)
		if m == nil {
			return nil, bad("thread_not_found", "there is no message "+t+" in that channel")
		}
		thread = m.threadOf()
		if p := ch.find(thread); p != nil {
			list = append(list, s.wireLocal(p))
			for _, m := range p.replies {
				list = append(list, s.wireLocal(m))
			}
		}
	} else {
		for _, m := range ch.all {
			list = append(list, s.wireLocal(m))
		}
	}
	if q.Get("user") != "" {
		for _, m := range s.ephemerals[u.ID] {
			if m.Channel == ch.ID && (thread == 0 || m.ThreadTS == thread) {
				list = append(list, s.wireLocal(m))
			}
		}
	}
	return map[string]any{"messages": inOrder(list)}, nil
}

// inOrder sorts by timestamp and is never null.
func inOrder(list []*wireMessage) []*wireMessage {
	slices.SortStableFunc(list, func(a, b *wireMessage) int {
		x, _ := parseTS(a.TS)
		y, _ := parseTS(b.TS)
		return int(max(min(x-y, 1), -1))
	})
	return append([]*wireMessage{}, list...)
}

func (w *Workspace) getViews(r *http.Request) (any, error) {
	u, err := w.person(r.URL.Query().Get("user"))
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	modals := []any{}
	for _, v := range w.modals.stacks[u.ID] {
		modals = append(modals, w.localView(v))
	}
	var home any
	a := w.appByID(r.URL.Query().Get("app_id"))
	if a == nil {
		return nil, bad("unknown_app", "there is no such app")
	}
	if v := s.homes[homeKey{u.ID, a.id}]; v != nil {
		home = w.localView(v)
	}
	return map[string]any{"modals": modals, "home": home}, nil
}

func (w *Workspace) getLog(r *http.Request) (any, error) {
	since, err := number(r.URL.Query().Get("since"), 0, 1<<62)
	if err != nil {
		return nil, err
	}
	limit, err := number(r.URL.Query().Get("limit"), logPage, maxEntries)
	if err != nil {
		return nil, err
	}
	last, err := number(r.URL.Query().Get("last"), maxEntries, maxEntries)
	if err != nil {
		return nil, err
	}
	if newest := w.inspector.cursor(); newest > uint64(last) {
		since = max(since, int(newest)-last) // a reader who shows few need not read all
	}
	entries, cursor := w.inspector.since(uint64(since), limit)
	return map[string]any{"entries": entries, "cursor": cursor}, nil
}

func number(s string, standard, most int) (int, error) {
	if s == "" {
		return standard, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, bad("invalid_number", fmt.Sprintf("%q is not a number", s))
	}
	return min(n, most), nil
}

type clockRequest struct {
	Scale float64 `json:"scale"`
}

// postClock is POST /_local/clock.
func (w *Workspace) postClock(_ *http.Request, q clockRequest) (any, error) {
	if !(q.Scale > 0 && q.Scale <= 1e6) {
		return nil, bad("invalid_scale", "scale must be more than 0 and at most 1000000; 1 is Slack's own pace")
	}
	w.clock.SetScale(q.Scale)
	return map[string]any{"ok": true, "scale": q.Scale, "now": w.clock.Now().Format(time.RFC3339Nano)}, nil
}

type eventRequest struct {
	AppID string                     `json:"app_id"` // "" is the first app
	Event json.RawMessage            `json:"event"`
	Outer map[string]json.RawMessage `json:"outer"` // members of the callback to add or replace
}

// postEvent is POST /_local/event: any event, whatever is in it, to the app.
// Tests make with it what no gesture here makes: Slack Connect, guests, other
// teams, events and blocks that no library knows yet.
func (w *Workspace) postEvent(_ *http.Request, q eventRequest) (any, error) {
	var in struct {
		Type    string `json:"type"`
		Channel string `json:"channel"`
	}
	if json.Unmarshal(q.Event, &in) != nil {
		return nil, bad("invalid_event", "event must be an object")
	}
	a := w.appByID(q.AppID)
	if a == nil {
		return nil, bad("unknown_app", "there is no app "+q.AppID)
	}
	id, sent := w.sendEvent(a, in.Type, in.Channel, q.Event, q.Outer)
	return map[string]any{"ok": sent, "event_id": id}, nil
}
