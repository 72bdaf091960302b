package agent

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const thinnedTo = 240 // bytes that are left of an old result

// calls finds the call of each result.
func callsOf(h []Message) map[string]Call {
	m := map[string]Call{}
	for i := range h {
		for _, c := range h[i].Calls {
			m[c.ID] = c
		}
	}
	return m
}

// superseded takes out what a read showed before the same thing was read again
// or was written: an old state misleads, and costs. Failures are left alone.
func superseded(h []Message, readOnly func(string) bool) {
	calls := callsOf(h)
	newest := map[string]bool{}  // tool and arguments, seen later
	written := map[string]bool{} // paths, written later
	for i := len(h) - 1; i >= 0; i-- {
		m := &h[i]
		c, ok := calls[m.CallID]
		if m.Role != ToolRole || !ok || m.IsError {
			continue
		}
		path := pathOf(c.Args)
		if !readOnly(c.Tool) {
			if path != "" {
				written[path] = true
			}
			continue
		}
		key := c.Tool + "\x00" + string(compacted(c.Args))
		why := ""
		switch {
		case newest[key]:
			why = "the same call was made again later; its newer answer is below"
		case path != "" && written[path]:
			why = path + " was changed after this was read"
		}
		newest[key] = true
		if why != "" && len(m.Text) > len(why)+32 {
			m.Text = "[taken out: " + oneLine(why, 160) + "]"
		}
	}
}

func pathOf(args json.RawMessage) string {
	var a struct {
		Path string `json:"path"`
	}
	_ = json.Unmarshal(args, &a)
	return a.Path
}

// sameFailures leaves the last of identical failures: a model that sees one ten
// times goes on making it. A refusal is no failure and stays.
func sameFailures(h []Message) {
	calls := callsOf(h)
	seen := map[string]bool{}
	for i := len(h) - 1; i >= 0; i-- {
		m := &h[i]
		if m.Role != ToolRole || !m.IsError || refusal(m.Text) {
			continue
		}
		key := m.Tool + "\x00" + string(compacted(calls[m.CallID].Args)) + "\x00" + m.Text
		if seen[key] && len(m.Text) > 64 {
			m.Text = "[the same call failed the same way; see below]"
		}
		seen[key] = true
	}
}

func refusal(text string) bool {
	for _, p := range []string{prefixBlocked, prefixDenied, prefixHook} {
		if strings.HasPrefix(text, p) {
			return true
		}
	}
	return false
}

// thin shortens results before the given place. The marks around external
// text stay: a stranger's words must not lose their frame.
func thin(h []Message, before int) {
	for i := range h[:before] {
		m := &h[i]
		if m.Role != ToolRole || len(m.Text) <= 2*thinnedTo || refusal(m.Text) {
			continue
		}
		m.Text = thinned(m.Text)
	}
}

func thinned(s string) string {
	if strings.HasPrefix(s, "<external-") {
		open, rest, ok := strings.Cut(s, "\n")
		last := strings.LastIndexByte(rest, '\n')
		if ok && last >= 0 && strings.HasPrefix(rest[last+1:], "</external-") {
			return open + "\n" + shortened(rest[:last]) + "\n" + rest[last+1:]
		}
	}
	return shortened(s)
}

func shortened(s string) string {
	if len(s) <= thinnedTo {
		return s
	}
	cut := thinnedTo
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s\n[shortened by the harness: %d of %d bytes; make the call again if you need the rest]", s[:cut], cut, len(s))
}
