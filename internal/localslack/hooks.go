package localslack

import (
	"io"
	"net/http"
	"time"
)

const (
	hookUses = 5
	hookLife = 30 * time.Minute
	maxHooks = 10_000
)

// hooks are the response_urls that gestures left behind. The store's lock
// guards them.
type hooks struct {
	clock *clock
	open  map[string]*hook
	order []string
}

// hook is one response_url: five uses within half an hour.
type hook struct {
	app     *app
	channel string
	thread  timestamp
	user    string
	origin  timestamp // of the message that was pressed; 0 for a command
	ephem   bool      // that message was an ephemeral one
	left    int
	until   time.Time
}

// add makes a response_url; the caller holds the store's lock.
func (h *hooks) add(w *Workspace, kind string, hk hook) string {
	hk.left, hk.until = hookUses, h.clock.Now().Add(hookLife)
	id := newSecret(12)
	h.open[id] = &hk
	h.order = append(h.order, id)
	if len(h.order) > maxHooks {
		delete(h.open, h.order[0])
		h.order = h.order[1:]
	}
	return w.base + "/hooks/" + kind + "/" + w.store.TeamID + "/" + newDigits(14) + "/" + id
}

// hookPost is a POST to a response_url.
func (w *Workspace) hookPost(rw http.ResponseWriter, r *http.Request) {
	start := w.cfg.Now()
	r.Body = http.MaxBytesReader(rw, r.Body, maxAPIBody)
	a := args{}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		if err = a.addJSON(body); err != nil {
			err = fail("invalid_payload")
		}
	}
	if err == nil {
		err = w.useHook(&call{w: w, name: "response_url", args: a, who: principal{kind: botToken}}, r.PathValue("secret"))
	}
	e := entry{At: start, Kind: "call", Method: "response_url", OK: err == nil, request: a.loggable()}
	rw.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if err != nil {
		e.Error = err.Error()
		if f, ok := err.(*apiError); ok {
			e.Error = f.code
		}
		status := http.StatusBadRequest
		if e.Error == "used_url" || e.Error == "expired_url" {
			status = http.StatusNotFound
		}
		rw.WriteHeader(status)
		io.WriteString(rw, e.Error)
	} else {
		io.WriteString(rw, "ok")
	}
	w.inspector.add(e)
}

func (w *Workspace) useHook(c *call, secret string) error {
	s := w.store
	s.mu.Lock()
	hk := w.hooks.open[secret]
	switch {
	case hk == nil || w.hooks.clock.Now().After(hk.until):
		s.mu.Unlock()
		return fail("expired_url")
	case hk.left == 0:
		s.mu.Unlock()
		return fail("used_url")
	}
	hk.left--
	use := *hk
	s.mu.Unlock()

	if c.args.flag("delete_original") {
		return w.deleteOriginal(use)
	}
	p, err := readContent(c)
	if err != nil {
		return err
	}
	if p.empty() {
		return fail("no_text")
	}
	if c.args.flag("replace_original") && use.origin != 0 {
		return w.replaceOriginal(use, p)
	}
	m := &message{Channel: use.channel, ThreadTS: use.thread, User: use.app.bot.ID, Text: p.text, Blocks: p.blocks, Attachments: p.attachments}
	if ts, ok := parseTS(c.args.str("thread_ts")); ok {
		m.ThreadTS = ts
	}
	s.mu.Lock()
	ch := s.channels[use.channel]
	if ch == nil {
		s.mu.Unlock()
		return fail("channel_not_found")
	}
	m.TS = s.nextTS()
	if c.args.str("response_type") != "in_channel" {
		m.ForUser = use.user
		w.showEphemeral(m)
		s.mu.Unlock()
		return nil
	}
	wire, err := w.post(m)
	s.mu.Unlock()
	if err != nil {
		return err
	}
	w.announce(ch, wire)
	return nil
}

// original is the pressed message; the caller holds the store's lock.
func (w *Workspace) original(hk hook) *message {
	if hk.ephem {
		return w.store.findEphemeral(hk.user, hk.origin)
	}
	if ch := w.store.channels[hk.channel]; ch != nil {
		return ch.find(hk.origin)
	}
	return nil
}

func (w *Workspace) deleteOriginal(hk hook) error {
	s := w.store
	s.mu.Lock()
	m := w.original(hk)
	if m == nil {
		s.mu.Unlock()
		return fail("message_not_found")
	}
	if hk.ephem {
		s.dropEphemeral(m)
		w.pages.publish("message", map[string]any{"op": "deleted", "channel": m.Channel, "message": s.wireLocal(m)}, hk.user)
		s.mu.Unlock()
		return nil
	}
	before, ch := s.wire(m), s.channels[m.Channel]
	err := w.remove(m)
	s.mu.Unlock()
	if err == nil {
		w.announceDeletion(ch, before)
	}
	return err
}

func (w *Workspace) replaceOriginal(hk hook, p content) error {
	s := w.store
	s.mu.Lock()
	m := w.original(hk)
	if m == nil {
		s.mu.Unlock()
		return fail("message_not_found")
	}
	before, ch := s.wire(m), s.channels[m.Channel]
	err := w.edit(m, hk.app.bot.ID, p)
	after := s.wire(m)
	s.mu.Unlock()
	if err == nil && !hk.ephem {
		w.announceChange(ch, before, after)
	}
	return err
}
