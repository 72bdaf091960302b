package localslack

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// Previews of links that an app gives: link_shared asks for them, chat.unfurl
// brings them.

var linkInText = regexp.MustCompile(`<(https?://[^|>\s]+)[|>]`)

// announceLinks sends link_shared to each app that unfurls a domain which the
// message links to.
func (w *Workspace) announceLinks(ch *channel, m *wireMessage) {
	links := linkInText.FindAllStringSubmatch(m.Text, -1)
	if len(links) == 0 {
		return
	}
	for _, a := range w.hearers(ch, "link_shared") {
		var mine []any
		for _, found := range links {
			address := unescaper.Replace(found[1])
			u, err := url.Parse(address)
			if err != nil {
				continue
			}
			i := slices.IndexFunc(a.manifest.Domains, func(d string) bool {
				return strings.EqualFold(u.Hostname(), d) || strings.HasSuffix(strings.ToLower(u.Hostname()), "."+strings.ToLower(d))
			})
			if i >= 0 {
				mine = append(mine, map[string]any{"domain": a.manifest.Domains[i], "url": address})
			}
		}
		if len(mine) == 0 || m.User == a.bot.ID {
			continue
		}
		w.sendEvent(a, "link_shared", ch.ID, encode(map[string]any{"type": "link_shared", "channel": ch.ID, "user": m.User, "is_bot_user_member": true,
			"message_ts": m.TS, "thread_ts": m.ThreadTS, "links": mine, "source": "conversations_history", "unfurl_id": m.TS, "event_ts": w.eventTS()}))
	}
}

// chatUnfurl shows previews below links of a message. The call may come only
// for links that are there.
func chatUnfurl(c *call) (result, error) {
	raw, ok := c.args.json("unfurls")
	var previews map[string]json.RawMessage
	switch {
	case raw == nil && ok:
		return nil, fail("missing_unfurls")
	case !ok, json.Unmarshal(raw, &previews) != nil:
		return nil, fail("invalid_unfurls_format")
	case c.args.str("channel") == "":
		return nil, fail("missing_channel")
	case c.args.str("ts") == "":
		return nil, fail("missing_ts")
	}
	s := c.w.store
	s.mu.Lock()
	ch, before, after, err := c.unfurl(previews)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	c.w.announceChange(ch, before, after)
	return result{}, nil
}

// unfurl puts previews into the message that the call names. The caller holds
// the store's lock.
func (c *call) unfurl(previews map[string]json.RawMessage) (ch *channel, before, after *wireMessage, err error) {
	s := c.w.store
	if ch, err = c.readable(c.args.str("channel")); err != nil {
		return nil, nil, nil, fail("cannot_find_channel")
	}
	ts, _ := parseTS(c.args.str("ts"))
	m := ch.find(ts)
	if m == nil {
		return nil, nil, nil, fail("cannot_find_message")
	}
	list, _ := rawList[json.RawMessage](m.Attachments)
	for address, preview := range previews {
		if !strings.Contains(unescaper.Replace(m.Text), address) {
			return nil, nil, nil, fail("cannot_unfurl_url")
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(preview, &fields) != nil {
			return nil, nil, nil, fail("cannot_parse_attachment")
		}
		if err := checkAttachments(encode([]json.RawMessage{preview})); err != nil {
			return nil, nil, nil, fail("cannot_parse_attachment")
		}
		fields["from_url"], fields["is_app_unfurl"], fields["app_unfurl_url"] = encode(address), encode(true), encode(address)
		list = append(list, encode(fields))
	}
	next := *m
	next.Attachments = encode(list)
	before = s.wire(m)
	err = c.w.replace(m, next)
	return ch, before, s.wire(m), err
}
