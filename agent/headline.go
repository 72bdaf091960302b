package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// headlineKeys are arguments that say what a call is about, best first.
var headlineKeys = []string{"command", "path", "url", "query", "subject", "to", "channel", "question", "task", "title", "name", "file", "handle", "id"}

const headlineMost = 80 // characters

// headline says in a few words what a call is about: its path, command, URL or
// query. It is a model's words: one line, bounded, no control characters.
func headline(args json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(args, &m) != nil {
		return ""
	}
	for _, k := range headlineKeys {
		if s := scalar(m[k]); s != "" {
			return oneLine(s, headlineMost)
		}
	}
	// The first text argument, as the model wrote them.
	dec := json.NewDecoder(bytes.NewReader(args))
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		if _, err := dec.Token(); err != nil {
			return ""
		}
		var v json.RawMessage
		if dec.Decode(&v) != nil {
			return ""
		}
		if s := scalar(v); s != "" {
			return oneLine(s, headlineMost)
		}
	}
	return ""
}

// scalar is a string, or a list of them; "" for anything else.
func scalar(raw json.RawMessage) string {
	if len(raw) < 2 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case '[':
		var list []string
		if json.Unmarshal(raw, &list) == nil {
			return strings.Join(list, ", ")
		}
	}
	return ""
}

// oneLine shows foreign text on one line of at most n characters.
func oneLine(s string, n int) string {
	var b strings.Builder
	space, count := false, 0
	for _, r := range s {
		if unicode.IsSpace(r) || !unicode.IsPrint(r) {
			space = count > 0
			continue
		}
		if space {
			space = false
			if count++; count >= n {
				return b.String() + "…"
			}
			b.WriteByte(' ')
		}
		if count++; count > n {
			return b.String() + "…"
		}
		b.WriteRune(r)
	}
	return b.String()
}
