package threads

import (
	"bytes"
	"encoding/json"
)

// encode is json.Marshal without HTML escaping: what a model wrote keeps its
// bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
