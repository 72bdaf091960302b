package browsertest

import "testing"

// TestStrangersMail reads a mailbox in which one mail gives orders, with a model
// that obeys: the fetch is refused, the draft is red, and it takes a second look
// to send it.
func TestStrangersMail(t *testing.T) {
	browser(t)
	p := startLocal(t, t.TempDir())
	a := sit(t, p, 1280, 1000)
	a.openDM()
	a.say("check my mail")
	a.reads("Read this one twice")
	a.reads("Blocked by policy: this conversation holds private data")
	a.reads("first appeared in a third party's text")
	a.settled()
	a.shot("red")
	a.press(thread, "Look closer")
	a.until(`document.querySelector('dialog[open]')?.innerText.includes('billing@examp1e.net')`)
	a.shot("closer")
	a.click(`dialog[open] ` + id("modal-cancel"))
	a.until(`!document.querySelector('dialog[open]')`)
	if sent := p.sent(); len(sent) != 0 {
		t.Fatalf("looking at a draft sent it:\n%s", sent)
	}
	a.press(thread, "Look closer")
	a.until(`document.querySelector('dialog[open]')?.innerText.includes('billing@examp1e.net')`)
	a.press("dialog[open]", "Send anyway")
	a.until(`document.querySelector('dialog[open]')?.innerText.includes('Approved by @alice')`)
	a.click(`dialog[open] ` + id("modal-cancel"))
	a.reads("approved by @alice")
	a.shot("sent-anyway")
	if sent := p.sent(); len(sent) != 1 {
		t.Fatalf("%d mails went out, want 1", len(sent))
	}
}

// TestPhone decides a draft at the width of a phone: nothing is cut off at the
// side, and every button of the card is large enough for a thumb.
func TestPhone(t *testing.T) {
	browser(t)
	p := startLocal(t, t.TempDir())
	a := sit(t, p, 390, 780)
	a.shot("first")
	a.openDM()
	a.say("draft a mail to dean@example.edu about the budget")
	a.reads("Draft for you to send")
	a.settled()
	a.shot("draft")
	if over := eval[int](a, `document.documentElement.scrollWidth - innerWidth`); over > 0 {
		t.Errorf("the page is %d pixels wider than the phone", over)
	}
	for _, label := range []string{"Approve", "Edit", "Reject…"} {
		box := eval[[]float64](a, `(() => { const b = [...document.querySelectorAll('[data-testid=thread-pane] button[data-action-id]')].find((b) => b.textContent.trim() === `+quoted(label)+`).getBoundingClientRect(); return [b.left, b.right, b.height]; })()`)
		if box[0] < 0 || box[1] > 390 || box[2] < 32 {
			t.Errorf("%s lies at %v..%v and is %v high", label, box[0], box[1], box[2])
		}
	}
	a.press(thread, "Approve")
	a.reads("approved by @alice")
	a.shot("sent")
	if len(p.sent()) != 1 {
		t.Errorf("%d mails went out, want 1", len(p.sent()))
	}
}
