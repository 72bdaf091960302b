package browsertest

import (
	"io"
	"mime/quotedprintable"
	"net/mail"
	"strings"
	"testing"
)

// TestConversation is the product's main job, by hand: a question, a call that
// is approved, a draft that is edited and approved, one that is rejected, what
// is left in the digest and on the Home tab.
func TestConversation(t *testing.T) {
	browser(t)
	p := startLocal(t, t.TempDir())
	a := sit(t, p, 1280, 860)
	a.openDM()

	a.say("what files are here?")
	a.until(`document.querySelector('%s .task-done')?.textContent.includes('fs_list')`, thread)
	a.reads("This thread's folder is empty")
	a.reads("rule-based stand-in")
	a.shot("answer")

	a.say("write notes.md with buy milk")
	a.reads("May I run this?")
	a.reads("buy milk")
	a.shot("call")
	a.press(thread, "Approve")
	a.reads("Approved by @alice")
	a.until(`document.querySelector('%s .task-done')?.textContent.includes('fs_write')`, thread)
	a.buttonGone("Approve")
	a.shot("call-approved")

	a.say("draft a mail to dean@example.edu about the budget")
	a.reads("Draft for you to send")
	a.reads("drafted, not sent")
	if sent := p.sent(); len(sent) != 0 {
		t.Fatalf("a draft went out by itself:\n%s", sent)
	}
	a.settled()
	a.shot("draft")
	a.press(thread, "Edit")
	a.fill("Body", "Dear Dean,\n\nit is 41,200 €. See you on Thursday.\n\nAlice")
	a.shot("edit")
	a.submit()
	a.reads("it is 41,200 €. See you on Thursday.")
	if sent := p.sent(); len(sent) != 0 {
		t.Fatalf("saving an edit sent it:\n%s", sent)
	}
	a.shot("edited")
	a.press(thread, "Approve")
	a.reads("approved by @alice")
	a.buttonGone("Approve")
	a.shot("sent")
	sent := p.sent()
	if len(sent) != 1 {
		t.Fatalf("%d mails are in the Sent folder, want 1", len(sent))
	}
	if to, body := decode(t, sent[0]); to != "dean@example.edu" || strings.TrimRight(body, "\n") != "Dear Dean,\n\nit is 41,200 €. See you on Thursday.\n\nAlice" {
		t.Errorf("the mail that went to %q says %q", to, body)
	}

	a.say("draft a mail to team@example.com about the review")
	a.reads("Draft for you to send")
	a.press(thread, "Reject…")
	a.fill("Why?", "wrong recipient")
	a.shot("reason")
	a.submit()
	a.reads("Rejected by @alice")
	a.reads("wrong recipient")
	a.buttonGone("Approve")
	a.shot("rejected")

	a.say("draft a mail to bob@example.com about lunch")
	a.reads("Draft for you to send")
	a.send("digest")
	a.until(`document.querySelector('.pane-main').innerText.includes('1 draft')`)
	a.shot("digest")
	a.press(".pane-main", "Review")
	a.until(`document.querySelector('dialog[open]')?.innerText.includes('bob@example.com')`)
	a.shot("review")
	a.click(`dialog[open] ` + id("modal-close"))
	a.until(`!document.querySelector('dialog[open]')`)

	// The same from a second terminal, beside the running bot.
	if out, err := p.run("outbox"); err != nil || !strings.Contains(out, "bob@example.com") || strings.Contains(out, "team@example.com") {
		t.Errorf("mecha-slack outbox: %v\n%s", err, out)
	}

	a.click(id("home-tab"))
	a.until(`document.querySelector('[data-testid=home-view]')?.innerText.includes('Pause everything')`)
	a.until(`document.querySelector('[data-testid=home-view]').innerText.includes('1 draft')`)
	a.shot("home")
	if len(p.sent()) != 1 {
		t.Errorf("%d mails went out, want the one that was approved", len(p.sent()))
	}
}

// decode reads a mail as its reader would.
func decode(t *testing.T, raw string) (to, body string) {
	t.Helper()
	m, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, raw)
	}
	list, err := m.Header.AddressList("To")
	if err != nil || len(list) != 1 {
		t.Fatalf("recipients %v, %v in:\n%s", list, err, raw)
	}
	r := m.Body
	if strings.EqualFold(m.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		r = quotedprintable.NewReader(r)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return list[0].Address, strings.ReplaceAll(string(b), "\r\n", "\n")
}
