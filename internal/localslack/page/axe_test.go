package page_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// axeRun judges what the page shows now, by the rules of WCAG 2.2 A and AA and axe's own best practices. It returns one
// line for each rule that is broken: how bad, which rule, how often, and the first place.
const axeRun = `axe.run(document, {preload: false, resultTypes: ['violations'], runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}).then((r) =>
	r.violations.map((v) => v.impact + ' ' + v.id + ' (' + v.nodes.length + '): ' + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + ' ' + n.failureSummary.replace(/\s+/g, ' ').slice(0, 200)).join(' | ')))`

// axe is the source of axe-core, from an "npm ci" in testdata/axe or where NODE_PATH says. Without it the test is
// skipped, unless MECHA_TEST_REQUIRE names npm.
func axe(t *testing.T) string {
	t.Helper()
	for _, dir := range append([]string{filepath.Join("testdata", "axe", "node_modules")}, filepath.SplitList(os.Getenv("NODE_PATH"))...) {
		if source, err := os.ReadFile(filepath.Join(dir, "axe-core", "axe.min.js")); err == nil {
			return string(source)
		}
	}
	const how = "axe-core isn't here; run npm ci in internal/localslack/page/testdata/axe"
	if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "npm") {
		t.Fatal(how)
	}
	t.Skip(how)
	return ""
}

// TestAxe has axe-core judge every screen of the page, in light and dark, wide and on a phone, and wants no finding.
func TestAxe(t *testing.T) {
	ctx, source := browser(t), axe(t)
	for _, tt := range []struct {
		name  string
		width int64
		dark  bool
	}{{"light", 1280, false}, {"dark", 1280, true}, {"phone", 390, false}} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			scene(f)
			if shared := os.Getenv("MECHA_SHARED"); shared != "" {
				f.messages[ops] = fixtures(t, corpus(t))
			}
			b := open(t, ctx, f, f.address()+"&channel="+general)
			b.dark(tt.dark)
			b.run(chromedp.EmulateViewport(tt.width, 860))
			eval[bool](b, source+`; true`)
			stops(b, func(stop string) {
				for _, what := range eval[[]string](b, axeRun) {
					t.Errorf("%s: %s", stop, what)
				}
			})
		})
	}
}

// stops shows the page's screens one after another and calls look at each.
func stops(b *tab, look func(stop string)) {
	f := b.f
	phone := eval[bool](b, `innerWidth < 721`)
	visit := func(hash, ready string) {
		b.t.Helper()
		eval[string](b, `location.hash = '`+hash+`'`)
		b.until(ready)
	}
	dismiss := func() { eval[bool](b, `(document.querySelector(':popover-open')?.hidePopover(), true)`) }
	b.until(`document.querySelectorAll('[data-testid=message]').length >= 5 && document.querySelector('table')`)
	look("channel")
	if phone {
		visit("list", `document.body.dataset.pane === 'sidebar'`)
		look("list of channels")
	}
	b.click(id("theme"))
	b.until(`document.querySelector('.menu-item')`)
	look("menu")
	dismiss()
	b.click(id("inspector-toggle"))
	b.until(`document.querySelectorAll('.log-entry').length === 3`)
	b.click(".log-entry summary")
	look("inspector")
	b.click(`.inspector [aria-label="Close inspector"]`)
	visit("channel="+general, `document.querySelectorAll('[data-testid=message]').length >= 5`)
	b.typeIn(id("composer-channel"), "@m")
	b.until(`document.querySelector('.suggestion')`)
	look("completion")
	eval[bool](b, `(() => { const e = document.querySelector('[data-testid=composer-channel]'); e.value = ''; return e.dispatchEvent(new Event('input')); })()`)
	b.click(`.pane-main .composer [aria-label="Emoji"]`)
	b.until(`document.querySelector('.emoji-cell')`)
	look("emoji picker")
	dismiss()
	b.click(id("replies"))
	b.until(`document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
	f.push("status", object{"channel": general, "thread_ts": f.messages[general][3]["ts"], "status": "is thinking…"})
	b.until(`!document.querySelector('[data-testid=thread-pane] [data-testid=status]').hidden`)
	look("thread")
	b.click(`[data-testid=thread-pane] [data-action-id="draft_reject"]`)
	b.until(`document.querySelector('dialog[open]')`)
	look("confirmation")
	b.click(id("confirm-deny"))
	visit("channel="+dm, `document.querySelectorAll('[data-testid=message]').length === 1`)
	f.put(dm, object{"ts": "1900000000.000100", "bot_id": "B0", "user": bot, "text": "", "stream": object{"state": "streaming", "chunks": []object{{"type": "task_update", "id": "1", "title": "fs_read", "status": "in_progress"}, {"type": "markdown_text", "text": "I *read*"}}}})
	f.put(dm, object{"ts": "1900000001.000100", "bot_id": "B0", "user": bot, "text": "only for you", "ephemeral": true})
	b.until(`document.querySelector('[data-testid=stop]') && document.querySelector('.msg-ephemeral')`)
	look("direct message")
	f.view("open", editModal())
	b.until(`document.querySelector('dialog[open] [data-input=file]')`)
	look("modal")
	b.click(id("modal-submit"))
	b.until(`document.querySelector('.has-error')`)
	look("modal with errors")
	if !eval[bool](b, `(() => { const e = document.activeElement; return e.getAttribute('aria-invalid') === 'true' && (e.getAttribute('aria-describedby') ?? '').split(' ').some((id) => document.getElementById(id)?.textContent.trim()); })()`) {
		b.t.Error("the first faulty field has the focus but doesn't say what is wrong with it")
	}
	b.click(id("modal-close"))
	visit("home", `document.querySelector('[data-testid=home-view] [data-action-id=home_review]')`)
	look("home")
	visit("channel="+ops, `document.querySelector('.pane-main[data-channel="`+ops+`"] .beginning, [data-channel="`+ops+`"] [data-testid=message]')`)
	look("every block")
}
