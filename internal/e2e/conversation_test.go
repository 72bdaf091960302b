package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConversation(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("hello, what files are here?")
	first := a.answered(1)
	if !strings.Contains(first, "rule-based") {
		t.Errorf("the first answer does not say what answers: %q", first)
	}
	ours, err := a.ours()
	p.must(err)
	tasks := map[string]string{}
	for _, m := range ours {
		for title, status := range m.tasks() {
			tasks[title] = status
		}
	}
	seen := false
	for title, status := range tasks {
		seen = seen || strings.HasPrefix(title, "fs_list") && status == "complete"
	}
	if !seen {
		t.Errorf("the stream shows no completed fs_list: %v", tasks)
	}

	// It asks before it changes something, and the whole input is on the card.
	a.say("write shopping.md with milk and eggs")
	card := a.card("Approve")
	if w := card.words(); !strings.Contains(w, "milk and eggs") || !strings.Contains(w, "shopping.md") {
		t.Errorf("the card does not show the whole input: %s", w)
	}
	a.press("alice", card, "Approve")
	a.answered(2)
	files, err := filepath.Glob(filepath.Join(p.home, "work", "slack", "*", "shopping.md"))
	if err != nil || len(files) != 1 {
		t.Fatalf("shopping.md is at %v", files)
	}
	if b, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(b), "milk and eggs") {
		t.Errorf("shopping.md holds %q, %v", b, err)
	}

	// Another thread has a directory of its own and remembers nothing.
	b := p.dm("what files are here?")
	if w := b.answered(1); strings.Contains(w, "shopping.md") {
		t.Errorf("a second thread sees the first one's file: %q", w)
	}
	a.say("what files are here?")
	if w := a.answered(3); !strings.Contains(w, "shopping.md") {
		t.Errorf("the first thread has lost its file: %q", w)
	}
}

func TestMention(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	general := p.channel("general")
	a := p.say("alice", general, "", "<@"+p.ready.BotUserID+"> what files are here?")
	a.answered(1)
	// In its thread no mention is needed, and only the owner is answered.
	a.say("write a.txt with hello")
	a.decide("Approve")
	a.answered(2)
	p.say("mallory", general, a.ts, "<@"+p.ready.BotUserID+"> read a.txt")
	p.say("bob", general, a.ts, "read a.txt")
	a.say("read a.txt")
	a.answered(3)
	list, err := a.ours()
	p.must(err)
	ends := 0
	for _, m := range list {
		if ended(m) {
			ends++
		}
	}
	if ends != 3 {
		t.Errorf("%d answers, want 3: somebody else was answered", ends)
	}
	// Without a mention a channel's message is nobody's business.
	p.say("alice", general, "", "good morning everyone")
	b := p.say("alice", general, "", "<@"+p.ready.BotUserID+"> hello")
	b.answered(1)
}

// TestPrivateMoves: what is private goes on in the DM where the channel is not
// a trusted one, before anything of it was posted there.
func TestPrivateMoves(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	ops := p.channel("ops")
	a := p.say("alice", ops, "", "<@"+p.ready.BotUserID+"> what is in my mail?")
	all := a.contains("I go on in our DM")
	for _, private := range []string{"Dean", "dean@", "mail_list"} {
		if strings.Contains(all, private) {
			t.Errorf("#ops shows %q: %s", private, all)
		}
	}
	dm := p.ready.DMs["alice"]
	var root thread
	eventually(t, patience, "the thread in the DM", func() error {
		d := thread{p: p, channel: dm, user: "alice"}
		list, err := d.channelMessages()
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.User == p.ready.BotUserID && strings.Contains(m.words(), "We go on here") {
				root = thread{p: p, channel: dm, ts: m.TS, user: "alice"}
				return nil
			}
		}
		return errNone
	})
	if w := root.answered(1); !strings.Contains(strings.ToLower(w), "dean") {
		t.Errorf("the answer in the DM does not hold the mail: %q", w)
	}
	// The same session goes on there.
	root.say("write a.txt with hello")
	root.decide("Approve")
	root.answered(2)
}
