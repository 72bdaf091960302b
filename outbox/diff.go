package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Diff is what people changed in a draft, readable: each changed argument with
// its lines before (-) and after (+). It is empty where nothing was edited.
func Diff(d Draft) string {
	var before, after map[string]json.RawMessage
	if bytes.Equal(d.ArgsBefore, d.Args) || json.Unmarshal(d.ArgsBefore, &before) != nil || json.Unmarshal(d.Args, &after) != nil {
		return ""
	}
	keys := map[string]bool{}
	for k := range before {
		keys[k] = true
	}
	for k := range after {
		keys[k] = true
	}
	names := make([]string, 0, len(keys))
	for k := range keys {
		names = append(names, k)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, k := range names {
		if bytes.Equal(before[k], after[k]) {
			continue
		}
		x, y := prose(before[k]), prose(after[k])
		if x == y { // "5" and 5 read alike
			x, y = string(before[k]), string(after[k])
		}
		fmt.Fprintf(&b, "%s:\n", k)
		for _, h := range hunks(x, y) {
			b.WriteString(h)
		}
	}
	return b.String()
}

// prose is a value as a person reads it: a string as its text, a list of
// strings as its lines, anything else as JSON.
func prose(raw json.RawMessage) string {
	var s string
	var list []string
	switch {
	case len(raw) == 0:
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	case json.Unmarshal(raw, &list) == nil:
		return strings.Join(list, "\n")
	}
	return string(raw)
}

func hunks(x, y string) []string {
	line := func(s string) string {
		if s != "" && !strings.HasSuffix(s, "\n") {
			return s + "\n"
		}
		return s
	}
	x, y = line(x), line(y)
	u, err := udiff.ToUnifiedDiff("", "", x, udiff.Strings(x, y), 0)
	if err != nil {
		return []string{"- " + x, "+ " + y}
	}
	var out []string
	for _, h := range u.Hunks {
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Delete:
				out = append(out, "- "+l.Content)
			case udiff.Insert:
				out = append(out, "+ "+l.Content)
			}
		}
	}
	return out
}

// EditedLines counts the lines that an edit changed: "(edited: 1 line)".
func EditedLines(d Draft) int {
	plus, minus := 0, 0
	for l := range strings.Lines(Diff(d)) {
		switch {
		case strings.HasPrefix(l, "+ "):
			plus++
		case strings.HasPrefix(l, "- "):
			minus++
		}
	}
	return max(plus, minus)
}
