package jail

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestWriteFile(t *testing.T) {
	j, ws, outside := open(t)
	at := func(name string) string { return filepath.Join(ws, name) }
	link(t, "d/b.txt", at("in"))
	link(t, "in", at("in-in"))
	link(t, "d", at("dir"))
	link(t, "nowhere", at("dangling"))
	link(t, "../outside/new", at("dangling-out"))
	link(t, "../outside/secret", at("out"))
	link(t, "../outside", at("outdir"))
	link(t, at("a.txt"), at("abs-in"))
	link(t, "loop", at("loop"))
	must(t, os.Link(filepath.Join(outside, "secret"), at("hard")))
	must(t, os.WriteFile(at("script"), []byte("#!"), 0o755))

	tests := []struct {
		path  string
		lands string // where the bytes are, inside; empty: refused
		why   Reason
	}{
		{"new.txt", "new.txt", ""},
		{"x/y/z.txt", "x/y/z.txt", ""},
		{"d/../up.txt", "up.txt", ""},
		{"a.txt", "a.txt", ""},
		{ws + "/abs.txt", "abs.txt", ""},
		{"../ws/back.txt", "back.txt", ""},
		{"in", "d/b.txt", ""}, // the file that the link stands for
		{"in-in", "d/b.txt", ""},
		{"dir/c.txt", "d/c.txt", ""},
		{"dir/n/c.txt", "d/n/c.txt", ""},
		{"script", "script", ""},
		{"dangling", "", Dangling},
		{"dangling-out", "", Outside},
		{"out", "", Outside},
		{"outdir/new", "", Outside},
		{"outdir/n/new", "", Outside},
		{"../outside/new", "", Outside},
		{"/etc/mecha-test", "", Outside},
		{"abs-in", "", AbsoluteLink},
		{"loop", "", LinkLoop},
		{"hard", "", HardLink},
		{"d", "", IsDir},
		{"", "", IsDir},
		{"d/..", "", IsDir},
		{"a.txt/x", "", NotDir},
		{"a\x00b", "", NulByte},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.path, "/", "|"), func(t *testing.T) {
			data := "written to " + tt.path
			err := j.WriteFile(tt.path, []byte(data))
			if ReasonOf(err) != tt.why || err != nil && tt.why == "" {
				t.Fatalf("got %v, want %q", err, tt.why)
			}
			if tt.lands == "" {
				return
			}
			if got, err := os.ReadFile(at(tt.lands)); err != nil || string(got) != data {
				t.Errorf("%s holds %q, %v", tt.lands, got, err)
			}
		})
	}
	unchanged(t, outside)
	if fi, err := os.Stat(at("script")); err != nil || fi.Mode().Perm() != 0o755 {
		t.Errorf("an overwritten script has mode %v, %v; want its own, 0755", fi.Mode(), err)
	}
	if fi, err := os.Lstat(at("in")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("writing through a link replaced the link: %v, %v", fi, err)
	}
	left, _ := filepath.Glob(at(".mecha-*"))
	deep, _ := filepath.Glob(at("*/.mecha-*"))
	if len(left)+len(deep) > 0 {
		t.Errorf("temporary files are left: %q %q", left, deep)
	}
}

func TestCreate(t *testing.T) {
	j, ws, outside := open(t)
	link(t, "../outside/new", filepath.Join(ws, "out"))
	link(t, "nowhere", filepath.Join(ws, "dangling"))
	f, err := j.Create("p/q/r", 0o600)
	must(t, err)
	_, err = f.WriteString("r")
	must(t, err)
	must(t, f.Close())
	if fi, err := os.Stat(filepath.Join(ws, "p/q/r")); err != nil || fi.Mode().Perm() != 0o600 || fi.Size() != 1 {
		t.Errorf("%v, %v", fi, err)
	}
	for p, why := range map[string]Reason{"p/q/r": Exists, "out": Exists, "dangling": Exists, "../x": Outside, "a.txt/x": NotDir} {
		if f, err := j.Create(p, 0o600); ReasonOf(err) != why {
			t.Errorf("Create(%s): %v, %v; want %s", p, f, err, why)
		}
	}
	unchanged(t, outside)
}

func TestMkdirAllAndRemove(t *testing.T) {
	j, ws, outside := open(t)
	link(t, "../outside/secret", filepath.Join(ws, "out"))
	link(t, "../outside", filepath.Join(ws, "outdir"))
	link(t, "d", filepath.Join(ws, "dir"))
	for p, why := range map[string]Reason{"m/n": "", "d": "", "dir": "", ".": "", "a.txt": Exists, "outdir/n": Outside, "../n": Outside} {
		if err := j.MkdirAll(p); ReasonOf(err) != why || why == "" && err != nil {
			t.Errorf("MkdirAll(%s): %v, want %q", p, err, why)
		}
	}
	for p, why := range map[string]Reason{"out": "", "m/n": "", "m": NotEmpty, "d": NotEmpty, "missing": Missing, "outdir/secret": Outside} {
		if p == "m" {
			must(t, j.WriteFile("m/keep", nil))
		}
		if err := j.Remove(p); ReasonOf(err) != why || why == "" && err != nil {
			t.Errorf("Remove(%s): %v, want %q", p, err, why)
		}
	}
	unchanged(t, outside)
}

// A full disk is one clear error, and the old file is whole.
func TestDiskFull(t *testing.T) {
	j, ws, _ := open(t)
	for _, sys := range []error{syscall.ENOSPC, syscall.EDQUOT} {
		err := j.explain("write", "a.txt", "a.txt", &os.PathError{Op: "write", Path: "a.txt", Err: sys})
		if ReasonOf(err) != DiskFull || !strings.Contains(err.Error(), "no space is left") || !errors.Is(err, sys) {
			t.Errorf("%v reads as %v", sys, err)
		}
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer f.Close()
	_, werr := f.Write([]byte("x"))
	if got := j.explain("write", "a.txt", "a.txt", werr); ReasonOf(got) != DiskFull {
		t.Errorf("the kernel's own error reads as %v", got)
	}
	if b, err := os.ReadFile(filepath.Join(ws, "a.txt")); string(b) != "a" {
		t.Errorf("the file is now %q, %v", b, err)
	}
}

// The same on a disk that is really full: a file system of 64 KB, in which this test runs itself.
func TestFullDiskKeepsTheOldFile(t *testing.T) {
	const mount = "/mnt"
	if os.Getenv("JAIL_TEST_FULL_DISK") != "" {
		j, err := Open(mount)
		must(t, err)
		must(t, j.WriteFile("old", []byte("old")))
		for _, p := range []string{"old", "new"} {
			if err := j.WriteFile(p, make([]byte, 1<<20)); ReasonOf(err) != DiskFull {
				t.Errorf("%s: %v, want %s", p, err, DiskFull)
			}
		}
		if got, err := read(j, "old"); got != "old" {
			t.Errorf("the old file is now %q, %v", got, err)
		}
		if entries, err := j.ReadDir(""); err != nil || len(entries) != 1 {
			t.Errorf("left behind: %v, %v", entries, err)
		}
		return
	}
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bwrap is not installed, so there is no small file system to fill")
	}
	args := []string{"--dev-bind", "/", "/", "--size", "65536", "--tmpfs", mount, "--setenv", "JAIL_TEST_FULL_DISK", "1", "--"}
	if out, err := exec.Command(bwrap, append(args, "true")...).CombinedOutput(); err != nil {
		t.Skipf("bwrap cannot make one here: %s", out)
	}
	if out, err := exec.Command(bwrap, append(args, os.Args[0], "-test.run=^TestFullDiskKeepsTheOldFile$")...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// While someone swaps a directory for a link to outside, every write lands inside or is refused.
func TestSwappedDirectoryNeverLeadsOut(t *testing.T) {
	j, ws, outside := open(t)
	swaps := 100_000
	if testing.Short() {
		swaps = 2_000
	}
	seen, lnk := filepath.Join(ws, "swap"), filepath.Join(ws, "link")
	must(t, os.Mkdir(seen, 0o755))
	link(t, "../outside", lnk)
	must(t, os.WriteFile(filepath.Join(outside, "f"), []byte(secret), 0o644))

	enough := make(chan struct{}) // closed when some writes have run beside the swaps
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() { // ends after its swaps and the reader's writes
		defer close(stop)
		waiting := enough
		for i := 0; i < swaps || waiting != nil; i++ {
			if err := unix.Renameat2(unix.AT_FDCWD, seen, unix.AT_FDCWD, lnk, unix.RENAME_EXCHANGE); err != nil {
				t.Error(err)
				return
			}
			select {
			case <-waiting:
				waiting = nil
			default:
			}
		}
	})
	var writes, landed, refused int
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		if writes++; writes == 50 {
			close(enough)
		}
		if err := j.WriteFile("swap/f", []byte("attack")); err == nil {
			landed++
		} else {
			refused++
		}
		if got, err := read(j, "swap/f"); err == nil && got == secret {
			t.Error("a read led out")
		}
	}
	swapper.Wait()
	if b, err := os.ReadFile(filepath.Join(outside, "f")); err != nil || string(b) != secret {
		t.Errorf("after %d writes the file outside is %q, %v", writes, b, err)
	}
	entries, err := os.ReadDir(outside)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".mecha-") {
			t.Errorf("a temporary file appeared outside: %s", e.Name())
		}
	}
	t.Logf("%d swaps, %d writes: %d landed, %d refused", swaps, writes, landed, refused)
	if refused == 0 || landed == 0 {
		t.Errorf("%d writes landed and %d were refused, so the race did not happen", landed, refused)
	}
}

// A reader sees the old bytes or the new ones, never a part.
func TestWritesAreWhole(t *testing.T) {
	j, _, _ := open(t)
	one, two := strings.Repeat("1", 1<<16), strings.Repeat("2", 1<<16)
	must(t, j.WriteFile("f", []byte(one)))
	var writer sync.WaitGroup
	writer.Go(func() { // ends after its writes
		for i := range 50 {
			text := one
			if i%2 == 0 {
				text = two
			}
			if err := j.WriteFile("f", []byte(text)); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		got, err := read(j, "f")
		if err != nil || got != one && got != two {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
	}
	writer.Wait()
}
