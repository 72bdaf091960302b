package localslack

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// emojiName leaves the length to maxEmoji: a counted repeat of so many letters
// compiles to megabytes.
var emojiName = regexp.MustCompile(`^[\p{L}\p{N}_+'-]+(::skin-tone-[2-6])?$`)

const maxEmoji = 100 // characters

const maxReactions = 23 // distinct ones by one person on one message

// react adds or removes one person's reaction; the caller holds no lock.
func (w *Workspace) react(by, channelArg, tsArg, name string, add bool) error {
	s := w.store
	name = strings.Trim(name, ":")
	if utf8.RuneCountInString(name) > maxEmoji || !emojiName.MatchString(name) {
		return fail("invalid_name")
	}
	s.mu.Lock()
	ch := s.resolve(channelArg, by)
	if ch == nil || !s.visible(ch, by) {
		s.mu.Unlock()
		return fail("channel_not_found")
	}
	ts, ok := parseTS(tsArg)
	if !ok {
		s.mu.Unlock()
		return fail("bad_timestamp")
	}
	m := ch.find(ts)
	if m == nil {
		s.mu.Unlock()
		return fail("message_not_found")
	}
	next := *m
	var err error
	if add {
		next.Reactions, err = addReaction(m.Reactions, by, name)
	} else {
		next.Reactions, err = dropReaction(m.Reactions, by, name)
	}
	if err == nil {
		err = w.replace(m, next)
	}
	author := m.User
	s.mu.Unlock()
	if err != nil {
		return err
	}
	op := map[bool]string{true: "added", false: "removed"}[add]
	w.pages.publish("reaction", map[string]any{"op": op, "channel": ch.ID, "ts": ts.String(), "user": by, "reaction": name}, s.onlyFor(ch.ID)...)
	w.tell(ch, "reaction_"+op, map[string]any{"user": by, "reaction": name, "item_user": author,
		"item": map[string]any{"type": "message", "channel": ch.ID, "ts": ts.String()}})
	return nil
}

func addReaction(old []reaction, by, name string) ([]reaction, error) {
	rs := cloneReactions(old)
	mine := 0
	for i := range rs {
		if slices.Contains(rs[i].Users, by) {
			mine++
		}
		if rs[i].Name == name {
			if slices.Contains(rs[i].Users, by) {
				return nil, fail("already_reacted")
			}
			rs[i].Users = append(rs[i].Users, by)
			rs[i].Count++
			return rs, nil
		}
	}
	if mine >= maxReactions {
		return nil, fail("too_many_reactions")
	}
	return append(rs, reaction{Name: name, Users: []string{by}, Count: 1}), nil
}

func dropReaction(old []reaction, by, name string) ([]reaction, error) {
	rs := cloneReactions(old)
	for i := range rs {
		if rs[i].Name != name || !slices.Contains(rs[i].Users, by) {
			continue
		}
		rs[i].Users = slices.DeleteFunc(rs[i].Users, func(u string) bool { return u == by })
		if rs[i].Count--; rs[i].Count == 0 {
			rs = slices.Delete(rs, i, i+1)
		}
		return rs, nil
	}
	return nil, fail("no_reaction")
}

func reactionsAdd(c *call) (result, error) {
	return result{}, c.w.react(c.me(), c.args.str("channel"), c.args.str("timestamp"), c.args.str("name"), true)
}

func reactionsRemove(c *call) (result, error) {
	if c.args.str("channel") == "" || c.args.str("timestamp") == "" {
		return nil, fail("no_item_specified")
	}
	return result{}, c.w.react(c.me(), c.args.str("channel"), c.args.str("timestamp"), c.args.str("name"), false)
}

func reactionsGet(c *call) (result, error) {
	if c.args.str("channel") == "" || c.args.str("timestamp") == "" {
		return nil, fail("no_item_specified")
	}
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, m, err := c.messageAt("timestamp")
	if err != nil {
		return nil, err
	}
	return result{"type": "message", "channel": ch.ID, "message": s.wire(m)}, nil
}

// reactionsList is what a person or a bot reacted to, the newest first.
func reactionsList(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	of := c.args.str("user")
	if of == "" {
		of = c.me()
	}
	if s.users[of] == nil {
		return nil, fail("user_not_found")
	}
	var found []*message
	for _, id := range s.order {
		ch := s.channels[id]
		if !s.visible(ch, c.me()) {
			continue
		}
		for _, m := range ch.all {
			if slices.ContainsFunc(m.Reactions, func(r reaction) bool { return slices.Contains(r.Users, of) }) {
				found = append(found, m)
			}
		}
	}
	slices.SortFunc(found, func(a, b *message) int { return cmp.Compare(b.TS, a.TS) })
	part, next, err := paged(c, found, 100, 1000)
	if err != nil {
		return nil, err
	}
	items := make([]any, 0, len(part))
	for _, m := range part {
		items = append(items, map[string]any{"type": "message", "channel": m.Channel, "message": s.wire(m)})
	}
	return result{"items": items, "response_metadata": map[string]any{"next_cursor": next}}, nil
}

// messageAt is the message of the call's channel at the ts that key names. The
// caller holds the store's lock.
func (c *call) messageAt(key string) (*channel, *message, error) {
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, nil, err
	}
	ts, ok := parseTS(c.args.str(key))
	if !ok {
		return nil, nil, fail("bad_timestamp")
	}
	m := ch.find(ts)
	if m == nil {
		return nil, nil, fail("message_not_found")
	}
	return ch, m, nil
}

func pinsAdd(c *call) (result, error)    { return c.pin(true) }
func pinsRemove(c *call) (result, error) { return c.pin(false) }

func (c *call) pin(on bool) (result, error) {
	if c.args.str("timestamp") == "" {
		return nil, fail("no_item_specified") // files could be pinned once; nothing else can now
	}
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, m, err := c.messageAt("timestamp")
	switch {
	case err != nil:
		return nil, err
	case on && m.Pinned:
		return nil, fail("already_pinned")
	case !on && !m.Pinned:
		return nil, fail("no_pin")
	}
	next := *m
	next.Pinned = on
	err = c.w.replace(m, next)
	wire := s.wire(m)
	c.after = func() {
		what := map[bool]string{true: "pin_added", false: "pin_removed"}[on]
		c.w.tell(ch, what, map[string]any{"user": c.me(), "channel_id": ch.ID,
			"item": map[string]any{"type": "message", "channel": ch.ID, "message": wire, "created_by": wire.User}})
	}
	return result{}, err
}

func pinsList(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err != nil {
		return nil, err
	}
	items := []any{}
	for _, m := range ch.all {
		if m.Pinned {
			items = append(items, map[string]any{"type": "message", "channel": ch.ID, "message": s.wire(m), "created": int64(m.TS) / 1e6, "created_by": m.User})
		}
	}
	return result{"items": items}, nil
}
