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
	ours := map[string]map[string]any{} // the last payload of each kind
	next := func(inner string) map[string]any {
		t.Helper()
		for {
			f := b.frame(c)
			b.ack(c, f)
			p := eventOf(f)
			ours[kindOf(p)] = p
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
		"blocks": `[{"type":"actions","elements":[{"type":"button","action_id":"b","value":"v","text":{"type":"plain_text","text":"B","emoji":true}},
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
	submission := next("view_submission")
	compare("view_submission", sub, submission)
	<-done
	want, got := sub["view"].(map[string]any)["state"], submission["view"].(map[string]any)["state"]
	for _, diff := range shapeDiff("state", want, got) {
		t.Errorf("view_submission%s", diff)
	}

	done = b.async("command", map[string]any{"user": "alice", "channel": general, "command": "/mecha", "text": "help"})
	compare("slash command", captured("slash-commands_slack.json", "slashCommand"), next("/mecha"))
	<-done
	made := b.api(b.user("alice").Token, "conversations.create", map[string]string{"name": "joined"})["channel"].(map[string]any)["id"].(string)
	b.api(b.user("alice").Token, "conversations.invite", map[string]string{"channel": made, "users": b.ready.BotUserID})
	next("member_joined_channel")
	b.say("no mention")
	next("message")
	b.say("@mecha and no file")
	next("app_mention")

	// And now every capture there is, beside ours of its kind.
	files, err := filepath.Glob(filepath.Join(dir, "slack", "replay", "*.json"))
	if err != nil || len(files) < 10 {
		t.Fatalf("captures: %v %v", files, err)
	}
	compared := 0
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			t.Fatal(err)
		}
		for key := range all {
			var real map[string]any
			if json.Unmarshal(all[key], &real) != nil || kindOf(real) == "" {
				continue // a name or a context of the captures themselves
			}
			mine := ours[kindOf(real)]
			if mine == nil {
				t.Errorf("%s %s: nothing of its kind came here: %s", filepath.Base(name), key, kindOf(real))
				continue
			}
			compared++
			compare(filepath.Base(name)+" "+key, real, mine)
		}
	}
	t.Logf("%d captured payloads compared", compared)
}

// kindOf tells payloads of different shapes apart; "" is none of an app's.
func kindOf(p map[string]any) string {
	if p["command"] != nil {
		return "command"
	}
	if e, ok := p["event"].(map[string]any); ok {
		kind := "event " + e["type"].(string)
		if e["channel_type"] == "im" {
			kind += " im"
		}
		for _, field := range []string{"files", "thread_ts", "bot_id"} {
			if e[field] != nil {
				kind += " " + field
			}
		}
		return kind
	}
	kind, _ := p["type"].(string)
	if actions, _ := p["actions"].([]any); len(actions) > 0 {
		container := p["container"].(map[string]any)
		kind = fmt.Sprint(kind, " ", actions[0].(map[string]any)["type"], " ", container["is_ephemeral"])
	}
	return kind
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
			case k == "assistant_thread", k == "action_token", strings.Contains(k, "enterprise"):
				continue // of features that this workspace hasn't got: some captures are of an Enterprise Grid
			}
			field, there := o[k]
			if !there {
				out = append(out, at+"."+k+" is missing")
				continue
			}
			if k == "blocks" || k == "values" && at != "state" {
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
