package localslack

import "slices"

// wireChannel is a conversation object as the API gives it to viewer. The
// caller holds the store's lock.
func (s *store) wireChannel(c *channel, viewer string) map[string]any {
	out := map[string]any{"id": c.ID, "created": c.Created, "creator": c.Creator, "is_im": c.IM, "is_mpim": c.Group, "is_group": c.Group,
		"is_channel": !c.direct(), "is_private": !c.public(), "is_archived": c.Archived, "is_org_shared": false, "is_shared": false, "is_ext_shared": false,
		"is_pending_ext_shared": false, "pending_shared": []string{}, "context_team_id": s.TeamID, "updated": c.Created * 1000,
		"shared_team_ids": []string{s.TeamID}, "unlinked": 0, "parent_conversation": nil}
	if c.IM {
		out["user"], out["is_open"], out["is_user_deleted"], out["priority"] = c.peer(viewer), true, false, 0
		return out
	}
	out["name"], out["name_normalized"] = c.Name, c.Name
	out["is_general"], out["is_member"] = c.Name == "general", c.has(viewer)
	out["topic"] = map[string]any{"value": c.Topic, "creator": c.Creator, "last_set": c.Created}
	out["purpose"] = map[string]any{"value": c.Purpose, "creator": "", "last_set": 0}
	if c.Purpose != "" {
		out["purpose"] = map[string]any{"value": c.Purpose, "creator": c.Creator, "last_set": c.Created}
	}
	out["previous_names"], out["num_members"] = []string{}, len(c.Members)
	if c.Group {
		out["is_open"] = true
	}
	return out
}

// listed is the name of each kind of channel in the types argument.
var listed = map[string]string{"channel": "public_channel", "group": "private_channel", "mpim": "mpim", "im": "im"}

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
		for kind, name := range listed {
			if name == t {
				if err := c.mayTouch(kind); err != nil {
					return nil, err
				}
			}
		}
	}
	var out []*channel
	for _, id := range c.w.store.order {
		ch := c.w.store.channels[id]
		if ch.Archived && c.args.flag("exclude_archived") {
			continue
		}
		if slices.Contains(types, listed[ch.kind()]) && c.w.store.visible(ch, c.me()) && (memberOf == "" || ch.has(memberOf)) {
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
