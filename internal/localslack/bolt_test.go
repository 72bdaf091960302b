package localslack

import (
	"bufio"
	"encoding/json"
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
// button, modal with errors, slash command, reconnect.
func TestBolt(t *testing.T) {
	t.Parallel()
	modules := boltModules(t)
	b := start(t, Config{})
	cmd := exec.Command("node", filepath.Join("testdata", "bolt", "conversation.cjs"))
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "API_URL="+b.ready.APIURL, "BOT_TOKEN="+b.ready.BotToken,
		"APP_TOKEN="+b.ready.AppToken, "TEAM_ID="+b.ready.TeamID)
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
