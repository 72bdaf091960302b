package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// fault makes the workspace misbehave.
func (p *product) fault(body map[string]any) {
	p.t.Helper()
	p.must(p.post("fault", body, nil))
}

// once tells how often words stand in what the bot has said in the thread.
func (t thread) count(words string) int {
	t.p.t.Helper()
	all, err := t.all()
	t.p.must(err)
	return strings.Count(all, words)
}

// TestLostAnswers: whatever a call's fate, nothing is lost and nothing is said
// twice.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lost_answer", "http500"} {
		for _, method := range []string{"chat.postMessage", "chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"} {
			t.Run(mode+" "+method, func(t *testing.T) {
				t.Parallel()
				p := start(t, "")
				p.fault(map[string]any{"method": method, "mode": mode, "times": 2})
				a := p.dm("write one.txt with uno and then read one.txt")
				a.decide("Approve")
				a.answered(1)
				a.say("draft a mail to dean@example.edu about the budget")
				a.decideOn("dean@example.edu", "Approve")
				a.answered(2)
				eventually(t, patience, "the mail", func() error {
					if len(p.sent()) != 1 {
						return errNone
					}
					return nil
				})
				p.settled()
				p.quiet()
				if n := a.count("I drafted a mail"); n != 1 {
					t.Errorf("the answer stands %d times", n)
				}
				list, err := a.ours()
				p.must(err)
				cards := 0
				for _, m := range list {
					if strings.Contains(m.words(), "fs_write") && m.Stream == nil {
						cards++
					}
					if m.Stream != nil && m.Stream.State == "streaming" {
						t.Errorf("a stream is left open: %q", m.words())
					}
				}
				if cards != 1 {
					t.Errorf("%d cards for one call", cards)
				}
			})
		}
	}
}

// quiet waits until every call of ours that the workspace has seen is old: no
// post is under way any more.
func (p *product) quiet() {
	p.t.Helper()
	n, since := -1, time.Now()
	eventually(p.t, patience, "silence", func() error {
		var a struct{ Entries []struct{ Kind string } }
		if err := p.get("log?since=0", &a); err != nil {
			return err
		}
		calls := 0
		for _, e := range a.Entries {
			if e.Kind == "call" {
				calls++
			}
		}
		if calls != n {
			n, since = calls, time.Now()
		}
		if time.Since(since) < time.Second {
			return fmt.Errorf("%d calls, and counting", calls)
		}
		return nil
	})
}

// TestRateLimits: a storm of refusals delays, and loses nothing.
func TestRateLimits(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	for _, method := range []string{"chat.postMessage", "chat.startStream", "chat.appendStream", "chat.stopStream", "chat.update"} {
		p.fault(map[string]any{"method": method, "mode": "ratelimit", "times": 3, "retry_after": 1})
	}
	a := p.dm("write one.txt with uno and then read one.txt")
	a.decide("Approve")
	a.answered(1)
	p.settled()
	p.quiet()
	if n := a.count("uno"); n < 2 {
		t.Errorf("the answer is incomplete: %d", n)
	}
}

// TestClosedStreams: Slack closes streams early; the rest goes on elsewhere.
func TestClosedStreams(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("write one.txt with uno and then read one.txt")
	card := a.card("Approve")
	p.fault(map[string]any{"stream": "close"})
	a.press("alice", card, "Approve")
	a.contains("uno")
	p.settled()
	p.quiet()
	all, err := a.all()
	p.must(err)
	if n := strings.Count(all, "I am a rule-based stand-in"); n != 1 {
		t.Errorf("the answer's end stands %d times: %s", n, all)
	}
}

// TestNoStreams: a Slack that knows no streams gets messages.
func TestNoStreams(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	p.fault(map[string]any{"method": "chat.startStream", "mode": "error", "error": "unknown_method", "times": -1})
	a := p.dm("hello, what files are here?")
	if w := a.answered(1); !strings.Contains(w, "rule-based") {
		t.Errorf("the answer is %q", w)
	}
	b := p.dm("what files are here?")
	b.answered(1)
}

// TestNoStreamBudget: where no stream can begin soon, the answer comes as a
// message, and soon.
func TestNoStreamBudget(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	p.fault(map[string]any{"method": "chat.startStream", "mode": "ratelimit", "times": -1, "retry_after": 60})
	began := time.Now()
	p.dm("hello, what files are here?").answered(1)
	p.dm("hello, what files are here?").answered(1)
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("the answers took %v", d)
	}
}

// TestWritingFast: whoever writes a dozen messages in one go is not answered late
// because Slack lets few streams begin a minute, or takes one post a second.
func TestWritingFast(t *testing.T) {
	t.Parallel()
	p := start(t, "[slack]\nmax_concurrent = 8\n")
	var list []thread
	for range 12 {
		list = append(list, p.dm("what files are here?"))
	}
	said := time.Now()
	for _, a := range list {
		w := a.answered(1)
		if strings.Contains(w, "`fs_list") && !strings.Contains(w, "✓") {
			t.Errorf("an answer without a stream does not say how its call went: %q", w)
		}
	}
	if d := time.Since(said); d > 8*time.Second {
		t.Errorf("the last answer came %v after the last message", d)
	}
}

// TestRedelivery: an event that Slack sends again starts nothing again.
func TestRedelivery(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("hello, what files are here?")
	a.answered(1)
	var log struct {
		Entries []struct {
			Kind  string
			Event string `json:"event_id"`
		}
	}
	p.must(p.get("log?since=0", &log))
	sent := 0
	for _, e := range log.Entries {
		if e.Kind == "envelope" && e.Event != "" {
			if p.post("fault", map[string]any{"redeliver": e.Event}, nil) == nil {
				sent++
			}
		}
	}
	if sent == 0 {
		t.Fatal("nothing was redelivered")
	}
	p.quiet()
	list, err := a.ours()
	p.must(err)
	if len(list) != 1 {
		t.Errorf("%d messages after a redelivery, want 1", len(list))
	}
}

// TestFlappingSockets: sockets come and go; every message is answered once.
func TestFlappingSockets(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	var list []thread
	kinds := []string{"disconnect", "drop", "warning", "disconnect", "drop", "disconnect"}
	for _, kind := range kinds {
		list = append(list, p.dm("what files are here?"))
		p.fault(map[string]any{"socket": kind})
		list = append(list, p.dm("what files are here?"))
	}
	eventually(t, 2*time.Minute, "an answer to each", func() error {
		for i, a := range list {
			ours, err := a.ours()
			if err != nil {
				return err
			}
			n := 0
			for _, m := range ours {
				if ended(m) {
					n++
				}
			}
			if n > 1 {
				all, _ := a.all()
				t.Fatalf("message %d has %d answers: %s", i, n, all)
			}
			if n == 0 {
				return fmt.Errorf("message %d has no answer", i)
			}
		}
		return nil
	})
}
