package localslack

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"
)

// TestArgumentsAreChecked: every fault at once, by Slack's words, before the
// method sees any of it; and forms where JSON isn't read.
func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	for _, tc := range []struct {
		method string
		body   map[string]any
		want   string
	}{
		{"chat.postMessage", map[string]any{"text": "x"}, "[[ERROR] missing required field: channel]"},
		{"chat.postMessage", map[string]any{"channel": []string{"C1"}, "text": "x"}, "[[ERROR] must provide a string [json-pointer:/channel]]"},
		{"chat.postMessage", map[string]any{"channel": true, "unfurl_links": "maybe"},
			"[[ERROR] must provide a string [json-pointer:/channel] [ERROR] must provide a boolean [json-pointer:/unfurl_links]]"},
		{"chat.scheduleMessage", map[string]any{"channel": "C1", "post_at": "soon"}, "[[ERROR] must provide a number [json-pointer:/post_at]]"},
		{"chat.startStream", map[string]any{"channel": "C1", "task_display_mode": "grid"}, "[[ERROR] must be a valid enum value [json-pointer:/task_display_mode]]"},
		{"conversations.history", map[string]any{"channel": "C1", "limit": "many"}, "[[ERROR] must provide a number [json-pointer:/limit]]"},
		{"reactions.add", map[string]any{}, "[[ERROR] missing required field: channel [ERROR] missing required field: name [ERROR] missing required field: timestamp]"},
		{"files.completeUploadExternal", map[string]any{"channel_id": "C1"}, "[[ERROR] missing required field: files]"},
	} {
		out := b.post(b.ready.BotToken, tc.method, tc.body)
		meta, _ := out["response_metadata"].(map[string]any)
		if out["error"] != "invalid_arguments" || fmt.Sprint(meta["messages"]) != tc.want {
			t.Errorf("%s %v: %v %v, want %s", tc.method, tc.body, out["error"], meta["messages"], tc.want)
		}
	}
	if out := b.post(b.ready.BotToken, "chat.update", map[string]any{"channel": b.channel("general"), "ts": "1.1", "link_names": true}); out["error"] != "message_not_found" {
		t.Errorf("a boolean where Slack takes both: %v", out)
	}
	b.post(b.ready.BotToken, "users.info", map[string]any{"user": b.user("alice").ID})
	calls := b.logged("call")
	if note, _ := calls[len(calls)-1]["note"].(string); note == "" {
		t.Errorf("the inspector doesn't say that Slack reads no JSON here: %v", calls[len(calls)-1])
	}
}

// TestPrivateChannelsAndGroups: who isn't in them doesn't know that they exist.
func TestPrivateChannelsAndGroups(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Dir: t.TempDir()})
	alice, bob, mallory := b.user("alice"), b.user("bob"), b.user("mallory")
	bot := b.ready.BotUserID
	secret := b.api(alice.Token, "conversations.create", map[string]string{"name": "secret", "is_private": "true"})["channel"].(map[string]any)
	if secret["is_private"] != true || secret["is_channel"] != true || secret["is_member"] != true {
		t.Errorf("created: %v", secret)
	}
	id := secret["id"].(string)
	c := b.dial()
	b.api(alice.Token, "chat.postMessage", map[string]string{"channel": id, "text": "unheard"})
	for _, who := range []string{bob.Token, b.ready.BotToken} {
		if out := b.api(who, "conversations.history", map[string]string{"channel": id}); out["error"] != "channel_not_found" {
			t.Errorf("from outside: %v", out)
		}
		if out := b.api(who, "conversations.join", map[string]string{"channel": id}); out["error"] != "channel_not_found" {
			t.Errorf("joining: %v", out)
		}
	}
	b.api(alice.Token, "conversations.invite", map[string]string{"channel": id, "users": bot})
	f := b.frame(c)
	b.ack(c, f)
	if e := eventOf(f)["event"].(map[string]any); e["type"] != "member_joined_channel" || e["channel_type"] != "G" || e["user"] != bot {
		t.Errorf("the first that the bot hears: %v", e)
	}
	b.api(alice.Token, "chat.postMessage", map[string]string{"channel": id, "text": "heard"})
	f = b.frame(c)
	b.ack(c, f)
	if e := eventOf(f)["event"].(map[string]any); e["text"] != "heard" || e["channel_type"] != "group" {
		t.Errorf("in the private channel: %v", e)
	}
	listed := func(types, token string) (ids []string) {
		for _, c := range b.api(token, "conversations.list", map[string]string{"types": types})["channels"].([]any) {
			ids = append(ids, c.(map[string]any)["id"].(string))
		}
		return ids
	}
	if !slices.Contains(listed("private_channel", b.ready.BotToken), id) || slices.Contains(listed("public_channel", b.ready.BotToken), id) ||
		len(listed("private_channel", bob.Token)) != 0 {
		t.Error("it is listed wrongly")
	}

	members := alice.ID + "," + bob.ID
	group := b.api(b.ready.BotToken, "conversations.open", map[string]string{"users": members, "return_im": "true"})["channel"].(map[string]any)
	gid := group["id"].(string)
	if group["is_mpim"] != true || group["name"] != "mpdm-mecha--alice--bob-1" {
		t.Errorf("group: %v", group)
	}
	if again := b.api(b.ready.BotToken, "conversations.open", map[string]string{"users": bob.ID + "," + alice.ID}); again["channel"].(map[string]any)["id"] != gid || again["already_open"] != true {
		t.Errorf("opened again: %v", again)
	}
	for users, want := range map[string]string{bot: "not_enough_users", "U0NOBODY": "user_not_found", "": "users_list_not_supplied"} {
		if out := b.api(b.ready.BotToken, "conversations.open", map[string]string{"users": users}); out["error"] != want {
			t.Errorf("open %q: %v, want %s", users, out, want)
		}
	}
	b.local("message", map[string]any{"user": "bob", "channel": gid, "text": "hi all"})
	f = b.frame(c)
	b.ack(c, f)
	if e := eventOf(f)["event"].(map[string]any); e["channel_type"] != "mpim" || e["text"] != "hi all" {
		t.Errorf("in the group: %v", e)
	}
	seen := func(user string) (names []string) {
		for _, c := range b.local("state?user="+user, nil)["channels"].([]any) {
			names = append(names, c.(map[string]any)["name"].(string))
		}
		return names
	}
	if got := seen("alice"); !slices.Contains(got, "secret") || !slices.Contains(got, "mecha, bob") {
		t.Errorf("alice's page lists %v", got)
	}
	if got := seen("mallory"); slices.Contains(got, "secret") || len(got) != 3 {
		t.Errorf("mallory's page lists %v", got)
	}
	if _, status := b.tryLocal("history?user=mallory&channel="+gid, nil); status != 400 {
		t.Error("mallory reads the group")
	}

	// What ends and changes a channel.
	for _, tc := range []struct {
		token, method string
		args          map[string]string
		want          string
	}{
		{alice.Token, "conversations.rename", map[string]string{"channel": id, "name": "general"}, "name_taken"},
		{alice.Token, "conversations.rename", map[string]string{"channel": id, "name": "Loud!"}, "invalid_name_specials"},
		{alice.Token, "conversations.rename", map[string]string{"channel": id, "name": "vault"}, ""},
		{alice.Token, "conversations.setPurpose", map[string]string{"channel": id, "purpose": "to keep"}, ""},
		{alice.Token, "conversations.kick", map[string]string{"channel": id, "user": alice.ID}, "cant_kick_self"},
		{alice.Token, "conversations.kick", map[string]string{"channel": id, "user": mallory.ID}, "not_in_channel"},
		{alice.Token, "conversations.kick", map[string]string{"channel": id, "user": bot}, ""},
		{b.ready.BotToken, "chat.postMessage", map[string]string{"channel": id, "text": "x"}, "channel_not_found"},
		{alice.Token, "conversations.archive", map[string]string{"channel": b.channel("general")}, "cant_archive_general"},
		{alice.Token, "conversations.archive", map[string]string{"channel": id}, ""},
		{alice.Token, "chat.postMessage", map[string]string{"channel": id, "text": "x"}, "is_archived"},
		{alice.Token, "conversations.archive", map[string]string{"channel": id}, "already_archived"},
		{alice.Token, "conversations.unarchive", map[string]string{"channel": id}, ""},
		{alice.Token, "conversations.unarchive", map[string]string{"channel": id}, "not_archived"},
		{alice.Token, "conversations.leave", map[string]string{"channel": b.channel("general")}, "cant_leave_general"},
		{alice.Token, "conversations.leave", map[string]string{"channel": gid}, "method_not_supported_for_channel_type"},
		{alice.Token, "conversations.close", map[string]string{"channel": gid}, ""},
		{alice.Token, "conversations.close", map[string]string{"channel": id}, "method_not_supported_for_channel_type"},
		{alice.Token, "conversations.mark", map[string]string{"channel": id, "ts": "x"}, "invalid_timestamp"},
		{alice.Token, "chat.meMessage", map[string]string{"channel": id, "text": "waves"}, ""},
		{alice.Token, "files.upload", map[string]string{"content": "x"}, "method_deprecated"},
	} {
		out := b.api(tc.token, tc.method, tc.args)
		if e, _ := out["error"].(string); e != tc.want {
			t.Errorf("%s %v: %q, want %q", tc.method, tc.args, e, tc.want)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, Config{Dir: b.cfg.Dir})
	info := again.api(alice.Token, "conversations.info", map[string]string{"channel": id})["channel"].(map[string]any)
	if info["name"] != "vault" || info["is_private"] != true || info["purpose"].(map[string]any)["value"] != "to keep" {
		t.Errorf("after a restart: %v", info)
	}
}

// TestScopesTellKindsOfChannelsApart: channels:history reads no private channel.
func TestScopesTellKindsOfChannelsApart(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Manifests: []Manifest{manifestOf(t, "narrow", []string{"channels:history", "channels:read", "chat:write"}, nil, "")}})
	if out := b.api(b.ready.BotToken, "conversations.history", map[string]string{"channel": b.channel("general")}); out["ok"] != true {
		t.Errorf("a public channel: %v", out)
	}
	if out := b.api(b.ready.BotToken, "conversations.history", map[string]string{"channel": b.ready.DMs["alice"]}); out["error"] != "missing_scope" || out["needed"] != "im:history" {
		t.Errorf("a DM: %v", out)
	}
	if out := b.api(b.ready.BotToken, "conversations.list", map[string]string{"types": "public_channel,mpim"}); out["error"] != "missing_scope" || out["needed"] != "mpim:read" {
		t.Errorf("listing groups: %v", out)
	}
	c := b.dial()
	b.say("not subscribed")
	b.local("event", map[string]any{"event": map[string]any{"type": "probe"}})
	if e := eventOf(b.frame(c))["event"].(map[string]any); e["type"] != "probe" {
		t.Errorf("an app without subscriptions hears %v", e)
	}
}

// TestScheduledMessages: listed, taken back, posted in time, and still due
// after a restart.
func TestScheduledMessages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := start(t, Config{Dir: dir})
	general := b.channel("general")
	at := func(d time.Duration) string { return strconv.FormatInt(time.Now().Add(d).Unix(), 10) }
	later := func(w *workbench, text string, d time.Duration) map[string]any {
		return w.api(w.ready.BotToken, "chat.scheduleMessage", map[string]string{"channel": general, "text": text, "post_at": at(d)})
	}
	for d, want := range map[time.Duration]string{-time.Hour: "time_in_past", 121 * 24 * time.Hour: "time_too_far"} {
		if out := later(b, "x", d); out["error"] != want {
			t.Errorf("in %v: %v", d, out)
		}
	}
	one, two := later(b, "one", time.Hour), later(b, "two", 2*time.Hour)
	if m := one["message"].(map[string]any); m["type"] != "delayed_message" || m["text"] != "one" {
		t.Errorf("scheduled: %v", one)
	}
	if out := b.api(b.ready.BotToken, "chat.deleteScheduledMessage", map[string]string{"channel": general, "scheduled_message_id": two["scheduled_message_id"].(string)}); out["ok"] != true {
		t.Errorf("taken back: %v", out)
	}
	if out := b.api(b.ready.BotToken, "chat.deleteScheduledMessage", map[string]string{"channel": general, "scheduled_message_id": "Q0NOTHERE"}); out["error"] != "invalid_scheduled_message_id" {
		t.Errorf("an unknown one: %v", out)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = start(t, Config{Dir: dir})
	list := b.api(b.ready.BotToken, "chat.scheduledMessages.list", map[string]string{"channel": general})["scheduled_messages"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["text"] != "one" || list[0].(map[string]any)["id"] != one["scheduled_message_id"] {
		t.Fatalf("after a restart: %v", list)
	}
	b.local("clock", map[string]any{"scale": 1e6})
	b.eventually("it is posted", func() bool {
		all := b.messages(general, "")
		return len(all) == 1 && all[0].(map[string]any)["text"] == "one"
	})
	if list := b.api(b.ready.BotToken, "chat.scheduledMessages.list", nil)["scheduled_messages"].([]any); len(list) != 0 {
		t.Errorf("it still waits: %v", list)
	}
}

// TestSuggestions: an external select asks the app, and what is picked is the
// app's own option.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := b.dial()
	general := b.channel("general")
	ts := b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"channel": general, "text": "pick",
		"blocks": `[{"type":"actions","block_id":"blk","elements":[{"type":"external_select","action_id":"city","min_query_length":2,"placeholder":{"type":"plain_text","text":"City"}}]}]`})["ts"].(string)
	b.ack(c, b.frame(c))
	ask := map[string]any{"user": "alice", "channel": general, "ts": ts, "action_id": "city", "query": "v"}
	if out, status := b.tryLocal("suggest", ask); status != 400 || out["error"] != "query_too_short" {
		t.Errorf("one letter: %v", out)
	}
	ask["query"] = "vi"
	got := make(chan map[string]any, 1)
	go func() { out, _ := b.tryLocal("suggest", ask); got <- out }()
	f := b.frame(c)
	p := f["payload"].(map[string]any)
	if p["type"] != "block_suggestion" || p["value"] != "vi" || p["action_id"] != "city" || p["block_id"] != "blk" || p["message"] == nil || f["accepts_response_payload"] != true {
		t.Errorf("asked: %v", f)
	}
	vienna := map[string]any{"text": map[string]any{"type": "plain_text", "text": "Vienna"}, "value": "vie"}
	if err := c.WriteJSON(map[string]any{"envelope_id": f["envelope_id"], "payload": map[string]any{"options": []any{vienna}}}); err != nil {
		t.Fatal(err)
	}
	if out := <-got; out["ok"] != true || fmt.Sprint(out["ack"].(map[string]any)["options"]) != fmt.Sprint([]any{vienna}) {
		t.Errorf("answered: %v", out)
	}
	done := b.async("click", map[string]any{"user": "alice", "channel": general, "ts": ts, "action_id": "city", "value": "vie"})
	f = b.frame(c)
	b.ack(c, f)
	<-done
	picked := f["payload"].(map[string]any)["actions"].([]any)[0].(map[string]any)["selected_option"]
	if fmt.Sprint(picked) != fmt.Sprint(vienna) {
		t.Errorf("picked: %v", picked)
	}
}

// TestUnfurls: an app is asked for previews of links to its domains alone, and
// can't add one of a link that isn't there.
func TestUnfurls(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Manifests: []Manifest{manifestOf(t, "previews", []string{"links:read", "links:write", "channels:history"}, []string{"link_shared"}, `{"unfurl_domains":["example.com"]}`)}})
	c := b.dial()
	general := b.channel("general")
	b.say("see https://elsewhere.org/x")
	ts := b.say("see https://docs.example.com/a?b=1&c=2")
	f := b.frame(c)
	b.ack(c, f)
	e := eventOf(f)["event"].(map[string]any)
	link := e["links"].([]any)[0].(map[string]any)
	if e["type"] != "link_shared" || e["message_ts"] != ts || link["url"] != "https://docs.example.com/a?b=1&c=2" || link["domain"] != "example.com" {
		t.Fatalf("asked: %v", e)
	}
	unfurl := func(url string) map[string]any {
		return b.post(b.ready.BotToken, "chat.unfurl", map[string]any{"channel": general, "ts": ts, "unfurls": map[string]any{url: map[string]any{"text": "a preview"}}})
	}
	if out := unfurl("https://other.example.com/"); out["error"] != "cannot_unfurl_url" {
		t.Errorf("a link that isn't there: %v", out)
	}
	if out := unfurl(link["url"].(string)); out["ok"] != true {
		t.Errorf("unfurl: %v", out)
	}
	all := b.messages(general, ts)
	if att := all[0].(map[string]any)["attachments"].([]any)[0].(map[string]any); att["text"] != "a preview" || att["from_url"] != link["url"] {
		t.Errorf("shown: %v", att)
	}
}
