package page_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// TestTalk does what a person does all day: write, mention, command, reply, react, edit, delete, attach.
func TestTalk(t *testing.T) {
	f := newFake(t)
	thread := scene(f)
	f.put(general, object{"ts": "1900000000.000100", "user": alice, "text": "mine &lt;b&gt; by <@" + bot + ">"})
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelectorAll('[data-testid=message]').length >= 6`)
	channel, reply := id("composer-channel"), id("composer-thread")
	posted := func(path string, want object) {
		t.Helper()
		want["user"] = alice
		if diff := cmp.Diff(want, b.next(path)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", path, diff)
		}
	}

	if address := eval[string](b, `location.href + ' ' + document.cookie`); address != f.URL+"/ " {
		t.Errorf("the key stays in the address, or a cookie was set: %q", address)
	}
	b.typeIn(channel, "@mecha hello <all> & @here"+kb.Enter)
	posted("message", object{"channel": general, "text": "<@" + bot + "> hello <all> & @here"})
	eval[bool](b, `(document.querySelector('[data-testid=composer-channel]').focus(), true)`)
	b.run(chromedp.SendKeys(chromedp.CSS(channel), "one"), chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(chromedp.ModifierShift)), chromedp.SendKeys(chromedp.CSS(channel), "`@mecha`"))
	b.click(id("send"))
	posted("message", object{"channel": general, "text": "one\n`@mecha`"})
	b.typeIn(channel, "@me")
	b.until(`!document.querySelector('.pane-main .suggest').hidden`)
	b.typeIn(channel, kb.Enter)
	b.typeIn(channel, "hi"+kb.Enter)
	posted("message", object{"channel": general, "text": "<@" + bot + "> hi"})
	b.typeIn(channel, "/mecha status now"+kb.Enter)
	posted("command", object{"channel": general, "command": "/mecha", "text": "status now"})

	file := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(file, []byte("attached"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.SetUploadFiles(chromedp.CSS(id("file-picker")), []string{file}))
	b.until(`document.querySelector('.composer-file')`)
	b.typeIn(channel, "see"+kb.Enter)
	posted("message", object{"channel": general, "text": "see", "files": []any{object{"name": "a.txt", "content_base64": base64.StdEncoding.EncodeToString([]byte("attached"))}}})

	// The newest own message is edited with the arrow key, in the words that were typed.
	b.run(chromedp.Focus(chromedp.CSS(channel)), chromedp.KeyEvent(kb.ArrowUp))
	b.until(`document.querySelector('[data-testid=edit-input]')?.value === 'mine <b> by @mecha'`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`document.activeElement.dataset.testid === 'composer-channel'`)
	b.run(chromedp.KeyEvent(kb.ArrowUp))
	b.typeIn(id("edit-input"), "!"+kb.Enter)
	posted("edit", object{"channel": general, "ts": "1900000000.000100", "text": "mine <b> by <@" + bot + ">!"})
	b.until(`!document.querySelector('[data-testid=edit-input]') && document.activeElement.dataset.testid === 'composer-channel'`)

	mine := `[data-ts="1900000000.000100"]`
	more := func(item string) {
		t.Helper()
		b.until(fmt.Sprintf(`document.querySelector('%s') && (document.querySelector('%s').focus(), document.querySelector('%s [data-testid=message-more]'))`, mine, mine, mine))
		b.click(mine + " " + id("message-more"))
		b.click(item)
	}
	more(`[data-callback="ask_about"]`)
	posted("shortcut", object{"callback_id": "ask_about", "channel": general, "ts": "1900000000.000100"})
	more(id("delete-message"))
	b.click(id("confirm-ok"))
	posted("delete", object{"channel": general, "ts": "1900000000.000100"})
	b.until(`!document.querySelector('dialog[open]')`)
	eval[bool](b, fmt.Sprintf(`(document.querySelector('%s').focus(), true)`, mine))
	b.click(mine + " " + id("react"))
	b.typeIn(".emoji-picker input", "tada"+kb.Enter)
	posted("react", object{"channel": general, "ts": "1900000000.000100", "name": "tada"})
	b.click(id("shortcuts"))
	b.click(`[data-callback="new_task"]`)
	posted("shortcut", object{"callback_id": "new_task"})

	b.click(`[data-ts="` + thread + `"] ` + id("replies"))
	b.until(`document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
	b.typeIn(reply, "in here"+kb.Enter)
	posted("message", object{"channel": general, "text": "in here", "thread_ts": thread})
	b.typeIn(reply, "/mecha x"+kb.Enter)
	b.until(`document.querySelector('#toasts').textContent.includes('threads')`)
	b.click(id("thread-pane") + ` [data-action-id="draft_approve"]`)
	posted("click", object{"channel": general, "ts": f.messages[general][5]["ts"], "action_id": "draft_approve", "block_id": "draft", "value": "token-draft_approve"})
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('[data-testid=thread-pane]')`)
	if hash := eval[string](b, `location.hash`); hash != "#channel="+general {
		t.Errorf("after closing the thread the address says %q", hash)
	}
	eval[bool](b, `(history.back(), true)`)
	b.until(`document.querySelector('[data-testid=thread-pane]')`)
}

// TestFastFingers sends faster than the workspace answers, and into a channel that takes nothing more: words arrive in
// order, and those that don't come back.
func TestFastFingers(t *testing.T) {
	f := newFake(t)
	b := open(t, browser(t), f, f.address())
	channel := id("composer-channel")
	f.held = make(chan struct{})
	b.typeIn(channel, "one"+kb.Enter+"two"+kb.Enter+"thr")
	b.until(`document.querySelector('[data-testid=composer-channel]').value === 'thr'`)
	f.mu.Lock()
	close(f.held)
	f.held = nil
	f.mu.Unlock()
	b.typeIn(channel, "ee"+kb.Enter)
	for _, want := range []string{"one", "two", "three"} {
		if got := b.next("message")["text"]; got != want {
			t.Errorf("sent %v, want %s", got, want)
		}
	}

	f.mu.Lock()
	f.held, f.refused = make(chan struct{}), true
	held := f.held
	f.mu.Unlock()
	b.typeIn(channel, "four"+kb.Enter+"five"+kb.Enter+"six")
	b.until(`document.querySelector('[data-testid=composer-channel]').value === 'six'`)
	close(held)
	b.until(`document.querySelector('[data-testid=composer-channel]').value === 'four\nfive\nsix' && document.querySelector('#toasts').textContent.includes('archived')`)
	b.expect("409")
}

// TestLive wants what happens elsewhere to show: streams that grow in place, replies counted, marks, unread channels.
func TestLive(t *testing.T) {
	f := newFake(t)
	thread := scene(f)
	b := open(t, browser(t), f, f.address()+"&channel="+general+"&thread="+thread)
	b.until(`document.body.dataset.connection === 'open' && document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
	eval[int](b, `[...document.querySelectorAll('[data-testid=message]')].map((e) => { e.untouched = e.querySelector('.msg-body').firstChild; }).length`)
	ts := "1900000000.000200"
	stream := func(state string, chunks ...object) object {
		return object{"ts": ts, "thread_ts": thread, "user": bot, "bot_id": "B0", "text": "", "channel": general, "stream": object{"state": state, "chunks": chunks}}
	}
	task := func(status string) object {
		return object{"type": "task_update", "id": "1", "title": "fs_read plan.md", "status": status, "details": "0.1 s"}
	}
	f.push("status", object{"channel": general, "thread_ts": thread, "status": "is thinking…", "loading_messages": []string{}})
	b.until(`document.querySelector('[data-testid=thread-pane] [data-testid=status]').textContent.includes('mecha is thinking…')`)
	f.put(general, stream("streaming", task("in_progress")))
	b.until(`document.querySelector('[data-testid=thread-pane] .task-running')`)
	text := ""
	for i := range 300 {
		text += fmt.Sprintf("word%d ", i)
		f.push("message", object{"op": "changed", "channel": general, "message": stream("streaming", task("complete"), object{"type": "markdown_text", "text": text})})
	}
	b.until(`document.querySelector('[data-ts="1900000000.000200"] .md')?.textContent.includes('word299') && document.querySelector('[data-ts="1900000000.000200"] .task-done')`)
	b.until(`document.querySelector('[data-ts="` + thread + `"] .replies-count').textContent === '4 replies'`)
	b.click(id("stop"))
	if got := b.next("stop"); got["thread_ts"] != thread || got["channel"] != general {
		t.Errorf("Stop posted %v", got)
	}
	f.push("message", object{"op": "changed", "channel": general, "message": stream("stopped", task("complete"), object{"type": "markdown_text", "text": text})})
	f.push("status", object{"channel": general, "thread_ts": thread, "status": ""})
	b.until(`!document.querySelector('[data-testid=stop]') && document.querySelector('.stream-stopped') && document.querySelector('[data-testid=thread-pane] [data-testid=status]').hidden`)
	if redrawn := eval[int](b, `[...document.querySelectorAll('[data-testid=message]')].filter((e) => e.untouched && e.untouched !== e.querySelector('.msg-body').firstChild).length`); redrawn > 0 {
		t.Errorf("%d messages that nobody touched were drawn again", redrawn)
	}

	f.push("ephemeral", object{"channel": general, "message": object{"ts": "1900000000.000300", "thread_ts": thread, "user": bot, "bot_id": "B0", "text": "psst"}})
	b.until(`document.querySelector('[data-ts="1900000000.000300"] .msg-note')?.textContent.includes('Only visible to you')`)
	f.put("C0OPS", object{"ts": "1900000000.000400", "user": bob, "text": "elsewhere"})
	b.until(`document.querySelector('[data-id=C0OPS] .unread').textContent === '1'`)
	f.put(general, object{"ts": "1900000000.000500", "user": bob, "text": "to be changed"})
	b.until(`document.querySelector('[data-ts="1900000000.000500"]') && document.getElementById('announcer').textContent.includes('to be changed')`)
	f.push("message", object{"op": "changed", "channel": general, "message": object{"ts": "1900000000.000500", "user": bob, "text": "changed", "edited": object{"user": bob, "ts": "1900000000.000600"}}})
	f.push("reaction", object{"op": "added", "channel": general, "ts": "1900000000.000500", "user": bob, "reaction": "tada"})
	b.until(`document.querySelector('[data-ts="1900000000.000500"] .msg-edited') && document.querySelector('[data-ts="1900000000.000500"] .reaction-count')?.textContent === '1'`)
	f.push("reaction", object{"op": "removed", "channel": general, "ts": "1900000000.000500", "user": bob, "reaction": "tada"})
	b.until(`!document.querySelector('[data-ts="1900000000.000500"] .reaction')`)
	f.push("message", object{"op": "deleted", "channel": general, "message": object{"ts": "1900000000.000500", "user": bob}})
	b.until(`!document.querySelector('[data-ts="1900000000.000500"]')`)
	f.push("message", object{"op": "deleted", "channel": general, "message": object{"ts": thread, "user": alice}})
	b.until(`document.querySelector('.pane-main [data-ts="` + thread + `"] .msg-body').textContent === 'This message was deleted.'`)
	f.view("publish", object{"id": "VH", "type": "home", "blocks": []any{section("fresh home")}})
	b.click(id("home-tab"))
	if got := b.next("home"); got["user"] != alice {
		t.Errorf("home opened as %v", got["user"])
	}
	b.until(`document.querySelector('[data-testid=home-view]').textContent.includes('fresh home')`)
}

// TestReconnect cuts the events and wants what was missed, and the sight of it.
func TestReconnect(t *testing.T) {
	f := newFake(t)
	scene(f)
	b := open(t, browser(t), f, f.address())
	b.until(`document.body.dataset.connection === 'open' && document.querySelector('[data-testid=message]')`)
	eval[bool](b, `(window.states = [], window.said = [], new MutationObserver(() => window.said.push(document.querySelector('[data-testid=link-state]').textContent)).observe(document.querySelector('[data-testid=link-state]'), {childList: true}), new MutationObserver(() => window.states.push(document.body.dataset.connection)).observe(document.body, {attributeFilter: ['data-connection']}), true)`)
	f.mu.Lock()
	gone := f.messages[general][0]["ts"].(string)
	f.messages[general] = append(f.messages[general][1:], object{"ts": "1900000000.000100", "user": bob, "text": "while you were away"})
	for reader := range f.readers {
		close(reader)
		delete(f.readers, reader)
	}
	f.mu.Unlock()
	b.until(`document.querySelector('[data-testid=link-state]').textContent === '' && window.said.some((each) => each.includes('does not answer'))`)
	b.until(`window.states.includes('lost') && document.body.dataset.connection === 'open' && document.querySelector('[data-ts="1900000000.000100"]')`)
	b.until(`!document.querySelector('[data-ts="` + gone + `"]')`)

	// More came than one page holds: no hole may stay between the old rows and the new.
	f.mu.Lock()
	for i := range 120 {
		f.messages[general] = append(f.messages[general], object{"ts": fmt.Sprintf("19000001%02d.%06d", i/100, i%100), "user": bob, "text": fmt.Sprint("missed ", i)})
	}
	for reader := range f.readers {
		close(reader)
		delete(f.readers, reader)
	}
	f.mu.Unlock()
	b.until(`document.querySelector('[data-ts="1900000101.000019"]') && document.querySelectorAll('[data-testid=message]').length === 50 && document.querySelector('[data-testid=load-earlier]')`)
}

// TestLongThread opens a thread of thousands of replies: the newest at once, the others when asked for, none twice.
func TestLongThread(t *testing.T) {
	const replies = 3000
	f := newFake(t)
	parent := "1700000000.000001"
	at := func(i int) string { return fmt.Sprintf("1700000001.%06d", i) }
	f.messages[general] = []object{{"ts": parent, "user": bob, "text": "parent", "reply_count": replies}}
	for i := range replies {
		f.messages[general] = append(f.messages[general], object{"ts": at(i), "thread_ts": parent, "user": bot, "bot_id": "B0", "text": fmt.Sprint("reply ", i)})
	}
	b := open(t, browser(t), f, f.address())
	b.click(id("replies"))
	shown := func(first, n int) {
		t.Helper()
		b.until(fmt.Sprintf(`(() => { const rows = [...document.querySelectorAll('[data-testid=thread-pane] .messages > *')]; return rows.length === %d && rows[0].dataset.ts === %q && rows[1].textContent.includes('earlier') && rows[2].dataset.ts === %q && rows.at(-1).dataset.ts === %q; })()`, n+2, parent, at(first), at(replies-1)))
	}
	shown(replies-100, 100)
	if top := eval[string](b, `(() => { const s = document.querySelector('[data-testid=thread-pane] .scroller'); s.scrollTop = 0; return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(s.scrollTop + document.querySelector('[data-testid=thread-pane] [data-testid=message]').dataset.ts)))); })()`); top != "0"+parent {
		t.Errorf("at the top of the thread is %s, not its parent", top)
	}
	f.push("message", object{"op": "changed", "channel": general, "message": object{"ts": at(7), "thread_ts": parent, "user": bot, "bot_id": "B0", "text": "changed, and not on the screen"}})
	b.click(`[data-testid=thread-pane] [data-testid=load-earlier]`)
	shown(replies-200, 200)
	// After a loss of events, what was there is there again.
	eval[bool](b, `(window.states = [], new MutationObserver(() => window.states.push(document.body.dataset.connection)).observe(document.body, {attributeFilter: ['data-connection']}), true)`)
	f.mu.Lock()
	for reader := range f.readers {
		close(reader)
		delete(f.readers, reader)
	}
	f.mu.Unlock()
	b.until(`window.states.includes('lost') && window.states.at(-1) === 'open'`)
	shown(replies-200, 200)
}

// TestWideTable wants a table to scroll in its box before its words are broken, on a phone as well.
func TestWideTable(t *testing.T) {
	f := newFake(t)
	f.messages[general] = []object{{"ts": "1700000000.000001", "user": bot, "bot_id": "B0", "text": "", "blocks": []any{object{"type": "markdown", "text": strings.Repeat("| department ", 9) + "|\n" + strings.Repeat("|---", 9) + "|\n" + strings.Repeat("| anthropology of water ", 9) + "|"}}}}
	b := open(t, browser(t), f, f.address())
	b.run(chromedp.EmulateViewport(360, 740))
	b.until(`document.querySelector('td')`)
	if got := eval[string](b, `(() => { const box = document.querySelector('.table-scroll'), th = document.querySelector('th'), r = document.createRange(); r.selectNodeContents(th);
		return [box.scrollWidth > box.clientWidth ? 'scrolls' : 'is squeezed', r.getClientRects().length, document.scrollingElement.scrollWidth - innerWidth].join(' '); })()`); got != "scrolls 1 0" {
		t.Errorf("the table %s; want it to scroll, a word on 1 line, and the page 0 too wide", got)
	}
}

// TestManyTabs opens more tabs than a browser has connections to one address. Those that nobody looks at make room, and
// know what happened when somebody looks again.
func TestManyTabs(t *testing.T) {
	f := newFake(t)
	ctx := browser(t)
	hide := func(b *tab, hidden bool) {
		eval[bool](b, fmt.Sprintf(`(Object.defineProperty(document, 'hidden', {get: () => %t, configurable: true}), document.dispatchEvent(new Event('visibilitychange')))`, hidden))
	}
	var tabs []*tab
	for range 8 {
		b := open(t, ctx, f, f.address())
		b.until(`document.body.dataset.connection === 'open' && document.querySelector('.beginning')`)
		hide(b, true)
		if len(tabs) >= 3 {
			b.until(`document.body.dataset.connection === 'resting'`)
		}
		tabs = append(tabs, b)
	}
	f.put(general, object{"ts": "1900000000.000100", "user": bob, "text": "while nobody looked"})
	last := tabs[len(tabs)-1]
	hide(last, false)
	last.until(`document.body.dataset.connection === 'open' && document.querySelector('[data-ts="1900000000.000100"]')`)
	tabs[0].until(`document.querySelector('[data-ts="1900000000.000100"]')`) // it never rested
}

// TestBecome switches the person and wants everything posted and read as them.
func TestBecome(t *testing.T) {
	f := newFake(t)
	scene(f)
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelector('[data-testid=message]')`)
	become := func(user string) {
		t.Helper()
		b.run(chromedp.SetValue(chromedp.CSS(id("user-switch")), user))
		eval[bool](b, `document.querySelector('[data-testid=user-switch]').dispatchEvent(new Event('change'))`)
	}
	b.typeIn(id("composer-channel"), "alice was here")
	become(bob)
	b.until(`document.querySelector('[data-testid=user-switch]').value === 'U0BOB' && document.querySelector('.reaction[aria-pressed=true]')?.textContent.includes('2')`)
	b.until(`document.querySelector('[data-testid=composer-channel]')?.value === ''`)
	b.typeIn(id("composer-channel"), "bob here"+kb.Enter)
	if got := b.next("message"); got["user"] != bob || got["text"] != "bob here" {
		t.Errorf("posted %v", got)
	}
	become(alice)
	b.until(`document.querySelector('[data-testid=composer-channel]')?.value === 'alice was here'`)
}

// TestDoor opens the page without a key, and with a wrong one.
func TestDoor(t *testing.T) {
	f := newFake(t)
	ctx := browser(t)
	b := open(t, ctx, f, f.URL+"/")
	b.until(`document.querySelector('[data-testid=door]')`)
	b.typeIn(".door input", f.address()+kb.Enter)
	b.until(`document.querySelector('[data-testid=channel-item]')`)

	// A workspace that was started again has another key: whoever pastes it is back where they were.
	thread := scene(f)
	c := open(t, ctx, f, f.URL+"/#key=old&channel="+general+"&thread="+thread)
	c.until(`document.querySelector('[data-testid=door]')?.textContent.includes('changes when the workspace is started again')`)
	c.expect("401")
	c.typeIn(".door input", f.address()+kb.Enter)
	c.until(`document.querySelector('[data-testid=thread-pane]')?.dataset.thread === '` + thread + `' && !location.href.includes('key')`)
}

// TestLinks wants a permalink, ours or Slack's, opened in place.
func TestLinks(t *testing.T) {
	f := newFake(t)
	thread := scene(f)
	slackLink := f.URL + "/archives/" + general + "/p" + thread[:10] + thread[11:]
	f.put(dm, object{"ts": "1900000000.000100", "user": bot, "bot_id": "B0", "text": "<" + slackLink + "|the thread>", "blocks": []any{
		object{"type": "actions", "block_id": "x", "elements": []any{object{"type": "button", "text": plainText("Open"), "action_id": "open", "url": f.URL + "/#channel=" + general + "&thread=" + thread}}}, section("<" + slackLink + "|the thread>")}})
	b := open(t, browser(t), f, f.address()+"&channel="+dm)
	b.click(`[data-action-id="open"]`)
	b.until(`document.querySelector('[data-testid=thread-pane]')?.dataset.channel === 'C0GENERAL' && document.querySelectorAll('[data-testid=thread-pane] [data-testid=message]').length === 4`)
	if got := b.next("click"); got["action_id"] != "open" {
		t.Errorf("a link button must tell the app too; posted %v", got)
	}
	b.click(id("channel-item") + `[data-id="` + dm + `"]`)
	b.until(`!document.querySelector('[data-testid=thread-pane]')`)
	b.click(`.section-text a`)
	b.until(`document.querySelector('[data-testid=thread-pane]')?.dataset.thread === '` + thread + `'`)
}

// TestMany opens a channel of 100,000 messages, scrolls up, and survives a flood.
func TestMany(t *testing.T) {
	f := newFake(t)
	scene(f)
	for i := range 100_000 {
		f.messages["C0OPS"] = append(f.messages["C0OPS"], object{"ts": fmt.Sprintf("17%08d.000100", i), "user": bob, "text": fmt.Sprintf("message *number* %d", i)})
	}
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelector('[data-testid=message]')`)
	took := eval[float64](b, `new Promise((done) => { const start = performance.now(); document.querySelector('[data-id=C0OPS]').click();
		const look = () => (document.querySelector('[data-ts="1700099999.000100"]') ? done(performance.now() - start) : requestAnimationFrame(look)); look(); })`)
	fetched := eval[float64](b, `performance.getEntriesByType('resource').findLast((e) => e.name.includes('/_local/history')).duration`)
	t.Logf("opened in %.0f ms, of which the page's own share is %.0f ms", took, took-fetched)
	if own := took - fetched; own > 1000 { // the aim is 200 ms on a quiet machine; this bound only catches a page that draws everything
		t.Errorf("the page took %.0f ms to show 50 of 100,000 messages", own)
	}
	if rows := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`); rows != 50 {
		t.Errorf("%d rows for the first page, want 50", rows)
	}
	eval[float64](b, `document.querySelector('.list .scroller').scrollTop = 0`)
	b.until(`document.querySelectorAll('[data-testid=message]').length >= 100`)
	if top := eval[float64](b, `document.querySelector('[data-ts="1700099950.000100"]').getBoundingClientRect().top`); top < -50 || top > 900 {
		t.Errorf("loading earlier messages moved the reader's place to %v", top)
	}
	eval[float64](b, `document.querySelector('.list .scroller').scrollTop = 1e9`)
	for i := range 3000 {
		f.push("message", object{"op": "new", "channel": "C0OPS", "message": object{"ts": fmt.Sprintf("18%08d.000100", i), "user": bob, "text": "flood", "channel": "C0OPS"}})
	}
	b.until(`document.querySelector('[data-ts="1800002999.000100"]')`)
	if rows := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`); rows > 360 {
		t.Errorf("%d rows are kept after a flood", rows)
	}
}
