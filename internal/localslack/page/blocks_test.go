package page_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// corpus is the folder of valid Block Kit fixtures, or a skip.
func corpus(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED is unset: the Block Kit fixtures are not at hand")
	}
	return filepath.Join(shared, "slack")
}

func readJSON(t *testing.T, file string) object {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var v object
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// blocksOf puts a fixture of any folder where Slack would have it: in a message's blocks.
func blocksOf(kind string, v object) []any {
	switch kind {
	case "blocks":
		return []any{v}
	case "elements":
		switch typ := v["type"].(string); {
		case typ == "url":
			return []any{object{"type": "task_card", "task_id": "t", "title": "t", "sources": []any{v}}}
		case strings.HasSuffix(typ, "_input"):
			return []any{object{"type": "input", "block_id": "i", "label": plainText("l"), "element": v}}
		case typ == "image":
			return []any{object{"type": "context", "elements": []any{v}}}
		}
		return []any{object{"type": "actions", "block_id": "a", "elements": []any{v}}}
	case "rich_text":
		if strings.HasPrefix(v["type"].(string), "rich_text_") {
			return []any{object{"type": "rich_text", "elements": []any{v}}}
		}
		return []any{object{"type": "rich_text", "elements": []any{object{"type": "rich_text_section", "elements": []any{v}}}}}
	}
	blocks, _ := v["blocks"].([]any)
	return blocks
}

// fixtures is a message for every valid fixture of root; its metadata names the file.
func fixtures(t *testing.T, root string) []object {
	t.Helper()
	var all []object
	add := func(file string, m object) {
		m["ts"], m["bot_id"], m["user"] = fmt.Sprintf("1700000000.%06d", len(all)+1), "B0", bot
		m["metadata"] = object{"event_payload": object{"file": file}}
		all = append(all, m)
	}
	for _, kind := range []string{"blocks", "elements", "rich_text", "messages", "attachments", "views"} {
		files, err := filepath.Glob(filepath.Join(root, "blockkit", "fixtures", "valid", kind, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no fixtures of %s: %v", kind, err)
		}
		for _, file := range files {
			v := readJSON(t, file)
			m := object{"text": "", "blocks": blocksOf(kind, v)}
			if kind == "attachments" {
				m = object{"text": "", "attachments": []any{v}}
			} else if more, ok := v["attachments"]; ok {
				m["attachments"] = more
			}
			add(filepath.Base(file), m)
		}
	}
	views, _ := filepath.Glob(filepath.Join(root, "views", "*.json"))
	for _, file := range views {
		add(filepath.Base(file), object{"text": "", "blocks": readJSON(t, file)["blocks"]})
	}
	return all
}

// TestFixtures shows every valid fixture and wants each drawn: no JSON box, something to see, and no request elsewhere
// (the tab's watch fails on that).
func TestFixtures(t *testing.T) {
	f := newFake(t)
	f.messages[general] = fixtures(t, corpus(t))
	n := len(f.messages[general])
	b := open(t, browser(t), f, f.address()+"&channel="+general)
	b.until(`document.querySelector('[data-testid=load-earlier]')`)
	for eval[bool](b, `!!document.querySelector('[data-testid=load-earlier]')`) {
		before := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`)
		eval[bool](b, `document.querySelector('[data-testid=load-earlier]').click() ?? true`)
		b.until(fmt.Sprintf(`document.querySelectorAll('[data-testid=message]').length > %d`, before))
	}
	if shown := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`); shown != n {
		t.Fatalf("%d of %d fixtures are on the page", shown, n)
	}
	type drawn struct {
		TS      string   `json:"ts"`
		Unknown []string `json:"unknown"`
		Empty   bool     `json:"empty"`
		Tall    bool     `json:"tall"`
	}
	got := eval[map[string]drawn](b, `Object.fromEntries([...document.querySelectorAll('[data-testid=message]')].map((el) => [el.dataset.ts, {
		ts: el.dataset.ts, unknown: [...el.querySelectorAll('[data-unknown-block]')].map((u) => u.textContent.slice(0, 200)),
		empty: el.querySelectorAll('.msg-body *').length === 0, tall: el.getBoundingClientRect().height > 5 }]))`)
	for _, m := range f.messages[general] {
		file := m["metadata"].(object)["event_payload"].(object)["file"]
		d := got[m["ts"].(string)]
		if len(d.Unknown) > 0 {
			t.Errorf("%s: shown as JSON: %v", file, d.Unknown)
		}
		if d.Empty || !d.Tall {
			t.Errorf("%s: nothing to see", file)
		}
	}
	for i, at := range []string{"0", "0.2", "0.4", "0.6", "0.8", "1"} {
		eval[float64](b, `(() => { const s = document.querySelector('.list .scroller'); s.scrollTop = s.scrollHeight * `+at+`; return s.scrollTop; })()`)
		b.shot(fmt.Sprintf("%d", i))
	}
}

// TestUnknownBlocks wants what the page does not know, or cannot draw, shown whole.
func TestUnknownBlocks(t *testing.T) {
	f := newFake(t)
	f.messages[general] = []object{{"ts": "1700000000.000001", "user": bot, "bot_id": "B0", "text": "", "blocks": []any{
		object{"type": "hologram", "depth": "forty-two"}, object{"type": "section", "text": object{"type": "mrkdwn", "text": "after"}},
		object{"type": "actions", "elements": []any{object{"type": "lever", "pull": "hard"}}}, object{"type": "table", "rows": 7},
		object{"type": "rich_text", "elements": []any{object{"type": "rich_text_section", "elements": []any{object{"type": "scent", "of": "roses"}}}}}}}}
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelectorAll('[data-unknown-block]').length === 4`)
	text := eval[string](b, `document.querySelector('.msg-body').textContent`)
	for _, want := range []string{"forty-two", "after", "hard", `"rows": 7`, "roses"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown in %s", want, text)
		}
	}
}

// TestMalformed wants a message that makes no sense to be shown as it is, and the ones after it drawn.
func TestMalformed(t *testing.T) {
	f := newFake(t)
	odd := []object{{"blocks": "x"}, {"attachments": 7}, {"stream": object{"chunks": "y"}}, {"stream": object{"state": "streaming", "chunks": []any{nil}}}, {"reactions": "z"}, {"reply_users": 5, "reply_count": 1},
		{"text": "<mailto:%E0%A4%A|x> <!date^9e99^{date}|when>"}, {"blocks": []any{nil, 3, object{"type": "section"}, object{"type": "actions", "elements": []any{nil}}, object{"type": "input"}}}, {"files": object{}}, {"edited": true, "text": nil}}
	for i, m := range odd {
		m["ts"], m["user"] = fmt.Sprintf("1700000000.%06d", i), bob
		f.messages[general] = append(f.messages[general], m)
	}
	f.messages[general] = append(f.messages[general], object{"ts": "1700000001.000000", "user": bob, "text": "still here"})
	b := open(t, browser(t), f, f.address())
	b.until(`document.querySelector('[data-ts="1700000001.000000"] .msg-body')?.textContent === 'still here'`)
	if n := eval[int](b, `document.querySelectorAll('[data-testid=message]').length`); n != len(odd)+1 {
		t.Errorf("%d of %d messages are shown", n, len(odd)+1)
	}
}

// TestChoices presses every kind of element in a message and wants the value that Slack's payload would be made from.
func TestChoices(t *testing.T) {
	f := newFake(t)
	options := []any{object{"text": plainText("A"), "value": "a"}, object{"text": plainText("B"), "value": "b"}}
	el := func(typ, action string, more object) object {
		e := object{"type": typ, "action_id": action}
		for k, v := range more {
			e[k] = v
		}
		return e
	}
	f.messages[general] = []object{{"ts": "1700000000.000001", "user": bot, "bot_id": "B0", "text": "", "blocks": []any{object{"type": "actions", "block_id": "blk", "elements": []any{
		button("Go", "go", "primary"), el("static_select", "one", object{"options": options}), el("multi_static_select", "many", object{"options": options}),
		el("users_select", "user", nil), el("channels_select", "channel", nil), el("radio_buttons", "radio", object{"options": options}), el("checkboxes", "check", object{"options": options}),
		el("datepicker", "date", nil), el("timepicker", "time", nil), el("datetimepicker", "when", nil), el("overflow", "more", object{"options": options})}},
		object{"type": "actions", "block_id": "risky", "elements": []any{object{"type": "button", "text": plainText("Risk"), "action_id": "risk", "value": "r", "confirm": object{"title": plainText("Sure?"), "text": plainText("Really"), "confirm": plainText("Do it"), "deny": plainText("No")}}}},
		object{"type": "context_actions", "block_id": "fb", "elements": []any{object{"type": "feedback_buttons", "action_id": "feedback", "positive_button": object{"text": plainText("Good"), "value": "up"}, "negative_button": object{"text": plainText("Bad"), "value": "down"}}}}}}}
	b := open(t, browser(t), f, f.address())
	at := func(action string) string { return fmt.Sprintf(`[data-action-id=%q]`, action) }
	b.until(`document.querySelector('[data-action-id=feedback]')`)
	want := func(action, block string, value any) {
		t.Helper()
		got := b.next("click")
		if got["action_id"] != action || got["block_id"] != block || got["value"] != value || got["channel"] != general || got["ts"] != "1700000000.000001" || got["user"] != alice {
			t.Errorf("%s: posted %s, want value %v", action, asJSON(got), value)
		}
	}
	choose := func(action, value string) {
		t.Helper()
		eval[bool](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; return e.dispatchEvent(new Event('change', {bubbles: true})); })()`, at(action), value))
	}
	b.click(at("go"))
	want("go", "blk", "token-go")
	choose("one", "b")
	want("one", "blk", "b")
	choose("user", bob)
	want("user", "blk", bob)
	choose("channel", "C0OPS")
	want("channel", "blk", "C0OPS")
	choose("date", "2026-12-24")
	want("date", "blk", "2026-12-24")
	choose("time", "18:30")
	want("time", "blk", "18:30")
	choose("when", "2026-12-24T18:30")
	want("when", "blk", fmt.Sprint(eval[int64](b, `new Date('2026-12-24T18:30').getTime() / 1000`)))
	b.click(`input[data-action-id="radio"][value="b"]`)
	want("radio", "blk", "b")
	b.click(`input[data-action-id="check"][value="a"]`)
	want("check", "blk", `["a"]`)
	b.click(at("many") + " summary")
	b.click(at("many") + ` input[value="b"]`)
	b.click(at("many") + ` input[value="a"]`)
	b.click(at("many") + " summary")
	want("many", "blk", `["a","b"]`)
	b.click(at("more"))
	b.click(`.popover [data-value="b"]`)
	want("more", "blk", "b")
	b.click(at("feedback") + `[data-value="down"]`)
	want("feedback", "fb", "down")
	b.click(at("risk"))
	b.click(id("confirm-deny"))
	b.until(`!document.querySelector('dialog[open]')`)
	b.click(at("risk"))
	b.click(id("confirm-ok"))
	want("risk", "risky", "r")
	if left := len(f.posts); left != 0 {
		t.Errorf("%d more posts than presses: a declined confirmation must send nothing", left)
	}
	b.run(chromedp.KeyEvent("\t"))
}
