package e2e

import (
	"fmt"
	"strings"
	"testing"
)

func TestApproval(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("write one.txt with uno")
	card := a.card("Reject…")
	a.press("alice", card, "Reject…")
	v := p.modal("alice")
	p.submit("alice", v, map[string]string{"": "the disk is nearly full"})
	// The reason reaches the model.
	if w := a.answered(1); !strings.Contains(w, "nearly full") {
		t.Errorf("the model does not know why: %q", w)
	}
	a.contains("the disk is nearly full")
	b, _ := card.button("Approve")
	_ = a.click("alice", card, b)
	if files := p.work("one.txt"); len(files) != 0 {
		t.Errorf("a rejected call wrote %v", files)
	}

	// Allowed for this run: the second call of the run asks nobody.
	c := p.dm("write two.txt with dos and then write three.txt with tres")
	c.decide("Allow for this run")
	c.answered(1)
	for _, name := range []string{"two.txt", "three.txt"} {
		if files := p.work(name); len(files) != 1 {
			t.Errorf("%s is at %v", name, files)
		}
	}
	// The next run asks again.
	c.say("write four.txt with cuatro")
	c.decide("Approve")
	c.answered(2)
}

func TestUnanswered(t *testing.T) {
	t.Parallel()
	p := start(t, "[slack]\napproval_timeout_secs = 1\n")
	a := p.dm("write one.txt with uno")
	a.card("Approve")
	a.answered(1)
	if files := p.work("one.txt"); len(files) != 0 {
		t.Errorf("an unanswered call wrote %v", files)
	}
	// A late press runs nothing; Ask again brings a new card with the same bytes.
	a.contains("No answer")
	a.decide("Ask again")
	a.answered(2)
}

func TestStop(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("write one.txt with uno")
	card := a.card("Approve")
	a.say("stop")
	a.wait("the end of the run", func(list []message) bool {
		for _, m := range list {
			if strings.Contains(m.words(), "stopped") {
				return true
			}
		}
		return false
	})
	a.wait("the card to lose its buttons", func(list []message) bool {
		for _, m := range list {
			if m.TS == card.TS {
				_, still := m.button("Approve")
				return !still
			}
		}
		return false
	})
	if files := p.work("one.txt"); len(files) != 0 {
		t.Errorf("a stopped call wrote %v", files)
	}
	a.say("what files are here?")
	a.wait("an answer after the stop", func(list []message) bool {
		return ended(list[len(list)-1]) && strings.Contains(list[len(list)-1].words(), "empty")
	})
}

func TestPauseResume(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	d := p.dm("draft a mail to dean@example.edu about the budget")
	d.answered(1)
	w := p.dm("pause")
	w.contains("Paused")
	a := p.dm("what files are here?")
	a.contains("paused")
	d.decide("Approve")
	d.wait("the card to say why it waits", func(list []message) bool {
		for _, m := range list {
			if strings.Contains(strings.ToLower(m.words()), "approved") {
				return true
			}
		}
		return false
	})
	if len(p.sent()) != 0 {
		t.Fatal("a draft was released while everything was paused")
	}
	r := p.dm("resume")
	r.contains("Going on")
	a.answered(1)
	eventually(t, patience, "the mail after resume", func() error {
		if len(p.sent()) != 1 {
			return errNone
		}
		return nil
	})
}

// TestSteering: a message during a run joins it, and is answered once.
func TestSteering(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("write one.txt with uno")
	card := a.card("Approve")
	a.say("what files are here?")
	a.press("alice", card, "Approve")
	a.wait("both to be answered", func(list []message) bool {
		all := ""
		for _, m := range list {
			all += m.words()
		}
		return strings.Count(all, "one.txt") >= 2 && ended(list[len(list)-1])
	})
	p.settled()
	for _, th := range p.rows("threads") {
		if th["state"] != "done" && th["state"] != "idle" {
			t.Errorf("a thread is left %v", th)
		}
	}
}

// TestQueue: more runs than may run at once wait, say so, and all come through.
func TestQueue(t *testing.T) {
	t.Parallel()
	p := start(t, "[slack]\nmax_concurrent = 1\n")
	var list []thread
	for i := range 5 {
		list = append(list, p.dm(fmt.Sprintf("write file%d.txt with %d", i, i)))
	}
	// A run that waits for a person gives its place back.
	for _, a := range list {
		a.card("Approve")
	}
	for _, a := range list {
		a.decide("Approve")
	}
	for _, a := range list {
		a.answered(1)
	}
}

// TestRestart: threads, cards and modes go on after a kill and a start.
func TestRestart(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("write one.txt with uno")
	card := a.card("Approve")
	b := p.dm("draft a mail to dean@example.edu about the budget")
	b.answered(1)
	p.kill()
	p.begin()
	a.wait("the card to be rendered again", func(list []message) bool {
		for _, m := range list {
			if m.TS == card.TS {
				_, ok := m.button("Approve")
				return ok
			}
		}
		return false
	})
	a.decide("Approve")
	a.answered(1)
	if files := p.work("one.txt"); len(files) != 1 {
		t.Errorf("a call that was approved after a restart wrote %v", files)
	}
	a.say("what files are here?")
	if w := a.answered(2); !strings.Contains(w, "one.txt") {
		t.Errorf("the thread has lost its file: %q", w)
	}
	b.decide("Approve")
	eventually(t, patience, "the mail", func() error {
		if len(p.sent()) != 1 {
			return errNone
		}
		return nil
	})
	p.stop()
	p.begin()
	a.say("read one.txt")
	if w := a.answered(3); !strings.Contains(w, "uno") {
		t.Errorf("the answer is %q", w)
	}
}
