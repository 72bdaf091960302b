package localslack

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestExportHoldsNoWordsAndNoSecrets: what goes into a bug report keeps the
// shape of every call and nothing that opens a door or that somebody wrote.
func TestExportHoldsNoWordsAndNoSecrets(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := b.dial()
	general := b.channel("general")
	long := strings.Repeat("swordfish ", 2000) // cut by the inspector
	b.local("message", map[string]any{"user": "alice", "channel": general, "text": "the password is swordfish"})
	b.ack(c, b.frame(c))
	card := b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"token": b.ready.BotToken, "channel": general, "text": "swordfish",
		"blocks":   `[{"type":"actions","elements":[{"type":"button","action_id":"b","value":"swordfish","text":{"type":"plain_text","text":"swordfish"}}]}]`,
		"metadata": `{"event_type":"e","event_payload":{"name":"swordfish"}}`})["ts"].(string)
	b.ack(c, b.frame(c))
	b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"channel": general, "text": "x", "blocks": `[{"type":"section","text":{"type":"mrkdwn","text":"` + long[:2900] + `"}},{"type":"section","text":{"type":"mrkdwn","text":"` + long[:2900] + `"}},{"type":"section","text":{"type":"mrkdwn","text":"` + long[:2900] + `"}}]`})
	b.ack(c, b.frame(c))
	b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"channel": general, "text": long})
	b.ack(c, b.frame(c))
	done := b.async("click", map[string]any{"user": "alice", "channel": general, "ts": card, "action_id": "b"})
	b.ack(c, b.frame(c))
	<-done
	b.api(b.ready.BotToken, "users.list", nil)
	b.api(b.ready.BotToken, "files.getUploadURLExternal", map[string]string{"filename": "swordfish.txt", "length": "3"})

	raw, err := json.Marshal(b.local("log/export", nil))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, secret := range []string{"swordfish", "xoxb-", "xapp-", "xoxp-", "ticket=", "/hooks/", "/upload/v1/", b.store.Verify, b.ready.ControlToken, "Alice Adams", "alice@example.com"} {
		if strings.Contains(text, secret) {
			at := strings.Index(text, secret)
			t.Errorf("the export holds %q: …%s…", secret, text[max(0, at-150):min(len(text), at+60)])
		}
	}
	for _, shape := range []string{`"method":"chat.postMessage"`, `"method":"apps.connections.open"`, `"block_actions"`, `"action_id"`, general, card, "characters)"} {
		if !strings.Contains(text, shape) {
			t.Errorf("the export lacks %s", shape)
		}
	}
}
