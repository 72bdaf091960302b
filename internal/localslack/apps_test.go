package localslack

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// manifestOf is a small app's manifest with the given parts of it.
func manifestOf(t testing.TB, name string, scopes, events []string, features string) Manifest {
	t.Helper()
	if features == "" {
		features = "{}"
	}
	list := func(l []string) string {
		b, _ := json.Marshal(append([]string{}, l...))
		return string(b)
	}
	m, err := ParseManifest([]byte(fmt.Sprintf(`{"display_information":{"name":%q},"features":%s,"oauth_config":{"scopes":{"bot":%s}},
		"settings":{"event_subscriptions":{"bot_events":%s},"interactivity":{"is_enabled":true},"socket_mode_enabled":true}}`,
		name, features, list(scopes), list(events))))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestManifestsAreJudged(t *testing.T) {
	t.Parallel()
	_, err := ParseManifest([]byte(`{"display_information":{"name":"an app with a name that is far too long for Slack"},"extra":1,
		"features":{"slash_commands":[{"command":"deploy now"}],"shortcuts":[{"name":"S","callback_id":"s","type":"page"}]},
		"settings":{"event_subscriptions":{"bot_events":["message.im","message"]}}}`))
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{"1 to 35 characters", `"deploy now" must begin with /`, "of type global or message", "need the bot scope commands",
		"message.im needs the bot scope im:history", "must name message.channels", "extra is not a section", "socket_mode_enabled must be true"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error doesn't say %q:\n%v", want, err)
		}
	}
	if _, err := ParseManifest([]byte("display_information:\n  name: yaml\n")); err == nil || !strings.Contains(err.Error(), "YAML") {
		t.Errorf("YAML: %v", err)
	}
}

// dialApp opens a socket for one of several apps.
func (b *workbench) dialApp(i int) *websocket.Conn {
	b.Helper()
	out := b.api(b.ready.Apps[i].AppToken, "apps.connections.open", nil)
	c, _, err := websocket.DefaultDialer.Dial(out["url"].(string), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	if f := b.frame(c); f["connection_info"].(map[string]any)["app_id"] != b.ready.Apps[i].AppID {
		b.Fatalf("hello of another app: %v", f)
	}
	return c
}

// TestTwoApps: each hears what it subscribed to, is asked about its own things
// alone, and can't touch the other's.
func TestTwoApps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg := Config{Dir: dir, Manifests: []Manifest{
		manifestOf(t, "First", []string{"chat:write", "channels:history", "commands"}, []string{"message.channels"}, `{"slash_commands":[{"command":"/one"}],"app_home":{"home_tab_enabled":true}}`),
		manifestOf(t, "Second App", []string{"chat:write", "app_mentions:read", "commands"}, []string{"app_mention", "app_home_opened"},
			`{"slash_commands":[{"command":"/two","description":"the second"}],"shortcuts":[{"name":"Go","type":"global","callback_id":"go"}],"app_home":{"home_tab_enabled":true}}`),
	}}
	b := start(t, cfg)
	first, second := b.dialApp(0), b.dialApp(1)
	general := b.channel("general")
	two := b.ready.Apps[1]

	b.local("message", map[string]any{"user": "alice", "channel": general, "text": "hello <@" + two.BotUserID + ">"})
	f := b.frame(first)
	b.ack(first, f)
	if e := eventOf(f)["event"].(map[string]any); e["type"] != "message" || f["payload"].(map[string]any)["api_app_id"] != b.ready.AppID {
		t.Errorf("the first hears %v", f)
	}
	f = b.frame(second)
	b.ack(second, f)
	if e := eventOf(f)["event"].(map[string]any); e["type"] != "app_mention" || f["payload"].(map[string]any)["api_app_id"] != two.AppID {
		t.Errorf("the second hears %v", f)
	}

	card := b.api(two.BotToken, "chat.postMessage", map[string]string{"channel": general, "text": "card",
		"blocks": `[{"type":"actions","elements":[{"type":"button","action_id":"b","text":{"type":"plain_text","text":"B"}}]}]`})
	if m := card["message"].(map[string]any); m["app_id"] != two.AppID || m["bot_profile"].(map[string]any)["name"] != "second-app" {
		t.Errorf("its message: %v", m)
	}
	b.ack(first, b.frame(first)) // the first is in the channel too
	ts := card["ts"].(string)
	done := b.async("click", map[string]any{"user": "alice", "channel": general, "ts": ts, "action_id": "b"})
	f = b.frame(second)
	b.ack(second, f)
	<-done
	trigger := f["payload"].(map[string]any)["trigger_id"].(string)
	modal := `{"type":"modal","title":{"type":"plain_text","text":"T"},"blocks":[{"type":"divider"}]}`
	if out := b.api(b.ready.BotToken, "views.open", map[string]string{"trigger_id": trigger, "view": modal}); out["error"] != "invalid_trigger_id" {
		t.Errorf("the first opens a modal with the second's trigger: %v", out)
	}
	opened := b.api(two.BotToken, "views.open", map[string]string{"trigger_id": trigger, "view": modal})
	if opened["ok"] != true || opened["view"].(map[string]any)["app_id"] != two.AppID {
		t.Fatalf("open: %v", opened)
	}
	if out := b.api(b.ready.BotToken, "views.update", map[string]string{"view_id": opened["view"].(map[string]any)["id"].(string), "view": modal}); out["error"] != "not_found" {
		t.Errorf("the first changes the second's view: %v", out)
	}
	if out := b.api(b.ready.BotToken, "chat.update", map[string]string{"channel": general, "ts": ts, "text": "x"}); out["error"] != "cant_update_message" {
		t.Errorf("the first changes the second's message: %v", out)
	}

	for command, app := range map[string]*websocket.Conn{"/one": first, "/two": second} {
		done := b.async("command", map[string]any{"user": "alice", "channel": general, "command": command})
		f := b.frame(app)
		b.ack(app, f)
		<-done
		if p := f["payload"].(map[string]any); p["command"] != command {
			t.Errorf("%s: %v", command, p)
		}
	}
	if out, status := b.tryLocal("command", map[string]any{"user": "alice", "channel": general, "command": "/three"}); status != 400 || out["error"] != "unknown_command" {
		t.Errorf("/three: %v", out)
	}
	done = b.async("shortcut", map[string]any{"user": "alice", "callback_id": "go"})
	f = b.frame(second)
	b.ack(second, f)
	<-done

	home := `{"type":"home","blocks":[{"type":"divider"}]}`
	for _, app := range b.ready.Apps {
		if out := b.api(app.BotToken, "views.publish", map[string]string{"user_id": b.user("alice").ID, "view": home}); out["ok"] != true {
			t.Errorf("publish: %v", out)
		}
	}
	one := b.local("views?user=alice", nil)["home"].(map[string]any)
	other := b.local("views?user=alice&app_id="+two.AppID, nil)["home"].(map[string]any)
	if one["app_id"] != b.ready.AppID || other["app_id"] != two.AppID || one["id"] == other["id"] {
		t.Errorf("homes: %v, %v", one, other)
	}
	b.local("home", map[string]any{"user": "alice", "app_id": two.AppID})
	if e := eventOf(b.frame(second))["event"].(map[string]any); e["type"] != "app_home_opened" || e["channel"] == "" {
		t.Errorf("home: %v", e)
	}

	// The same manifests again are the same apps; one that isn't installed any more is out.
	was := b.ready
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	again := start(t, cfg)
	if got := again.ready.Apps[1]; got != was.Apps[1] {
		t.Errorf("after a restart: %v, was %v", got, was.Apps[1])
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	alone := start(t, Config{Dir: dir, Manifests: cfg.Manifests[:1]})
	if out := alone.api(two.BotToken, "auth.test", nil); out["error"] != "account_inactive" {
		t.Errorf("without its manifest: %v", out)
	}
}

// TestHourlyShare: past its share of deliveries an app hears app_rate_limited,
// once a minute, and no events.
func TestHourlyShare(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	var h hourly
	for i := range 5 {
		ok, tell := h.take(now, 3)
		if ok != (i < 3) || tell != (i == 3) {
			t.Errorf("delivery %d: %v, %v", i, ok, tell)
		}
	}
	if ok, tell := h.take(now.Add(time.Minute), 3); ok || !tell {
		t.Errorf("a minute later: %v, %v", ok, tell)
	}
	if ok, _ := h.take(now.Add(time.Hour), 3); !ok {
		t.Error("an hour later there is a new share")
	}

	b := start(t, Config{RateScale: 1})
	c := b.dial()
	b.app.hourly.mu.Lock()
	b.app.hourly.since, b.app.hourly.n = b.clock.Now(), maxDeliveries-3
	b.app.hourly.mu.Unlock()
	for range 5 {
		b.say("x")
	}
	var kinds []any
	for range 4 {
		f := b.frame(c)
		b.ack(c, f)
		p := eventOf(f)
		kinds = append(kinds, p["type"])
		if p["type"] == "app_rate_limited" && (p["api_app_id"] != b.ready.AppID || p["minute_rate_limited"] == nil) {
			t.Errorf("it says %v", p)
		}
	}
	if fmt.Sprint(kinds) != "[event_callback event_callback event_callback app_rate_limited]" {
		t.Errorf("delivered: %v", kinds)
	}
}

// TestStopWantsASubscription: an app that wouldn't hear of the stop button is
// warned, and nobody is shown one.
func TestStopWantsASubscription(t *testing.T) {
	t.Parallel()
	for _, events := range [][]string{nil, {"agent_session_stopped"}} {
		b := start(t, Config{Manifests: []Manifest{manifestOf(t, "app", []string{"chat:write"}, events, "")}})
		dm := b.ready.DMs["alice"]
		out := b.api(b.ready.BotToken, "chat.startStream", map[string]string{"channel": dm, "markdown_text": "on and on"})
		ts, ok := out["ts"].(string)
		if !ok || (out["warning"] == "missing_agent_session_stopped_event_subscription") != (events == nil) {
			t.Fatalf("with %v: %v", events, out)
		}
		stream := b.messages(dm, ts)[0].(map[string]any)["stream"].(map[string]any)
		if (stream["no_stop"] == true) != (events == nil) {
			t.Errorf("with %v: %v", events, stream)
		}
	}
}
