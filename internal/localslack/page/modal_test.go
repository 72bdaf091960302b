package page_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// TestModal fills a modal with every input, has it refused with errors, corrects it and submits it.
func TestModal(t *testing.T) {
	f := newFake(t)
	b := open(t, browser(t), f, f.address())
	b.until(`document.body.dataset.connection === 'open'`)
	f.view("open", editModal())
	field := func(name string) string { return fmt.Sprintf(`[data-input=%q] [data-action-id=%q]`, name, "a_"+name) }
	b.run(chromedp.WaitVisible(chromedp.CSS(id("modal"))))

	// What the page can tell by itself is told before the app is asked.
	b.typeIn(field("n"), "0")
	b.typeIn(field("site"), "example.edu")
	b.click(id("modal-submit"))
	got := eval[map[string]string](b, `Object.fromEntries([...document.querySelectorAll('.has-error')].map((e) => [e.dataset.input, e.querySelector('.field-error').textContent]))`)
	want := map[string]string{"body": "Please complete this required field.", "n": "Must be at least 1.", "site": "Please enter an address that starts with http:// or https://."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("errors before submitting (-want +got):\n%s", diff)
	}
	if !eval[bool](b, `document.activeElement.closest('[data-input="body"]') !== null && document.activeElement.getAttribute('aria-invalid') === 'true'`) {
		t.Error("the first wrong field does not have the focus")
	}

	f.mu.Lock()
	f.ack = func(body object) object {
		return object{"response_action": "errors", "errors": object{"to": "Not one of ours.", "nowhere": "Of no field."}}
	}
	f.mu.Unlock()
	b.typeIn(field("body"), "Dear Dean,\nthe total is <41,200> & *done*.")
	b.run(chromedp.SendKeys(chromedp.CSS(field("n")), kb.Backspace+"7"))
	b.run(chromedp.SetValue(chromedp.CSS(field("site")), "https://example.edu/x"), chromedp.SetValue(chromedp.CSS(field("pick")), "b"), chromedp.SetValue(chromedp.CSS(field("who")), bob))
	b.click(field("many") + " summary")
	b.click(field("many") + ` input[value="a"]`)
	b.click(`[data-input="radio"] input[value="b"]`)
	b.click(`[data-input="check"] input[value="b"]`)
	file := filepath.Join(t.TempDir(), "note.txt")
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.SetUploadFiles(chromedp.CSS(field("file")), []string{file}))
	b.click(id("modal-submit"))
	b.until(`document.querySelector('[data-input="to"] .field-error')?.textContent === 'Not one of ours.'`)
	b.until(`document.querySelector('.modal-error').textContent.includes('Of no field.')`)
	when := eval[string](b, `String(Math.floor(1628633820 / 60) * 60)`)
	values := object{"to": object{"a_to": "dean@example.edu"}, "body": object{"a_body": "Dear Dean,\nthe total is <41,200> & *done*."}, "n": object{"a_n": "7"}, "site": object{"a_site": "https://example.edu/x"},
		"pick": object{"a_pick": "b"}, "many": object{"a_many": []any{"a"}}, "who": object{"a_who": bob}, "radio": object{"a_radio": "b"}, "check": object{"a_check": []any{"a", "b"}},
		"day": object{"a_day": "2026-12-01"}, "time": object{"a_time": "09:30"}, "when": object{"a_when": when}, "file": object{"a_file": []any{object{"name": "note.txt", "content_base64": "aGVsbG8="}}}}
	if diff := cmp.Diff(object{"user": alice, "view_id": "V1", "values": values}, b.next("submit")); diff != "" {
		t.Errorf("submitted (-want +got):\n%s", diff)
	}

	// An update of the same view keeps what was typed.
	view := editModal()
	view["title"] = plainText("Edited elsewhere")
	f.view("update", view)
	b.until(`document.querySelector('.dialog-title').textContent === 'Edited elsewhere'`)
	if v := eval[string](b, fmt.Sprintf(`document.querySelector(%q).value`, field("body"))); v == "" {
		t.Error("an update of the view threw away what was typed")
	}

	// A pushed view lies on top; Esc takes it away and tells the app; the one below is as it was.
	f.view("push", object{"id": "V2", "type": "modal", "title": plainText("On top"), "blocks": []any{section("more")}})
	b.until(`document.querySelector('.dialog-title').textContent === 'On top'`)
	b.run(chromedp.KeyEvent(kb.Escape))
	if got := b.next("close"); got["view_id"] != "V2" {
		t.Errorf("Esc closed %v", got["view_id"])
	}
	b.until(`document.querySelector('.dialog-title').textContent === 'Edited elsewhere'`)

	f.mu.Lock()
	f.ack = nil
	f.mu.Unlock()
	b.click(id("modal-submit"))
	b.next("submit")
	b.until(`!document.querySelector('dialog[open]')`)
}

// TestModalKeepsFocus walks with Tab and wants the focus to stay inside the open modal.
func TestModalKeepsFocus(t *testing.T) {
	f := newFake(t)
	scene(f)
	b := open(t, browser(t), f, f.address())
	b.until(`document.body.dataset.connection === 'open' && document.querySelector('[data-testid=message]')`)
	f.view("open", object{"id": "V1", "type": "modal", "title": plainText("Loading"), "blocks": []any{section("…")}})
	b.until(`document.querySelector('dialog[open]')`)
	f.view("update", object{"id": "V1", "type": "modal", "title": plainText("Small"), "submit": plainText("OK"), "blocks": []any{
		object{"type": "input", "block_id": "b", "label": plainText("Name"), "element": object{"type": "plain_text_input", "action_id": "a"}}}})
	b.until(`document.activeElement.dataset.actionId === 'a'`)
	for range 8 {
		b.run(chromedp.KeyEvent(kb.Tab))
		if !eval[bool](b, `!!document.activeElement.closest('dialog[open]')`) {
			t.Fatalf("Tab left the modal for %s", eval[string](b, `document.activeElement.outerHTML.slice(0, 100)`))
		}
	}
}
