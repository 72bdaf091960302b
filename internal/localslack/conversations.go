package localslack

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// wireChannel is a conversation object as the API gives it to viewer. The
// caller holds the store's lock.
func (s *store) wireChannel(c *channel, viewer string) map[string]any {
	out := map[string]any{"id": c.ID, "created": c.Created, "creator": c.Creator, "is_im": c.IM, "is_mpim": false, "is_group": false,
		"is_channel": !c.IM, "is_private": c.IM, "is_archived": false, "is_org_shared": false, "is_shared": false, "is_ext_shared": false,
		"is_pending_ext_shared": false, "pending_shared": []string{}, "context_team_id": s.TeamID, "updated": c.Created * 1000,
		"shared_team_ids": []string{s.TeamID}, "unlinked": 0, "parent_conversation": nil}
	if c.IM {
		out["user"], out["is_open"], out["is_user_deleted"], out["priority"] = c.peer(viewer), true, false, 0
		return out
	}
	out["name"], out["name_normalized"] = c.Name, c.Name
	out["is_general"], out["is_member"] = c.Name == "general", c.has(viewer)
	out["topic"] = map[string]any{"value": c.Topic, "creator": c.Creator, "last_set": c.Created}
	out["purpose"] = map[string]any{"value": "", "creator": "", "last_set": 0}
	out["previous_names"], out["num_members"] = []string{}, len(c.Members)
	return out
}

// conversations lists what the viewer may see, of the wanted types.
func (c *call) conversations(memberOf string) ([]*channel, error) {
	types := c.args.list("types")
	if len(types) == 0 {
		types = []string{"public_channel"}
	}
	for _, t := range types {
		if !slices.Contains([]string{"public_channel", "private_channel", "mpim", "im"}, t) {
			return nil, fail("invalid_types")
		}
	}
	var out []*channel
	for _, id := range c.w.store.order {
		ch := c.w.store.channels[id]
		wanted := "public_channel"
		if ch.IM {
			wanted = "im"
		}
		if slices.Contains(types, wanted) && c.w.store.visible(ch, c.me()) && (memberOf == "" || ch.has(memberOf)) {
			out = append(out, ch)
		}
	}
	return out, nil
}

func conversationsList(c *call) (result, error) { return c.listChannels("") }
func usersConversations(c *call) (result, error) {
	of := c.args.str("user")
	if of == "" {
		of = c.me()
	}
	return c.listChannels(of)
}

func (c *call) listChannels(memberOf string) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	all, err := c.conversations(memberOf)
	if err != nil {
		return nil, err
	}
	part, next, err := paged(c, all, 100, 999)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(part))
	for _, ch := range part {
		out = append(out, s.wireChannel(ch, c.me()))
	}
	return result{"channels": out, "response_metadata": map[string]any{"next_cursor": next}}, nil
}

func conversationsInfo(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	return result{"channel": s.wireChannel(ch, c.me())}, nil
}

func conversationsMembers(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	part, next, err := paged(c, ch.Members, 100, 1000)
	if err != nil {
		return nil, err
	}
	return result{"members": append([]string{}, part...), "response_metadata": map[string]any{"next_cursor": next}}, nil
}

// window is the part of a history that a call asks for.
type window struct {
	oldest, latest timestamp
	inclusive      bool
	limit          int
	metadata       bool
}

func (c *call) window() (window, error) {
	w := window{latest: 1<<63 - 1, inclusive: c.args.flag("inclusive"), limit: 100, metadata: c.args.flag("include_all_metadata")}
	var ok bool
	if s := c.args.str("oldest"); s != "" {
		if w.oldest, ok = parseTS(s); !ok {
			return w, fail("invalid_ts_oldest")
		}
	}
	if s := c.args.str("latest"); s != "" && s != "now" {
		if w.latest, ok = parseTS(s); !ok {
			return w, fail("invalid_ts_latest")
		}
	}
	if s := c.args.str("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 1000 {
			return w, fail("invalid_limit")
		}
		if n > 0 {
			w.limit = min(n, 999)
		}
	}
	if s := c.args.str("cursor"); s != "" {
		at, found := strings.CutPrefix(s, "ts_")
		ts, ok := parseTS(at)
		if !found || !ok {
			return w, fail("invalid_cursor")
		}
		if w.latest = ts; w.inclusive {
			w.latest-- // the page before ended with that very message
		}
	}
	return w, nil
}

// bounds is the half-open range of list that lies inside the window.
func (w window) bounds(list []*message) (from, to int) {
	from = sort.Search(len(list), func(i int) bool { return list[i].TS > w.oldest || w.inclusive && list[i].TS == w.oldest })
	to = sort.Search(len(list), func(i int) bool { return list[i].TS > w.latest || !w.inclusive && list[i].TS == w.latest })
	return from, max(from, to)
}

// apiWire is a message as a history shows it.
func (s *store) apiWire(m *message, metadata bool) *wireMessage {
	out := s.wire(m)
	if !metadata && out.Metadata != nil {
		out.Metadata = withoutPayload(out.Metadata)
	}
	return out
}

func conversationsHistory(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	if c.who.kind == botToken && !ch.has(c.me()) {
		return nil, fail("not_in_channel")
	}
	win, err := c.window()
	if err != nil {
		return nil, err
	}
	from, to := win.bounds(ch.top)
	// A page is the newest part of the window; cursors lead back in time.
	start := max(from, to-win.limit)
	out := make([]any, 0, to-start)
	for i := to - 1; i >= start; i-- {
		out = append(out, s.apiWire(ch.top[i], win.metadata))
	}
	res := result{"messages": out, "has_more": start > from, "pin_count": 0, "channel_actions_ts": nil, "channel_actions_count": 0}
	if start > from {
		res["response_metadata"] = map[string]any{"next_cursor": "ts_" + ch.top[start].TS.String()}
	}
	return res, nil
}

func conversationsReplies(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	ts, ok := parseTS(c.args.str("ts"))
	if !ok {
		return nil, fail("thread_not_found")
	}
	m := ch.find(ts)
	if m == nil {
		return nil, fail("thread_not_found")
	}
	if m.ThreadTS != 0 { // a reply alone, as Slack answers
		return result{"messages": []any{s.apiWire(m, c.args.flag("include_all_metadata"))}, "has_more": false}, nil
	}
	forward := c.args.str("cursor")
	win, err := c.repliesWindow(forward)
	if err != nil {
		return nil, err
	}
	from, to := win.bounds(m.replies)
	end := min(to, from+win.limit)
	out := make([]any, 0, end-from+1)
	out = append(out, s.apiWire(m, win.metadata)) // the parent comes first on every page
	for _, r := range m.replies[from:end] {
		out = append(out, s.apiWire(r, win.metadata))
	}
	res := result{"messages": out, "has_more": end < to}
	if end < to {
		res["response_metadata"] = map[string]any{"next_cursor": "ts_" + m.replies[end-1].TS.String()}
	}
	return res, nil
}

// repliesWindow is window for a list that pages forward: its cursor is where
// the last page ended.
func (c *call) repliesWindow(cursor string) (window, error) {
	saved, had := c.args["cursor"]
	delete(c.args, "cursor")
	w, err := c.window()
	if had {
		c.args["cursor"] = saved
	}
	if err != nil || cursor == "" {
		return w, err
	}
	at, found := strings.CutPrefix(cursor, "ts_")
	ts, ok := parseTS(at)
	if !found || !ok {
		return w, fail("invalid_cursor")
	}
	w.oldest = max(w.oldest, ts+1)
	w.inclusive = true
	return w, nil
}

func conversationsOpen(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := c.args.str("channel"); id != "" {
		ch := s.channels[id]
		if ch == nil || !ch.has(c.me()) {
			return nil, fail("channel_not_found")
		}
		return c.opened(ch, true), nil
	}
	users := c.args.list("users")
	switch {
	case len(users) == 0:
		return nil, fail("users_list_not_supplied")
	case len(users) > 1:
		return nil, fail("method_not_supported_for_channel_type", "[ERROR] this workspace has no group conversations")
	case s.users[users[0]] == nil:
		return nil, fail("user_not_found")
	}
	if ch := s.im(c.me(), users[0]); ch != nil {
		return c.opened(ch, true), nil
	}
	ch := &channel{ID: newID("D0", 9), IM: true, Created: c.w.cfg.Now().Unix(), Creator: c.me(), Members: []string{c.me(), users[0]}}
	if err := s.write(&record{Chan: ch}); err != nil {
		return nil, err
	}
	s.addChannel(ch)
	c.w.pages.publish("state", struct{}{})
	return c.opened(ch, false), nil
}

func (c *call) opened(ch *channel, already bool) result {
	res := result{"channel": map[string]any{"id": ch.ID}}
	if c.args.flag("return_im") {
		res["channel"] = c.w.store.wireChannel(ch, c.me())
	}
	if already {
		res["no_op"], res["already_open"] = true, true
	}
	return res
}

// changeChannel journals and applies a change of a channel's own fields.
func (c *call) changeChannel(ch *channel, change func(*channel)) error {
	next := channel{ID: ch.ID, Name: ch.Name, Topic: ch.Topic, Created: ch.Created, Creator: ch.Creator, Members: slices.Clone(ch.Members), IM: ch.IM}
	change(&next)
	if err := c.w.store.write(&record{Chan: &next}); err != nil {
		return err
	}
	ch.Name, ch.Topic, ch.Members = next.Name, next.Topic, next.Members
	c.w.pages.publish("state", struct{}{})
	return nil
}

func conversationsJoin(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.readable(c.args.str("channel"))
	if err == nil && ch.IM {
		err = fail("method_not_supported_for_channel_type")
	}
	joined := false
	if err == nil && !ch.has(c.me()) {
		joined = true
		err = c.changeChannel(ch, func(n *channel) { n.Members = append(n.Members, c.me()) })
	}
	var out map[string]any
	if err == nil {
		out = s.wireChannel(ch, c.me())
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if joined {
		c.w.sendMembership("member_joined_channel", ch, c.me(), "")
		return result{"channel": out}, nil
	}
	c.warning = append(c.warning, "already_in_channel")
	return result{"channel": out}, nil
}

func conversationsInvite(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.postable(c.args.str("channel"))
	users := c.args.list("users")
	var added []string
	if err == nil {
		for _, u := range users {
			switch {
			case s.users[u] == nil:
				err = fail("user_not_found")
			case u == c.me():
				err = fail("cant_invite_self")
			case ch.has(u):
				err = fail("already_in_channel")
			default:
				added = append(added, u)
			}
		}
	}
	if err == nil {
		err = c.changeChannel(ch, func(n *channel) { n.Members = append(n.Members, added...) })
	}
	var out map[string]any
	if err == nil {
		out = s.wireChannel(ch, c.me())
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, u := range added {
		c.w.sendMembership("member_joined_channel", ch, u, c.me())
	}
	return result{"channel": out}, nil
}

func conversationsLeave(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.readable(c.args.str("channel"))
	if err == nil && ch.IM {
		err = fail("method_not_supported_for_channel_type")
	}
	if err == nil && !ch.has(c.me()) {
		s.mu.Unlock()
		return result{"not_in_channel": true}, nil
	}
	if err == nil {
		err = c.changeChannel(ch, func(n *channel) {
			n.Members = slices.DeleteFunc(n.Members, func(u string) bool { return u == c.me() })
		})
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.sendMembership("member_left_channel", ch, c.me(), "")
	return result{}, nil
}

func (w *Workspace) sendMembership(kind string, ch *channel, user, inviter string) {
	e := map[string]any{"type": kind, "user": user, "channel": ch.ID, "channel_type": "C", "team": w.store.TeamID, "event_ts": w.eventTS()}
	if inviter != "" {
		e["inviter"] = inviter
	}
	if user == w.app.bot.ID || w.sees(ch) {
		w.sendEvent(kind, ch.ID, encode(e))
	}
}

func conversationsCreate(c *call) (result, error) {
	s := c.w.store
	name := c.args.str("name")
	if name == "" || len(name) > 80 || strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r > 127)
	}) {
		return nil, fail("invalid_name_specials")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resolve("#"+name, c.me()) != nil {
		return nil, fail("name_taken")
	}
	ch := &channel{ID: newID("C0", 9), Name: name, Created: c.w.cfg.Now().Unix(), Creator: c.me(), Members: []string{c.me()}}
	if err := s.write(&record{Chan: ch}); err != nil {
		return nil, err
	}
	s.addChannel(ch)
	c.w.pages.publish("state", struct{}{})
	return result{"channel": s.wireChannel(ch, c.me())}, nil
}

func conversationsSetTopic(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := c.postable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	if len([]rune(c.args.str("topic"))) > 250 {
		return nil, fail("too_long")
	}
	if err := c.changeChannel(ch, func(n *channel) { n.Topic = c.args.str("topic") }); err != nil {
		return nil, err
	}
	return result{"channel": s.wireChannel(ch, c.me())}, nil
}

// rawList decodes a JSON array of T; ok is false if it isn't one.
func rawList[T any](raw json.RawMessage) (out []T, ok bool) {
	return out, raw != nil && json.Unmarshal(raw, &out) == nil
}
