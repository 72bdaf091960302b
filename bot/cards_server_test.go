package bot

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/threads"
)

// The cards of MCP servers: their questions, and their tools that changed.
func TestGoldenServers(t *testing.T) {
	for size, s := range sizes {
		schema, _ := encodeJSON(map[string]any{"type": "object", "required": []string{"when"}, "properties": map[string]any{
			"when": map[string]any{"type": "string", "description": s.long}, "sure": map[string]any{"type": "boolean"}}})
		for _, state := range []threads.FormState{threads.FormOpen, threads.FormAccepted, threads.FormDeclined, threads.FormGone} {
			f := threads.Form{ID: "q1", Thread: "T1/D1/1.0", Server: "calendar", Message: s.short + "\n" + s.long, Schema: schema, State: state}
			if state != threads.FormOpen {
				f.By, f.At = "U0ALICE", noon
			}
			if state == threads.FormAccepted {
				f.Sent, _ = encodeJSON(map[string]any{"when": s.short})
			}
			golden(t, "server-"+string(state)+"-"+size, serverCard(f, "TOKEN"))
		}
		was, _ := encodeJSON(map[string]any{"name": "send", "description": "sends a mail"})
		now, _ := encodeJSON(map[string]any{"name": "send", "description": s.short + s.long})
		for state, ref := range map[string]string{"waits": "h2", "accepted": "h1", "withdrawn": "h0"} {
			v := pinView{Ref: threads.PinRef("mail__send", ref), More: len(s.long) % 3, Pin: threads.Pin{
				Tool: "mail__send", Server: "mail", Hash: "h1", NextHash: "h2", Was: json.RawMessage(was), Now: json.RawMessage(now), By: "U0ALICE", Changed: noon.Add(time.Minute)}}
			golden(t, "pin-"+state+"-"+size, pinCard(v, "TOKEN"))
		}
	}
}
