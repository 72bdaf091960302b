package page_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestTab walks the page with the Tab key, in light and dark: the focus is always somewhere one can see.
func TestTab(t *testing.T) {
	ctx := browser(t)
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			scene(f)
			b := open(t, ctx, f, f.address()+"&channel="+general)
			b.dark(dark)
			b.until(`document.querySelectorAll('[data-testid=message]').length >= 5`)
			eval[bool](b, `(document.activeElement.blur(), scrollTo(0, 0), true)`)
			var stops []string
			for range 40 {
				b.run(chromedp.KeyEvent("\t"))
				stops = append(stops, eval[string](b, `(() => { const e = document.activeElement; if (e === document.body) return ''; const r = e.getBoundingClientRect(), s = getComputedStyle(e);
					const ring = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none' || !!e.closest(':focus-within') && getComputedStyle(e.closest('.composer-box') ?? e).boxShadow !== 'none';
					return (r.width && r.height ? '' : 'invisible ') + (ring ? '' : 'without a ring ') + (e.dataset.testid ?? e.getAttribute('aria-label') ?? e.className); })()`))
			}
			reached := map[string]bool{}
			for _, stop := range stops {
				reached[stop] = true
				if len(stop) > 9 && (stop[:9] == "invisible" || stop[:9] == "without a") {
					t.Errorf("Tab reaches %s", stop)
				}
			}
			for _, want := range []string{"user-switch", "channel-item", "composer-channel", "send"} {
				if !reached[want] {
					t.Errorf("Tab never reaches %s: %v", want, stops)
				}
			}
		})
	}
}
