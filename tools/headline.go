package tools

import (
	"encoding/json"
	"slices"
	"strings"
)

// headlineKeys are the arguments that say what a call is about, best first.
var headlineKeys = [...]string{"path", "command", "url", "query", "handle", "subject", "title", "name", "to", "recipient", "channel", "thread_id", "id"}

// Headline is what a call is about in a few words, from its arguments: a path,
// a command, an address, a query. It is on one line and bounded, and may be
// empty.
func Headline(args json.RawMessage) string {
	v, _, err := parseStrict(args)
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		return ""
	}
	for _, k := range headlineKeys {
		if s := headlineText(m[k]); s != "" {
			return s
		}
	}
	for _, k := range slices.Sorted(slices.Values(keys(m))) { // the same one every time
		if s := headlineText(m[k]); s != "" {
			return s
		}
	}
	return ""
}

func headlineText(v any) string {
	const most = 80
	switch v := v.(type) {
	case string:
		return line(v, most)
	case json.Number:
		return v.String()
	case []any:
		var parts []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				parts = append(parts, s)
			}
		}
		return line(strings.Join(parts, ", "), most)
	}
	return ""
}
