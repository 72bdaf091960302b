package localslack

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Methods that make, change and end channels and direct messages.

const (
	maxGroup       = 8 // people of a group's direct messages, besides the caller
	maxChannelName = 80
	maxTopic       = 250
)

func conversationsOpen(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if id := c.args.str("channel"); id != "" {
		ch := s.channels[id]
		if ch == nil || !ch.has(c.me()) {
			return nil, fail("channel_not_found")
		}
		if !ch.direct() {
			return nil, fail("method_not_supported_for_channel_type")
		}
		return c.opened(ch, true), nil
	}
	members, err := c.openWith()
	if err != nil {
		return nil, err
	}
	kind := "im"
	if len(members) > 2 {
		kind = "mpim"
	}
	if err := c.mayTouch(kind); err != nil {
		return nil, err
	}
	if ch := s.directOf(members); ch != nil {
		return c.opened(ch, true), nil
	}
	if c.args.flag("prevent_creation") {
		return nil, fail("channel_not_found")
	}
	ch := &channel{ID: newID("D0", 9), IM: true, Created: c.w.cfg.Now().Unix(), Creator: c.me(), Members: members}
	if len(members) > 2 {
		var names []string
		for _, id := range members {
			names = append(names, s.users[id].Name)
		}
		ch.ID, ch.IM, ch.Group, ch.Name = newID("C0", 9), false, true, "mpdm-"+strings.Join(names, "--")+"-1"
	}
	if err := s.write(&record{Chan: ch}); err != nil {
		return nil, err
	}
	s.addChannel(ch)
	c.w.pages.publish("state", struct{}{})
	return c.opened(ch, false), nil
}

// openWith is the caller and whom the call wants to talk to. The caller holds
// the store's lock.
func (c *call) openWith() ([]string, error) {
	members := []string{c.me()}
	for _, id := range c.args.list("users") {
		if c.w.store.users[id] == nil {
			return nil, fail("user_not_found")
		}
		if !slices.Contains(members, id) {
			members = append(members, id)
		}
	}
	switch {
	case len(c.args.list("users")) == 0:
		return nil, fail("users_list_not_supplied")
	case len(members) < 2:
		return nil, fail("not_enough_users")
	case len(members) > 1+maxGroup:
		return nil, fail("too_many_users")
	}
	return members, nil
}

// directOf is the direct messages of exactly these people, nil if there are none.
func (s *store) directOf(members []string) *channel {
	for _, id := range s.order {
		c := s.channels[id]
		if c.direct() && len(c.Members) == len(members) && !slices.ContainsFunc(members, func(u string) bool { return !c.has(u) }) {
			return c
		}
	}
	return nil
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

// conversationsClose puts direct messages out of sight; a new message brings
// them back, so there is nothing to keep.
func conversationsClose(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err == nil && !ch.direct() {
		err = fail("method_not_supported_for_channel_type")
	}
	return result{}, err
}

// conversationsMark is accepted and changes nothing: nobody here counts what an
// app has read.
func conversationsMark(c *call) (result, error) {
	s := c.w.store
	s.mu.RLock()
	defer s.mu.RUnlock()
	ch, err := c.readable(c.args.str("channel"))
	if err == nil && !ch.has(c.me()) {
		err = fail("not_in_channel")
	}
	if _, ok := parseTS(c.args.str("ts")); err == nil && !ok {
		err = fail("invalid_timestamp")
	}
	return result{}, err
}

// changeChannel journals and applies a change of a channel's own fields. The
// caller holds the store's lock.
func (c *call) changeChannel(ch *channel, change func(*channel)) error {
	next := *ch
	next.Members = slices.Clone(ch.Members)
	change(&next)
	if err := c.w.store.write(&record{Chan: &next}); err != nil {
		return err
	}
	*ch = next
	c.w.pages.publish("state", struct{}{})
	return nil
}

// room is the channel that a call wants to change: one that isn't direct
// messages. The caller holds the store's lock.
func (c *call) room() (*channel, error) {
	ch, err := c.readable(c.args.str("channel"))
	if err == nil && ch.direct() {
		err = fail("method_not_supported_for_channel_type")
	}
	return ch, err
}

// joinedRoom is a room that the caller is in and may change.
func (c *call) joinedRoom() (*channel, error) {
	ch, err := c.room()
	switch {
	case err != nil:
		return nil, err
	case !ch.has(c.me()):
		return nil, fail("not_in_channel")
	case ch.Archived:
		return nil, fail("is_archived")
	}
	return ch, nil
}

func conversationsJoin(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.room()
	if err == nil && ch.Archived {
		err = fail("is_archived")
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
	ch, err := c.joinedRoom()
	var added []string
	if err == nil {
		for _, u := range c.args.list("users") {
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
	if err == nil && len(added) == 0 {
		err = fail("no_user")
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
	ch, err := c.room()
	switch {
	case err != nil:
	case !ch.has(c.me()):
		s.mu.Unlock()
		return result{"not_in_channel": true}, nil
	case ch.Name == "general":
		err = fail("cant_leave_general")
	}
	if err == nil {
		err = c.dropMember(ch, c.me())
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.sendMembership("member_left_channel", ch, c.me(), "")
	return result{}, nil
}

func (c *call) dropMember(ch *channel, user string) error {
	return c.changeChannel(ch, func(n *channel) {
		n.Members = slices.DeleteFunc(n.Members, func(u string) bool { return u == user })
	})
}

func conversationsKick(c *call) (result, error) {
	s := c.w.store
	user := c.args.str("user")
	s.mu.Lock()
	ch, err := c.joinedRoom()
	switch {
	case err != nil:
	case user == c.me():
		err = fail("cant_kick_self")
	case ch.Name == "general":
		err = fail("cant_kick_from_general")
	case s.users[user] == nil:
		err = fail("user_not_found")
	case !ch.has(user):
		err = fail("not_in_channel")
	default:
		err = c.dropMember(ch, user)
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.sendMembership("member_left_channel", ch, user, "")
	return result{"errors": map[string]any{}}, nil
}

// channelName judges a channel's name, and that nobody has it. The caller holds
// the store's lock.
func (c *call) channelName() (string, error) {
	name := c.args.str("name")
	switch {
	case name == "":
		return "", fail("invalid_name_required")
	case utf8.RuneCountInString(name) > maxChannelName:
		return "", fail("invalid_name_maxlength")
	case strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r > 127)
	}):
		return "", fail("invalid_name_specials")
	case strings.Trim(name, "-_") == "":
		return "", fail("invalid_name_punctuation")
	case c.w.store.resolve("#"+name, c.me()) != nil:
		return "", fail("name_taken")
	}
	return name, nil
}

func conversationsCreate(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	name, err := c.channelName()
	kind := map[bool]string{true: "group", false: "channel"}[c.args.flag("is_private")]
	err = cmp.Or(err, c.mayTouch(kind))
	ch := &channel{ID: newID("C0", 9), Name: name, Created: c.w.cfg.Now().Unix(), Creator: c.me(), Members: []string{c.me()},
		Private: kind == "group"}
	if err == nil {
		err = s.write(&record{Chan: ch})
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	s.addChannel(ch)
	c.w.pages.publish("state", struct{}{})
	out := s.wireChannel(ch, c.me())
	s.mu.Unlock()
	if ch.public() {
		c.w.tell(nil, "channel_created", map[string]any{"channel": map[string]any{"id": ch.ID, "name": ch.Name, "created": ch.Created, "creator": ch.Creator}})
	}
	return result{"channel": out}, nil
}

func conversationsRename(c *call) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.joinedRoom()
	var name string
	if err == nil {
		name, err = c.channelName()
	}
	if err == nil {
		err = c.changeChannel(ch, func(n *channel) { n.Name = name })
	}
	var out map[string]any
	if err == nil {
		out = s.wireChannel(ch, c.me())
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.tell(ch, ch.eventName("rename"), map[string]any{"channel": map[string]any{"id": ch.ID, "name": name, "created": ch.Created}})
	return result{"channel": out}, nil
}

// eventName is an event about the channel itself: private ones have names of
// their own.
func (c *channel) eventName(what string) string {
	if c.Private {
		return "group_" + what
	}
	return "channel_" + what
}

func conversationsArchive(c *call) (result, error)   { return c.archive(true) }
func conversationsUnarchive(c *call) (result, error) { return c.archive(false) }

func (c *call) archive(on bool) (result, error) {
	s := c.w.store
	s.mu.Lock()
	ch, err := c.room()
	switch {
	case err != nil:
	case on && ch.Archived:
		err = fail("already_archived")
	case !on && !ch.Archived:
		err = fail("not_archived")
	case on && ch.Name == "general":
		err = fail("cant_archive_general")
	case on && !ch.has(c.me()):
		err = fail("not_in_channel")
	default:
		err = c.changeChannel(ch, func(n *channel) { n.Archived = on })
	}
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	what := map[bool]string{true: "archive", false: "unarchive"}[on]
	c.w.tell(ch, ch.eventName(what), map[string]any{"channel": ch.ID, "user": c.me()})
	return result{}, nil
}

func conversationsSetTopic(c *call) (result, error) {
	return c.describe("topic", func(n *channel, words string) { n.Topic = words })
}

func conversationsSetPurpose(c *call) (result, error) {
	return c.describe("purpose", func(n *channel, words string) { n.Purpose = words })
}

func (c *call) describe(what string, set func(*channel, string)) (result, error) {
	s := c.w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ch, err := c.joinedRoom()
	if err != nil {
		return nil, err
	}
	words := c.args.str(what)
	if utf8.RuneCountInString(words) > maxTopic {
		return nil, fail("too_long")
	}
	if err := c.changeChannel(ch, func(n *channel) { set(n, words) }); err != nil {
		return nil, err
	}
	return result{"channel": s.wireChannel(ch, c.me())}, nil
}
