package e2e

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var errNone = errors.New("there is none yet")

// channelMessages are the roots of a channel.
func (t thread) channelMessages() ([]message, error) {
	var a struct{ Messages []message }
	err := t.p.get("messages?channel="+url.QueryEscape(t.channel), &a)
	return a.Messages, err
}

// sent are the mails that went out, by Message-ID, with their decoded bodies.
func (p *product) sent() map[string][]string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.ready.Maildir, ".Sent", "new", "*"))
	p.must(err)
	list := map[string][]string{}
	for _, f := range files {
		r, err := os.Open(f)
		p.must(err)
		m, err := mail.ReadMessage(r)
		p.must(err)
		var body io.Reader = m.Body
		switch strings.ToLower(m.Header.Get("Content-Transfer-Encoding")) {
		case "quoted-printable":
			body = quotedprintable.NewReader(body)
		case "base64":
			body = base64.NewDecoder(base64.StdEncoding, body)
		}
		b, err := io.ReadAll(body)
		p.must(err)
		r.Close()
		id := m.Header.Get("Message-Id")
		list[id] = append(list[id], strings.ReplaceAll(string(b), "\r\n", "\n"))
	}
	return list
}

// rows are what a command lists, with --json.
func (p *product) rows(args ...string) []map[string]any {
	p.t.Helper()
	out, err := p.run(append(args, "--json")...)
	if err != nil {
		p.t.Fatalf("%v: %v\n%s", args, err, out)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		p.t.Fatalf("%v does not answer JSON: %v\n%s", args, err, out)
	}
	var list []map[string]any
	for _, raw := range all {
		if json.Unmarshal(raw, &list) == nil && list != nil {
			return list
		}
	}
	return nil
}

func TestDraft(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	card := a.card("Edit")
	if w := card.words(); !strings.Contains(w, "dean@example.edu") {
		t.Errorf("the card shows no recipient: %s", w)
	}
	if w := a.answered(1); w == "" {
		t.Error("no answer")
	}
	if n := len(p.sent()); n != 0 {
		t.Fatalf("%d mails went out before anybody approved", n)
	}

	// Edit by modal: what was typed is what goes out, byte for byte.
	a.press("alice", card, "Edit")
	v := p.modal("alice")
	body := "Dear Dean,\n\nthe budget: 3 < 4 & \"quotes\", ünïcode, a very long line " + strings.Repeat("word ", 40) + "\n\n  indented\n.\nFrom the end\n"
	p.submit("alice", v, map[string]string{"body": body, "subject": "Budget 2027"})
	var edited message
	a.wait("the edited card", func(list []message) bool {
		for _, m := range list {
			if _, ok := m.button("Approve"); ok && strings.Contains(m.words(), "Budget 2027") {
				edited = m
				return true
			}
		}
		return false
	})
	a.press("alice", edited, "Approve")
	a.wait("the card to say that it is sent", func(list []message) bool {
		for _, m := range list {
			if m.TS == edited.TS {
				_, still := m.button("Approve")
				return !still && (strings.Contains(m.words(), "Sent") || strings.Contains(m.words(), "Released"))
			}
		}
		return false
	})
	sent := p.sent()
	if len(sent) != 1 {
		t.Fatalf("%d mails went out, want 1: %v", len(sent), sent)
	}
	for id, list := range sent {
		if len(list) != 1 || strings.TrimRight(list[0], "\n") != strings.TrimRight(body, "\n") {
			t.Errorf("%s holds %q\nwant %q", id, list, body)
		}
	}

	// A second press, of the card as it was, hears what has happened.
	b, _ := edited.button("Approve")
	_ = a.click("alice", edited, b)
	if len(p.sent()) != 1 {
		t.Error("a second press sent it again")
	}
}

func TestDraftRejected(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	a.answered(1)
	a.decide("Reject…")
	v := p.modal("alice")
	p.submit("alice", v, map[string]string{"": "too early in the year"})
	a.contains("Rejected", "too early in the year")
	if len(p.sent()) != 0 {
		t.Error("a rejected draft went out")
	}
	a.say("what became of the draft?")
	a.answered(2)
}

// TestTwoPeople: an approver decides the draft, the owner's later press hears
// what happened.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.say("alice", p.channel("general"), "", "<@"+p.ready.BotUserID+"> draft a mail to dean@example.edu about the budget")
	a.answered(1)
	card := a.card("Approve")
	// A stranger's press is answered, and does nothing.
	a.press("mallory", card, "Approve")
	eventually(t, patience, "an answer to the stranger", func() error {
		list, err := thread{p: p, channel: a.channel, ts: a.ts, as: "mallory"}.ours()
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.Ephemeral && strings.Contains(m.words(), "not yours") {
				return nil
			}
		}
		return errNone
	})
	a.press("bob", card, "Approve")
	eventually(t, patience, "the mail", func() error {
		if len(p.sent()) != 1 {
			return errNone
		}
		return nil
	})
	b, _ := card.button("Approve")
	_ = a.click("alice", card, b)
	if n := len(p.sent()); n != 1 {
		t.Errorf("%d mails went out", n)
	}
}

// TestOthersDecide: where a policy wants somebody else, and they cannot see the
// thread, the card comes to them; all its copies say what was decided.
func TestOthersDecide(t *testing.T) {
	t.Parallel()
	p := start(t, "[[outbox.policy]]\ntool = \"mail__mail_send\"\nrequester_may_approve = false\n")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	a.answered(1)
	var copied thread
	var card message
	eventually(t, patience, "the card in bob's DM", func() error {
		d := thread{p: p, channel: p.ready.DMs["bob"], user: "bob"}
		list, err := d.channelMessages()
		if err != nil {
			return err
		}
		for _, m := range list {
			if _, ok := m.button("Approve"); ok {
				copied, card = thread{p: p, channel: d.channel, ts: m.TS, user: "bob"}, m
				return nil
			}
		}
		return errNone
	})
	copied.press("bob", card, "Approve")
	eventually(t, patience, "the mail", func() error {
		if len(p.sent()) != 1 {
			return errNone
		}
		return nil
	})
	a.wait("the owner's card to say so", func(list []message) bool {
		for _, m := range list {
			if _, ok := m.button("Approve"); ok {
				return false
			}
		}
		return true
	})
}

func TestDigest(t *testing.T) {
	t.Parallel()
	p := start(t, "")
	a := p.dm("draft a mail to dean@example.edu about the budget")
	a.answered(1)
	p.dm("digest")
	p.stands(p.ready.DMs["alice"], "dean@example.edu", "draft")
}

// stands waits until a message of the bot in a channel, outside of threads, holds
// all of these words.
func (p *product) stands(channel string, words ...string) {
	p.t.Helper()
	eventually(p.t, patience, fmt.Sprintf("a message with %q", words), func() error {
		list, err := thread{p: p, channel: channel}.channelMessages()
		if err != nil {
			return err
		}
		for _, m := range list {
			if m.User == p.ready.BotUserID && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.words(), w) }) {
				return nil
			}
		}
		return errNone
	})
}
