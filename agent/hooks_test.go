package agent

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func hooksOf(t *testing.T, dir string, list ...HookConfig) ToolHook {
	t.Helper()
	h, err := NewHooks(list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return h.In(dir)
}

func TestPreToolFailsClosed(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, command string
		tools         []string
		deny          string
	}{
		{"allows", "exit 0", nil, ""},
		{"denies with its words", "echo not on a Sunday; exit 2", nil, "not on a Sunday"},
		{"denies without words", "exit 2", nil, "no reason was given"},
		{"fails", "echo broken >&2; exit 1", nil, "exit status 1, and that counts as no: broken"},
		{"is not there", "nosuchprogram", nil, "127"},
		{"is for another tool", "exit 2", []string{"other"}, ""},
		{"is killed", "kill -9 $$", nil, "counts as no"},
		{"is too slow", "sleep 60", nil, "longer than 1s"},
		{"reads its input", `read line; case "$line" in '{"event":"pre_tool","tool":"send","input":{"to":"<a@b.c>"}}') exit 0;; esac; echo "$line"; exit 2`, nil, ""},
		{"stands in the workspace", `test "$PWD" = "$MECHA_WORKSPACE" && test "$MECHA_CHILD" = 1`, nil, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := hooksOf(t, dir, HookConfig{Event: HookPreTool, Command: tt.command, Tools: tt.tools, TimeoutSecs: 1})
			got := h.Pre(t.Context(), "send", json.RawMessage(`{"to":"<a@b.c>"}`))
			if (tt.deny == "") != (got == "") || !strings.Contains(got, tt.deny) {
				t.Errorf("got %q, want %q", got, tt.deny)
			}
		})
	}
}

// A hook that never reads a large input is ended on time: the write counts.
func TestHookTimeCoversTheWrite(t *testing.T) {
	h := hooksOf(t, t.TempDir(), HookConfig{Event: HookPreTool, Command: "sleep 60", TimeoutSecs: 1})
	args, _ := json.Marshal(map[string]string{"body": strings.Repeat("x", 1<<20)})
	start := time.Now()
	if got := h.Pre(t.Context(), "send", args); !strings.Contains(got, "longer than 1s") {
		t.Errorf("%q", got)
	}
	if d := time.Since(start); d > 20*time.Second {
		t.Errorf("took %s", d)
	}
}

// What our own environment holds is not a hook's business.
func TestHookEnvironment(t *testing.T) {
	t.Setenv("CANARY_API_KEY", "tweet")
	h := hooksOf(t, t.TempDir(), HookConfig{Event: HookPreTool, Command: `env | grep -q tweet && exit 2; exit 0`})
	if got := h.Pre(t.Context(), "x", json.RawMessage(`{}`)); got != "" {
		t.Error("a hook sees our keys")
	}
}

func TestHooksObserve(t *testing.T) {
	dir := t.TempDir()
	h := hooksOf(t, dir,
		HookConfig{Event: HookPostTool, Command: "cat >> post; exit 1"},
		HookConfig{Event: HookSessionEnd, Command: "cat >> end"})
	h.Post(t.Context(), "send", json.RawMessage(`{}`), Result{Content: strings.Repeat("y", 5000), Outcome: CallError})
	h.(*Hooks).End(context.Background(), "T", "r1", Outcome{Cause: Completed})
	post, err := os.ReadFile(filepath.Join(dir, "post"))
	if err != nil || !strings.Contains(string(post), `"is_error":true`) || len(post) > 4200 {
		t.Errorf("%d bytes, %v", len(post), err)
	}
	ended, err := os.ReadFile(filepath.Join(dir, "end"))
	if err != nil || strings.TrimSpace(string(ended)) != `{"event":"session_end","thread":"T","run":"r1","cause":"completed"}` {
		t.Errorf("%s, %v", ended, err)
	}
}

func TestHookConfigIsChecked(t *testing.T) {
	for says, c := range map[string]HookConfig{"event is": {Event: "before", Command: "x"}, "command is empty": {Event: HookPreTool, Command: " "}, "negative": {Event: HookPreTool, Command: "x", TimeoutSecs: -1}} {
		if _, err := NewHooks([]HookConfig{c}, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}
