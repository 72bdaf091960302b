package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestEditedAnswers: where no streams are wanted an answer is a message that is
// edited while it comes: its calls, its words, its footer, once.
func TestEditedAnswers(t *testing.T) {
	t.Parallel()
	p := start(t, "[slack]\nstreaming = \"update\"\n")
	a := p.dm("write one.txt with uno and then read one.txt")
	card := a.card("Approve")
	a.contains("◌ `fs_write") // while it waits
	a.press("alice", card, "Approve")
	if w := a.answered(1); !strings.Contains(w, "✓ `fs_write") || !strings.Contains(w, "✓ `fs_read") || !strings.Contains(w, "uno") || strings.Contains(w, "◌") {
		t.Errorf("the answer: %q", w)
	}
	p.settled()
	p.quiet()
	if list, err := a.ours(); err != nil || len(list) != 2 {
		t.Errorf("%d messages, want the card and the answer (%v)", len(list), err)
	}
}

// TestLostEdits: an edit whose answer is lost is made again, a message whose
// answer is lost is not.
func TestLostEdits(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"chat.postMessage", "chat.update"} {
		for _, mode := range []string{"lost_answer", "http500", "ratelimit"} {
			t.Run(method+" "+mode, func(t *testing.T) {
				t.Parallel()
				p := start(t, "[slack]\nstreaming = \"update\"\n")
				p.fault(map[string]any{"method": method, "mode": mode, "times": 2})
				a := p.dm("hello, what files are here?")
				a.answered(1)
				p.settled()
				p.quiet()
				if n := a.count("I am a rule-based stand-in"); n != 1 {
					t.Errorf("the answer stands %d times", n)
				}
			})
		}
	}
}

// TestEditedRollOver: a long answer goes on in the next message, whole and in order.
func TestEditedRollOver(t *testing.T) {
	t.Parallel()
	const tokens = 1500
	p := loaded(t, 0, metronome(nil), "[slack]\nstreaming = \"update\"\n")
	a := p.dm(fmt.Sprintf("stream %d tokens", tokens))
	eventually(t, time.Minute, "the end of the answer", func() error {
		list, err := a.ours()
		if err != nil {
			return err
		}
		for _, m := range list {
			if ended(m) {
				return nil
			}
		}
		return errNone
	})
	complete(t, a, tokens)
	if list, err := a.ours(); err != nil || len(list) < 3 {
		t.Errorf("%d messages (%v)", len(list), err)
	}
}

// TestEditedAnswerAfterACrash: what stood when the process died is told to be
// interrupted, and the whole answer follows.
func TestEditedAnswerAfterACrash(t *testing.T) {
	t.Parallel()
	const tokens = 1000
	p := loaded(t, 0, metronome(nil), "[slack]\nstreaming = \"update\"\n")
	a := p.dm(fmt.Sprintf("stream %d tokens", tokens))
	a.contains("w50 ")
	p.kill()
	p.begin()
	a.contains("interrupted; the answer follows")
	w := a.answered(1)
	all, err := a.all()
	p.must(err)
	if n := strings.Count(all, fmt.Sprintf("w%d ", tokens-1)) + strings.Count(all, fmt.Sprintf("w%d\n", tokens-1)); n != 1 {
		t.Errorf("its end stands %d times: %.200q", n, w)
	}
}
