package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mortal is a pair whose bot dies at points with names; alice owns it.
func mortal(t *testing.T, config string) *walk {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "mecha-slack")
	build := exec.Command("go", "build", "-tags", "killpoints", "-o", bin, "../../cmd/mecha-slack")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("cannot build the product with kill points: %v\n%s", err, out)
	}
	p := pair(t, bin, config)
	p.must(p.post("clock", map[string]any{"scale": 20}, nil))
	p.dm(p.link()).contains("You own this bot")
	p.points = t.TempDir()
	p.kill()
	p.begin()
	return &walk{town: newTown(p)}
}

// dies waits for the death that was armed, and starts the bot again.
func (w *walk) dies() {
	w.p.t.Helper()
	eventually(w.p.t, patience, "the death that was armed", func() error {
		if !w.died() {
			return errors.New("it lives")
		}
		return nil
	})
	w.p.begin()
}

// TestNoGestureIsLost: a press, a slash command and a command word that Slack
// heard acknowledged are done, though the bot dies in that very moment and
// nobody does them again; and once, though it dies just before it forgets them.
func TestNoGestureIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary of its own")
	}
	w := mortal(t, "")
	p := w.p
	const done = "commit threads.(*Threads).GestureDone: not yet"
	for i, point := range []string{"ack %s: sent", done} {
		name := func(kind string) string { return strings.ReplaceAll(point, "%s", kind) }
		t.Logf("killed at %q", point)
		file := fmt.Sprintf("pressed%d.txt", i)
		a := p.dm("write " + file + " with uno")
		card := a.card("Approve")
		p.quiet() // a card that is rendered again has new buttons
		w.arm(name("interactive"), 1)
		a.press("alice", card, "Approve")
		w.dies()
		a.answered(1)
		if n := len(p.work(file)); n != 1 {
			t.Errorf("after the press there are %d files %s", n, file)
		}

		title := fmt.Sprintf("what files are here, the %dth time?", i)
		w.arm(name("slash_commands"), 1)
		p.command("alice", "new "+title)
		w.dies()
		eventually(t, patience, "the session that /mecha new began", func() error {
			n := 0
			for _, th := range p.rows("threads") {
				if th["title"] == title {
					if th["state"] != "done" {
						return fmt.Errorf("it is %v", th["state"])
					}
					n++
				}
			}
			if n != 1 {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})

		b := p.dm("what files are here?")
		b.answered(1)
		p.quiet() // our own messages are events as well
		w.arm(name("events_api"), 1)
		b.say("triggers")
		w.dies()
		b.contains("• digest:")
		p.quiet()
		if n := b.count("• digest:"); n != 1 {
			t.Errorf("the word is answered %d times", n)
		}
	}
}

// TestUnkeptPress: a press that could not be kept is not acknowledged, so that
// Slack tells its presser that it did not work.
func TestUnkeptPress(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary of its own")
	}
	w := mortal(t, "")
	p := w.p
	a := p.dm("write one.txt with uno")
	card := a.card("Approve")
	p.quiet() // a card that is rendered again has new buttons
	b, ok := card.button("Approve")
	if !ok {
		t.Fatal("the card has no Approve")
	}
	w.arm("commit threads.(*Threads).KeepGesture: not yet", 1)
	var said struct{ Status string }
	p.must(p.post("click", map[string]any{"user": "alice", "channel": a.channel, "ts": card.TS, "action_id": b.action, "block_id": b.block}, &said))
	if said.Status != "operation_timeout" {
		t.Errorf("the press is %q", said.Status)
	}
	w.dies()
	a.decide("Approve")
	a.answered(1)
}
