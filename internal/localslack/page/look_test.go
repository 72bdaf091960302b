package page_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestLook walks through the page at desktop and phone width, in light and dark, and checks at each stop that nothing
// overflows its column and that what a finger presses is large enough. With MECHA_PAGE_SHOTS it leaves pictures.
func TestLook(t *testing.T) {
	ctx := browser(t)
	for _, tt := range []struct {
		name          string
		width, height int64
		dark          bool
	}{{"desktop light", 1280, 860, false}, {"desktop dark", 1280, 860, true}, {"phone light", 390, 844, false}, {"phone dark", 390, 844, true}} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(t)
			thread := scene(f)
			b := open(t, ctx, f, f.address()+"&channel="+general)
			b.dark(tt.dark)
			b.run(chromedp.EmulateViewport(tt.width, tt.height))
			phone := tt.width < 721
			check := func(stop string) {
				t.Helper()
				b.until(`document.fonts.status === 'loaded'`)
				b.shot(stop)
				if wide := eval[[]string](b, `[...document.querySelectorAll('.msg-body, .composer, .pane-head, .dialog-body, .home-body')].filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth + 1).map((e) => e.className + ' ' + e.scrollWidth + '>' + e.clientWidth)`); len(wide) > 0 {
					t.Errorf("%s: wider than its column: %v", stop, wide)
				}
				if page := eval[float64](b, `document.scrollingElement.scrollWidth - innerWidth`); page > 0 {
					t.Errorf("%s: the page scrolls sideways by %v px", stop, page)
				}
				if !phone {
					return
				}
				if small := eval[[]string](b, `[...document.querySelectorAll('button, .btn, select')].filter((e) => e.checkVisibility() && !e.closest('.msg-note, .suggest') && !e.classList.contains('chip') && e.getBoundingClientRect().height < 40).map((e) => e.outerHTML.slice(0, 120))`); len(small) > 0 {
					t.Errorf("%s: too small for a finger: %v", stop, small)
				}
			}
			b.until(`document.querySelectorAll('[data-testid=message]').length >= 5 && document.querySelector('table')`)
			check("channel")
			if phone {
				b.click(".pane-head .icon-btn")
				b.until(`document.body.dataset.pane === 'sidebar'`)
				check("list")
				b.click(id("channel-item") + `[data-id="` + general + `"]`)
			}
			b.click(id("replies"))
			b.until(`document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
			check("thread")
			f.push("status", object{"channel": general, "thread_ts": thread, "status": "is thinking…"})
			b.until(`!document.querySelector('[data-testid=thread-pane] [data-testid=status]').hidden`)
			f.view("open", editModal())
			b.until(`document.querySelector('dialog[open]')`)
			check("modal")
			b.click(id("modal-submit"))
			b.until(`document.querySelector('.has-error')`)
			check("modal-errors")
			b.click(id("modal-close"))
			eval[string](b, `location.hash = '#home'`)
			b.until(`document.querySelector('[data-testid=home-view] [data-action-id=home_review]')`)
			check("home")
			if phone {
				b.click(".pane-head .icon-btn")
			}
			b.click(id("inspector-toggle"))
			b.until(`document.querySelectorAll('.log-entry').length === 3`)
			check("inspector")
		})
	}
}
