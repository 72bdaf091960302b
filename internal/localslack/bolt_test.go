package localslack

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// boltModules finds Slack's own packages: beside the script, after an
// "npm ci" there, or where NODE_PATH says. Without them the test is skipped,
// unless MECHA_TEST_REQUIRE names npm.
func boltModules(t *testing.T) string {
	t.Helper()
	beside, err := filepath.Abs(filepath.Join("testdata", "bolt", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	_, nodeErr := exec.LookPath("node")
	for _, dir := range append([]string{beside}, filepath.SplitList(os.Getenv("NODE_PATH"))...) {
		if _, err := os.Stat(filepath.Join(dir, "@slack", "bolt")); err == nil && nodeErr == nil {
			return dir
		}
	}
	const how = "node and @slack/bolt aren't here; run npm ci in internal/localslack/testdata/bolt"
	if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "npm") {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// TestBolt has Slack's own SDKs hold a conversation: mention, stream, file,
// button, modal with errors, slash command, a file down, pages, scheduled
// messages, a shortcut, Stop, Home, options, reconnect.
func TestBolt(t *testing.T) {
	t.Parallel()
	modules := boltModules(t)
	b := start(t, Config{})
	cmd := exec.Command("node", filepath.Join("testdata", "bolt", "conversation.cjs"))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "API_URL="+b.ready.APIURL, "BOT_TOKEN="+b.ready.BotToken,
		"APP_TOKEN="+b.ready.AppToken, "TEAM_ID="+b.ready.TeamID,
		"PEOPLE="+b.user("alice").ID+","+b.user("bob").ID)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	steps := make(chan map[string]any, 100)
	go func() { // ends with the process
		defer close(steps)
		sc := bufio.NewScanner(out)
		for sc.Scan() {
			var m map[string]any
			if json.Unmarshal(sc.Bytes(), &m) == nil {
				steps <- m
			}
		}
		io.Copy(io.Discard, out)
	}()
	t.Cleanup(func() {
		in.Close() // the script ends by itself; if not, it is ended
		timer := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		defer timer.Stop()
		for range steps {
		}
		cmd.Wait()
	})
	step := func(want string) map[string]any {
		t.Helper()
		select {
		case m := <-steps:
			if m["step"] != want {
				t.Fatalf("step %v, want %s", m, want)
			}
			return m
		case <-time.After(3 * patience):
			t.Fatalf("%s never came", want)
			return nil
		}
	}

	general := b.channel("general")
	step("started")
	root := b.say("@mecha hello")
	m := step("mentioned")
	if m["ts"] != root {
		t.Errorf("mentioned: %v", m)
	}
	b.eventually("stream, card and file are in the thread", func() bool { return len(b.messages(general, root)) == 4 })
	thread := b.messages(general, root)
	if stream := thread[1].(map[string]any); stream["text"] != "Hello **there**" || stream["stream"].(map[string]any)["state"] != "done" {
		t.Errorf("the stream: %v", stream)
	}
	if file := thread[3].(map[string]any); file["text"] != "a file" || file["files"].([]any)[0].(map[string]any)["size"] != 4.0 {
		t.Errorf("the file: %v", file)
	}

	if out := b.local("click", map[string]any{"user": "alice", "channel": general, "ts": m["card"], "action_id": "open"}); out["status"] != "acked" {
		t.Fatalf("click: %v", out)
	}
	view := step("opened")["view"]
	submit := func(name string) map[string]any {
		out := b.local("submit", map[string]any{"user": "alice", "view_id": view, "values": map[string]any{"name": map[string]any{"v": name}}})
		if got := step("submitted"); got["name"] != name {
			t.Errorf("submitted: %v", got)
		}
		ack, _ := out["ack"].(map[string]any)
		return ack
	}
	if ack := submit("no"); ack["errors"].(map[string]any)["name"] != "too short" {
		t.Errorf("errors: %v", ack)
	}
	submit("long enough")
	if views := b.local("views?user=alice", nil)["modals"].([]any); len(views) != 0 {
		t.Errorf("the modal is open: %v", views)
	}

	if out := b.local("command", map[string]any{"user": "alice", "channel": general, "command": "/mecha", "text": "help"}); out["status"] != "acked" {
		t.Fatalf("command: %v", out)
	}
	step("commanded")
	all := b.local("messages?user=alice&channel="+general, nil)["messages"].([]any)
	if last := all[len(all)-1].(map[string]any); last["text"] != "you said help" || last["ephemeral"] != true {
		t.Errorf("respond: %v", last)
	}

	b.local("message", map[string]any{"user": "alice", "channel": general, "text": "fetch this",
		"files": []any{map[string]any{"name": "x.txt", "content_base64": base64.StdEncoding.EncodeToString([]byte("the bytes"))}}})
	if got := step("fetched"); got["text"] != "the bytes" || got["denied"] != true || got["size"] != 9.0 {
		t.Errorf("the file down: %v", got)
	}
	asked := b.say("list all")
	if got := step("listed"); fmt.Sprint(got["seen"]) != "[general ops]" || got["scheduled"] != 1.0 || got["refused"] != "channel_not_found" || got["group"] == "" {
		t.Errorf("listed: %v", got)
	}
	b.local("shortcut", map[string]any{"user": "alice", "callback_id": "ask", "channel": general, "ts": asked})
	if got := step("shortcut"); got["type"] != "message_action" || got["text"] != "list all" {
		t.Errorf("shortcut: %v", got)
	}
	b.local("stop", map[string]any{"user": "alice", "channel": general, "thread_ts": asked})
	if got := step("stopped"); got["thread"] != asked {
		t.Errorf("stopped: %v", got)
	}
	b.local("home", map[string]any{"user": "alice"})
	if got := step("home"); got["tab"] != "home" {
		t.Errorf("home: %v", got)
	}
	home := b.local("views?user=alice", nil)["home"].(map[string]any)["id"]
	offered := b.local("suggest", map[string]any{"user": "alice", "view_id": home, "block_id": "s", "action_id": "city", "query": "wien"})
	if got := fmt.Sprint(offered["ack"]); !strings.Contains(got, "wien!") {
		t.Errorf("options: %v", got)
	}

	before := len(b.logged("socket"))
	b.local("fault", map[string]any{"socket": "disconnect"})
	b.eventually("it reconnects", func() bool {
		l := b.logged("socket")
		return len(l) > before && l[len(l)-1]["method"] == "open"
	})
	ts := b.say("again")
	if got := step("again"); got["ts"] != ts {
		t.Errorf("after the reconnect: %v", got)
	}
}
