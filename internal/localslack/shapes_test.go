package localslack

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPayloadsHaveTheFieldsOfRealOnes compares what an app gets here with what
// was captured from Slack, by presence and type of every field.
func TestPayloadsHaveTheFieldsOfRealOnes(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("MECHA_SHARED")
	if dir == "" {
		t.Skip("MECHA_SHARED is unset: the captures aren't here")
	}
	captured := func(file, key string) map[string]any {
		raw, err := os.ReadFile(filepath.Join(dir, "slack", "replay", file))
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		var one map[string]any
		if err := json.Unmarshal(all[key], &one); err != nil {
			t.Fatalf("%s %s: %v", file, key, err)
		}
		return one
	}

	b := start(t, Config{})
	c := b.dial()
	general, dm := b.channel("general"), b.ready.DMs["alice"]
	next := func(inner string) map[string]any {
		t.Helper()
		for {
			f := b.frame(c)
			b.ack(c, f)
			p := eventOf(f)
			e, _ := p["event"].(map[string]any)
			if p["type"] == inner || e["type"] == inner || p["command"] == inner {
				return p
			}
		}
	}
	compare := func(what string, real, ours map[string]any) {
		t.Helper()
		for _, diff := range shapeDiff("", real, ours) {
			t.Errorf("%s%s", what, diff)
		}
	}

	root := b.local("message", map[string]any{"user": "alice", "channel": general, "text": "@mecha Hello", "files": []any{
		map[string]any{"name": "image.png", "content_base64": base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))}}})["ts"].(string)
	compare("app_mention", captured("modals_slack.json", "mention"), next("app_mention"))
	withFile := captured("streaming_slack.json", "aiMentionWithFile")
	b.local("message", map[string]any{"user": "alice", "channel": general, "text": "@mecha again", "files": []any{
		map[string]any{"name": "image.png", "content_base64": base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))}}})
	compare("app_mention with a file", withFile, next("app_mention"))
	next("message")

	b.local("message", map[string]any{"user": "alice", "channel": general, "thread_ts": root, "text": "Who are you?"})
	compare("message in a thread", captured("streaming_slack.json", "followUp"), next("message"))
	b.local("message", map[string]any{"user": "alice", "channel": dm, "text": "hello hello"})
	compare("message.im", captured("dm_slack-direct.json", "directDM"), next("message"))

	prompt := captured("streaming_slack.json", "promptMessage")
	card := b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"channel": general, "thread_ts": root, "text": "card",
		"blocks": `[{"type":"actions","elements":[{"type":"button","action_id":"b","text":{"type":"plain_text","text":"B","emoji":true}},
			{"type":"static_select","action_id":"s","placeholder":{"type":"plain_text","text":"…","emoji":true},"options":[{"text":{"type":"plain_text","text":"Say Hello","emoji":true},"value":"greet"}]},
			{"type":"radio_buttons","action_id":"r","options":[{"text":{"type":"mrkdwn","text":"*a*","verbatim":false},"value":"a","description":{"type":"mrkdwn","text":"d","verbatim":false}}]}]}]`})["ts"].(string)
	compare("message of the bot", prompt, next("message"))

	press := func(action, value string, ts string) map[string]any {
		t.Helper()
		done := b.async("click", map[string]any{"user": "alice", "channel": general, "ts": ts, "action_id": action, "value": value})
		p := next("block_actions")
		<-done
		return p
	}
	button := press("b", "", card)
	compare("button", captured("modals_slack.json", "action"), button)
	compare("static_select", captured("actions-reactions_slack.json", "staticSelectAction"), press("s", "greet", card))
	compare("radio_buttons", captured("actions-reactions_slack.json", "radioButtonsAction"), press("r", "a", card))
	b.api(b.ready.BotToken, "chat.postEphemeral", map[string]string{"channel": general, "thread_ts": root, "user": b.user("alice").ID, "text": "e",
		"blocks": `[{"type":"actions","elements":[{"type":"button","style":"primary","action_id":"b","text":{"type":"plain_text","text":"B","emoji":true}}]}]`})
	all := b.local("messages?user=alice&channel="+general, nil)["messages"].([]any)
	compare("button of an ephemeral", captured("modals_slack.json", "ephemeralAction"), press("b", "", all[len(all)-1].(map[string]any)["ts"].(string)))

	b.api(b.user("alice").Token, "reactions.add", map[string]string{"channel": general, "timestamp": card, "name": "+1"})
	compare("reaction_added", captured("actions-reactions_slack.json", "reaction"), next("reaction_added"))

	sub := captured("modals_slack.json", "viewSubmission")
	view, _ := json.Marshal(map[string]any{"type": "modal", "callback_id": "f", "private_metadata": "m", "notify_on_close": true,
		"title": map[string]any{"type": "plain_text", "text": "T"}, "submit": map[string]any{"type": "plain_text", "text": "S"}, "close": map[string]any{"type": "plain_text", "text": "C"},
		"blocks": sub["view"].(map[string]any)["blocks"]})
	opened := b.api(b.ready.BotToken, "views.open", map[string]string{"trigger_id": press("b", "", card)["trigger_id"].(string), "view": string(view)})
	if opened["ok"] != true {
		t.Fatal(opened)
	}
	id := opened["view"].(map[string]any)["id"]
	done := b.async("submit", map[string]any{"user": "alice", "view_id": id, "values": map[string]any{
		"message": map[string]any{"message": "Hello!"}, "category": map[string]any{"category": "feature"}, "email": map[string]any{"email": "u@example.com"}}})
	ours := next("view_submission")
	compare("view_submission", sub, ours)
	<-done
	want, got := sub["view"].(map[string]any)["state"], ours["view"].(map[string]any)["state"]
	for _, diff := range shapeDiff(".view.state", want, got) {
		t.Errorf("view_submission%s", diff)
	}

	done = b.async("command", map[string]any{"user": "alice", "channel": general, "command": "/mecha", "text": "help"})
	compare("slash command", captured("slash-commands_slack.json", "slashCommand"), next("/mecha"))
	<-done
}

// async posts to a /_local/ endpoint that waits for the app.
func (b *workbench) async(path string, body any) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.tryLocal(path, body)
	}()
	return done
}

// shapeDiff names the fields of real that ours lacks or has of another type.
func shapeDiff(at string, real, ours any) (out []string) {
	switch r := real.(type) {
	case map[string]any:
		o, ok := ours.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %T, not an object", at, ours)}
		}
		for k, v := range r {
			switch {
			case strings.HasPrefix(k, "thumb_"), strings.HasPrefix(k, "original_"), k == "image_exif_rotation":
				continue // pictures aren't scaled here
			case k == "assistant_thread", k == "action_token":
				continue // of features that this workspace hasn't got
			}
			field, there := o[k]
			if !there {
				out = append(out, at+"."+k+" is missing")
				continue
			}
			if k == "blocks" || k == "values" && at != ".view.state" {
				continue // their content is the app's
			}
			out = append(out, shapeDiff(at+"."+k, v, field)...)
		}
	case []any:
		o, ok := ours.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %T, not a list", at, ours)}
		}
		if len(r) > 0 && len(o) > 0 {
			return shapeDiff(at+"[0]", r[0], o[0])
		}
		if len(r) > 0 {
			return []string{at + " is empty"}
		}
	case nil:
	default:
		if fmt.Sprintf("%T", real) != fmt.Sprintf("%T", ours) {
			return []string{fmt.Sprintf("%s is %T, not %T", at, ours, real)}
		}
	}
	return out
}
