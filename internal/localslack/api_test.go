package localslack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slack-go/slack"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	general, alice := b.channel("general"), b.user("alice").ID
	human := b.say("a person's")
	post := func(form map[string]string) map[string]string {
		form["channel"] = general
		return form
	}
	own := b.api(b.ready.BotToken, "chat.postMessage", post(map[string]string{"text": "mine"}))["ts"].(string)
	stream := b.api(b.ready.BotToken, "chat.startStream", post(map[string]string{"thread_ts": own, "recipient_team_id": b.ready.TeamID, "recipient_user_id": alice}))["ts"].(string)
	rich := b.api(b.ready.BotToken, "chat.postMessage", post(map[string]string{"blocks": `[{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"x"}]}]}]`}))["ts"].(string)
	type form = map[string]string
	for _, tc := range []struct {
		method string
		form   form
		want   string
	}{
		{"chat.postMessage", form{"channel": general}, "no_text"},
		{"chat.postMessage", form{"text": "x"}, "invalid_arguments"},
		{"chat.postMessage", form{"channel": "C0NOTHERE", "text": "x"}, "channel_not_found"},
		{"chat.postMessage", form{"channel": b.ready.DMs["alice"], "text": "x"}, ""},
		{"chat.postMessage", form{"channel": alice, "text": "by user id"}, ""},
		{"chat.postMessage", form{"channel": "#ops", "text": "by name"}, ""},
		{"chat.postMessage", post(form{"text": "x", "thread_ts": "1.000001"}), "cannot_reply_to_message"},
		{"chat.postMessage", post(form{"blocks": "{"}), "invalid_blocks_format"},
		{"chat.postMessage", post(form{"blocks": `[{"type":"nonsense"}]`}), "invalid_blocks"},
		{"chat.postMessage", post(form{"blocks": "[" + strings.Repeat(`{"type":"divider"},`, 50) + `{"type":"divider"}]`}), "invalid_blocks"},
		{"chat.postMessage", post(form{"markdown_text": strings.Repeat("x", 12001)}), "msg_too_long"},
		{"chat.postMessage", post(form{"markdown_text": strings.Repeat("é", 12000)}), ""},
		{"chat.postMessage", post(form{"markdown_text": "x", "text": "y"}), "markdown_text_conflict"},
		{"chat.postMessage", post(form{"text": "x", "metadata": `{"event_type":""}`}), ""},
		{"chat.postMessage", post(form{"text": "x", "metadata": `{"event_type":"a","event_payload":3}`}), "invalid_metadata_format"},
		{"chat.update", post(form{"ts": own, "text": strings.Repeat("x", 4001)}), "msg_too_long"},
		{"chat.update", post(form{"ts": own, "text": strings.Repeat("é", 4000)}), ""},
		{"chat.update", post(form{"ts": human, "text": "x"}), "cant_update_message"},
		{"chat.update", post(form{"ts": "1.000001", "text": "x"}), "message_not_found"},
		{"chat.update", post(form{"ts": stream, "text": "x"}), "streaming_state_conflict"},
		{"chat.update", post(form{"ts": rich, "blocks": `[{"type":"divider"}]`}), "block_mismatch"},
		{"chat.delete", post(form{"ts": human}), "cant_delete_message"},
		{"chat.postEphemeral", post(form{"user": "U0NOBODY", "text": "x"}), "user_not_in_channel"},
		{"chat.startStream", post(form{"thread_ts": own}), "missing_recipient_team_id"},
		{"chat.startStream", post(form{"thread_ts": own, "recipient_team_id": b.ready.TeamID}), "missing_recipient_user_id"},
		{"chat.appendStream", post(form{"ts": own, "markdown_text": "x"}), "message_not_in_streaming_state"},
		{"chat.appendStream", post(form{"ts": human, "markdown_text": "x"}), "message_not_owned_by_app"},
		{"chat.appendStream", post(form{"ts": stream, "chunks": "7"}), "invalid_chunks"},
		{"chat.appendStream", post(form{"ts": stream, "markdown_text": strings.Repeat("x", 12001)}), "msg_too_long"},
		{"conversations.replies", post(form{"ts": "1.000001"}), "thread_not_found"},
		{"conversations.history", post(form{"cursor": "bogus"}), "invalid_cursor"},
		{"conversations.info", form{"channel": "C0NOTHERE"}, "channel_not_found"},
		{"users.info", form{"user": "U0NOTHERE"}, "user_not_found"},
		{"reactions.add", post(form{"timestamp": own, "name": "thumbs up"}), "invalid_name"},
		{"reactions.remove", post(form{"timestamp": own, "name": "eyes"}), "no_reaction"},
		{"views.open", form{"trigger_id": "1.2.x", "view": `{"type":"modal","title":{"type":"plain_text","text":"T"},"blocks":[{"type":"divider"}]}`}, "invalid_trigger_id"},
		{"views.open", form{"trigger_id": "1.2.x", "view": `{"type":"modal","blocks":[]}`}, "invalid_arguments"},
		{"files.getUploadURLExternal", form{"filename": "x", "length": "0"}, "missing_argument"},
		{"files.info", form{"file": "F0NOTHERE"}, "file_not_found"},
		{"assistant.threads.setStatus", form{"channel_id": general, "thread_ts": "1.1", "status": "x"}, "invalid_thread_ts"},
		{"agents.sessions.setStatus", form{"channel_id": general, "status": "active"}, "thread_ts_required"},
		{"agents.sessions.setStatus", form{"channel_id": general, "status": "busy"}, "invalid_status"},
		{"blocks.validate", form{}, "invalid_arguments"},
		{"blocks.validate", form{"blocks": `[{"type":"section","text":{"type":"invalid","text":"x"}}]`}, "invalid_blocks"},
		{"no.such.method", form{}, "unknown_method"},
	} {
		got := b.api(b.ready.BotToken, tc.method, tc.form)
		if e, _ := got["error"].(string); e != tc.want || (got["ok"] == true) != (tc.want == "") {
			t.Errorf("%s %.80v: %q, want %q (%v)", tc.method, tc.form, e, tc.want, got["response_metadata"])
		}
	}
	for token, want := range map[string]string{"": "not_authed", "xoxb-no": "invalid_auth", b.ready.AppToken: "not_allowed_token_type"} {
		if got := b.api(token, "chat.postMessage", post(map[string]string{"text": "x"})); got["error"] != want {
			t.Errorf("token %.8q: %v, want %s", token, got, want)
		}
	}
	if got := b.api(b.user("bob").Token, "conversations.history", map[string]string{"channel": b.ready.DMs["alice"]}); got["error"] != "channel_not_found" {
		t.Errorf("bob reads alice's DM: %v", got)
	}
}

// TestEncodings: form, JSON and multipart, token in header or body, GET.
func TestEncodings(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	general := b.channel("general")
	blocks := `[{"type":"section","text":{"type":"mrkdwn","text":"b"}}]`
	form := url.Values{"token": {b.ready.BotToken}, "channel": {general}, "text": {"t"}, "blocks": {blocks}}
	var mp bytes.Buffer
	mw := multipart.NewWriter(&mp)
	for k := range form {
		mw.WriteField(k, form.Get(k))
	}
	mw.Close()
	asJSON := fmt.Sprintf(`{"token":%q,"channel":%q,"text":"t","blocks":%s,"unfurl_links":false,"attachments":null}`, b.ready.BotToken, general, blocks)
	asString := fmt.Sprintf(`{"token":%q,"channel":%q,"text":"t","blocks":%q}`, b.ready.BotToken, general, blocks)
	for name, in := range map[string]struct{ kind, body string }{
		"form":            {"application/x-www-form-urlencoded", form.Encode()},
		"form, charset":   {"application/x-www-form-urlencoded; charset=utf-8", form.Encode()},
		"multipart":       {mw.FormDataContentType(), mp.String()},
		"JSON":            {"application/json; charset=utf-8", asJSON},
		"JSON in strings": {"application/json", asString},
	} {
		req, _ := http.NewRequest("POST", b.ready.APIURL+"chat.postMessage", strings.NewReader(in.body))
		req.Header.Set("Content-Type", in.kind)
		out, _ := b.do(req)
		m, _ := out["message"].(map[string]any)
		if out["ok"] != true || m["text"] != "t" || len(asList(m["blocks"])) != 1 {
			t.Errorf("%s: %v", name, out)
		}
	}
	res, err := b.http.Get(b.ready.APIURL + "conversations.info?" + url.Values{"token": {b.ready.BotToken}, "channel": {general}}.Encode())
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if raw, _ := io.ReadAll(res.Body); !strings.Contains(string(raw), `"name":"general"`) || res.Header.Get("X-OAuth-Scopes") == "" {
		t.Errorf("GET: %s", raw)
	}
}

func TestRateLimits(t *testing.T) {
	t.Parallel()
	b := start(t, Config{RateScale: 1})
	bot, general := b.bot(), b.channel("general")
	var limited *slack.RateLimitedError
	for i := range 12 {
		_, _, err := bot.PostMessage(general, slack.MsgOptionText("x", false))
		if errors.As(err, &limited) != (i >= 10) {
			t.Errorf("post %d: %v", i, err)
		}
	}
	if limited == nil || limited.RetryAfter < time.Second || limited.RetryAfter > 2*time.Second {
		t.Errorf("Retry-After: %v", limited)
	}
	if _, _, err := bot.PostMessage(b.channel("ops"), slack.MsgOptionText("x", false)); err != nil {
		t.Errorf("another channel is limited by itself: %v", err)
	}
	alice := b.client(b.user("alice").Token)
	for range 15 {
		if _, _, err := alice.PostMessage(general, slack.MsgOptionText("x", false)); err != nil {
			t.Errorf("people aren't limited: %v", err)
		}
	}
	b.local("clock", map[string]any{"scale": 10_000.0})
	b.eventually("the bucket refills on the scaled clock", func() bool {
		_, _, err := bot.PostMessage(general, slack.MsgOptionText("x", false))
		return err == nil
	})
}

func TestMissingScope(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Manifests: []Manifest{{Name: "narrow", Scopes: []string{"chat:write"}}}})
	out := b.api(b.ready.BotToken, "users.info", map[string]string{"user": b.user("alice").ID})
	if out["error"] != "missing_scope" || out["needed"] != "users:read" || out["provided"] != "chat:write" {
		t.Errorf("users.info: %v", out)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	bot, general := b.bot(), b.channel("general")
	post := func() error {
		_, _, err := bot.PostMessage(general, slack.MsgOptionText("x", false))
		return err
	}
	fault := func(mode string, more ...any) {
		f := map[string]any{"method": "chat.postMessage", "mode": mode}
		for i := 0; i < len(more); i += 2 {
			f[more[i].(string)] = more[i+1]
		}
		b.local("fault", f)
	}
	var limited *slack.RateLimitedError
	fault("ratelimit", "retry_after", 7, "times", 2)
	for range 2 {
		if err := post(); !errors.As(err, &limited) || limited.RetryAfter != 7*time.Second {
			t.Errorf("ratelimit: %v", err)
		}
	}
	fault("error", "error", "channel_not_found")
	if err := post(); err == nil || err.Error() != "channel_not_found" {
		t.Errorf("error: %v", err)
	}
	fault("http500")
	var status slack.StatusCodeError
	if err := post(); !errors.As(err, &status) || status.Code != 500 {
		t.Errorf("http500: %v", err)
	}
	before := len(b.messages(general, ""))
	fault("lost_answer")
	if err := post(); err == nil {
		t.Error("lost_answer was answered")
	}
	if got := len(b.messages(general, "")); got != before+1 {
		t.Errorf("lost_answer left %d messages, want %d: the work is done", got, before+1)
	}
	fault("timeout")
	ctx, cancel := contextWithTimeout(t, 50*time.Millisecond)
	defer cancel()
	if _, _, err := bot.PostMessageContext(ctx, general, slack.MsgOptionText("x", false)); err == nil {
		t.Error("timeout was answered")
	}
	if err := post(); err != nil {
		t.Errorf("faults remain: %v", err)
	}
	if _, status := b.tryLocal("fault", map[string]any{"method": "chat.post", "mode": "error"}); status != 400 {
		t.Errorf("a misspelt method: HTTP %d", status)
	}
}

func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	bot, dm := b.bot(), b.ready.DMs["alice"]
	root := b.local("message", map[string]any{"user": "alice", "channel": dm, "text": "go"})["ts"].(string)
	begin := func() string {
		_, ts, err := bot.StartStream(dm, slack.MsgOptionTS(root))
		if err != nil {
			t.Fatal(err)
		}
		return ts
	}
	add := func(ts, text string) string {
		if _, _, err := bot.AppendStream(dm, ts, slack.MsgOptionMarkdownText(text)); err != nil {
			return err.Error()
		}
		return ""
	}
	long := begin()
	for range 12 {
		if got := add(long, strings.Repeat("x", 1000)); got != "" {
			t.Fatal(got)
		}
	}
	if got := add(long, "x"); got != "msg_too_long" {
		t.Errorf("above 12,000 characters: %q", got)
	}
	stopped := begin()
	b.local("stop", map[string]any{"user": "alice", "channel": dm, "thread_ts": root})
	if got := add(stopped, "x"); got != "stopped_by_user" {
		t.Errorf("after the stop button: %q", got)
	}
	if _, _, err := bot.StopStream(dm, stopped); err != nil {
		t.Errorf("the app closes what a person stopped: %v", err)
	}
	closed := begin()
	b.local("fault", map[string]any{"stream": "close"})
	if got := add(closed, "x"); got != "message_not_in_streaming_state" {
		t.Errorf("after Slack closed it: %q", got)
	}
	old := begin()
	b.local("clock", map[string]any{"scale": 100_000.0})
	b.eventually("five minutes pass", func() bool { return add(old, "x") == "message_not_in_streaming_state" })
}

func TestResponseURL(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	sock := b.dial()
	general := b.channel("general")
	card := b.api(b.ready.BotToken, "chat.postMessage", map[string]string{"channel": general,
		"blocks": `[{"type":"actions","elements":[{"type":"button","action_id":"a","text":{"type":"plain_text","text":"A"}}]}]`})["ts"].(string)
	b.ack(sock, b.frame(sock))
	clicked := make(chan struct{})
	go func() {
		defer close(clicked)
		b.tryLocal("click", map[string]any{"user": "alice", "channel": general, "ts": card, "action_id": "a"})
	}()
	f := b.frame(sock)
	b.ack(sock, f)
	<-clicked
	hook := eventOf(f)["response_url"].(string)
	bot := b.bot()
	if _, _, err := bot.PostMessage(general, slack.MsgOptionReplaceOriginal(hook), slack.MsgOptionText("replaced", false)); err != nil {
		t.Fatal(err)
	}
	if m := b.messages(general, "")[0].(map[string]any); m["text"] != "replaced" || m["blocks"] != nil {
		t.Errorf("replace_original: %v", m)
	}
	for range 4 {
		if _, _, err := bot.PostMessage(general, slack.MsgOptionResponseURL(hook, "ephemeral"), slack.MsgOptionText("psst", false)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := bot.PostMessage(general, slack.MsgOptionResponseURL(hook, "ephemeral"), slack.MsgOptionText("six", false)); err == nil {
		t.Error("a sixth use")
	}
	if got := b.messages(general, ""); len(got) != 1 {
		t.Errorf("ephemerals are in the channel: %v", got)
	}
}

func TestTriggersExpire(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	now := time.Now()
	b.store.mu.Lock()
	b.modals.clock = newClock(func() time.Time { return now })
	id := b.modals.newTrigger(b.app, b.user("alice").ID, "", b.store)
	now = now.Add(triggerLife + time.Millisecond)
	b.store.mu.Unlock()
	t.Cleanup(b.modals.clock.Close)
	out := b.api(b.ready.BotToken, "views.open", map[string]string{"trigger_id": id, "view": `{"type":"modal","title":{"type":"plain_text","text":"T"},"blocks":[{"type":"divider"}]}`})
	if out["error"] != "expired_trigger_id" {
		t.Errorf("after three seconds: %v", out)
	}
}

func FuzzArguments(f *testing.F) {
	for _, s := range [][2]string{{"application/json", `{"a":"b","c":[1,"x"],"token":null}`}, {"application/x-www-form-urlencoded", "a=b&c=%5B1%5D"},
		{"multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--x--\r\n--x--\r\n"}, {"", "a"}, {"text/plain", "x"}, {"application/json", `"x"`}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, kind, body string) {
		req := &http.Request{Method: "POST", URL: &url.URL{}, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
		a, err := parseArgs(req, bodyType(req))
		var refused *apiError
		if err != nil && !errors.As(err, &refused) {
			t.Errorf("an error without a name: %v", err)
		}
		for k := range a {
			a.str(k)
			a.list(k)
			a.flag(k)
			if raw, ok := a.json(k); ok && raw != nil && !json.Valid(raw) {
				t.Errorf("%q isn't JSON: %q", k, raw)
			}
		}
		if !json.Valid(encode(a.loggable())) {
			t.Error("the inspector can't show it")
		}
		if slices.Contains(a.list("a"), "") && err == nil && a["a"].isText && !strings.Contains(a.str("a"), `"`) {
			t.Error("an empty item")
		}
	})
}

func TestFaultsOfFilesAndResponseURLs(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	up := func() error {
		_, err := b.bot().UploadFile(slack.UploadFileParameters{Reader: strings.NewReader("x"), FileSize: 1, Filename: "x.txt", Channel: b.channel("general")})
		return err
	}
	for _, mode := range []string{"http500", "lost_answer"} {
		b.local("fault", map[string]any{"method": "upload", "mode": mode})
		if err := up(); err == nil {
			t.Errorf("an upload with %s went well", mode)
		}
	}
	if err := up(); err != nil {
		t.Errorf("the fault remains: %v", err)
	}
}

func TestAnyEventCanBeSent(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := b.dial()
	out := b.local("event", map[string]any{"event": map[string]any{"type": "from_the_future", "x": 1}, "outer": map[string]any{"is_ext_shared_channel": true}})
	p := eventOf(b.frame(c))
	if p["event_id"] != out["event_id"] || p["is_ext_shared_channel"] != true || p["event"].(map[string]any)["type"] != "from_the_future" {
		t.Errorf("sent %v, got %v", out, p)
	}
}
