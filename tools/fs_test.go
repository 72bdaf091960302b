package tools

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// call runs a tool as the loop does: parse, then Call.
func call(t testing.TB, tool Tool, env *Env, args string) Output {
	t.Helper()
	in, _, err := ParseArgs(tool, json.RawMessage(args))
	if err != nil {
		return Fail(err.Error())
	}
	out, err := tool.Call(context.Background(), in, env)
	if err != nil {
		t.Fatalf("%s %s ends the run: %v", tool.Name(), args, err)
	}
	return out
}

func argsOf(kv ...string) string {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	b, _ := json.Marshal(m)
	return string(b)
}

func put(t testing.TB, env *Env, name, content string) {
	t.Helper()
	p := filepath.Join(env.Workspace.Path(), name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, env *Env, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(env.Workspace.Path(), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFsRead(t *testing.T) {
	env := spillEnv(t)
	put(t, env, "five.txt", "one\ntwo\nthree\nfour\nfive")
	put(t, env, "empty.txt", "")
	put(t, env, "pic.png", "\x89PNG\r\n\x1a\n\x00\x00\x00")
	put(t, env, "latin1.txt", "caf\xe9 au lait")
	put(t, env, "late.txt", strings.Repeat("a\n", 10_000)+"\xff\xfe\n")
	if _, err := (Spill{env.Spill}).Put("shell", "c0", Ours, "spilled\n"); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		args    string
		want    string // exact, or with … at the end a beginning
		isError bool
	}{
		{`{"path":"five.txt"}`, "one\ntwo\nthree\nfour\nfive", false},
		{`{"path":"five.txt","offset":4}`, "four\nfive", false},
		{`{"path":"five.txt","offset":2,"limit":2}`, "two\nthree\n\n[lines 2 to 3; more follows: continue with fs_read {\"path\": \"five.txt\", \"offset\": 4, \"limit\": 2}]", false},
		{`{"path":"five.txt","offset":5,"limit":9}`, "five", false},
		{`{"path":"five.txt","offset":6}`, "five.txt has only 5 lines; nothing is at line 6", true},
		{`{"path":"five.txt","offset":0}`, "invalid arguments for fs_read: `offset` must be at least 1, got 0", true},
		{`{"path":"five.txt","offset":2.0,"column":3,"limit":1e0}`, "o\n\n[line 2; more follows: continue with fs_read {\"path\": \"five.txt\", \"offset\": 3, \"limit\": 1}]", false},
		{`{"path":"empty.txt"}`, "(the file is empty)", false},
		{`{"path":"pic.png"}`, "cannot read pic.png as text: it is binary (image/png, 11 bytes); show_file…", true},
		{`{"path":"latin1.txt"}`, "cannot read latin1.txt as text: it is binary…", true},
		{`{"path":"late.txt","offset":10001}`, "cannot read late.txt as text…", true},
		{`{"path":"late.txt","offset":10000,"limit":1}`, "a\n…", false},
		{`{"path":"missing.md"}`, `cannot read "missing.md": no such file or directory`, true},
		{`{"path":"."}`, `cannot read ".": it is a directory; fs_list shows what is in it`, true},
		{`{"path":"../spill/shell-c0.txt"}`, `cannot read "../spill/shell-c0.txt": it leads out of the workspace…`, true},
		{`{"path":"` + env.Spill.Path() + `/shell-c0.txt"}`, "spilled\n", false},
		{`{"path":"` + env.Spill.Path() + `/../ws/five.txt"}`, "…", true},
		{`{"path":"` + env.Workspace.Path() + `/five.txt","limit":1}`, "one\n…", false},
	}
	for _, tt := range tests {
		out := call(t, &fsRead{}, env, tt.args)
		begins, open := strings.CutSuffix(tt.want, "…")
		if out.IsError != tt.isError || out.Content != tt.want && !(open && strings.HasPrefix(out.Content, begins)) {
			t.Errorf("%s: %v %q\nwant %q", tt.args, out.IsError, out.Content, tt.want)
		}
		if out.External {
			t.Errorf("%s: external", tt.args)
		}
	}
}

// The last lines of a file of a gigabyte, without holding it.
func TestFsReadHugeFile(t *testing.T) {
	env := spillEnv(t)
	size := int64(1 << 30)
	if testing.Short() {
		size = 64 << 20
	}
	f, err := os.Create(filepath.Join(env.Workspace.Path(), "huge.log"))
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for range 1000 { // a head of text, so that it is not binary
		_, _ = w.WriteString("a line of the log\n")
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Seek(size, 0); err != nil { // a hole: one very long line
		t.Fatal(err)
	}
	if _, err := f.WriteString("\nthe last but one\nthe last\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out := call(t, &fsRead{}, env, `{"path":"huge.log","offset":1002}`)
	runtime.ReadMemStats(&after)
	if out.IsError || out.Content != "the last but one\nthe last\n" {
		t.Errorf("%v %.200q", out.IsError, out.Content)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes were allocated; 1 MB is allowed", got)
	}
}

func TestFsReadStopsWithItsContext(t *testing.T) {
	env := spillEnv(t)
	put(t, env, "long.txt", strings.Repeat("x\n", 200_000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := (&fsRead{}).Call(ctx, json.RawMessage(`{"path":"long.txt","offset":150000}`), env)
	if err != nil || !out.IsError || !strings.Contains(out.Content, "interrupted") {
		t.Errorf("%v %q", err, out.Content)
	}
}

func TestFsList(t *testing.T) {
	env := spillEnv(t)
	if out := call(t, fsList{}, env, `{}`); out.IsError || !strings.Contains(out.Content, "empty") {
		t.Errorf("%q", out.Content)
	}
	put(t, env, "b.txt", "")
	put(t, env, "a/deep/x", "")
	put(t, env, "c\nd\u202e.txt", "")
	for to, name := range map[string]string{"a": "zlink", "/etc": "zout", "nowhere": "zdead"} {
		if err := os.Symlink(to, filepath.Join(env.Workspace.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	if out := call(t, fsList{}, env, `{}`); out.Content != "a/\nb.txt\n\"c\\nd\u202e.txt\"\nzdead\nzlink/\nzout" {
		t.Errorf("%q", out.Content)
	}
	if out := call(t, fsList{}, env, `{"path":"a"}`); out.Content != "deep/" {
		t.Errorf("%q", out.Content)
	}
	for path, says := range map[string]string{"b.txt": "fs_read reads a file", "..": "out of the workspace", "nope": "no such file", "zout": "absolute symbolic link"} {
		if out := call(t, fsList{}, env, argsOf("path", path)); !out.IsError || !strings.Contains(out.Content, says) {
			t.Errorf("%s: %q", path, out.Content)
		}
	}
}

func TestFsWrite(t *testing.T) {
	env := spillEnv(t)
	w := &fsWrite{newWorkspaceLocks()}
	if out := call(t, w, env, argsOf("path", "n/e/w.md", "content", "héllo")); out.IsError || out.Content != "wrote 6 bytes to n/e/w.md (a new file)" {
		t.Errorf("%q", out.Content)
	}
	if out := call(t, w, env, argsOf("path", "n/e/w.md", "content", "")); out.IsError || out.Content != "wrote 0 bytes to n/e/w.md (it had 6)" {
		t.Errorf("%q", out.Content)
	}
	for _, path := range []string{"../x", "/etc/x", "n", filepath.Join(env.Spill.Path(), "x"), "a\x00b"} {
		if out := call(t, w, env, argsOf("path", path, "content", "x")); !out.IsError {
			t.Errorf("%q was written: %q", path, out.Content)
		}
	}
	if entries, _ := os.ReadDir(env.Spill.Path()); len(entries) > 0 {
		t.Errorf("the spill directory was written: %v", entries)
	}
}

func TestFileToolsHaveNoDestinations(t *testing.T) {
	for _, tool := range []Tool{&fsWrite{}, &fsEdit{}, &shell{backend: noSandbox{}}} {
		if d := Destinations(tool, json.RawMessage(`{"path":"/etc/x","content":"https://a.example/","old":"a@b.org","command":"curl https://a.example/"}`)); d != nil {
			t.Errorf("%s: %v", tool.Name(), d)
		}
	}
}

func TestFsEdit(t *testing.T) {
	tests := []struct{ file, old, new, want, says string }{
		{"one two\n", "two", "three", "one three\n", "edited f at line 1"},
		{"a\nb\nc\n", "c", "", "a\nb\n\n", "edited f at line 3"},
		{"x x x", "x", "y", "", "`old` appears 3 times; include more surrounding context to make it unique; f is unchanged"},
		{"aaa", "aa", "b", "", "`old` appears 2 times"},
		{"abc", "d", "e", "", "`old` does not appear; read the file again"},
		{"abc", "b", "b", "", "`old` and `new` are the same"},
		{"a\r\nb\r\n", "a\nb", "c", "", "lines end with \\r\\n"},
		{"a\r\nb\r\n", "a\r\nb", "c", "c\r\n", "edited"},
		{"\xff\x00bin b", "bin", "x", "\xff\x00x b", "edited"},
		{"$1 a", "a", "$1", "$1 $1", "edited"},
	}
	for _, tt := range tests {
		env := spillEnv(t)
		put(t, env, "f", tt.file)
		out := call(t, &fsEdit{newWorkspaceLocks()}, env, argsOf("path", "f", "old", tt.old, "new", tt.new))
		want := tt.want
		if want == "" {
			want = tt.file
		}
		if got := get(t, env, "f"); got != want || out.IsError != (tt.want == "") || !strings.Contains(out.Content, tt.says) {
			t.Errorf("%q: %q, %q", tt.file, got, out.Content)
		}
	}
	env := spillEnv(t)
	if out := call(t, &fsEdit{newWorkspaceLocks()}, env, `{"path":"nope","old":"a","new":"b"}`); !out.IsError || !strings.Contains(out.Content, "no such file") {
		t.Errorf("%q", out.Content)
	}
}

// Calls of one turn run together: none of them loses what another wrote.
func TestEditsTogether(t *testing.T) {
	env := spillEnv(t)
	put(t, env, "f", "[a] [b] [c] [d] [e] [f] [g] [h]")
	edit := &fsEdit{newWorkspaceLocks()}
	var wg sync.WaitGroup
	for _, c := range "abcdefgh" {
		wg.Go(func() {
			if out := call(t, edit, env, argsOf("path", "f", "old", "["+string(c)+"]", "new", string(c)+"!")); out.IsError {
				t.Error(out.Content)
			}
		})
	}
	wg.Wait()
	if got := get(t, env, "f"); got != "a! b! c! d! e! f! g! h!" {
		t.Errorf("%q", got)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("one two", "two", "three")
	f.Add("aaa", "aa", "b")
	f.Add("a\r\nb", "\n", "")
	f.Add("", "", "0")
	f.Fuzz(func(t *testing.T, text, old, with string) {
		edited, at, err := replaceOne(text, old, with)
		n := 0
		for i := range text {
			if strings.HasPrefix(text[i:], old) {
				n++
			}
		}
		if err != nil {
			return
		}
		if old == "" || at < 1 || len(edited) != len(text)-len(old)+len(with) {
			t.Fatalf("%q: %q for %q gave %q at %d", text, with, old, edited, at)
		}
		i := strings.Index(text, old)
		if edited[:i] != text[:i] || edited[i:i+len(with)] != with || edited[i+len(with):] != text[i+len(old):] || strings.Contains(text[i+1:], old) {
			t.Fatalf("%q became %q (%d places)", text, edited, n)
		}
	})
}

func TestShowFile(t *testing.T) {
	env := spillEnv(t)
	put(t, env, "out/plot.png", "\x89PNG")
	put(t, env, "empty", "")
	put(t, env, "big", strings.Repeat("x", 200))
	s := &showFile{most: 100}
	out := call(t, s, env, `{"path":"./out/plot.png","title":"A\nplot"}`)
	if out.IsError || len(out.Files) != 1 || out.Files[0] != (File{Name: "plot.png", Path: "out/plot.png", Title: "A plot"}) {
		t.Errorf("%+v", out)
	}
	for path, says := range map[string]string{"out": "directory", "empty": "empty", "big": "at most 100", "no": "no such file", "../ws/../x": "out of the workspace"} {
		if out := call(t, s, env, argsOf("path", path)); !out.IsError || len(out.Files) > 0 || !strings.Contains(out.Content, says) {
			t.Errorf("%s: %+v", path, out)
		}
	}
}

func TestTodo(t *testing.T) {
	env := spillEnv(t)
	td := &todo{state: NewTodoMemory()}
	if h, text := td.Carry(env.Thread); h != "" || text != "" {
		t.Errorf("an empty list is carried: %q %q", h, text)
	}
	out := call(t, td, env, `{"items":[{"content":"a","status":"done"},{"content":"b\nc","status":"in_progress"},{"content":"d","status":"pending"}]}`)
	want := "[x] a\n[>] b c\n[ ] d\n1 of 3 done"
	if out.IsError || out.Content != want {
		t.Errorf("%q", out.Content)
	}
	if out := call(t, td, env, `{"items":[{"content":"x","status":"nearly"}]}`); !out.IsError || !strings.Contains(out.Content, "pending") {
		t.Errorf("%q", out.Content)
	}
	if h, text := td.Carry(env.Thread); h == "" || text != want {
		t.Errorf("after a refused list: %q", text)
	}
	if _, text := td.Carry("another"); text != "" {
		t.Errorf("another conversation has %q", text)
	}
	if out := call(t, td, env, `{"items":[{"content":"a","status":"in_progress"},{"content":"b","status":"in_progress"}]}`); !strings.Contains(out.Content, "2 steps are in progress") {
		t.Errorf("%q", out.Content)
	}
	if out := call(t, td, env, `{"items":[]}`); out.Content != "(the list is empty)" {
		t.Errorf("%q", out.Content)
	}
}

// Every line of the corpus, read and written: nothing outside is touched.
func TestTraversalCorpus(t *testing.T) {
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED names no directory with the corpora")
	}
	f, err := os.Open(filepath.Join(shared, "corpora", "traversal.txt"))
	if err != nil {
		t.Skipf("no traversal corpus: %v", err)
	}
	defer f.Close()
	env := spillEnv(t)
	root := filepath.Dir(env.Workspace.Path())
	const secret = "the secret outside"
	if err := os.WriteFile(filepath.Join(root, "passwd"), []byte(secret), 0o644); err != nil {
		t.Fatal(err)
	}
	read, write := &fsRead{}, &fsWrite{newWorkspaceLocks()}
	started := time.Now()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); n++ {
		if n%7 != 0 && testing.Short() {
			continue
		}
		for _, path := range []string{s.Text(), strings.ReplaceAll(s.Text(), "{FILE}", "passwd")} {
			in, _ := json.Marshal(map[string]string{"path": path})
			out, err := read.Call(t.Context(), in, env)
			if err != nil || !out.IsError && (strings.Contains(out.Content, secret) || strings.Contains(out.Content, "root:")) {
				t.Fatalf("%q: %v %q", path, err, out.Content)
			}
		}
		if n%20 == 0 { // a write is synced: one in twenty
			in, _ := json.Marshal(map[string]string{"path": s.Text(), "content": "x"})
			if _, err := write.Call(t.Context(), in, env); err != nil {
				t.Fatal(err)
			}
		}
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 3 {
		t.Errorf("beside the workspace there is now %v, %v", entries, err)
	}
	if b, err := os.ReadFile(filepath.Join(root, "passwd")); err != nil || string(b) != secret {
		t.Errorf("the file outside is %q, %v", b, err)
	}
	t.Logf("%d lines in %v", n, time.Since(started))
}
