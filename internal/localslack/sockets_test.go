package localslack

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
)

// dial opens a bare socket, past its hello.
func (b *workbench) dial() *websocket.Conn {
	b.Helper()
	c, hello := b.dialRaw()
	if hello["type"] != "hello" {
		b.Fatalf("first frame: %v", hello)
	}
	return c
}

func (b *workbench) dialRaw() (*websocket.Conn, map[string]any) {
	b.Helper()
	url := b.api(b.ready.AppToken, "apps.connections.open", nil)["url"].(string)
	c, _, err := websocket.DefaultDialer.Dial(url, http.Header{"Origin": {"https://api.slack.com"}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c, b.frame(c)
}

func (b *workbench) frame(c *websocket.Conn) map[string]any {
	b.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	var m map[string]any
	if err := c.ReadJSON(&m); err != nil {
		b.Fatal(err)
	}
	return m
}

func (b *workbench) ack(c *websocket.Conn, frame map[string]any) {
	b.Helper()
	if err := c.WriteJSON(map[string]any{"envelope_id": frame["envelope_id"], "payload": map[string]any{}}); err != nil {
		b.Fatal(err)
	}
}

func (b *workbench) say(text string) string {
	b.Helper()
	return b.local("message", map[string]any{"user": "alice", "channel": "#general", "text": text})["ts"].(string)
}

func eventOf(frame map[string]any) map[string]any {
	p, _ := frame["payload"].(map[string]any)
	return p
}

func TestTicketsAreUsedOnce(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	url := b.api(b.ready.AppToken, "apps.connections.open", nil)["url"].(string)
	c, _, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, res, err := websocket.DefaultDialer.Dial(url, nil); err == nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("a ticket used twice: %v", err)
	}
	if out := b.api(b.ready.BotToken, "apps.connections.open", nil); out["error"] != "not_allowed_token_type" {
		t.Errorf("opened by a bot token: %v", out)
	}
}

func TestEachEnvelopeGoesToOneSocket(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	var conns []*websocket.Conn
	for range maxSockets {
		conns = append(conns, b.dial())
	}
	if _, f := b.dialRaw(); f["type"] != "disconnect" || f["reason"] != "too_many_websockets" {
		t.Errorf("the eleventh socket got %v", f)
	}
	seen := make(chan string, 100)
	for _, c := range conns {
		go func() { // ends with its connection
			for {
				var f map[string]any
				if c.ReadJSON(&f) != nil {
					return
				}
				seen <- eventOf(f)["event_id"].(string)
			}
		}()
	}
	for i := range 40 {
		b.say(fmt.Sprint(i))
	}
	ids := map[string]bool{}
	for range 40 {
		select {
		case id := <-seen:
			if ids[id] {
				t.Errorf("event %s came twice", id)
			}
			ids[id] = true
		case <-time.After(patience):
			t.Fatal("an event never came")
		}
	}
}

func TestUnackedEventsComeAgain(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	b.local("clock", map[string]any{"scale": 1000.0})
	c := b.dial()
	b.say("hello")
	first := b.frame(c)
	for attempt := 1; attempt <= 3; attempt++ {
		f := b.frame(c)
		if f["envelope_id"] != first["envelope_id"] || f["retry_attempt"] != float64(attempt) || f["retry_reason"] != "timeout" {
			t.Fatalf("attempt %d: %v", attempt, f)
		}
		if eventOf(f)["event_id"] != eventOf(first)["event_id"] {
			t.Errorf("attempt %d has another event id", attempt)
		}
	}
	b.eventually("it is given up", func() bool {
		s := b.app.sockets
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.pending) == 0
	})
}

func TestAnAckOnAnotherSocketCounts(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	one := b.dial()
	b.say("hello")
	f := b.frame(one)
	one.Close()
	b.ack(b.dial(), f)
	b.eventually("the ack is taken", func() bool {
		for _, e := range b.logged("ack") {
			if e["ok"] == true && e["envelope_id"] == f["envelope_id"] {
				return true
			}
		}
		return false
	})
}

func (b *workbench) logged(kind string) (out []map[string]any) {
	b.Helper()
	for _, e := range b.local("log", nil)["entries"].([]any) {
		if m := e.(map[string]any); m["kind"] == kind {
			out = append(out, m)
		}
	}
	return out
}

func TestOversizeAcksAreIgnored(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := b.dial()
	clicked := make(chan map[string]any, 1)
	go func() {
		out, _ := b.tryLocal("command", map[string]any{"user": "alice", "channel": "#general", "command": "/mecha", "text": "help"})
		clicked <- out
	}()
	f := b.frame(c)
	big := map[string]any{"envelope_id": f["envelope_id"], "payload": map[string]any{"text": strings.Repeat("x", maxAck)}}
	if err := c.WriteJSON(big); err != nil {
		t.Fatal(err)
	}
	b.eventually("it is logged", func() bool { l := b.logged("ack"); return len(l) == 1 && l[0]["error"] == "ack_too_large" })
	c.WriteMessage(websocket.TextMessage, []byte("not json"))
	if err := c.WriteJSON(map[string]any{"envelope_id": f["envelope_id"], "payload": map[string]any{"text": "here to help"}}); err != nil {
		t.Fatal(err)
	}
	if out := <-clicked; out["status"] != "acked" {
		t.Errorf("the command: %v", out)
	}
	last := b.local("messages?channel="+b.channel("general")+"&user=alice", nil)["messages"].([]any)
	if m := last[len(last)-1].(map[string]any); m["ephemeral"] != true || m["text"] != "here to help" {
		t.Errorf("the command's answer: %v", m)
	}
}

func TestGesturesTimeOut(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	if out := b.local("command", map[string]any{"user": "alice", "channel": "#general", "command": "/mecha"}); out["status"] != "no_socket" {
		t.Errorf("without a socket: %v", out)
	}
	b.local("clock", map[string]any{"scale": 100.0})
	b.dial()
	if out := b.local("command", map[string]any{"user": "alice", "channel": "#general", "command": "/mecha"}); out["status"] != "operation_timeout" {
		t.Errorf("unanswered: %v", out)
	}
}

func TestWithoutASocketEventsAreLostAndHistoryIsThere(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	lost := b.say("while nobody listens")
	c := b.dial()
	kept := b.say("now")
	f := b.frame(c)
	if got := eventOf(f)["event"].(map[string]any)["ts"]; got != kept {
		t.Errorf("the first event is of %v, want %v", got, kept)
	}
	h, err := b.bot().GetConversationHistory(&slack.GetConversationHistoryParameters{ChannelID: b.channel("general")})
	if err != nil || h.Messages[1].Timestamp != lost {
		t.Errorf("the history: %v %v", h, err)
	}
}

func TestSlackGoReconnects(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	sock := b.connect()
	for _, kind := range []string{"disconnect", "drop"} {
		b.local("fault", map[string]any{"socket": kind})
		b.await(sock, socketmode.EventTypeHello)
	}
	ts := b.say("are you back")
	if m, _ := event[*slackevents.MessageEvent](b, sock, nil); m.TimeStamp != ts {
		t.Errorf("after reconnecting: %+v", m)
	}
}

func TestHalfOpenSocketsSayNothing(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	dead := b.dial()
	if out := b.local("fault", map[string]any{"socket": "half_open"}); out["sockets"] != 1.0 {
		t.Fatalf("half open: %v", out)
	}
	b.say("into the void")
	alive := b.dial()
	id := b.logged("envelope")[0]["event_id"]
	for range 2 { // round robin: one of them goes to the living one
		b.local("fault", map[string]any{"redeliver": id})
	}
	if f := b.frame(alive); eventOf(f)["event_id"] != id || f["retry_attempt"] != 1.0 {
		t.Errorf("redelivered: %v", f)
	}
	dead.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if _, _, err := dead.ReadMessage(); err == nil {
		t.Error("a half-open socket got a frame")
	}
}

func TestRefusedHandshake(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	b.local("fault", map[string]any{"socket": "refuse"})
	url := b.api(b.ready.AppToken, "apps.connections.open", nil)["url"].(string)
	if _, res, err := websocket.DefaultDialer.Dial(url, nil); err == nil || res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("not refused: %v", err)
	}
	c, _, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatalf("refused twice: %v", err)
	}
	c.Close()
}

func TestSocketsAreRefreshed(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	c := b.dial()
	b.local("clock", map[string]any{"scale": 100_000.0}) // an hour in 36 ms
	for _, reason := range []string{"warning", "refresh_requested"} {
		if f := b.frame(c); f["type"] != "disconnect" || f["reason"] != reason {
			t.Errorf("want %s, got %v", reason, f)
		}
	}
	c.SetReadDeadline(time.Now().Add(patience))
	if _, _, err := c.ReadMessage(); err == nil {
		t.Error("the socket is still open")
	}
}

func FuzzAck(f *testing.F) {
	for _, s := range []string{`{"envelope_id":"x"}`, `{"envelope_id":"x","payload":{"text":"y"}}`, `[]`, `{"envelope_id":7}`, "\x00", `{"envelope_id":"x","payload":`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		id, payload, ok := parseAck(frame)
		if ok != (id != "") {
			t.Errorf("ok is %v with the id %q", ok, id)
		}
		if ok && len(payload) > 0 && !json.Valid(payload) {
			t.Errorf("the payload isn't JSON: %q", payload)
		}
	})
}
