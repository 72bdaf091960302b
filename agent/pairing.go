package agent

import "strings"

// Paired is a conversation as every provider takes it: each call is followed by
// its result, in the order of the calls, and no result stands without its call.
// Results that came in another order are put in place; one that is missing (an
// older run ended badly) is answered honestly; an orphan is left out, and so is
// a turn of the model's that says nothing. The record is not changed.
func Paired(in []Message) []Message {
	results := make(map[string]int, len(in)/2)
	for i := range in {
		if in[i].Role == ToolRole {
			results[in[i].CallID] = i
		}
	}
	out := make([]Message, 0, len(in))
	for i := range in {
		m := in[i]
		if m.Role == ToolRole {
			continue // put behind its call below, or an orphan
		}
		if m.Role == Assistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "" {
			continue
		}
		out = append(out, m)
		if m.Role != Assistant {
			continue
		}
		for _, c := range m.Calls {
			if at, ok := results[c.ID]; ok && at > i {
				out = append(out, in[at])
				continue
			}
			out = append(out, Message{Turn: m.Turn, Role: ToolRole, Author: ByHarness, CallID: c.ID, WireID: c.WireID, Tool: c.Tool, IsError: true, Text: interrupted})
		}
	}
	return out
}

// openCalls are the calls of the last assistant turn that have no result yet.
// stale: the owner has spoken since, so they belong to a run that is over.
func (l *loop) openCalls() (open []Call, stale bool) {
	answered := map[string]bool{}
	for i := len(l.history) - 1; i >= 0; i-- {
		m := l.history[i]
		switch {
		case m.Role == ToolRole:
			answered[m.CallID] = true
		case m.Author == ByOwner:
			stale = true
		case m.Role == Assistant && m.Author == ByModel:
			for _, c := range m.Calls {
				if !answered[c.ID] {
					open = append(open, c)
				}
			}
			l.turn = max(l.turn, m.Turn+1)
			return open, stale
		}
	}
	return nil, false
}
