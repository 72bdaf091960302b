package localslack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"unicode/utf8"
)

// What the inspector shows, as a file for a bug report: the shape of everything
// and the words of nobody.

// secretPattern finds what opens a door: tokens, tickets, response and upload
// addresses, triggers, verification tokens.
var secretPattern = regexp.MustCompile(`xox[a-z]-[A-Za-z0-9-]+|xapp-[A-Za-z0-9-]+|ticket=[0-9a-f]+|/hooks/[^"\s]*|/upload/v1/[^"\s]*|/files-pri/[^"\s]*|[?&]s=[0-9a-f]{16,}|\b\d{14}\.\d{13}\.[0-9a-f]+\b`)

// words are the members whose strings somebody wrote.
var words = map[string]bool{"text": true, "markdown_text": true, "value": true, "selected_date": true, "private_metadata": true, "alt_text": true, "alt_txt": true,
	"title": true, "description": true, "name": true, "real_name": true, "display_name": true, "email": true, "username": true, "url": true, "fallback": true,
	"initial_comment": true, "details": true, "output": true, "status": true, "query": true, "topic": true, "purpose": true, "filename": true, "event_payload": true,
	"initial_value": true, "user_name": true, "real_name_normalized": true, "display_name_normalized": true, "name_normalized": true, "permalink": true}

// getExport is GET /_local/log/export.
func (w *Workspace) getExport(*http.Request) (any, error) {
	entries, _ := w.inspector.since(0, maxEntries)
	out := make([]any, 0, len(entries))
	for _, e := range entries {
		e.Request, e.Response = redactJSON(e.Request, 0), redactJSON(e.Response, 0)
		out = append(out, e)
	}
	return map[string]any{"what": "calls and envelopes of a local workspace; words are replaced by their length, secrets left out", "entries": out}, nil
}

// redactJSON takes secrets and people's words out of a value and leaves its
// shape. What can't be read is left out whole.
func redactJSON(raw json.RawMessage, depth int) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return encode("(unreadable)")
	}
	return encode(redactValue("", v, depth))
}

const maxNested = 4 // of JSON within strings within JSON

func redactValue(key string, v any, depth int) any {
	switch v := v.(type) {
	case map[string]any:
		for k, each := range v {
			v[k] = redactValue(k, each, depth)
		}
		return v
	case []any:
		for i, each := range v {
			v[i] = redactValue(key, each, depth)
		}
		return v
	case string:
		// A form's structured arguments are JSON inside a string.
		if len(v) > 1 && (v[0] == '{' || v[0] == '[') && json.Valid([]byte(v)) && depth < maxNested {
			return string(redactJSON(json.RawMessage(v), depth+1))
		}
		if key == "token" || words[key] {
			return fmt.Sprintf("(%d characters)", utf8.RuneCountInString(v))
		}
		if len(v) > 1 && (v[0] == '{' || v[0] == '[') {
			return fmt.Sprintf("(%d characters)", utf8.RuneCountInString(v)) // cut off, so its words can't be told from its shape
		}
		return secretPattern.ReplaceAllString(v, "(secret)")
	}
	return v
}
