package e2e

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var killEach = flag.Int("kill.each", 1, "at how many passings of each point TestKillPoints kills; nightly: 3")
var killAt = flag.String("kill.at", "", "TestKillPoints kills only at points whose names hold this")

// TestKillPoints kills the bot at every commit, call of Slack, ack and release
// on the way of a message, an approval, a release and a fire, and again at every
// point on the way back; its Slack goes on. After each death it is started again
// and everything has to come to its end; at last what was lost and what was done
// twice is counted. The points are not listed here: a life without a death tells
// which are passed. With the tag killpoints every one is killed at; without it
// every fourth, from one that is drawn.
func TestKillPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("kills for minutes")
	}
	bin := filepath.Join(t.TempDir(), "mecha-slack")
	build := exec.Command("go", "build", "-tags", "killpoints", "-o", bin, "../../cmd/mecha-slack")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the product with kill points: %v\n%s", err, out)
	}
	first := rand.IntN(killStride)
	const worlds = 4 // side by side: a life is mostly waiting
	for n := range worlds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			p := pair(t, bin, "[slack]\nmax_concurrent = 8\n")
			p.must(p.post("clock", map[string]any{"scale": 20}, nil)) // Slack lets twenty streams a minute begin
			p.dm(p.link()).contains("You own this bot")
			if out, err := p.run("trigger", "add", "look", "--schedule", "0 0 1 1 *", "--timezone", "Europe/Berlin", "--prompt", "what files are here?"); err != nil {
				t.Fatalf("trigger add: %v\n%s", err, out)
			}
			p.points = t.TempDir()
			p.kill()
			p.begin()
			w := &walk{town: newTown(p)}
			w.all(t, first*worlds+n, worlds*killStride)
			w.audit(t)
			w.auditFires(t)
		})
	}
}

// all walks a share of the points, one of so many, on the way and on the way back.
func (w *walk) all(t *testing.T, share, of int) {
	p := w.p
	// Once unharmed: what is passed on the way, and how often.
	w.mark()
	w.life("unharmed")
	w.rest()
	ways := w.passed()
	// And once back from a death: what is passed on the way back.
	w.arm("commit threads.(*journal).Result: done", 1)
	w.life("to learn the way back")
	if !w.died() {
		t.Fatalf("nobody died; the points are %q", names(ways))
	}
	w.mark()
	p.begin()
	w.rest()
	back := w.passed()
	w.disarm()
	t.Logf("%d points on the way, %d on the way back", len(ways), len(back))

	armed := 0
	for i, point := range names(ways) {
		if i%of != share {
			continue
		}
		for n := 1; n <= min(*killEach, ways[point]); n++ {
			w.arm(point, n)
			armed++
			w.life(fmt.Sprintf("killed at %q (%d)", point, n))
			w.rest()
		}
	}
	w.disarm()
	if len(w.missed) > max(armed/5, 3) { // a look at Slack's history is not on every way
		t.Errorf("%d of %d points were armed and not passed: %q", len(w.missed), armed, w.missed)
	}
	for i, point := range names(back) {
		if i%of != share {
			continue
		}
		first := slices.Sorted(maps.Keys(ways))[i%len(ways)]
		w.arm(first, 1)
		w.life(fmt.Sprintf("killed at %q and back at %q", first, point))
		if !w.died() {
			continue
		}
		w.arm(point, 1)
		p.tryBegin()
		w.rest()
	}
	w.disarm()
	t.Logf("killed %d times; armed and not passed: %q", w.kills, w.missed)
}

// walk is a town whose bot dies at points with names.
type walk struct {
	*town
	fresh  []*talk // of this life
	size   int64   // of the file of passings, at the last mark
	armed  string
	kills  int
	missed []string
}

func (w *walk) file(name string) string { return filepath.Join(w.p.points, name) }

// arm has the process die at the nth passing of a point from now on.
func (w *walk) arm(point string, n int) {
	w.p.t.Helper()
	w.disarm()
	w.armed = point
	tmp := w.file("arm.new")
	w.p.must(os.WriteFile(tmp, fmt.Appendf(nil, "%d %s", n, point), 0o600))
	w.p.must(os.Rename(tmp, w.file("arm")))
}

// disarm notes what became of the last point that was armed.
func (w *walk) disarm() {
	switch err := os.Remove(w.file("arm")); {
	case w.armed == "":
	case err == nil:
		w.missed = append(w.missed, w.armed)
	default:
		w.kills++
	}
	w.armed = ""
}

// mark forgets what was passed until now.
func (w *walk) mark() {
	if i, err := os.Stat(w.file("passed")); err == nil {
		w.size = i.Size()
	}
}

// passed are the points since the mark, with how often each was passed.
func (w *walk) passed() map[string]int {
	b, err := os.ReadFile(w.file("passed"))
	w.p.must(err)
	list := map[string]int{}
	for line := range strings.Lines(string(b[w.size:])) {
		list[strings.TrimSuffix(line, "\n")]++
	}
	return list
}

func names(points map[string]int) []string {
	list := make([]string, 0, len(points))
	for name := range points {
		if strings.Contains(name, *killAt) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// life has people do one of everything until all is done, or the bot is dead.
func (w *walk) life(when string) {
	w.p.t.Helper()
	w.fresh = nil
	for _, kind := range []string{"list", "write", "mail"} {
		if k := w.begin(kind, when); k != nil {
			w.fresh = append(w.fresh, k)
		}
	}
	fire := exec.Command(binary, "trigger", "run", "look", "--home", w.p.home)
	fire.Env = w.p.environ()
	w.p.must(fire.Start())
	fired := make(chan struct{})
	go func() { fire.Wait(); close(fired) }() // ends with the process
	defer func() { fire.Process.Kill(); <-fired }()
	eventually(w.p.t, 2*time.Minute, "an end or a death", func() error {
		if w.died() {
			return nil
		}
		for _, k := range w.fresh {
			if err := w.open(k); err != nil {
				return err
			}
		}
		select {
		case <-fired:
			return nil
		default:
			return errors.New("the fire goes on")
		}
	})
}

// rest waits until what this life has begun is done.
func (w *walk) rest() {
	w.p.t.Helper()
	w.settle()
}

// auditFires counts what became of the fires: each has ended, and answered at
// most once.
func (w *walk) auditFires(t *testing.T) {
	t.Helper()
	at := map[any]map[string]any{}
	for _, th := range w.p.rows("threads") {
		at[th["key"]] = th
	}
	ok, failed := 0, 0
	for _, f := range w.p.rows("trigger", "runs", "look", "--limit", "100000") {
		switch f["status"] {
		case "ok":
			ok++
		case "error":
			failed++
		default:
			t.Errorf("a fire is %v (%v)", f["status"], f["reason"])
		}
		th, known := at[f["thread"]]
		if !known {
			continue
		}
		list, err := thread{p: w.p, channel: fmt.Sprint(th["channel"]), ts: fmt.Sprint(th["thread_ts"])}.ours()
		w.p.must(err)
		ends := 0
		for _, m := range list {
			if ended(m) {
				ends++
			}
		}
		if ends > 1 || ends == 0 && f["status"] == "ok" {
			t.Errorf("a fire that is %v (%v) has %d answers", f["status"], f["reason"], ends)
		}
	}
	t.Logf("%d fires came to an answer, %d say that they did not", ok, failed)
	if ok == 0 {
		t.Error("no fire came to an answer")
	}
}
