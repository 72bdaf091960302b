package page_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/localslack/page"
)

const (
	testKey = "test-key"
	bot     = "U0BOT"
	alice   = "U0ALICE"
	bob     = "U0BOB"
	general = "C0GENERAL"
	ops     = "C0OPS"
	dm      = "D0ALICE"
	// policy is the strictest one that the page must live under.
	policy = "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)

type object = map[string]any

// fake is just enough of the workspace for the page: it serves what a test put in and records what the page sent.
type fake struct {
	*httptest.Server
	mu       sync.Mutex
	messages map[string][]object // by channel, in ts order
	modals   []object
	home     object
	ack      func(submit object) object // answers /_local/submit
	posts    chan post
	held     chan struct{} // when there is one, posts wait until it is closed
	refused  bool          // posts of messages are
	readers  map[chan string]struct{}
	files    map[string]string
}

// post is one request of the page that changes something.
type post struct {
	path string
	body object
}

func newFake(t testing.TB) *fake {
	t.Helper()
	f := &fake{messages: map[string][]object{}, posts: make(chan post, 256), readers: map[chan string]struct{}{}, files: map[string]string{}}
	mux := http.NewServeMux()
	files := page.Files()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, files, "index.html") })
	mux.HandleFunc("GET /static/{name...}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, files, r.PathValue("name")) })
	mux.HandleFunc("GET /files/{name}", f.file)
	mux.HandleFunc("GET /_local/state", locked(f.state))
	mux.HandleFunc("GET /_local/history", locked(f.history))
	mux.HandleFunc("GET /_local/messages", locked(f.thread))
	mux.HandleFunc("GET /_local/views", locked(f.views))
	mux.HandleFunc("GET /_local/events", locked(f.events))
	mux.HandleFunc("GET /_local/log", locked(f.log))
	mux.HandleFunc("POST /_local/{what}", locked(f.post))
	f.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		f.mu.Lock()
		for reader := range f.readers {
			close(reader)
		}
		f.readers = nil
		f.mu.Unlock()
		f.Close()
	})
	return f
}

func (f *fake) address() string { return f.URL + "/#key=" + testKey }

func serve(w http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.ServeFileFS(w, r, files, name)
}

func locked(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+testKey || r.Header.Get("Cookie") != "" {
			answer(w, http.StatusUnauthorized, object{"ok": false, "error": "not_authed", "what": "no key"})
			return
		}
		next(w, r)
	}
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}

func (f *fake) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	content, ok := f.files[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if strings.HasSuffix(name, ".png") {
		w.Header().Set("Content-Type", "image/png")
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Disposition", "attachment")
	}
	fmt.Fprint(w, content)
}

func (f *fake) state(w http.ResponseWriter, r *http.Request) {
	user := r.FormValue("user")
	if user == "alice" {
		user = alice
	}
	answer(w, 200, object{
		"user": user, "team": object{"id": "T0", "name": "Mecha workshop"}, "banner": "Offline model: plain rules answer here, nothing leaves this machine.",
		"bot": object{"user_id": bot, "name": "mecha", "app_id": "A0"},
		"users": []object{
			{"id": alice, "name": "alice", "real_name": "Alice Liddell", "owner": true}, {"id": bob, "name": "bob", "real_name": "Bob Marsh"},
			{"id": "U0MALLORY", "name": "mallory", "real_name": "Mallory"}, {"id": bot, "name": "mecha", "is_bot": true},
		},
		"channels": []object{
			{"id": general, "name": "general", "is_member": true, "topic": "Where everybody talks"}, {"id": ops, "name": "ops", "is_member": true, "topic": "What runs, and what broke"},
			{"id": dm, "name": "dm", "is_im": true, "im_user": bot, "is_member": true},
		},
		"commands":  []object{{"command": "/mecha", "description": "drafts, triggers, status", "usage_hint": "[status|drafts]"}},
		"shortcuts": []object{{"name": "Ask mecha about this", "callback_id": "ask_about", "type": "message"}, {"name": "New task", "callback_id": "new_task", "type": "global"}},
		"home":      object{"enabled": true},
	})
}

func (f *fake) history(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit, _ := strconv.Atoi(r.FormValue("limit"))
	before := r.FormValue("before")
	var top []object
	for _, m := range f.messages[r.FormValue("channel")] {
		if thread, ok := m["thread_ts"]; ok && thread != m["ts"] {
			continue
		}
		if before == "" || m["ts"].(string) < before {
			top = append(top, m)
		}
	}
	more := len(top) > limit
	if more {
		top = top[len(top)-limit:]
	}
	if top == nil {
		top = []object{}
	}
	answer(w, 200, object{"messages": top, "has_more": more})
}

func (f *fake) thread(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := []object{}
	for _, m := range f.messages[r.FormValue("channel")] {
		if ts := r.FormValue("thread_ts"); m["ts"] == ts || m["thread_ts"] == ts {
			found = append(found, m)
		}
	}
	answer(w, 200, object{"messages": found})
}

func (f *fake) views(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	modals := f.modals
	if modals == nil {
		modals = []object{}
	}
	answer(w, 200, object{"modals": modals, "home": f.home})
}

func (f *fake) log(w http.ResponseWriter, r *http.Request) {
	entries := []object{}
	if r.FormValue("since") == "0" {
		entries = append(entries,
			object{"at": "2026-11-30T10:00:00Z", "kind": "call", "method": "chat.postMessage", "ok": true, "request": object{"channel": general, "text": "<img src=x onerror=window.xss=1>"}, "response": object{"ok": true}},
			object{"at": "2026-11-30T10:00:01Z", "kind": "envelope", "method": "app_mention", "ok": true, "event_id": "Ev1", "request": object{"type": "events_api"}},
			object{"at": "2026-11-30T10:00:02Z", "kind": "call", "method": "chat.update", "ok": false, "error": "ratelimited"})
	}
	answer(w, 200, object{"entries": entries})
}

// events streams what push sends until the reader or the test goes away.
func (f *fake) events(w http.ResponseWriter, r *http.Request) {
	reader := make(chan string, 8192)
	f.mu.Lock()
	if f.readers == nil {
		f.mu.Unlock()
		return
	}
	f.readers[reader] = struct{}{}
	f.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: hello\ndata: {\"cursor\":0}\n\n")
	w.(http.Flusher).Flush()
	for {
		select {
		case line, ok := <-reader:
			if !ok {
				return
			}
			fmt.Fprint(w, line)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			f.mu.Lock()
			delete(f.readers, reader)
			f.mu.Unlock()
			return
		}
	}
}

// push sends an event to every open page.
func (f *fake) push(name string, data object) {
	body, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for reader := range f.readers {
		reader <- fmt.Sprintf("event: %s\ndata: %s\n\n", name, body)
	}
}

// view tells the page about a view, and remembers it as the workspace would.
func (f *fake) view(op string, view object) {
	f.mu.Lock()
	switch op {
	case "publish":
		f.home = view
	case "open", "push":
		f.modals = append(f.modals, view)
	case "update":
		for i, v := range f.modals {
			if v["id"] == view["id"] {
				f.modals[i] = view
			}
		}
	case "close":
		f.modals = slices.DeleteFunc(f.modals, func(v object) bool { return v["id"] == view["id"] })
	}
	f.mu.Unlock()
	f.push("view", object{"op": op, "view": view})
}

// put stores a message, and tells the pages about it.
func (f *fake) put(channel string, m object) {
	m["channel"] = channel
	f.mu.Lock()
	f.messages[channel] = append(f.messages[channel], m)
	f.mu.Unlock()
	f.push("message", object{"op": "new", "channel": channel, "message": m})
}

func (f *fake) post(w http.ResponseWriter, r *http.Request) {
	var body object
	if r.Header.Get("Content-Type") != "application/json" {
		answer(w, http.StatusUnsupportedMediaType, object{"ok": false, "error": "json_only"})
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		answer(w, http.StatusBadRequest, object{"ok": false, "error": "bad_json", "what": err.Error()})
		return
	}
	what := r.PathValue("what")
	f.posts <- post{what, body}
	f.mu.Lock()
	held, refused := f.held, f.refused
	f.mu.Unlock()
	if held != nil {
		<-held
	}
	if refused && what == "message" {
		answer(w, http.StatusConflict, object{"ok": false, "error": "is_archived", "what": "#general is archived."})
		return
	}
	switch what {
	case "submit":
		f.mu.Lock()
		ack := f.ack
		f.mu.Unlock()
		reply := object{}
		if ack != nil {
			reply = ack(body)
		}
		answer(w, 200, object{"ok": true, "ack": reply})
	case "click":
		answer(w, 200, object{"status": "acked", "ack": nil, "trigger_id": "1.2.x"})
	default:
		answer(w, 200, object{"ok": true, "ts": "1800000000.000100"})
	}
}
