package localslack

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxText         = 40_000 // characters; what is longer is cut with a warning
	maxUpdateText   = 4_000
	maxMarkdownText = 12_000
	maxEphemeral    = 40_000
)

// content is the part of a message that its author writes.
type content struct {
	text        string
	blocks      json.RawMessage
	attachments json.RawMessage
	metadata    json.RawMessage

	hasText, hasBlocks, hasAttachments, hasMetadata bool
}

// readContent reads and judges what a posting method was given.
func readContent(c *call) (content, error) {
	var out content
	var err error
	markdown := c.args.has("markdown_text")
	if markdown && (c.args.str("text") != "" || c.args.has("blocks")) {
		return out, fail("markdown_text_conflict")
	}
	out.text, out.hasText = c.args.str("text"), c.args.has("text")
	if markdown {
		out.text, out.hasText = c.args.str("markdown_text"), true
		if utf8.RuneCountInString(out.text) > maxMarkdownText {
			return out, fail("msg_too_long", "markdown_text exceeds 12000 characters")
		}
	}
	var ok bool
	if out.blocks, ok = c.args.json("blocks"); !ok {
		return out, fail("invalid_blocks_format")
	}
	out.hasBlocks = c.args.has("blocks") && out.blocks != nil
	if out.hasBlocks {
		if err := checkBlocks(out.blocks); err != nil {
			return out, err
		}
		out.blocks = withIDs(out.blocks)
	}
	if out.attachments, ok = c.args.json("attachments"); !ok {
		return out, fail("invalid_attachments")
	}
	if out.hasAttachments = out.attachments != nil; out.hasAttachments {
		if err := checkAttachments(out.attachments); err != nil {
			return out, err
		}
	}
	metadata, ok := c.args.json("metadata")
	if !ok {
		return out, fail("invalid_metadata_format")
	}
	out.hasMetadata = metadata != nil
	if out.metadata, err = checkMetadata(metadata); err != nil {
		return out, err
	}
	if markdown {
		out.blocks = encode([]any{map[string]any{"type": "markdown", "block_id": newID("", 5), "text": out.text}})
		out.hasBlocks = true
	}
	return out, nil
}

func (p content) empty() bool {
	return strings.TrimSpace(p.text) == "" && emptyList(p.blocks) && emptyList(p.attachments)
}

func emptyList(raw json.RawMessage) bool {
	var list []json.RawMessage
	return raw == nil || json.Unmarshal(raw, &list) == nil && len(list) == 0
}

// cut shortens text to n characters and says whether it had to.
func cut(text string, n int) (string, bool) {
	if len(text) <= n || utf8.RuneCountInString(text) <= n {
		return text, false
	}
	return string([]rune(text)[:n]), true
}

// postable is the channel that an argument names, if the caller may post there.
// The caller holds the store's lock.
func (c *call) postable(arg string) (*channel, error) {
	ch, err := c.readable(arg)
	if err != nil {
		return nil, err
	}
	if !ch.has(c.me()) {
		return nil, fail("not_in_channel")
	}
	if ch.Archived {
		return nil, fail("is_archived")
	}
	return ch, nil
}

// readable is the channel that an argument names, if the caller may read it.
func (c *call) readable(arg string) (*channel, error) {
	ch := c.w.store.resolve(arg, c.me())
	if ch == nil || !c.w.store.visible(ch, c.me()) {
		return nil, fail("channel_not_found")
	}
	return ch, c.mayTouch(ch.kind())
}

// threadArg reads a thread_ts argument; 0 when there is none. A ts of a reply
// stands for its thread.
func (c *call) threadArg(ch *channel, key string) (timestamp, error) {
	s := c.args.str(key)
	if s == "" {
		return 0, nil
	}
	ts, ok := parseTS(s)
	if !ok {
		return 0, fail("invalid_arguments", "[ERROR] "+key+" is not a timestamp")
	}
	if m := ch.find(ts); m != nil {
		return m.threadOf(), nil
	}
	return 0, fail("cannot_reply_to_message")
}

func chatPost(c *call) (result, error) {
	p, err := readContent(c)
	if err != nil {
		return nil, err
	}
	if p.empty() {
		return nil, fail("no_text")
	}
	var short bool
	if p.text, short = cut(p.text, maxText); short {
		c.warning = append(c.warning, "message_truncated")
	}
	s := c.w.store
	s.mu.Lock()
	ch, err := c.postable(c.args.str("channel"))
	var thread timestamp
	if err == nil {
		thread, err = c.threadArg(ch, "thread_ts")
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	m := &message{TS: s.nextTS(), ThreadTS: thread, Channel: ch.ID, User: c.me(), Username: c.args.str("username"), Text: p.text,
		Blocks: p.blocks, Attachments: p.attachments, Metadata: p.metadata,
		Broadcast: thread != 0 && c.args.flag("reply_broadcast")}
	if c.who.kind == userToken {
		m.ClientMsgID = newUUID()
		if m.Blocks == nil {
			m.Blocks = richText(m.Text)
		}
	}
	wire, err := c.w.post(m)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announce(ch, wire)
	answer := *wire
	return result{"channel": ch.ID, "ts": wire.TS, "message": &answer}, nil
}

// chatMe is chat.meMessage: a message in the third person.
func chatMe(c *call) (result, error) {
	text := c.args.str("text")
	switch {
	case strings.TrimSpace(text) == "":
		return nil, fail("no_text")
	case utf8.RuneCountInString(text) > maxText:
		return nil, fail("msg_too_long")
	}
	s := c.w.store
	s.mu.Lock()
	ch, err := c.postable(c.args.str("channel"))
	var wire *wireMessage
	if err == nil {
		wire, err = c.w.post(&message{TS: s.nextTS(), Channel: ch.ID, User: c.me(), Subtype: "me_message", Text: text})
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announce(ch, wire)
	return result{"channel": ch.ID, "ts": wire.TS}, nil
}

// post journals, inserts and shows a new message. The caller holds the store's
// lock, and afterwards, without it, calls announce.
func (w *Workspace) post(m *message) (*wireMessage, error) {
	s := w.store
	if err := s.write(&record{Msg: m}); err != nil {
		return nil, err
	}
	s.insert(m)
	w.showMessage("new", m)
	if m.ThreadTS != 0 {
		if p := s.channels[m.Channel].find(m.ThreadTS); p != nil {
			w.showMessage("changed", p) // its reply_count
		}
	}
	if u := s.users[m.User]; u.Bot {
		w.clearStatus(m.Channel, m.threadOf()) // any post of the app does that
	}
	return s.wire(m), nil
}

// showMessage tells the pages. The caller holds the store's lock.
func (w *Workspace) showMessage(op string, m *message) {
	if w.pages.idle() {
		return
	}
	w.pages.publish("message", map[string]any{"op": op, "channel": m.Channel, "message": w.store.wireLocal(m)},
		w.store.onlyFor(m.Channel)...)
}

// onlyFor is who may see a channel: nobody named means everyone.
func (s *store) onlyFor(channelID string) []string {
	if c := s.channels[channelID]; c != nil && !c.public() {
		return c.Members
	}
	return nil
}

func chatEphemeral(c *call) (result, error) {
	p, err := readContent(c)
	if err != nil {
		return nil, err
	}
	if p.empty() {
		return nil, fail("no_text")
	}
	if utf8.RuneCountInString(p.text) > maxEphemeral {
		return nil, fail("msg_too_long")
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := c.postable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	to := c.args.str("user")
	if s.users[to] == nil || !ch.has(to) {
		return nil, fail("user_not_in_channel")
	}
	thread, err := c.threadArg(ch, "thread_ts")
	if err != nil {
		return nil, err
	}
	m := &message{TS: s.nextTS(), ThreadTS: thread, Channel: ch.ID, User: c.me(), ForUser: to,
		Text: p.text, Blocks: p.blocks, Attachments: p.attachments}
	c.w.showEphemeral(m)
	return result{"message_ts": m.TS.String()}, nil
}

// showEphemeral keeps and shows a message that one user sees until the next
// reload. The caller holds the store's lock.
func (w *Workspace) showEphemeral(m *message) {
	w.store.addEphemeral(m)
	w.pages.publish("ephemeral", map[string]any{"channel": m.Channel, "message": w.store.wireLocal(m)}, m.ForUser)
}

func chatUpdate(c *call) (result, error) {
	p, err := readContent(c)
	if err != nil {
		return nil, err
	}
	if !c.args.has("markdown_text") && utf8.RuneCountInString(p.text) > maxUpdateText {
		return nil, fail("msg_too_long")
	}
	s := c.w.store
	s.mu.Lock()
	ch, m, err := c.own("cant_update_message")
	if err == nil {
		err = c.checkUpdate(m, p)
	}
	var before *wireMessage
	if err == nil {
		before = s.wire(m)
		err = c.w.edit(m, c.me(), p)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	after := s.wire(m)
	s.mu.Unlock()
	c.w.announceChange(ch, before, after)
	answer := *after
	return result{"channel": ch.ID, "ts": after.TS, "text": after.Text, "message": &answer}, nil
}

func (c *call) checkUpdate(m *message, p content) error {
	if m.Stream != nil && (m.Stream.State == streaming || m.Stream.State == streamStopped) {
		return fail("streaming_state_conflict")
	}
	if !p.hasText && !p.hasBlocks && !p.hasAttachments && !p.hasMetadata {
		return fail("no_text")
	}
	if p.hasBlocks && !emptyList(p.blocks) && hasRichText(m.Blocks) && !hasRichText(p.blocks) {
		return fail("block_mismatch")
	}
	merged := p
	if !p.hasText {
		merged.text = m.Text
	}
	if !p.hasAttachments {
		merged.attachments = m.Attachments
	}
	if !p.hasText && !p.hasBlocks {
		merged.blocks = m.Blocks
	}
	if merged.empty() && len(m.Files) == 0 {
		return fail("no_text")
	}
	return nil
}

func hasRichText(blocks json.RawMessage) bool {
	var list []struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(blocks, &list) == nil &&
		slices.ContainsFunc(list, func(b struct {
			Type string `json:"type"`
		}) bool {
			return b.Type == "rich_text"
		})
}

// own finds the message that channel and ts name and that the caller wrote.
func (c *call) own(refused string) (*channel, *message, error) {
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, nil, err
	}
	ts, ok := parseTS(c.args.str("ts"))
	m := ch.find(ts)
	if !ok || m == nil || m.Subtype == "tombstone" {
		return nil, nil, fail("message_not_found")
	}
	if m.User != c.me() {
		return nil, nil, fail(refused)
	}
	return ch, m, nil
}

// edit changes a message's content. Text alone takes the blocks away: they
// would hide it. The caller holds the store's lock.
func (w *Workspace) edit(m *message, by string, p content) error {
	next := *m
	if p.hasText {
		next.Text = p.text
	}
	if p.hasBlocks {
		next.Blocks = p.blocks
	} else if p.hasText {
		next.Blocks = nil
	}
	if emptyList(next.Blocks) {
		next.Blocks = nil
	}
	if p.hasAttachments {
		if next.Attachments = p.attachments; emptyList(p.attachments) {
			next.Attachments = nil
		}
	}
	if p.hasMetadata {
		next.Metadata = p.metadata
	}
	next.Edited = &edited{User: by, TS: timestamp(w.cfg.Now().UnixMicro())}
	return w.replace(m, next)
}

// replace journals next and puts it in m's place. The caller holds the store's lock.
func (w *Workspace) replace(m *message, next message) error {
	if m.ForUser == "" {
		if err := w.store.write(&record{Msg: &next}); err != nil {
			return err
		}
	}
	*m = next
	if m.ForUser != "" {
		w.pages.publish("ephemeral", map[string]any{"channel": m.Channel, "message": w.store.wireLocal(m)}, m.ForUser)
		return nil
	}
	w.showMessage("changed", m)
	return nil
}

func chatDelete(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, m, err := c.own("cant_delete_message")
	var before *wireMessage
	if err == nil {
		before = s.wire(m)
		err = c.w.remove(m)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announceDeletion(ch, before)
	return result{"channel": ch.ID, "ts": before.TS}, nil
}

// remove deletes a message; a parent with replies leaves a tombstone. The
// caller holds the store's lock.
func (w *Workspace) remove(m *message) error {
	s := w.store
	if m.Stream != nil {
		m.Stream.expiry.Stop()
	}
	if len(m.replies) > 0 {
		return w.replace(m, message{TS: m.TS, Channel: m.Channel, User: "USLACKBOT", Subtype: "tombstone",
			Text: "This message was deleted.", replies: m.replies})
	}
	if err := s.write(&record{Del: &messageRef{m.Channel, m.TS}}); err != nil {
		return err
	}
	s.remove(m)
	w.showMessage("deleted", m)
	if p := s.channels[m.Channel].find(m.ThreadTS); p != nil {
		w.showMessage("changed", p)
	}
	return nil
}

func chatPermalink(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	ts, ok := parseTS(c.args.str("message_ts"))
	m := ch.find(ts)
	if !ok || m == nil {
		return nil, fail("message_not_found")
	}
	return result{"channel": ch.ID, "permalink": c.w.permalink(m)}, nil
}

// permalink leads to the page, which knows the same addresses as Slack's.
func (w *Workspace) permalink(m *message) string {
	link := w.base + "/archives/" + m.Channel + "/p" + strings.ReplaceAll(m.TS.String(), ".", "")
	if m.ThreadTS != 0 {
		link += "?thread_ts=" + m.ThreadTS.String() + "&cid=" + m.Channel
	}
	return link
}
