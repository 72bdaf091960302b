package localslack

import (
	"sort"
	"strconv"
	"strings"
)

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
