package localslack

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// listen opens one user's event stream and returns its events as they come.
func (b *workbench) listen(user string) <-chan map[string]any {
	b.Helper()
	req, _ := http.NewRequest("GET", b.ready.URL+"/_local/events?user="+user, nil)
	req.Header.Set("Authorization", "Bearer "+b.ready.ControlToken)
	res, err := b.http.Do(req)
	if err != nil || res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		b.Fatalf("events: %v %v", res, err)
	}
	out := make(chan map[string]any, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		sc := bufio.NewScanner(res.Body)
		sc.Buffer(nil, 1<<20)
		var name string
		for sc.Scan() {
			if n, ok := strings.CutPrefix(sc.Text(), "event: "); ok {
				name = n
			}
			if d, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
				var m map[string]any
				if json.Unmarshal([]byte(d), &m) == nil {
					m["event"] = name
					out <- m
				}
			}
		}
	}()
	b.Cleanup(func() { res.Body.Close(); <-done })
	if e := b.next(out); e["event"] != "hello" {
		b.Fatalf("first event: %v", e)
	}
	return out
}

func (b *workbench) next(events <-chan map[string]any) map[string]any {
	b.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(patience):
		b.Fatal("no event came")
		return nil
	}
}

func TestPagesSeeWhatTheirUserMay(t *testing.T) {
	t.Parallel()
	b := start(t, Config{Banner: "offline"})
	alice, mallory := b.listen("alice"), b.listen("mallory")
	general, dm := b.channel("general"), b.ready.DMs["alice"]

	b.local("message", map[string]any{"user": "alice", "channel": dm, "text": "private"})
	b.api(b.ready.BotToken, "chat.postEphemeral", map[string]string{"channel": general, "user": b.user("alice").ID, "text": "for alice"})
	root := b.say("public")
	b.api(b.ready.BotToken, "assistant.threads.setStatus", map[string]string{"channel_id": general, "thread_ts": root, "status": "is thinking"})
	stream := b.api(b.ready.BotToken, "chat.startStream", map[string]string{"channel": general, "thread_ts": root, "recipient_team_id": b.ready.TeamID, "recipient_user_id": b.user("alice").ID})["ts"].(string)
	b.api(b.ready.BotToken, "chat.appendStream", map[string]string{"channel": general, "ts": stream, "markdown_text": "words"})
	b.SetBanner("online")

	type seen struct{ event, what string }
	read := func(events <-chan map[string]any) (out []seen) {
		for {
			e := b.next(events)
			m, _ := e["message"].(map[string]any)
			s := seen{event: e["event"].(string)}
			switch s.event {
			case "message":
				s.what = fmt.Sprint(e["op"], " ", m["text"])
			case "ephemeral":
				s.what = fmt.Sprint(m["text"], " ", m["ephemeral"])
			case "status":
				s.what = fmt.Sprint(e["status"], "/", e["session"])
			}
			out = append(out, s)
			if s.event == "state" {
				return out
			}
		}
	}
	// The status goes with the app's post, and the parent's reply_count changes.
	public := []seen{{"message", "new public"}, {"status", "is thinking/"}, {"message", "new "}, {"message", "changed public"}, {"status", "/"}, {"status", "/processing"},
		{"message", "changed words"}, {"state", ""}}
	if got, want := fmt.Sprint(read(mallory)), fmt.Sprint(public); got != want {
		t.Errorf("mallory saw\n %s\nwant\n %s", got, want)
	}
	if got, want := fmt.Sprint(read(alice)), fmt.Sprint(append([]seen{{"message", "new private"}, {"ephemeral", "for alice true"}}, public...)); got != want {
		t.Errorf("alice saw\n %s\nwant\n %s", got, want)
	}
	if st := b.local("state?user=mallory", nil); st["banner"] != "online" || strings.Contains(fmt.Sprint(st["channels"]), dm) {
		t.Errorf("mallory's state: %v", st)
	}
	if _, status := b.tryLocal("history?user=mallory&channel="+dm, nil); status != 400 {
		t.Errorf("mallory reads alice's DM: HTTP %d", status)
	}
}

func TestSlowPagesAreCutOff(t *testing.T) {
	t.Parallel()
	var p pages
	s := p.subscribe("U")
	for range pageBuffer + 1 {
		p.publish("x", 1)
	}
	n := 0
	for range s.out {
		n++
	}
	if n != pageBuffer || !p.idle() {
		t.Errorf("%d events were kept, idle is %v", n, p.idle())
	}
	p.unsubscribe(s) // cut off already: no harm
	if !p.idle() {
		t.Error("unsubscribed twice")
	}
}

func TestInspectorIsBounded(t *testing.T) {
	t.Parallel()
	i := newInspector()
	big := []byte(`"` + strings.Repeat("é", maxEntryBody) + `"`)
	for range 3000 {
		i.add(entry{Kind: "call", response: big, request: map[string]any{"text": string(big)}})
	}
	if i.bytes > maxEntryBytes {
		t.Errorf("%d bytes are kept", i.bytes)
	}
	for range maxEntries + 10 {
		i.add(entry{Kind: "ack"})
	}
	got, cursor := i.since(0, maxEntries)
	if len(got) != maxEntries || got[0].Seq != 3011 || cursor != 3000+maxEntries+10 {
		t.Errorf("%d entries from %d to %d", len(got), got[0].Seq, cursor)
	}
	if got, _ := i.since(cursor-2, 10); len(got) != 2 || got[0].Seq != cursor-1 {
		t.Errorf("since the last but two: %v", got)
	}
	if got, c := i.since(cursor, 10); len(got) != 0 || c != cursor {
		t.Errorf("since the last: %v %d", got, c)
	}
}
