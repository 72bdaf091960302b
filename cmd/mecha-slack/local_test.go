package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Scripts read the ready file of local and of workspace alike: no key comes and
// goes with the flags.
func TestAReadyFileHasEveryKey(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ready.json")
	if err := writeReady(path, readyFile{PID: 1}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"url", "api_url", "control_token", "maildir", "team_id", "bot_user_id", "app_id", "bot_token", "app_token", "users", "channels", "dms", "home", "pid"} {
		if _, ok := got[key]; !ok {
			t.Errorf("%s is missing", key)
		}
	}
}
