package jail

import (
	"os"
	"path/filepath"
	"testing"
)

// A narrower jail has no way to what lies beside it, by path, link or name.
func TestSub(t *testing.T) {
	j, ws, outside := open(t)
	link(t, filepath.Join(outside, "secret"), filepath.Join(ws, "d", "out"))
	link(t, "../a.txt", filepath.Join(ws, "d", "up"))
	link(t, "b.txt", filepath.Join(ws, "d", "within"))
	sub, err := j.Sub("d")
	must(t, err)
	defer func() { _ = sub.Close() }()
	if sub.Path() != filepath.Join(ws, "d") {
		t.Errorf("it is called %s", sub.Path())
	}
	for _, ok := range []string{"b.txt", "./e/../b.txt", "within", filepath.Join(ws, "d", "b.txt")} {
		if f, err := sub.Open(ok); err != nil {
			t.Errorf("%s: %v", ok, err)
		} else {
			_ = f.Close()
		}
	}
	for _, no := range []string{"../a.txt", "up", "out", filepath.Join(ws, "a.txt"), "/etc/passwd"} {
		if f, err := sub.Open(no); err == nil {
			_ = f.Close()
			t.Errorf("%s was opened", no)
		}
	}
}

// A directory that is missing is made; one that is a file or leads outside is
// refused.
func TestSubOfWhat(t *testing.T) {
	j, ws, outside := open(t)
	link(t, outside, filepath.Join(ws, "away"))
	sub, err := j.Sub("new/deep")
	must(t, err)
	must(t, sub.Close())
	if st, err := os.Stat(filepath.Join(ws, "new", "deep")); err != nil || !st.IsDir() {
		t.Error(st, err)
	}
	for _, no := range []string{"a.txt", "away", "away/x", "..", outside} {
		if sub, err := j.Sub(no); err == nil {
			_ = sub.Close()
			t.Errorf("%s became a jail", no)
		}
	}
}
