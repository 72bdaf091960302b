package page_test

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"time"
)

func section(text string) object {
	return object{"type": "section", "text": object{"type": "mrkdwn", "text": text}}
}

func plainText(text string) object { return object{"type": "plain_text", "text": text} }

func button(text, action, style string) object {
	b := object{"type": "button", "text": plainText(text), "action_id": action, "value": "token-" + action}
	if style != "" {
		b["style"] = style
	}
	return b
}

// scene fills the fake with a day of a small team: what the page is looked at with, and what most tests press.
func scene(f *fake) (thread string) {
	start := time.Now().Add(-3 * time.Hour).Unix()
	at := func(minutes int) string { return fmt.Sprintf("%d.000100", start+int64(minutes)*60) }
	thread = at(20)
	f.files["budget.csv"] = "item,amount\n\"travel, hotels\",1200\nbooks,340\n"
	f.files["notes.md"] = "# Notes\n\n- one\n- **two**\n"
	f.files["plot.png"] = tinyPNG()
	f.messages[general] = []object{
		{"ts": at(0), "user": bob, "text": "Morning. Budget day.\nThe numbers are in <https://example.edu/budget|the sheet>, please read *before* the call :coffee:", "reactions": []object{{"name": "+1", "users": []string{alice}, "count": 1}, {"name": "eyes", "users": []string{"U0MALLORY", bob}, "count": 2}}},
		{"ts": at(1), "user": bob, "text": "&gt; quoted from the dean\nand then `pytest -q` in a ```fence\n  with two lines```"},
		{"ts": at(9), "user": alice, "text": "Here they are", "files": []object{
			{"id": "F1", "name": "budget.csv", "mimetype": "text/csv", "filetype": "csv", "size": 55, "page_url": "/files/budget.csv"},
			{"id": "F2", "name": "plot.png", "mimetype": "image/png", "filetype": "png", "size": 900, "page_url": "/files/plot.png", "thumb_page_url": "/files/plot.png"},
			{"id": "F3", "name": "archive.zip", "mimetype": "application/zip", "filetype": "zip", "size": 48_000_000, "page_url": "/files/archive.zip"}}},
		{"ts": thread, "user": alice, "text": "<@" + bot + "> what did the dean ask, and draft me a reply", "reply_count": 3, "reply_users": []string{bot, alice}, "latest_reply": at(24)},
		{"ts": at(21), "thread_ts": thread, "bot_id": "B0", "user": bot, "text": "", "stream": object{"state": "done", "chunks": []object{
			{"type": "task_update", "id": "1", "title": "fs_read  budget.md", "status": "complete", "details": "0.1 s"},
			{"type": "task_update", "id": "2", "title": "mail__mail_get_thread  \"Re: budget\"", "status": "complete", "details": "0.4 s", "output": "3 messages"},
			{"type": "task_update", "id": "3", "title": "http_fetch https://example.net", "status": "error", "details": "refused"},
			{"type": "markdown_text", "text": "The dean asks for the **revised total**. It is 41,200 €, 12 % under plan.\n\n| item | amount |\n|---|--:|\n| travel | 1,200 |\n| books | 340 |\n\nI drafted a reply; it waits for you below. See [the sheet](https://example.edu/budget)."}}}},
		{"ts": at(22), "thread_ts": thread, "bot_id": "B0", "user": bot, "text": "Draft", "blocks": draftCard()},
		{"ts": at(24), "thread_ts": thread, "user": alice, "text": "Looks right, thanks."},
		{"ts": at(30), "bot_id": "B0", "user": bot, "text": "Good morning", "blocks": []object{
			{"type": "header", "text": plainText("Good morning. 3 things wait for you.")},
			{"type": "section", "text": object{"type": "mrkdwn", "text": "*? 1 unknown outcome*   mail to dean@… (yesterday 17:40)"}, "accessory": button("Settle", "settle", "")},
			{"type": "section", "text": object{"type": "mrkdwn", "text": "*✉ 2 drafts*   mail to team@… (8 h) · invite \"Review\" Thu 10:00 (8 h, ⚠)"}, "accessory": button("Review", "review", "")},
			{"type": "context", "elements": []object{{"type": "mrkdwn", "text": "overnight: briefing ran 07:00 (4 calls) · backup-check skipped: still running"}}}}},
	}
	f.messages[dm] = []object{{"ts": at(5), "bot_id": "B0", "user": bot, "text": "Hello alice. Say `help` to see what I can do."}}
	f.home = object{"id": "V0HOME", "type": "home", "blocks": []object{
		{"type": "header", "text": plainText("What waits")}, {"type": "section", "text": object{"type": "mrkdwn", "text": "✉ *Re: budget* to dean@example.edu, 2 min ago"}, "accessory": button("Review", "home_review", "primary")},
		{"type": "divider"}, section("▸ *running* _budget_ in <#" + general + "|general>"), {"type": "actions", "block_id": "pause", "elements": []object{button("Pause everything", "pause_all", "danger")}},
		{"type": "context", "elements": []object{{"type": "mrkdwn", "text": "offline rules · approve mode · healthy"}}}}}
	return thread
}

func draftCard() []object {
	pre := func(text string) object {
		return object{"type": "rich_text", "elements": []object{{"type": "rich_text_preformatted", "elements": []object{{"type": "text", "text": text}}}}}
	}
	reject := button("Reject…", "draft_reject", "danger")
	reject["confirm"] = object{"title": plainText("Reject it?"), "text": plainText("The draft is kept, with your reason."), "confirm": plainText("Reject"), "deny": plainText("Keep"), "style": "danger"}
	return []object{
		{"type": "section", "text": object{"type": "mrkdwn", "text": "*✉ Draft for you to send*"}},
		{"type": "section", "fields": []object{{"type": "mrkdwn", "text": "*To*\ndean@example.edu"}, {"type": "mrkdwn", "text": "*Subject*\nRe: budget"}}},
		pre("Dear Dean,\nthe revised total is 41,200 €, 12 % under plan."),
		{"type": "context", "elements": []object{{"type": "plain_text", "text": "20261130-a1b2 · 2 min ago"}}},
		{"type": "actions", "block_id": "draft", "elements": []object{button("Approve", "draft_approve", "primary"), button("Edit", "draft_edit", ""), reject}},
	}
}

// editModal has an input of every kind that a modal submits.
func editModal() object {
	in := func(id, label string, element object, more object) object {
		element["action_id"] = "a_" + id
		b := object{"type": "input", "block_id": id, "label": plainText(label), "element": element}
		for k, v := range more {
			b[k] = v
		}
		return b
	}
	options := []object{{"text": plainText("A"), "value": "a"}, {"text": plainText("B"), "value": "b"}}
	return object{"id": "V1", "type": "modal", "callback_id": "edit_draft", "title": plainText("Edit the draft"), "submit": plainText("Save"), "close": plainText("Cancel"), "blocks": []object{
		section("Submitting saves a new revision. It never approves."),
		in("to", "To", object{"type": "email_text_input", "initial_value": "dean@example.edu"}, object{"hint": plainText("One address")}),
		in("body", "Body", object{"type": "plain_text_input", "multiline": true, "max_length": 2900}, nil),
		in("n", "Number", object{"type": "number_input", "is_decimal_allowed": false, "min_value": "1"}, object{"optional": true}),
		in("site", "Site", object{"type": "url_text_input"}, object{"optional": true}),
		in("pick", "Pick", object{"type": "static_select", "options": options}, object{"optional": true}),
		in("many", "Many", object{"type": "multi_static_select", "options": options}, object{"optional": true}),
		in("who", "Who", object{"type": "users_select"}, object{"optional": true}),
		in("radio", "Radio", object{"type": "radio_buttons", "options": options}, object{"optional": true}),
		in("check", "Check", object{"type": "checkboxes", "options": options, "initial_options": options[:1]}, object{"optional": true}),
		in("day", "Day", object{"type": "datepicker", "initial_date": "2026-12-01"}, object{"optional": true}),
		in("time", "Time", object{"type": "timepicker", "initial_time": "09:30"}, object{"optional": true}),
		in("when", "When", object{"type": "datetimepicker", "initial_date_time": 1628633820}, object{"optional": true}),
		in("file", "File", object{"type": "file_input"}, object{"optional": true})}}
}

func tinyPNG() string {
	img := image.NewRGBA(image.Rect(0, 0, 320, 160))
	for x := range 320 {
		for y := range 160 {
			img.Set(x, y, color.RGBA{uint8(x * 255 / 320), 90, uint8(y * 255 / 160), 255})
		}
	}
	var buf bytes.Buffer
	if err := png.Encode(&buf, img); err != nil {
		panic(err)
	}
	return buf.String()
}
