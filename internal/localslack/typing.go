package localslack

import (
	"encoding/base64"
	"net/http"
)

// What a person does in a channel: type, edit, delete, react, stop.

type messageRequest struct {
	User     string       `json:"user"`
	Channel  string       `json:"channel"`
	Text     string       `json:"text"`
	ThreadTS string       `json:"thread_ts"`
	Files    []attachment `json:"files"`
}

type attachment struct {
	Name    string `json:"name"`
	Content string `json:"content_base64"`
}

// postMessage is POST /_local/message: the text becomes what Slack's own client
// makes of it.
func (w *Workspace) postMessage(_ *http.Request, q messageRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	ids, err := w.attach(u, q.Files)
	if err != nil {
		return nil, err
	}
	if q.Text == "" && len(ids) == 0 {
		return nil, bad("no_text", "the message has neither text nor files")
	}
	s := w.store
	s.mu.Lock()
	ch, err := w.place(q.Channel, u)
	if err == nil && !ch.has(u.ID) {
		err = bad("not_in_channel", u.Name+" is not in that channel")
	}
	var thread timestamp
	if err == nil && q.ThreadTS != "" {
		ts, _ := parseTS(q.ThreadTS)
		if p := ch.find(ts); p != nil {
			thread = p.threadOf()
		} else {
			err = bad("thread_not_found", "there is no message "+q.ThreadTS+" in that channel")
		}
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	text, _ := cut(s.typedText(q.Text), maxText)
	m := &message{ThreadTS: thread, Channel: ch.ID, User: u.ID, Text: text, ClientMsgID: newUUID()}
	if text != "" {
		m.Blocks = richText(text)
	}
	if len(ids) > 0 {
		s.mu.Unlock()
		m.Subtype, m.Files = "file_share", ids
		ts, err := w.share(m)
		return map[string]any{"ok": true, "ts": ts.String(), "channel": ch.ID}, err
	}
	m.TS = s.nextTS()
	wire, err := w.post(m)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.announce(ch, wire)
	return map[string]any{"ok": true, "ts": wire.TS, "channel": ch.ID}, nil
}

// attach stores the files that come with a gesture.
func (w *Workspace) attach(u *user, files []attachment) ([]string, error) {
	var ids []string
	for _, f := range files {
		data, err := base64.StdEncoding.DecodeString(f.Content)
		if err != nil {
			return nil, bad("invalid_base64", "the content of "+f.Name+" is not base64")
		}
		if len(data) > maxFile {
			return nil, bad("file_too_large", "the file "+f.Name+" is too large")
		}
		name := cleanName(f.Name)
		added, err := w.addFile(newID("F0", 9), u.ID, name, name, "", "", data)
		if err != nil {
			return nil, err
		}
		ids = append(ids, added.ID)
	}
	return ids, nil
}

type editRequest struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Text    string `json:"text"`
}

// mine finds a person's own message. The caller holds the store's lock.
func (w *Workspace) mine(u *user, where, ts string) (*channel, *message, error) {
	ch, err := w.place(where, u)
	if err != nil {
		return nil, nil, err
	}
	at, _ := parseTS(ts)
	m := ch.find(at)
	switch {
	case m == nil || m.Subtype == "tombstone":
		return nil, nil, bad("message_not_found", "there is no message "+ts+" in that channel")
	case m.User != u.ID:
		return nil, nil, bad("not_yours", u.Name+" didn't write that message")
	}
	return ch, m, nil
}

func (w *Workspace) postEdit(_ *http.Request, q editRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.Lock()
	ch, m, err := w.mine(u, q.Channel, q.TS)
	if err == nil && q.Text == "" && len(m.Files) == 0 {
		err = bad("no_text", "an edit needs a text; delete the message instead")
	}
	var before, after *wireMessage
	if err == nil {
		before = s.wire(m)
		text, _ := cut(s.typedText(q.Text), maxText)
		err = w.edit(m, u.ID, content{text: text, hasText: true, blocks: richText(text), hasBlocks: true})
		after = s.wire(m)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.announceChange(ch, before, after)
	return okay, nil
}

type deleteRequest struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

func (w *Workspace) postDelete(_ *http.Request, q deleteRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.Lock()
	ch, m, err := w.mine(u, q.Channel, q.TS)
	var before *wireMessage
	if err == nil {
		before = s.wire(m)
		err = w.remove(m)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	w.announceDeletion(ch, before)
	return okay, nil
}

type reactRequest struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Name    string `json:"name"`
	Remove  bool   `json:"remove"`
}

func (w *Workspace) postReact(_ *http.Request, q reactRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	if err := w.react(u.ID, q.Channel, q.TS, q.Name, !q.Remove); err != nil {
		return nil, err
	}
	return okay, nil
}

type stopRequest struct {
	User     string `json:"user"`
	Channel  string `json:"channel"`
	ThreadTS string `json:"thread_ts"`
}

// postStop is the stop button: streams in the thread take no more text, and the
// app is told. Closing them, and the session's status, stay the app's.
func (w *Workspace) postStop(_ *http.Request, q stopRequest) (any, error) {
	u, err := w.person(q.User)
	if err != nil {
		return nil, err
	}
	s := w.store
	s.mu.Lock()
	ch, err := w.place(q.Channel, u)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	ts, _ := parseTS(q.ThreadTS)
	m := ch.find(ts)
	if m == nil {
		s.mu.Unlock()
		return nil, bad("thread_not_found", "there is no message "+q.ThreadTS+" in that channel")
	}
	thread := threadKey{ch.ID, m.threadOf()}
	stopped := w.closeStreams(&thread, streamStopped)
	s.mu.Unlock()
	e := map[string]any{"channel": ch.ID, "thread_ts": thread.TS.String(), "user": u.ID}
	if len(stopped) > 0 {
		e["streaming_message_ts"] = stopped
	}
	w.tell(ch, "agent_session_stopped", e)
	return map[string]any{"ok": true, "streaming_message_ts": stopped}, nil
}
