package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

var crashSeed = flag.Uint64("crash.seed", 0, "seed of the moments at which TestCrash kills; 0 draws one")
var crashTime = flag.Duration("crash.time", 45*time.Second, "how long TestCrash goes on killing")

// TestCrash kills the process at random moments while people write, approve and
// release, starts it again, and counts: lost messages, lost drafts, messages
// without an answer, mails sent twice, answers posted twice. All have to be
// none.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("kills for the better part of a minute")
	}
	seed := *crashSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-crash.seed=%d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	p := start(t, "[slack]\nmax_concurrent = 8\n")

	type talk struct {
		thread
		kind string
		n    int
	}
	var talks []talk
	type key struct{ channel, ts, label string }
	pressed := map[key]time.Time{}
	end := time.Now().Add(*crashTime)
	for n, kills := 0, 0; time.Now().Before(end); kills++ {
		// One round: people act for a while, then the process dies.
		life := time.Duration(300+rnd.IntN(2000)) * time.Millisecond
		die := time.NewTimer(life)
		var wg sync.WaitGroup
		wg.Go(func() { <-die.C; p.kill() })
		dead := time.Now().Add(life)
		for time.Now().Before(dead) {
			n++
			kind := []string{"list", "write", "mail"}[rnd.IntN(3)]
			var text string
			switch kind {
			case "list":
				text = "what files are here?"
			case "write":
				text = fmt.Sprintf("write file%d.txt with number %d", n, n)
			case "mail":
				text = fmt.Sprintf("draft a mail to dean%d@example.edu about topic%d", n, n)
			}
			var a struct{ TS string }
			if p.post("message", map[string]any{"user": "alice", "channel": p.ready.DMs["alice"], "text": text}, &a) == nil {
				talks = append(talks, talk{thread{p: p, channel: p.ready.DMs["alice"], ts: a.TS, user: "alice"}, kind, n})
			}
			for _, a := range talks {
				if rnd.IntN(3) > 0 {
					continue
				}
				list, err := a.ours()
				if err != nil {
					break
				}
				for _, m := range list {
					k := key{a.channel, m.TS, "Approve"}
					if b, ok := m.button("Approve"); ok && time.Since(pressed[k]) > time.Second {
						pressed[k] = time.Now()
						_ = a.click("alice", m, b)
					}
				}
			}
			pause := time.NewTimer(time.Duration(rnd.IntN(300)) * time.Millisecond) // how people act, not a wait for something
			<-pause.C
		}
		wg.Wait()
		p.begin()
		if t.Failed() {
			return
		}
	}
	t.Logf("%d conversations", len(talks))

	// Now everything is decided, and everything has to come to its end.
	eventually(t, 3*time.Minute, "an end to every conversation", func() error {
		open := 0
		var why string
		for _, a := range talks {
			list, err := a.ours()
			if err != nil {
				return err
			}
			done := 0
			for _, m := range list {
				if b, ok := m.button("Approve"); ok {
					done = -100
					k := key{a.channel, m.TS, "Approve"}
					if time.Since(pressed[k]) > 2*time.Second {
						pressed[k] = time.Now()
						_ = a.click("alice", m, b)
					}
				}
				if ended(m) {
					done++
				}
			}
			if done < 1 {
				open++
				why = fmt.Sprintf("%s %d %s", a.kind, a.n, a.ts)
			}
		}
		if open > 0 {
			return fmt.Errorf("%d of %d are open, the last %s", open, len(talks), why)
		}
		return nil
	})
	p.settled()
	p.quiet()

	sent := p.sent()
	for id, list := range sent {
		if len(list) != 1 {
			t.Errorf("%s was sent %d times", id, len(list))
		}
	}
	mails := 0
	uncertain := 0
	for _, d := range p.rows("outbox", "--all") {
		switch d["state"] {
		case "released":
			mails++
		case "uncertain":
			uncertain++
		default:
			t.Errorf("draft %v is %v", d["id"], d["state"])
		}
	}
	if len(sent) < mails || len(sent) > mails+uncertain {
		t.Errorf("%d mails went out for %d released and %d uncertain drafts", len(sent), mails, uncertain)
	}
	wantMails, given := 0, 0
	for _, a := range talks {
		list, err := a.ours()
		p.must(err)
		ends, said := 0, 0
		var all []string
		for _, m := range list {
			state := ""
			if m.Stream != nil {
				state = m.Stream.State
			}
			all = append(all, fmt.Sprintf("%s %s: %.160s", m.TS, state, m.words()))
			if ended(m) {
				ends++
			}
			switch a.kind {
			case "list":
				said += whole(m, "folder is empty")
			case "mail":
				said += whole(m, "I drafted a mail")
			}
		}
		if ends != 1 {
			t.Errorf("%s %d has %d answers: %q", a.kind, a.n, ends, all)
		}
		if said > 1 {
			t.Errorf("%s %d says its answer %d times: %q", a.kind, a.n, said, all)
		}
		switch a.kind {
		case "write":
			words, err := a.all()
			p.must(err)
			if files := p.work(fmt.Sprintf("file%d.txt", a.n)); len(files) != 1 {
				// A call that was under way when the process died is not repeated.
				if !strings.Contains(words, "nterrupted") && !strings.Contains(words, "unknown") {
					t.Errorf("file%d.txt is at %v and nobody says why: %q", a.n, files, all)
				}
			} else if b, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(b), fmt.Sprint("number ", a.n)) {
				t.Errorf("file%d.txt holds %q, %v", a.n, b, err)
			}
		case "mail":
			wantMails++
			if words, _ := a.all(); strings.Contains(words, "interrupted twice") {
				given++ // it gave up, and said so: with a draft or before it
			}
		}
	}
	if got := mails + uncertain; got > wantMails || got < wantMails-given {
		t.Errorf("%d drafts for %d conversations that wanted one", got, wantMails)
	}
	t.Logf("%d mails sent, %d drafts uncertain", len(sent), uncertain)
}

// whole counts words in a message that is not the preview of another.
func whole(m message, words string) int {
	w := m.words()
	if strings.Contains(w, "interrupted; the answer follows") {
		return 0
	}
	return strings.Count(w, words)
}
