package jail

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// secret is what lies outside and must never come in.
const secret = "outside"

// open makes a workspace with a file outside beside it.
//
//	outside/secret        a file and a directory outside
//	ws/a.txt ws/d/b.txt   a file and a file in a directory
func open(t testing.TB) (j *Jail, ws, outside string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws, outside = filepath.Join(dir, "ws"), filepath.Join(dir, "outside")
	for _, d := range []string{filepath.Join(ws, "d", "e"), outside} {
		must(t, os.MkdirAll(d, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o644))
	must(t, os.WriteFile(filepath.Join(ws, "a.txt"), []byte("a"), 0o644))
	must(t, os.WriteFile(filepath.Join(ws, "d", "b.txt"), []byte("b"), 0o644))
	j, err = Open(ws)
	must(t, err)
	t.Cleanup(func() { _ = j.Close() })
	return j, ws, outside
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, name string) {
	t.Helper()
	must(t, os.Symlink(target, name))
}

func read(j *Jail, p string) (string, error) {
	f, err := j.Open(p)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	return string(b), err
}

func TestRel(t *testing.T) {
	j, ws, _ := open(t)
	base := filepath.Base(ws)
	tests := []struct {
		in, want string
		why      Reason
	}{
		{"", ".", ""},
		{".", ".", ""},
		{"./", ".", ""},
		{"a.txt", "a.txt", ""},
		{"./d//b.txt", "d/b.txt", ""},
		{"d/../a.txt", "d/../a.txt", ""}, // the disk's to judge: d may be a link
		{ws, ".", ""},
		{ws + "/", ".", ""},
		{ws + "/d/b.txt", "d/b.txt", ""},
		{ws + "/./d/../a.txt", "d/../a.txt", ""},
		{"../" + base + "/a.txt", "a.txt", ""}, // out and back in
		{"../../" + filepath.Base(filepath.Dir(ws)) + "/" + base + "/d", "d", ""},
		{ws + "/../" + base + "/a.txt", "a.txt", ""},
		{"..", "", Outside},
		{"../", "", Outside},
		{"../x", "", Outside},
		{ws + "/..", "", Outside},
		{ws + "-other/x", "", Outside},
		{ws + "x", "", Outside},
		{"/", "", Outside},
		{"/etc/passwd", "", Outside},
		{"//etc//passwd", "", Outside},
		{"/..", "", Outside},
		{strings.Repeat("../", 100) + "etc/passwd", "", Outside},
		{"a\x00b", "", NulByte},
		{"\x00", "", NulByte},
		{strings.Repeat("x", maxPath+1), "", TooLong},
		{"...", "...", ""},
		{"..a", "..a", ""},
		{`..\a`, `..\a`, ""},
		{"~/x", "~/x", ""},
		{"%2e%2e/x", "%2e%2e/x", ""},
	}
	for _, tt := range tests {
		got, err := j.Rel(tt.in)
		if got != tt.want || ReasonOf(err) != tt.why {
			t.Errorf("Rel(%q) = %q, %v; want %q, %q", tt.in, got, err, tt.want, tt.why)
		}
	}
}

// A workspace named through a link is reached by both of its names.
func TestRelKnowsTheNameItWasOpenedBy(t *testing.T) {
	_, ws, _ := open(t)
	alias := filepath.Join(t.TempDir(), "alias")
	link(t, ws, alias)
	j, err := Open(alias)
	must(t, err)
	defer j.Close()
	if j.Path() != ws {
		t.Errorf("Path() = %s, want the real one, %s", j.Path(), ws)
	}
	for _, p := range []string{alias + "/a.txt", ws + "/a.txt"} {
		if got, err := read(j, p); got != "a" {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
}

func TestOpenJudgesWhereItLeads(t *testing.T) {
	j, ws, outside := open(t)
	at := func(name string) string { return filepath.Join(ws, name) }
	link(t, "a.txt", at("in"))
	link(t, "d", at("dir"))
	link(t, "d/../a.txt", at("in-dots"))
	link(t, "d/e", at("deep"))
	link(t, "../ws/a.txt", at("out-and-in"))
	link(t, "../outside/secret", at("out"))
	link(t, "../outside", at("outdir"))
	link(t, "..", at("up"))
	link(t, filepath.Join(outside, "secret"), at("abs-out"))
	link(t, at("a.txt"), at("abs-in"))
	link(t, at("d"), at("abs-dir"))
	link(t, "abs-in", at("to-abs"))
	link(t, "out", at("to-out"))
	link(t, "nowhere", at("dangling"))
	link(t, "../outside/new", at("dangling-out"))
	link(t, "loop", at("loop"))
	link(t, "/proc/self/root/etc/passwd", at("proc"))
	link(t, "/", at("slash"))
	must(t, syscall.Mkfifo(at("fifo"), 0o644))
	must(t, syscall.Mkfifo(filepath.Join(outside, "fifo"), 0o644))
	must(t, os.Link(filepath.Join(outside, "secret"), at("hard")))
	must(t, syscall.Mknod(at("sock"), syscall.S_IFSOCK|0o644, 0))

	tests := []struct {
		path, want string
		why        Reason
		says       string // part of the message
	}{
		{"a.txt", "a", "", ""},
		{"d/b.txt", "b", "", ""},
		{"d/../a.txt", "a", "", ""},
		{"d/e/../b.txt", "b", "", ""},
		{"deep/../b.txt", "b", "", ""}, // where the link leads, not where its name stands
		{"dir/b.txt", "b", "", ""},
		{"in", "a", "", ""},
		{"in-dots", "a", "", ""},
		{"../ws/a.txt", "a", "", ""},
		{ws + "/d/b.txt", "b", "", ""},
		{"deep/../../a.txt", "a", "", ""},
		{"d/../../ws/a.txt", "", Outside, "leads out"},
		{"dir/../../outside/secret", "", Outside, "leads out"},
		{"out", "", Outside, `"out" is a link to "../outside/secret"`},
		{"out-and-in", "", Outside, "is a link"}, // through another's directory, which may change
		{"outdir/secret", "", Outside, `"outdir" is a link`},
		{"up/outside/secret", "", Outside, `"up" is a link`},
		{"to-out", "", Outside, "is a link"},
		{"abs-out", "", AbsoluteLink, "refused even when they point inside"},
		{"abs-in", "", AbsoluteLink, `use "a.txt"`},
		{"abs-dir/b.txt", "", AbsoluteLink, `use "d"`},
		{"to-abs", "", AbsoluteLink, `"abs-in" is a link`},
		{"proc", "", AbsoluteLink, "/proc/self/root"},
		{"slash/etc/passwd", "", AbsoluteLink, `"slash"`},
		{"dangling", "", Dangling, `"dangling" is a link to "nowhere"`},
		{"dangling-out", "", Outside, "is a link"},
		{"loop", "", LinkLoop, "circle"},
		{"missing", "", Missing, "no such file"},
		{"missing/x", "", Missing, "no such file"},
		{"a.txt/x", "", NotDir, "is a file"},
		{"d", "", IsDir, "is a directory"},
		{"", "", IsDir, "is a directory"},
		{"fifo", "", NotRegular, "FIFO"},
		{"sock", "", NotRegular, "socket"},
		{strings.Repeat("n", 300), "", TooLong, "too long"},
		{"hard", secret, "", ""}, // cannot be told from a file of its own; reading it is documented
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.path, "/", "|"), func(t *testing.T) {
			got, err := read(j, tt.path)
			if got != tt.want || ReasonOf(err) != tt.why {
				t.Errorf("got %q, %v; want %q, reason %q", got, err, tt.want, tt.why)
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("message %q does not say %q", err, tt.says)
			}
		})
	}
}

func TestErrorsKeepTheirCause(t *testing.T) {
	j, ws, _ := open(t)
	link(t, "/etc", filepath.Join(ws, "l"))
	for p, want := range map[string]error{"missing": fs.ErrNotExist, "../x": fs.ErrPermission, "l/passwd": fs.ErrPermission} {
		if _, err := j.Open(p); !errors.Is(err, want) {
			t.Errorf("%s: %v is not %v", p, err, want)
		}
	}
}

// os.Root does not export its error; this holds our reading of it to the Go version that runs.
func TestEscapeIsStillRecognised(t *testing.T) {
	r, err := os.OpenRoot(t.TempDir())
	must(t, err)
	defer r.Close()
	_, err = r.Open("../x")
	if !escapes(err) {
		t.Errorf("os.Root now says %q", err)
	}
	if _, err = r.Open("x"); escapes(err) || escapes(nil) {
		t.Errorf("a missing file reads as an escape: %v", err)
	}
	must(t, r.WriteFile("file", nil, 0o644))
	if _, err = r.OpenRoot("file"); !isNotDir(err) && !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("os.Root now says of a file: %q", err)
	}
}

// CVE-2025-22873: "../" opened the parent. CVE-2026-39822: a link with a slash behind it was followed out.
func TestCVEs(t *testing.T) {
	j, ws, outside := open(t)
	link(t, outside, filepath.Join(ws, "abs"))
	link(t, "../outside", filepath.Join(ws, "rel"))
	link(t, "../outside/", filepath.Join(ws, "rel-slash"))
	for _, p := range []string{"../", "../.", "..//", "d/../../", "abs/", "rel/", "rel//", "rel/.", "rel-slash", "rel-slash/", "rel/./secret"} {
		if f, err := j.OpenDir(p); err == nil {
			t.Errorf("OpenDir(%q) opened %s", p, f.Name())
			_ = f.Close()
		}
		if _, err := j.ReadDir(p); err == nil {
			t.Errorf("ReadDir(%q) succeeded", p)
		}
		if got, err := read(j, p); err == nil {
			t.Errorf("Open(%q) read %q", p, got)
		}
		if _, err := j.Stat(p); err == nil {
			t.Errorf("Stat(%q) succeeded", p)
		}
		// The kernel would strip the slash; os.Root itself must not be left to.
		if f, err := j.root.Open(p); err == nil {
			t.Errorf("os.Root opened %q as %s", p, f.Name())
			_ = f.Close()
		}
	}
	unchanged(t, outside)
}

func unchanged(t *testing.T, outside string) {
	t.Helper()
	entries, err := os.ReadDir(outside)
	must(t, err)
	for _, e := range entries {
		if e.Name() != "secret" && e.Name() != "fifo" {
			t.Errorf("%s appeared outside", e.Name())
		}
	}
	if b, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(b) != secret {
		t.Errorf("the file outside is now %q, %v", b, err)
	}
}

func TestReadDirAndStat(t *testing.T) {
	j, ws, _ := open(t)
	link(t, "d", filepath.Join(ws, "dir"))
	entries, err := j.ReadDir("")
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"a.txt", "d", "dir"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if _, err := j.ReadDir("a.txt"); ReasonOf(err) != NotDir {
		t.Errorf("a file as a directory: %v", err)
	}
	fi, err := j.Stat("dir")
	if err != nil || !fi.IsDir() {
		t.Errorf("Stat follows links: %v, %v", fi, err)
	}
	fi, err = j.Lstat("dir")
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("Lstat does not: %v, %v", fi, err)
	}
}

func TestHash(t *testing.T) {
	j, ws, _ := open(t)
	data := bytes.Repeat([]byte("0123456789"), 100_000)
	must(t, os.WriteFile(filepath.Join(ws, "big"), data, 0o644))
	sum, size, err := j.Hash("big")
	if err != nil || size != int64(len(data)) || sum != sha256.Sum256(data) {
		t.Errorf("got %x, %d, %v", sum, size, err)
	}
	if _, _, err := j.Hash("d"); ReasonOf(err) != IsDir {
		t.Errorf("a directory: %v", err)
	}
}

func TestWalk(t *testing.T) {
	j, ws, _ := open(t)
	link(t, "d", filepath.Join(ws, "dir"))
	walk := func(limit int, fn func(string, fs.DirEntry) error) ([]string, error) {
		var got []string
		err := j.Walk(t.Context(), "", limit, func(rel string, d fs.DirEntry) error {
			got = append(got, rel)
			if fn != nil {
				return fn(rel, d)
			}
			return nil
		})
		return got, err
	}
	got, err := walk(100, nil)
	if d := cmp.Diff([]string{"a.txt", "d", "d/b.txt", "d/e", "dir"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	got, err = walk(2, nil)
	if ReasonOf(err) != TooMany || len(got) != 2 {
		t.Errorf("a limit of 2: %q, %v", got, err)
	}
	got, err = walk(100, func(rel string, d fs.DirEntry) error {
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if d := cmp.Diff([]string{"a.txt", "d", "dir"}, got); d != "" || err != nil {
		t.Errorf("%v\n%s", err, d)
	}
	if got, err = walk(100, func(string, fs.DirEntry) error { return fs.SkipAll }); len(got) != 1 || err != nil {
		t.Errorf("SkipAll: %q, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := j.Walk(ctx, "", 100, func(string, fs.DirEntry) error { return nil }); !errors.Is(err, stop) {
		t.Errorf("an ended context: %v", err)
	}
}

func TestFIFOsDoNotHang(t *testing.T) {
	j, ws, _ := open(t)
	must(t, syscall.Mkfifo(filepath.Join(ws, "fifo"), 0o644))
	done := make(chan error, 3)
	go func() { // ends with the calls, or the test fails and the process with it
		_, err := j.Open("fifo")
		done <- err
		_, _, err = j.Hash("fifo")
		done <- err
		done <- j.WriteFile("fifo", []byte("x"))
	}()
	for range 3 {
		select {
		case err := <-done:
			if ReasonOf(err) != NotRegular {
				t.Errorf("got %v, want %s", err, NotRegular)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("hangs on a FIFO")
		}
	}
}

func TestReadOnlyHasNoWay(t *testing.T) {
	_, ws, _ := open(t)
	r, err := OpenReadOnly(ws)
	must(t, err)
	defer r.Close()
	f, err := r.Open("a.txt")
	must(t, err)
	defer f.Close()
	if _, err := f.Write([]byte("x")); err == nil {
		t.Error("a file of a read-only jail could be written")
	}
	var v any = r
	if _, ok := v.(interface{ WriteFile(string, []byte) error }); ok {
		t.Error("a read-only jail has WriteFile")
	}
}

// The handle stays on the directory, not on its name.
func TestTheDirectoryIsHeldNotItsName(t *testing.T) {
	j, ws, outside := open(t)
	must(t, os.Rename(ws, ws+"-moved"))
	link(t, outside, ws)
	if got, err := read(j, "secret"); err == nil {
		t.Errorf("read %q through the name", got)
	}
	if got, err := read(j, "a.txt"); got != "a" {
		t.Errorf("the held directory: %q, %v", got, err)
	}
	must(t, j.WriteFile("new", []byte("n")))
	unchanged(t, outside)
}

func TestCheckWorkspace(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	user := filepath.Join(dir, "user")
	home := filepath.Join(user, ".mecha")
	must(t, os.MkdirAll(filepath.Join(home, "work"), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "elsewhere"), 0o755))
	link(t, home, filepath.Join(dir, "elsewhere", "to-home"))
	link(t, dir, filepath.Join(dir, "elsewhere", "to-all"))
	link(t, "nowhere", filepath.Join(dir, "elsewhere", "dangling"))
	t.Setenv("HOME", user)
	tests := []struct {
		ws string
		ok bool
	}{
		{home + "/work/slack/T1", true}, // not there yet
		{home + "/work", true},
		{user + "/project", true},
		{dir + "/elsewhere", true},
		{dir + "/user2", true}, // a longer name is not a parent
		{home, false},
		{home + "/", false},
		{home + "/work/..", false},
		{user, false},
		{dir, false},
		{"/", false},
		{"//", false},
		{dir + "/elsewhere/to-home", false},
		{dir + "/elsewhere/to-home/work", true},
		{dir + "/elsewhere/to-all", false},
		{dir + "/elsewhere/dangling/x", false},
	}
	for _, tt := range tests {
		if err := CheckWorkspace(tt.ws, home); (err == nil) != tt.ok {
			t.Errorf("CheckWorkspace(%s) = %v, want ok %v", tt.ws, err, tt.ok)
		}
	}
}

// Every line of the public traversal lists either stays inside or is refused.
func TestTraversalCorpus(t *testing.T) {
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED is not set, so there is no corpus to read")
	}
	f, err := os.Open(filepath.Join(shared, "corpora", "traversal.txt"))
	must(t, err)
	defer f.Close()
	j, ws, outside := open(t)
	must(t, os.MkdirAll(filepath.Join(ws, "etc"), 0o755))
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	lines := 0
	for sc.Scan() {
		lines++
		p := sc.Text()
		rel, err := j.Rel(p)
		if err == nil && strings.HasPrefix(rel, "/") {
			t.Errorf("Rel(%q) = %q", p, rel)
		}
		got, err := j.Open(p)
		if err != nil {
			if ReasonOf(err) == "" || ReasonOf(err) == Other {
				t.Errorf("Open(%q): no reason for %v", p, err)
			}
			continue
		}
		real, err := filepath.EvalSymlinks(fmt.Sprintf("/proc/self/fd/%d", got.Fd()))
		_ = got.Close()
		if err != nil || !strings.HasPrefix(real, ws+"/") {
			t.Errorf("Open(%q) opened %s, %v", p, real, err)
		}
	}
	must(t, sc.Err())
	if lines < 1000 {
		t.Errorf("only %d lines were read", lines)
	}
	unchanged(t, outside)
}

func FuzzRel(f *testing.F) {
	for _, s := range []string{"", ".", "..", "a/../b", "/etc/passwd", "a\x00", "//", "../ws/x", "../ws/..", "../ws/../ws/a", "...", "d/e/../../..", "out/x"} {
		f.Add(s)
	}
	dir, err := filepath.EvalSymlinks(f.TempDir())
	must(f, err)
	ws := filepath.Join(dir, "ws")
	must(f, os.MkdirAll(filepath.Join(ws, "d", "e"), 0o755))
	must(f, os.WriteFile(filepath.Join(ws, "a"), []byte("a"), 0o644))
	must(f, os.WriteFile(filepath.Join(dir, "secret"), []byte(secret), 0o644))
	link(f, "..", filepath.Join(ws, "out"))
	link(f, "d/e", filepath.Join(ws, "in"))
	j, err := Open(ws)
	must(f, err)
	f.Cleanup(func() { _ = j.Close() })
	f.Fuzz(func(t *testing.T, p string) {
		rel, err := j.Rel(p)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Errorf("Rel(%q): %v has no reason", p, err)
			}
			return
		}
		if rel == "" || filepath.IsAbs(rel) || rel == ".." || strings.HasPrefix(rel, "../") {
			t.Errorf("Rel(%q) = %q", p, rel)
		}
		if again, err := j.Rel(rel); err != nil || again != rel {
			t.Errorf("Rel(%q) = %q, but Rel of that is %q, %v", p, rel, again, err)
		}
		file, err := j.Open(p)
		if err != nil {
			return
		}
		defer file.Close()
		real, err := filepath.EvalSymlinks(fmt.Sprintf("/proc/self/fd/%d", file.Fd()))
		if err != nil || !strings.HasPrefix(real, ws+"/") {
			t.Errorf("Open(%q) opened %s, %v", p, real, err)
		}
	})
}
