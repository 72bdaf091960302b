package page_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// TestHiddenCharacters wants what nobody would see shown wherever somebody else's words stand, and what belongs to an
// emoji or to a script's spelling left alone.
func TestHiddenCharacters(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"plain", "as it is, with a\ttab", "as it is, with a\ttab"},
		{"override", "a\u202ecod.exe\u202c", "a‹U+202E›cod.exe‹U+202C›"},
		{"zero width", "pay\u200bpal\u00ad\u2060", "pay‹U+200B›pal‹U+00AD›‹U+2060›"},
		{"many", "x\u200b\u200b\u200b\u200by", "x‹U+200B ×4›y"},
		{"tags", "hi\U000E0073\U000E0065\U000E006E\U000E0064!", "hi‹4 tag characters: send›!"},
		{"control", "a\x07b\x1b[31m", "a‹U+0007›b‹U+001B›[31m"},
		{"family", "👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 1\ufe0f\u20e3", "👨\u200d👩\u200d👧 ❤\ufe0f 👍🏽 1\ufe0f\u20e3"},
		{"flag", "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F", "🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"},
		{"flag with words", "🏴\U000E0068\U000E0069", "🏴‹2 tag characters: hi›"},
		{"persian", "می\u200cخواهم", "می\u200cخواهم"},
		{"joiner alone", "a\u200db", "a‹U+200D›b"},
		{"selectors", "a\ufe00\U000E0101b", "a‹U+FE00›‹U+E0101›b"},
		{"filler", "\u3164\u2800", "‹U+3164›‹U+2800›"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			f.messages[general] = []object{
				{"ts": "1700000000.000001", "user": bob, "text": tt.text},
				{"ts": "1700000000.000002", "user": bot, "bot_id": "B0", "text": "", "blocks": []any{
					section(tt.text), object{"type": "markdown", "text": "`" + tt.text + "`"}, object{"type": "header", "text": plainText(tt.text)}, object{"type": "actions", "elements": []any{button(tt.text, "go", "")}}}},
				{"ts": "1700000000.000003", "user": bob, "text": "> " + tt.text}}
			b := open(t, browser(t), f, f.address())
			b.until(`document.querySelectorAll('[data-testid=message]').length === 3`)
			shown := eval[[]string](b, `[...document.querySelectorAll('.msg-text, .section-text, .md code, .block-heading, [data-action-id=go]')].map((e) => e.textContent)`)
			want := []string{tt.want, tt.want, tt.want, tt.want, tt.want, tt.want}
			if diff := cmp.Diff(want, shown); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDirection wants each paragraph to run as its own words do.
func TestDirection(t *testing.T) {
	f := newFake(t)
	f.messages[general] = []object{
		{"ts": "1700000000.000001", "user": bob, "text": "שלום abc"},
		{"ts": "1700000000.000002", "user": bob, "text": "hello\nשלום"},
		{"ts": "1700000000.000003", "user": bot, "bot_id": "B0", "text": "", "blocks": []any{object{"type": "markdown", "text": "שלום **abc**"}}}}
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelectorAll('[data-testid=message]').length === 3`)
	// The first letter of a paragraph stands at the side where its reader begins.
	side := `(node, at) => { const r = document.createRange(); r.setStart(node, at); r.setEnd(node, at + 1); const c = r.getBoundingClientRect(), box = node.parentElement.closest('.msg-body').getBoundingClientRect(); return c.left - box.left > box.width / 2 ? 'right' : 'left'; }`
	got := eval[[]string](b, `(() => { const side = `+side+`; const texts = (e) => { const w = document.createTreeWalker(e, NodeFilter.SHOW_TEXT), all = []; while (w.nextNode()) all.push(w.currentNode); return all; };
		const [one, two] = [...document.querySelectorAll('.msg-text')].map(texts); return [side(one[0], 0), side(two[0], 0), side(two.at(-1), 0), side(texts(document.querySelector('.md p'))[0], 0)]; })()`)
	if diff := cmp.Diff([]string{"right", "left", "right", "right"}, got); diff != "" {
		t.Errorf("sides (-want +got):\n%s", diff)
	}
}

// TestReloadKeepsWords reloads the tab in the middle of a sentence, in a thread, and with a modal open.
func TestReloadKeepsWords(t *testing.T) {
	f := newFake(t)
	scene(f)
	b := open(t, browser(t), f, f.address()+"&channel="+general)
	b.click(id("replies"))
	b.typeIn(id("composer-thread"), "half a sen")
	b.typeIn(id("composer-channel"), "to all")
	f.view("open", editModal())
	b.until(`document.querySelector('dialog[open]')`)
	b.run(chromedp.Reload())
	b.until(`document.querySelector('dialog[open] [data-input=body]') && document.querySelector('[data-testid=composer-thread]')?.value === 'half a sen' && document.querySelector('[data-testid=composer-channel]').value === 'to all'`)
	b.click(id("modal-close"))
	b.typeIn(id("composer-thread"), "tence"+kb.Enter)
	if got := b.next("message"); got["text"] != "half a sentence" {
		t.Errorf("sent %v", got)
	}
	b.run(chromedp.Reload())
	b.until(`document.querySelector('[data-testid=composer-channel]')?.value === 'to all' && document.querySelector('[data-testid=composer-thread]')?.value === ''`)
}

// TestTitle wants the tab to say where one is, and what is unread elsewhere.
func TestTitle(t *testing.T) {
	f := newFake(t)
	scene(f)
	b := open(t, browser(t), f, f.address()+"&channel="+general)
	b.until(`document.title === '#general · Mecha workshop' && document.body.dataset.connection === 'open'`)
	f.put(ops, object{"ts": "1900000000.000100", "user": bob, "text": "it broke"})
	b.until(`document.title === '(1) #general · Mecha workshop'`)
	b.click(id("replies"))
	b.until(`document.title === '(1) Thread in #general · Mecha workshop'`)
	b.click(id("channel-item") + `[data-id="` + ops + `"]`)
	b.until(`document.title === '#ops · Mecha workshop'`)
	b.click(id("home-tab"))
	b.until(`document.title === 'mecha Home · Mecha workshop'`)
	b.run(chromedp.NavigateBack())
	b.until(`document.title === '#ops · Mecha workshop' && document.querySelector('.pane-main[data-channel="` + ops + `"]')`)
	b.until(`document.querySelector('.beginning')?.textContent.includes('Mention @mecha in a message')`)
}
