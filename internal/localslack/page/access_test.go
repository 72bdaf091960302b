package page_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// audit is what a checker of accessibility would find first, in the page's own
// terms: controls without a name, images without words, ids that occur twice,
// text too faint to read, roles without their states. It returns one line each.
const audit = `(() => {
  const found = [];
  const seen = (e) => e.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && !e.closest('[aria-hidden=true], [inert]');
  const modal = document.querySelector('dialog[open]');
  const inScope = (e) => !modal || modal.contains(e) || !!e.closest('dialog[open], :popover-open');
  const show = (e) => e.outerHTML.slice(0, 110);
  const name = (e) => {
    const by = e.getAttribute('aria-labelledby');
    if (by) return by.split(' ').map((id) => document.getElementById(id)?.textContent ?? '').join(' ').trim();
    return (e.getAttribute('aria-label') ?? '').trim() || [...(e.labels ?? [])].map((l) => l.textContent).join(' ').trim() || (e.matches('button, a, summary, [role=option], [role=menuitem]') ? e.textContent.trim() || [...e.querySelectorAll('img')].map((i) => i.alt).join(' ').trim() : '') || (e.getAttribute('title') ?? '').trim();
  };
  for (const e of document.querySelectorAll('button, a[href], input:not([type=hidden]), select, textarea, summary, [role=menu], [role=listbox], [role=group], [role=radiogroup], dialog[open], nav, aside, main')) {
    if (seen(e) && inScope(e) && !e.hidden && !name(e)) found.push('no name: ' + show(e));
  }
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) found.push('no words: ' + show(e));
  const ids = new Map();
  for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) found.push('id twice: ' + e.id); ids.set(e.id, e); }
  for (const e of document.querySelectorAll('[aria-controls], [aria-labelledby], [aria-describedby]')) for (const a of ['aria-controls', 'aria-labelledby', 'aria-describedby']) {
    for (const id of (e.getAttribute(a) ?? '').split(' ').filter(Boolean)) if (!ids.has(id)) found.push(a + ' names nothing: ' + show(e));
  }
  if (document.querySelectorAll('main').length !== 1) found.push('main landmarks: ' + document.querySelectorAll('main').length);
  if (!document.documentElement.lang) found.push('no language');
  if (!document.querySelector('[aria-live], [role=status], [role=log]')) found.push('nothing is announced');
  const rgb = (c) => { const m = c.match(/[\d.]+/g)?.map(Number) ?? [0, 0, 0, 0]; if (c.startsWith('color(srgb')) for (let i = 0; i < 3; i++) m[i] *= 255; return m.length < 4 ? [...m, 1] : m; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const ground = (e) => { const layers = []; for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (getComputedStyle(e).backgroundImage !== 'none') return null; layers.push(c); if (c[3] === 1) break; } return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]); };
  const lum = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const told = new Set();
  for (let n = walk.nextNode(); n; n = walk.nextNode()) {
    const e = n.parentElement;
    if (!n.data.trim() || !seen(e) || !inScope(e) || e.closest('option, :disabled')) continue;
    const style = getComputedStyle(e);
    const back = ground(e);
    if (!back) continue;
    const a = lum(over(rgb(style.color), back)), b = lum(back);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700;
    if (ratio < (large ? 3 : 4.5)) { const what = 'faint ' + ratio.toFixed(2) + ': ' + (e.className || e.tagName); if (!told.has(what)) { told.add(what); found.push(what + ' ' + JSON.stringify(n.data.trim().slice(0, 30))); } }
  }
  return found;
})()`

// TestAccessible audits the page at every stop, in light and dark, and walks it
// with the Tab key: the focus is always somewhere one can see.
func TestAccessible(t *testing.T) {
	ctx := browser(t)
	for _, dark := range []bool{false, true} {
		name := map[bool]string{false: "light", true: "dark"}[dark]
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			scene(f)
			b := open(t, ctx, f, f.address()+"&channel="+general)
			b.dark(dark)
			check := func(stop string) {
				t.Helper()
				for _, what := range eval[[]string](b, audit) {
					t.Errorf("%s: %s", stop, what)
				}
			}
			b.until(`document.querySelectorAll('[data-testid=message]').length >= 5 && document.querySelector('table')`)
			check("channel")
			b.click(id("replies"))
			b.until(`document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
			check("thread")
			b.click(id("theme"))
			b.until(`document.querySelector('.menu-item')`)
			check("menu")
			eval[bool](b, `(document.querySelector(':popover-open')?.hidePopover(), true)`)
			b.click(id("inspector-toggle"))
			b.until(`document.querySelectorAll('.log-entry').length === 3`)
			check("inspector")
			b.click(id("inspector-toggle"))
			f.view("open", editModal())
			b.until(`document.querySelector('dialog[open]')`)
			check("modal")
			b.click(id("modal-submit"))
			b.until(`document.querySelector('.has-error')`)
			check("modal with errors")
			if described := eval[bool](b, `(() => { const e = document.activeElement; return e.getAttribute('aria-invalid') === 'true' && (e.getAttribute('aria-describedby') ?? '').split(' ').some((id) => document.getElementById(id)?.textContent.trim()); })()`); !described {
				t.Error("the first faulty field has the focus but doesn't say what is wrong with it")
			}
			b.click(id("modal-close"))
			eval[string](b, `location.hash = '#home'`)
			b.until(`document.querySelector('[data-testid=home-view] [data-action-id=home_review]')`)
			check("home")

			eval[string](b, `location.hash = '#channel=`+general+`'`)
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
