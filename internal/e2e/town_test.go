package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// town is people who write, approve and release while the process that serves
// them dies again and again.
type town struct {
	p       *product
	talks   []*talk
	left    []*talk // of them, those not yet seen to have come to their end
	pressed map[string]time.Time
}

// talk is one conversation, with what it asked for.
type talk struct {
	thread
	kind string // list, write, mail
	n    int
	when string // what was done to the process meanwhile
}

func newTown(p *product) *town { return &town{p: p, pressed: map[string]time.Time{}} }

// begin opens a conversation; where the workspace does not take the message,
// nobody has said it.
func (w *town) begin(kind, when string) *talk {
	n := len(w.talks) + 1
	text := map[string]string{
		"list":  "what files are here?",
		"write": fmt.Sprintf("write file%d.txt with number %d", n, n),
		"mail":  fmt.Sprintf("draft a mail to dean%d@example.edu about topic%d", n, n),
	}[kind]
	var a struct{ TS string }
	dm := w.p.ready.DMs["alice"]
	if w.p.post("message", map[string]any{"user": "alice", "channel": dm, "text": text}, &a) != nil {
		return nil
	}
	k := &talk{thread{p: w.p, channel: dm, ts: a.TS, user: "alice"}, kind, n, when}
	w.talks, w.left = append(w.talks, k), append(w.left, k)
	return k
}

// press presses the Approve that stands in a talk, if any, as an impatient
// person does: again where nothing has changed for a while.
func (w *town) press(k *talk) {
	list, err := k.ours()
	if err != nil {
		return
	}
	for _, m := range list {
		if b, ok := m.button("Approve"); ok && time.Since(w.pressed[m.TS]) > time.Second {
			w.pressed[m.TS] = time.Now()
			_ = k.click("alice", m, b)
		}
	}
}

// open tells why a talk has not come to its end; nil: it has.
func (w *town) open(k *talk) error {
	w.press(k)
	list, err := k.ours()
	if err != nil {
		return err
	}
	ends, settled := 0, k.kind != "mail"
	for _, m := range list {
		if _, waits := m.button("Approve"); waits {
			return fmt.Errorf("%s: a card waits", k)
		}
		if ended(m) {
			ends++
		}
		words := m.words()
		_, unknown := m.button("It arrived…")
		settled = settled || unknown || strings.Contains(words, "✓ *Sent*") || strings.Contains(words, "interrupted twice")
	}
	switch {
	case ends == 0:
		return fmt.Errorf("%s: no answer has ended", k)
	case !settled:
		return fmt.Errorf("%s: nothing is known of its mail", k)
	}
	return nil
}

// died tells whether the bot is dead.
func (w *town) died() bool {
	select {
	case err := <-w.p.ended:
		w.p.ended <- err
		return true
	default:
		return false
	}
}

func (k *talk) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %d %s", k.kind, k.n, k.when))
}

// look finds out which talks are left, and answers why the last of them is.
func (w *town) look() (why error) {
	var left []*talk
	for _, k := range w.left {
		if err := w.open(k); err != nil {
			left, why = append(left, k), err
		}
	}
	w.left = left
	return why
}

// settle waits until every talk has come to its end: as long as it takes, while
// some end.
func (w *town) settle() {
	w.p.t.Helper()
	const patience = 3 * time.Minute
	tick := time.NewTicker(250 * time.Millisecond) // many talks: the watching must not take the machine
	defer tick.Stop()
	for before, since := len(w.left), time.Now(); len(w.left) > 0; <-tick.C {
		if w.died() {
			w.p.begin()
		}
		why := w.look()
		switch {
		case len(w.left) < before:
			before, since = len(w.left), time.Now()
		case time.Since(since) > patience:
			w.p.t.Fatalf("no conversation has come to its end for %v; %d of %d are open: %v\n%s", patience, len(w.left), len(w.talks), why, w.states())
		}
	}
}

// states is what the product itself says of the talks that are left.
func (w *town) states() string {
	var b strings.Builder
	for _, th := range w.p.rows("threads", "--limit", "100000") {
		for _, k := range w.left {
			if strings.HasSuffix(fmt.Sprint(th["key"]), k.ts) {
				list, _ := k.all()
				fmt.Fprintf(&b, "%s: %v\n%.800s\n", k, th, list)
			}
		}
	}
	return b.String()
}

// audit counts what was lost and what was done twice: all have to be none.
func (w *town) audit(t *testing.T) {
	t.Helper()
	p := w.p
	p.settled()
	p.quiet()
	sent := p.sent()
	for id, list := range sent {
		if len(list) != 1 {
			t.Errorf("%s was sent %d times", id, len(list))
		}
	}
	mails, uncertain := 0, 0
	drafts := map[string]int{} // by the address that they go to
	for _, d := range p.rows("outbox", "--all") {
		switch d["state"] {
		case "released":
			mails++
		case "uncertain":
			uncertain++
		default:
			t.Errorf("draft %v is %v", d["id"], d["state"])
		}
		if args, ok := d["args"].(map[string]any); ok {
			drafts[fmt.Sprint(args["to"])]++
		}
	}
	if len(sent) < mails || len(sent) > mails+uncertain {
		t.Errorf("%d mails went out for %d released and %d uncertain drafts", len(sent), mails, uncertain)
	}
	for _, k := range w.talks {
		list, err := k.ours()
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
			switch k.kind {
			case "list":
				said += whole(m, "folder is empty")
			case "mail":
				said += whole(m, "I drafted a mail")
			}
		}
		if ends != 1 {
			t.Errorf("%s has %d answers: %q", k, ends, all)
		}
		if said > 1 {
			t.Errorf("%s says its answer %d times: %q", k, said, all)
		}
		words, err := k.all()
		p.must(err)
		switch k.kind {
		case "write":
			if files := p.work(fmt.Sprintf("file%d.txt", k.n)); len(files) != 1 {
				// A call that was under way when the process died is not repeated.
				if !strings.Contains(words, "nterrupted") && !strings.Contains(words, "unknown") && !strings.Contains(words, "answer was lost") {
					t.Errorf("%s: its file is at %v and nobody says why: %q", k, files, all)
				}
			} else if b, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(b), fmt.Sprint("number ", k.n)) {
				t.Errorf("%s: its file holds %q, %v", k, b, err)
			}
		case "mail":
			// It may give up, and say so: with a draft or before it.
			n := drafts[fmt.Sprintf("[dean%d@example.edu]", k.n)]
			if n > 1 || n == 0 && !strings.Contains(words, "interrupted twice") {
				t.Errorf("%s has %d drafts: %q", k, n, all)
			}
		}
	}
	t.Logf("%d conversations, %d mails sent, %d drafts uncertain", len(w.talks), len(sent), uncertain)
}

// whole counts words in a message that is not the preview of another.
func whole(m message, words string) int {
	w := m.words()
	if strings.Contains(w, "interrupted; the answer follows") {
		return 0
	}
	return strings.Count(w, words)
}
