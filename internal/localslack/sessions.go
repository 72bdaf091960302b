package localslack

import (
	"time"
	"unicode/utf8"
)

// Agent sessions and assistant threads: a status line, a title, prompts.

var sessionStatuses = map[string]bool{"active": true, "processing": true, "suspended": true, "closed": true}

const (
	statusLife   = 2 * time.Minute // a status goes away by itself without a message
	maxLoading   = 10
	maxPrompts   = 4
	maxTitle     = 200
	maxStatusLen = 1000
)

// threadArgs are the channel and thread that assistant.* and agents.* name.
// The caller holds the store's lock.
func (c *call) sessionArgs(needThread bool) (threadKey, error) {
	ch, err := c.postable(c.args.str("channel_id"))
	if err != nil {
		return threadKey{}, fail("channel_not_found")
	}
	s := c.args.str("thread_ts")
	if s == "" {
		if needThread {
			return threadKey{}, fail("thread_ts_required")
		}
		return threadKey{Channel: ch.ID}, nil
	}
	ts, ok := parseTS(s)
	if m := ch.find(ts); ok && m != nil {
		return threadKey{ch.ID, m.threadOf()}, nil
	}
	return threadKey{}, fail("invalid_thread_ts")
}

// setStatus is assistant.threads.setStatus.
func setStatus(c *call) (result, error) {
	loading := c.args.list("loading_messages")
	if len(loading) > maxLoading {
		return nil, fail("invalid_arguments", "[ERROR] no more than 10 loading_messages")
	}
	status := c.args.str("status")
	if utf8.RuneCountInString(status) > maxStatusLen {
		return nil, fail("invalid_arguments", "[ERROR] status is too long")
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := c.sessionArgs(true)
	if err != nil {
		return nil, err
	}
	c.w.putStatus(key, status, loading)
	return result{}, nil
}

// putStatus shows a status line and takes it away when Slack would.
func (w *Workspace) putStatus(key threadKey, status string, loading []string) {
	if old := w.status[key]; old != nil {
		old.expiry.Stop()
		delete(w.status, key)
	}
	if status != "" {
		line := &statusLine{text: status, loading: loading}
		line.expiry = w.clock.AfterFunc(statusLife, func() {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			if w.status[key] == line {
				w.clearStatus(key.Channel, key.TS)
			}
		})
		w.status[key] = line
	}
	w.publishStatus(key)
}

type statusLine struct {
	text    string
	loading []string
	expiry  *timer
}

// clearStatus takes a thread's status line away, if there is one. The caller
// holds the store's lock.
func (w *Workspace) clearStatus(channel string, thread timestamp) {
	key := threadKey{channel, thread}
	if w.status[key] != nil {
		w.putStatus(key, "", nil)
	}
}

func (w *Workspace) publishStatus(key threadKey) {
	e := map[string]any{"channel": key.Channel, "thread_ts": key.TS.String(), "status": "", "loading_messages": []string{},
		"session": w.store.sessions[key], "title": w.store.titles[key]}
	if line := w.status[key]; line != nil {
		e["status"], e["loading_messages"] = line.text, append([]string{}, line.loading...)
	}
	w.pages.publish("status", e, w.store.onlyFor(key.Channel)...)
}

// setSession moves an agent session to a state. The caller holds the store's lock.
func (w *Workspace) setSession(key threadKey, status string) {
	if w.store.sessions[key] == status {
		return
	}
	w.store.sessions[key] = status
	w.publishStatus(key)
}

func (c *call) retitle(needThread bool) (threadKey, error) {
	title := c.args.str("title")
	if title == "" || utf8.RuneCountInString(title) > maxTitle {
		return threadKey{}, fail("invalid_arguments", "[ERROR] title must have 1 to 200 characters")
	}
	key, err := c.sessionArgs(needThread)
	if err != nil {
		return key, err
	}
	if err := c.w.store.write(&record{Title: &threadTitle{messageRef(key), title}}); err != nil {
		return key, err
	}
	c.w.store.titles[key] = title
	c.w.publishStatus(key)
	return key, nil
}

func setTitle(c *call) (result, error) {
	c.w.store.mu.Lock()
	defer c.w.store.mu.Unlock()
	_, err := c.retitle(true)
	return result{}, err
}

func sessionRename(c *call) (result, error) {
	c.w.store.mu.Lock()
	defer c.w.store.mu.Unlock()
	key, err := c.retitle(true)
	if err != nil {
		return nil, err
	}
	return result{"title": c.w.store.titles[key]}, nil
}

func sessionStatus(c *call) (result, error) {
	status := c.args.str("status")
	if !sessionStatuses[status] {
		return nil, fail("invalid_status")
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := c.sessionArgs(true)
	if err != nil {
		return nil, err
	}
	if c.args.str("title") != "" {
		if _, err := c.retitle(true); err != nil {
			return nil, err
		}
	}
	c.w.setSession(key, status)
	return result{"status": status, "agent_status": status, "title": s.titles[key]}, nil
}

// setPrompts is assistant.threads.setSuggestedPrompts.
func setPrompts(c *call) (result, error) {
	raw, ok := c.args.json("prompts")
	prompts, isList := rawList[struct {
		Title   string `json:"title"`
		Message string `json:"message"`
	}](raw)
	if !ok || !isList || len(prompts) == 0 || len(prompts) > maxPrompts {
		return nil, fail("invalid_arguments", "[ERROR] prompts must be an array of 1 to 4 prompts")
	}
	for _, p := range prompts {
		if p.Title == "" || p.Message == "" {
			return nil, fail("invalid_arguments", "[ERROR] a prompt needs a title and a message")
		}
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	key, err := c.sessionArgs(false)
	if err != nil {
		return nil, err
	}
	c.w.pages.publish("prompts", map[string]any{"channel": key.Channel, "thread_ts": key.TS.String(), "title": c.args.str("title"), "prompts": prompts},
		s.onlyFor(key.Channel)...)
	return result{}, nil
}
