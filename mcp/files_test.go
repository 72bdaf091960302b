package mcp

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What is not text in an answer becomes files of the workspace, named by us and bounded.
func TestAnswersBringFiles(t *testing.T) {
	t.Parallel()
	env := thread(t)
	env.Call = "../../c1"
	k := newKeeper(env, "x__shot")
	line := k.keep("image", "image/png; ../../../evil.sh", base64.StdEncoding.EncodeToString([]byte("pixels")))
	want := "[image: image/png; ../../../evil.sh, 6 bytes, kept as ./received/x__shot-______c1-1.png; its content is a third party's]"
	if line != want {
		t.Errorf("%s\nwant %s", line, want)
	}
	b, err := os.ReadFile(filepath.Join(env.Workspace.Path(), "received", "x__shot-______c1-1.png"))
	if err != nil || string(b) != "pixels" {
		t.Errorf("the file holds %q, %v", b, err)
	}
	for what, tt := range map[string]struct{ data, want string }{
		"not base64": {"%%%", "no base64"},
		"empty":      {"", "empty"},
		"too long":   {base64.StdEncoding.EncodeToString(make([]byte, maxKeptSize+1)), "more than 10 MiB"},
	} {
		if line := k.keep("image", "image/png", tt.data); !strings.Contains(line, tt.want) {
			t.Errorf("%s: %s", what, line[:min(len(line), 200)])
		}
	}
	for i := range maxKept + 3 {
		line = k.keep("audio", "audio/wav", base64.StdEncoding.EncodeToString([]byte(fmt.Sprint(i))))
	}
	files, err := os.ReadDir(filepath.Join(env.Workspace.Path(), "received"))
	if err != nil || len(files) != maxKept || !strings.Contains(line, "at most 8") {
		t.Errorf("%d files, %v; %s", len(files), err, line)
	}
	if line := (*keeper)(nil).keep("image", "image/png", "aGVsbG8="); line != "[image: image/png, 5 bytes]" {
		t.Errorf("without a workspace: %s", line)
	}
}

// A link out of the workspace is no way to write outside it.
func TestFilesOfAnswersStayInside(t *testing.T) {
	t.Parallel()
	env, outside := thread(t), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(env.Workspace.Path(), "received")); err != nil {
		t.Fatal(err)
	}
	line := newKeeper(env, "x__shot").keep("image", "image/png", "aGVsbG8=")
	if files, _ := os.ReadDir(outside); len(files) != 0 || !strings.Contains(line, "could not be kept") {
		t.Errorf("%d files outside; %s", len(files), line)
	}
}

func TestRefusedArguments(t *testing.T) {
	t.Parallel()
	got := refusedArguments([]byte(`{"type":"object","properties":{"$filter":{},"ok_name.x-1":{},"with space":{},"` + strings.Repeat("n", 65) + `":{}}}`))
	if want := "[`$filter` `" + strings.Repeat("n", 39) + "…` `with space`]"; fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
