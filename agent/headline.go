package agent

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/mecha-slack/mecha-slack/tools"
)

// headlineKeys are arguments that say what a call is about, best first.
var headlineKeys = []string{"command", "path", "url", "query", "subject", "to", "channel", "question", "task", "title", "name", "file", "handle", "id"}

const headlineMost = 80 // characters

// headline says in a few words what a call is about: its path, command, URL or
// query. It is a model's words: one line, bounded, no control characters.
func headline(args tools.Parsed) string {
	for _, k := range headlineKeys {
		if s := scalar(args.Values[k]); s != "" {
			return oneLine(s, headlineMost)
		}
	}
	for _, v := range args.Values {
		if scalar(v) != "" {
			return firstWritten(args.Args)
		}
	}
	return ""
}

// firstWritten is the first text argument, in the order in which the model wrote
// them.
func firstWritten(args json.RawMessage) string {
	dec := json.NewDecoder(bytes.NewReader(args))
	if _, err := dec.Token(); err != nil {
		return ""
	}
	for dec.More() {
		if _, err := dec.Token(); err != nil {
			return ""
		}
		var v any
		if dec.Decode(&v) != nil {
			return ""
		}
		if s := scalar(v); s != "" {
			return oneLine(s, headlineMost)
		}
	}
	return ""
}

// scalar is a string, or a list of them on one line; "" for anything else.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		list := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return ""
			}
			list[i] = s
		}
		return strings.Join(list, ", ")
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
