package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// obedient is a model server that does as it is told, word for word: a message
// "CALL tool {arguments}" is that call, several lines several calls one after
// another, and the answer is what the last one came to.
func obedient(t *testing.T) (args []string) {
	t.Helper()
	hs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"obedient","object":"model"}]}`)
			return
		}
		var req struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var orders []string
		results, last := 0, ""
		for _, m := range req.Messages {
			text := contentText(m.Content)
			switch m.Role {
			case "user":
				var found []string
				for line := range strings.Lines(text) {
					if o, ok := strings.CutPrefix(strings.TrimSpace(line), "CALL "); ok {
						found = append(found, o)
					}
				}
				if len(found) > 0 {
					orders, results, last = found, 0, ""
				}
			case "tool":
				results++
				last = text
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		if results < len(orders) {
			name, arguments, _ := strings.Cut(orders[results], " ")
			chunk(w, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{
				"index": 0, "id": fmt.Sprintf("w%d", results), "type": "function", "function": map[string]any{"name": name, "arguments": arguments},
			}}}, "")
			chunk(w, map[string]any{}, "tool_calls")
		} else {
			chunk(w, map[string]any{"role": "assistant", "content": "It came to: " + strings.ReplaceAll(last, "\n", " ")}, "")
			chunk(w, map[string]any{}, "stop")
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(hs.Close)
	return []string{"--model-url", hs.URL + "/v1", "--model", "obedient"}
}

func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // neither: nothing was said
	for _, p := range parts {
		s += p.Text + "\n"
	}
	return s
}

func chunk(w http.ResponseWriter, delta map[string]any, finish string) {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	b, _ := json.Marshal(map[string]any{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "obedient", "choices": []any{choice}})
	fmt.Fprintf(w, "data: %s\n\n", b)
}
