package localslack

import "testing"

// TestPins pins a message, once, and unpins it, once, in the words of Slack's reference.
func TestPins(t *testing.T) {
	t.Parallel()
	b := start(t, Config{RateScale: -1})
	general := b.channel("general")
	call := func(method string, arguments map[string]string) map[string]any {
		arguments["channel"] = general
		return b.api(b.ready.BotToken, method, arguments)
	}
	ts := call("chat.postMessage", map[string]string{"text": "keep this"})["ts"].(string)
	pinned := func() int { return len(call("pins.list", map[string]string{})["items"].([]any)) }
	for _, step := range []struct {
		method, ts, want string
		pinned           int
	}{
		{"pins.remove", ts, "no_pin", 0},
		{"pins.add", "", "no_item_specified", 0},
		{"pins.add", "soon", "bad_timestamp", 0},
		{"pins.add", "1.000001", "message_not_found", 0},
		{"pins.add", ts, "", 1},
		{"pins.add", ts, "already_pinned", 1},
		{"pins.remove", ts, "", 0},
		{"pins.remove", ts, "no_pin", 0},
	} {
		got := call(step.method, map[string]string{"timestamp": step.ts})
		if code, _ := got["error"].(string); code != step.want || pinned() != step.pinned {
			t.Errorf("%s %s: %v, %d pinned; want %q and %d", step.method, step.ts, got, pinned(), step.want, step.pinned)
		}
	}
}
