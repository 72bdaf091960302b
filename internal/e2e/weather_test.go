package e2e

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestLostUploads: a file that is shown stands in the thread once, whichever
// step of its upload Slack does not answer.
func TestLostUploads(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lost_answer", "http500"} {
		for _, method := range []string{"files.getUploadURLExternal", "upload", "files.completeUploadExternal"} {
			t.Run(mode+" "+method, func(t *testing.T) {
				t.Parallel()
				p := start(t, "")
				a := p.dm("write one.txt with uno")
				a.decide("Approve")
				a.answered(1)
				p.fault(map[string]any{"method": method, "mode": mode, "times": 1})
				a.say("show one.txt")
				a.answered(2)
				p.quiet()
				files := a.files()
				if method == "files.completeUploadExternal" && files != 1 || files > 1 {
					t.Errorf("the file stands %d times", files)
				}
				if files == 0 { // nothing had been shown: it says so, and may be asked again
					a.contains("Slack did not take the file")
					a.say("show one.txt")
					a.answered(3)
					if files := a.files(); files != 1 {
						t.Errorf("asked again, the file stands %d times", files)
					}
				}
			})
		}
	}
}

// files counts the files that the bot has put into a thread.
func (t thread) files() (n int) {
	t.p.t.Helper()
	list, err := t.ours()
	t.p.must(err)
	for _, m := range list {
		n += len(m.Files)
	}
	return n
}

// TestRefusedUpdates: a card whose update Slack refuses for its blocks, and a
// window that it says has changed, are shown all the same.
func TestRefusedUpdates(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	a.answered(1)
	card := a.card("Edit")
	p.fault(map[string]any{"method": "views.update", "mode": "error", "error": "hash_conflict"})
	a.press("alice", card, "Edit")
	p.fault(map[string]any{"method": "chat.update", "mode": "error", "error": "block_mismatch"})
	p.submit("alice", p.modal("alice"), map[string]string{"subject": "The budget, again"})
	a.contains("The budget, again")
	a.press("alice", card, "Approve")
	a.contains("Sent")
	if n := len(p.sent()); n != 1 {
		t.Errorf("%d mails went out", n)
	}
}

// TestExpiredTrigger: a window that Slack does not let us open any more is told
// of, and the press may be made again.
func TestExpiredTrigger(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	a.answered(1)
	card := a.card("Edit")
	p.fault(map[string]any{"method": "views.open", "mode": "error", "error": "expired_trigger_id"})
	a.press("alice", card, "Edit")
	p.hears("alice", a, "did not let me open the window")
	a.press("alice", card, "Edit")
	p.submit("alice", p.modal("alice"), map[string]string{"subject": "The budget, again"})
	a.contains("The budget, again")
}

// TestHangingCalls: a Slack that answers nothing for half a minute delays what
// it was asked, and loses and repeats nothing.
func TestHangingCalls(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for half a minute")
	}
	t.Parallel()
	for _, method := range []string{"chat.postMessage", "chat.startStream", "chat.stopStream", "chat.update"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			p := start(t, "")
			p.fault(map[string]any{"method": method, "mode": "timeout", "times": 1})
			a := p.dm("write one.txt with uno")
			var card message
			eventually(t, 90*time.Second, "the card", func() error {
				list, err := a.ours()
				if err != nil {
					return err
				}
				for _, m := range list {
					if _, ok := m.button("Approve"); ok {
						card = m
						return nil
					}
				}
				return errors.New("no card yet")
			})
			a.press("alice", card, "Approve")
			ends := func() (n int) {
				list, err := a.ours()
				p.must(err)
				for _, m := range list {
					if ended(m) {
						n++
					}
				}
				return n
			}
			eventually(t, 90*time.Second, "the answer", func() error {
				if ends() == 0 {
					return errors.New("it has not ended")
				}
				return nil
			})
			p.settled()
			p.quiet()
			if n := ends(); n != 1 {
				t.Errorf("%d answers", n)
			}
		})
	}
}

// TestHalfOpen: sockets that look open and carry nothing are noticed, and what
// was said meanwhile is answered once: Slack tells it again, up to six minutes
// later, and the history holds it too.
func TestHalfOpen(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until a socket is missed")
	}
	t.Parallel()
	p := start(t, "")
	p.dm("what files are here?").answered(1)
	p.must(p.post("clock", map[string]any{"scale": 6}, nil)) // the last redelivery comes after a minute
	p.fault(map[string]any{"socket": "half_open"})
	a := p.dm("what files are here, once more?")
	eventually(t, 2*time.Minute, "an answer", func() error {
		list, err := a.ours()
		if err != nil {
			return err
		}
		for _, m := range list {
			if ended(m) {
				return nil
			}
		}
		return errors.New("none yet")
	})
	// Every redelivery has come when Slack's six minutes are over.
	last := time.NewTimer(time.Minute + 10*time.Second)
	defer last.Stop()
	<-last.C
	list, err := a.ours()
	p.must(err)
	if len(list) != 1 {
		t.Errorf("%d messages answer one", len(list))
	}
}

// TestFlappingUnderLoad: every two seconds the sockets go, while people write;
// each message is answered once.
func TestFlappingUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("goes on for half a minute")
	}
	t.Parallel()
	p := start(t, "[slack]\nmax_concurrent = 8\n")
	p.must(p.post("clock", map[string]any{"scale": 20}, nil)) // Slack lets twenty streams a minute begin
	var wg sync.WaitGroup
	quit := make(chan struct{})
	wg.Go(func() {
		tick := time.NewTicker(2 * time.Second) // what is tested
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-tick.C:
				if err := p.post("fault", map[string]any{"socket": []string{"disconnect", "drop"}[i%2]}, nil); err != nil {
					t.Error(err)
				}
			}
		}
	})
	var list []thread
	pace := time.NewTicker(500 * time.Millisecond) // how people write
	for range 40 {
		list = append(list, p.dm("what files are here?"))
		<-pace.C
	}
	pace.Stop()
	close(quit)
	wg.Wait()
	eventually(t, 4*time.Minute, "an answer to each", func() error {
		open := 0
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
				open++
			}
		}
		if open > 0 {
			return fmt.Errorf("%d of %d messages have no answer", open, len(list))
		}
		return nil
	})
}

// TestRollOver: an answer longer than Slack lets one stream be goes on in the
// next message, whole and in order.
func TestRollOver(t *testing.T) {
	if testing.Short() {
		t.Skip("streams for a quarter of a minute")
	}
	t.Parallel()
	const tokens = 3000
	p := loaded(t, 0, metronome(nil), "")
	a := p.dm(fmt.Sprintf("stream %d tokens", tokens))
	eventually(t, 2*time.Minute, "the end of the answer", func() error {
		list, err := a.ours()
		if err != nil {
			return err
		}
		for _, m := range list {
			if ended(m) {
				return nil
			}
		}
		return errors.New("it goes on")
	})
	complete(t, a, tokens)
	list, err := a.ours()
	p.must(err)
	if len(list) < 2 {
		t.Errorf("the answer stands in %d messages", len(list))
	}
	for i, m := range list {
		if m.Stream == nil || m.Stream.State == "streaming" {
			t.Errorf("message %d is no stream that has ended: %.100q", i, strings.TrimSpace(m.words()))
		}
	}
}

// A stream that Slack has ended by itself takes no footer: it follows as a
// message, once.
func TestFooterOfAnEndedStream(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	p.fault(map[string]any{"method": "chat.stopStream", "mode": "error", "error": "message_not_in_streaming_state"})
	d := p.dm("what files are here?")
	d.answered(1)
	p.quiet()
	list, err := d.ours()
	p.must(err)
	said, feet := 0, 0
	for _, m := range list {
		said += whole(m, "folder is empty")
		feet += strings.Count(m.words(), "2 turns")
	}
	if said != 1 || feet != 1 {
		t.Errorf("the answer stands %d times and its footer %d times", said, feet)
	}
}
