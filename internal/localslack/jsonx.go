package localslack

import (
	"bytes"
	"encoding/json"
)

// encode marshals v without HTML escaping. What it is given is always ours, so
// a failure is a bug here and shows itself as a JSON null with the reason.
func encode(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimRight(buf.Bytes(), "\n")
}

// prepend adds a string member to the front of a JSON object's bytes and leaves
// all others exactly as they were. What isn't an object stays as it is.
func prepend(object json.RawMessage, key, value string) json.RawMessage {
	object = bytes.TrimSpace(object)
	if len(object) == 0 || object[0] != '{' {
		return object
	}
	member := append(append(encode(key), ':'), encode(value)...)
	out := make([]byte, 0, len(object)+len(member)+2)
	out = append(out, '{')
	out = append(out, member...)
	rest := bytes.TrimSpace(object[1:])
	if len(rest) > 0 && rest[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}

// withRaw adds a member whose value is JSON already, without reading that again.
func withRaw(object json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(object)+len(key)+len(value)+4)
	out = append(out, object[:len(object)-1]...)
	out = append(out, ',', '"')
	out = append(out, key...)
	out = append(out, '"', ':')
	out = append(out, value...)
	return append(out, '}')
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || bytes.Equal(raw, []byte("null"))
}

// rawList decodes a JSON array of T; ok is false if it isn't one.
func rawList[T any](raw json.RawMessage) (out []T, ok bool) {
	return out, raw != nil && json.Unmarshal(raw, &out) == nil
}
