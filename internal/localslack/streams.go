package localslack

import (
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// The three methods of streamed messages, and what ends a stream otherwise.

// readChunks reads markdown_text and chunks, of which a call may have either,
// both or, where that means something, neither.
func readChunks(c *call) ([]chunk, error) {
	raw, ok := c.args.json("chunks")
	if !ok {
		return nil, fail("invalid_chunks", "chunks is not JSON")
	}
	var out []chunk
	if text := c.args.str("markdown_text"); text != "" {
		if utf8.RuneCountInString(text) > maxStreamCall {
			return nil, fail("msg_too_long", "markdown_text exceeds 12000 characters")
		}
		out = append(out, chunk{Type: "markdown_text", Text: text})
	}
	if raw == nil {
		return out, nil
	}
	var list []chunk
	if json.Unmarshal(raw, &list) != nil {
		return nil, fail("invalid_chunks", "chunks must be an array of chunks")
	}
	if len(list) == 0 {
		return out, nil // Node's client sends an empty array along
	}
	if err := refusal(blockkit.ValidateChunks(raw), "invalid_chunks"); err != nil {
		return nil, err
	}
	return append(out, list...), nil
}

func startStream(c *call) (result, error) {
	chunks, err := readChunks(c)
	if err != nil {
		return nil, err
	}
	display := c.args.str("task_display_mode")
	if display != "" && display != "timeline" && display != "plan" {
		return nil, fail("invalid_arguments", "[ERROR] task_display_mode must be timeline or plan")
	}
	if textLength(chunks) > maxStreamTotal {
		return nil, fail("msg_too_long")
	}
	s := c.w.store
	s.mu.Lock()
	ch, err := c.postable(c.args.str("channel"))
	var thread timestamp
	if err == nil {
		thread, err = c.threadArg(ch, "thread_ts")
	}
	if err == nil && !ch.IM {
		err = c.checkRecipient(ch)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	m := &message{TS: s.nextTS(), ThreadTS: thread, Channel: ch.ID, User: c.me(), Username: c.args.str("username"),
		Stream: &stream{State: streaming, Chunks: []chunk{}, Display: display, Started: c.w.cfg.Now().UnixMilli(), Owner: c.me()}}
	if !c.who.app.hears("agent_session_stopped", ch) {
		m.Stream.NoStop = true
		c.warning = append(c.warning, "missing_agent_session_stopped_event_subscription")
	}
	m.Stream.add(chunks)
	m.Text = m.Stream.text()
	wire, err := c.w.post(m)
	if err == nil {
		c.w.armExpiry(m, streamLife)
		c.w.setSession(threadKey{ch.ID, m.threadOf()}, "processing")
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announce(ch, wire)
	return result{"channel": ch.ID, "ts": wire.TS}, nil
}

// checkRecipient wants to know, outside direct messages, whom the stream is for.
func (c *call) checkRecipient(ch *channel) error {
	team, user := c.args.str("recipient_team_id"), c.args.str("recipient_user_id")
	switch {
	case team == "":
		return fail("missing_recipient_team_id")
	case user == "":
		return fail("missing_recipient_user_id")
	case team != c.w.store.TeamID:
		return fail("team_not_found")
	case c.w.store.users[user] == nil:
		return fail("user_not_found")
	}
	return nil
}

// openStream finds the stream that channel and ts name. The caller holds the
// store's lock.
func (c *call) openStream() (*channel, *message, error) {
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, nil, err
	}
	ts, ok := parseTS(c.args.str("ts"))
	m := ch.find(ts)
	switch {
	case !ok || m == nil:
		return nil, nil, fail("message_not_found")
	case m.User != c.me():
		return nil, nil, fail("message_not_owned_by_app")
	case m.Stream == nil:
		return nil, nil, fail("message_not_in_streaming_state")
	}
	return ch, m, nil
}

func appendStream(c *call) (result, error) {
	chunks, err := readChunks(c)
	if err != nil {
		return nil, err
	}
	s := c.w.store
	s.mu.Lock()
	ch, m, err := c.openStream()
	if err == nil {
		switch {
		case m.Stream.State == streamStopped:
			err = fail("stopped_by_user")
		case m.Stream.State != streaming:
			err = fail("message_not_in_streaming_state")
		case len(chunks) == 0:
			err = fail("no_text")
		case m.Stream.chars+textLength(chunks) > maxStreamTotal:
			err = fail("msg_too_long")
		default:
			err = s.write(&record{Append: &streamAppend{messageRef{m.Channel, m.TS}, chunks}})
		}
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	before := s.wire(m)
	m.Stream.add(chunks)
	m.Text = m.Stream.text()
	after := s.wire(m)
	c.w.showMessage("changed", m)
	s.mu.Unlock()
	c.w.announceChange(ch, before, after)
	return result{"channel": ch.ID, "ts": after.TS}, nil
}

func stopStream(c *call) (result, error) {
	chunks, err := readChunks(c)
	if err != nil {
		return nil, err
	}
	blocks, ok := c.args.json("blocks")
	if !ok {
		return nil, fail("invalid_blocks")
	}
	if err := checkBlocks(blocks); err != nil {
		return nil, err
	}
	raw, ok := c.args.json("metadata")
	if !ok {
		return nil, fail("invalid_metadata_format")
	}
	metadata, err := checkMetadata(raw)
	if err != nil {
		return nil, err
	}
	session := c.args.str("session_status")
	if session == "" {
		session = "active"
	}
	if !sessionStatuses[session] {
		return nil, fail("invalid_arguments", "[ERROR] session_status is not one of active, processing, suspended, closed")
	}
	s := c.w.store
	s.mu.Lock()
	ch, m, err := c.openStream()
	if err == nil && m.Stream.State != streaming && m.Stream.State != streamStopped {
		err = fail("message_not_in_streaming_state")
	}
	if err == nil && m.Stream.chars+textLength(chunks) > maxStreamTotal {
		err = fail("msg_too_long")
	}
	var before, after *wireMessage
	if err == nil {
		before = s.wire(m)
		next := *m
		st := *m.Stream
		st.Chunks = slices.Clone(st.Chunks)
		st.add(chunks)
		if st.State == streaming {
			st.State = streamDone
		} else {
			st.State = streamExpired // stopped by a person and now closed by the app
		}
		next.Stream, next.Text = &st, st.text()
		if !emptyList(blocks) {
			next.Blocks = withIDs(blocks)
		}
		if metadata != nil {
			next.Metadata = metadata
		}
		m.Stream.expiry.Stop()
		err = c.w.replace(m, next)
		after = s.wire(m)
		c.w.setSession(threadKey{ch.ID, m.threadOf()}, session)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announceChange(ch, before, after)
	answer := *after
	return result{"channel": ch.ID, "ts": after.TS, "message": &answer}, nil
}

// armExpiry ends the stream when Slack would. The caller holds the store's lock.
func (w *Workspace) armExpiry(m *message, left time.Duration) {
	ch, ts := m.Channel, m.TS
	m.Stream.expiry = w.clock.AfterFunc(left, func() {
		w.store.mu.Lock()
		defer w.store.mu.Unlock()
		if m := w.store.channels[ch].find(ts); m != nil {
			w.endStream(m, streamExpired)
		}
	})
}

// endStream takes a stream out of its streaming state from outside the app.
// The caller holds the store's lock.
func (w *Workspace) endStream(m *message, state streamState) bool {
	if m.Stream == nil || m.Stream.State != streaming {
		return false
	}
	next := *m
	st := *m.Stream
	st.State = state
	next.Stream = &st
	if state == streamExpired {
		st.expiry.Stop()
	}
	return w.replace(m, next) == nil
}

// closeStreams ends every stream that is open, as Slack's impatience would;
// with a thread, only those in it. It returns their timestamps.
func (w *Workspace) closeStreams(in *threadKey, state streamState) []string {
	s := w.store
	ended := []string{}
	for _, id := range s.order {
		if in != nil && in.Channel != id {
			continue
		}
		for _, m := range s.channels[id].all {
			if (in == nil || m.threadOf() == in.TS) && w.endStream(m, state) {
				ended = append(ended, m.TS.String())
			}
		}
	}
	return ended
}

// resumeStreams gives the streams that a former process left open what is left
// of their life.
func (w *Workspace) resumeStreams() {
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	now := w.cfg.Now()
	for _, ch := range s.channels {
		for _, m := range ch.all {
			if m.Stream != nil && (m.Stream.State == streaming || m.Stream.State == streamStopped) {
				w.armExpiry(m, streamLife-now.Sub(time.UnixMilli(m.Stream.Started)))
			}
		}
	}
}
