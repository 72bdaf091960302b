package localslack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// TestKilledWhileWriting runs a workspace in a process of its own and ends that
// with SIGKILL in the middle of four writers, four times. Whatever was answered
// with ok is there afterwards, whole.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv("LOCALSLACK_VICTIM"); dir != "" {
		victim(t, dir)
		return
	}
	dir := t.TempDir()
	answered := map[string]string{} // by ts, what was said
	edits := map[string]string{}
	for round := range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKilledWhileWriting$", "-test.v=false")
		cmd.Env = append(os.Environ(), "LOCALSLACK_VICTIM="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadBytes('\n')
		var ready Ready
		if err != nil || json.Unmarshal(line, &ready) != nil {
			t.Fatalf("the workspace didn't come up: %q %v", line, err)
		}
		var mu sync.Mutex
		var writers sync.WaitGroup
		enough := make(chan struct{})
		n := 0
		client := &http.Client{Transport: &http.Transport{}}
		for writer := range 4 {
			writers.Go(func() {
				for i := 0; ; i++ {
					text := fmt.Sprintf("round %d writer %d message %d %0200d", round, writer, i, i)
					ts, ok := tryPost(client, ready, map[string]string{"text": text}, "chat.postMessage")
					if !ok {
						return // killed
					}
					mu.Lock()
					answered[ts] = text
					if n++; n == 60+round*17 {
						close(enough)
					}
					mu.Unlock()
					if _, ok := tryPost(client, ready, map[string]string{"ts": ts, "text": "edited " + text}, "chat.update"); ok {
						mu.Lock()
						edits[ts] = "edited " + text
						mu.Unlock()
					}
				}
			})
		}
		<-enough
		if err := cmd.Process.Kill(); err != nil { // SIGKILL, in the middle of four writers
			t.Fatal(err)
		}
		writers.Wait()
		cmd.Wait()
		client.CloseIdleConnections()
	}

	b := start(t, Config{Dir: dir})
	have := map[string]string{}
	for _, m := range b.messages(b.channel("general"), "") {
		m := m.(map[string]any)
		have[m["ts"].(string)] = m["text"].(string)
	}
	for ts, text := range answered {
		switch edit, edited := edits[ts]; {
		case have[ts] == "":
			t.Errorf("%s was answered with ok and is gone", ts)
		case edited && have[ts] != edit:
			t.Errorf("the edit of %s was answered with ok and is gone: %.60q", ts, have[ts])
		case have[ts] != text && have[ts] != "edited "+text: // an edit whose answer was never heard may be there
			t.Errorf("%s is torn: %.60q", ts, have[ts])
		}
	}
	t.Logf("%d messages and %d edits answered over four kills, %d there", len(answered), len(edits), len(have))
	raw, err := os.ReadFile(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		if !json.Valid(line) {
			t.Errorf("line %d of the journal is torn: %.80q", i+1, line)
		}
	}
}

// tryPost calls a method in #general; ok is false once nobody answers.
func tryPost(client *http.Client, ready Ready, args map[string]string, method string) (ts string, ok bool) {
	args["channel"] = ready.Channels[0].ID
	body, _ := json.Marshal(args)
	req, _ := http.NewRequest("POST", ready.APIURL+method, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+ready.BotToken)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	res, err := client.Do(req)
	if err != nil {
		return "", false
	}
	defer res.Body.Close()
	var out struct {
		OK bool   `json:"ok"`
		TS string `json:"ts"`
	}
	if json.NewDecoder(res.Body).Decode(&out) != nil || !out.OK {
		return "", false
	}
	return out.TS, true
}

// victim serves a workspace until it is killed.
func victim(t *testing.T, dir string) {
	w, err := Start(context.Background(), Config{Dir: dir, RateScale: -1})
	if err != nil {
		t.Fatal(err)
	}
	json.NewEncoder(os.Stdout).Encode(w.Ready())
	w.Wait()
}
