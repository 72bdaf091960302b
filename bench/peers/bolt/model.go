package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
)

var writes = regexp.MustCompile(`write (\S+) with (\S+)`)

// startModel serves a model without latency: it answers in three pieces, asks for
// a file to be written where it is told to, and says Done. after a tool's result.
func startModel() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"peer","object":"model"}]}`)
			return
		}
		var req struct {
			Messages []struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			} `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		last := req.Messages[len(req.Messages)-1]
		order := writes.FindStringSubmatch(string(last.Content))
		finish := "stop"
		switch {
		case last.Role == "tool":
			send(w, map[string]any{"role": "assistant", "content": "Done."}, nil)
		case order != nil:
			args, _ := json.Marshal(map[string]string{"path": order[1], "content": strings.TrimRight(order[2], `"\n.`)})
			send(w, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{"index": 0, "id": "call_1", "type": "function", "function": map[string]any{"name": "fs_write", "arguments": string(args)}}}}, nil)
			finish = "tool_calls"
		default:
			for _, piece := range []string{"Hello. ", "I am ", "here."} {
				send(w, map[string]any{"role": "assistant", "content": piece}, nil)
			}
		}
		send(w, map[string]any{}, finish)
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
}

func send(w http.ResponseWriter, delta map[string]any, finish any) {
	b, _ := json.Marshal(map[string]any{"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "peer", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	fmt.Fprintf(w, "data: %s\n\n", b)
}
