package page_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/websocket"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// app is a small Slack app: it calls the Web API and answers envelopes, one at a time, as a test tells it to.
type app struct {
	t    *testing.T
	r    localslack.Ready
	conn *websocket.Conn
}

func connect(t *testing.T, r localslack.Ready) *app {
	t.Helper()
	a := &app{t: t, r: r}
	url := a.call("apps.connections.open", r.AppToken, object{})["url"].(string)
	conn, response, err := websocket.DefaultDialer.Dial(url, nil)
	if err != nil {
		t.Fatalf("dial %s: %v", url, err)
	}
	response.Body.Close()
	t.Cleanup(func() { conn.Close() })
	a.conn = conn
	return a
}

// call calls a Web API method and wants ok.
func (a *app) call(method, token string, arguments object) object {
	a.t.Helper()
	body, _ := json.Marshal(arguments)
	request, _ := http.NewRequest("POST", a.r.APIURL+method, bytes.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatalf("%s: %v", method, err)
	}
	defer response.Body.Close()
	var out object
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil || out["ok"] != true {
		a.t.Fatalf("%s %s: %v %v", method, body, out, err)
	}
	return out
}

func (a *app) bot(method string, arguments object) object {
	a.t.Helper()
	return a.call(method, a.r.BotToken, arguments)
}

// next acks envelopes until match likes one's payload. reply is the ack's payload for that one.
func (a *app) next(reply object, match func(kind string, payload object) bool) object {
	a.t.Helper()
	a.conn.SetReadDeadline(time.Now().Add(patience))
	for {
		var e struct {
			ID      string `json:"envelope_id"`
			Type    string `json:"type"`
			Payload object `json:"payload"`
		}
		if err := a.conn.ReadJSON(&e); err != nil {
			a.t.Fatalf("waiting for an envelope: %v", err)
		}
		if e.ID == "" {
			continue
		}
		ack, found := object{"envelope_id": e.ID}, match(e.Type, e.Payload)
		if found && reply != nil {
			ack["payload"] = reply
		}
		if err := a.conn.WriteJSON(ack); err != nil {
			a.t.Fatalf("ack: %v", err)
		}
		if found {
			return e.Payload
		}
	}
}

func event(name string) func(string, object) bool {
	return func(kind string, p object) bool {
		e, _ := p["event"].(object)
		return kind == "events_api" && e["type"] == name
	}
}

func interaction(name string) func(string, object) bool {
	return func(kind string, p object) bool { return kind == "interactive" && p["type"] == name }
}

// TestRealWorkspace has a person and an app meet in the real workspace: mention, stream, button, modal refused and
// accepted, file, slash command, Home, Stop.
func TestRealWorkspace(t *testing.T) {
	w, err := localslack.Start(context.Background(), localslack.Config{Banner: "A rehearsal", RateScale: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	ready := w.Ready()
	a := connect(t, ready)
	ctx := browser(t)
	f := newFake(t)
	f.URL = ready.URL // the tab's watch allows this origin
	b := open(t, ctx, f, ready.URL+"/#key="+ready.ControlToken)
	b.until(`document.body.dataset.connection === 'open' && document.querySelector('[data-testid=banner]').textContent === 'A rehearsal'`)
	channel := ready.Channels[0].ID
	bottom := ready.BotUserID
	owner := ready.Users[0].ID

	b.typeIn(id("composer-channel"), "@mecha write to dean@example.edu *now* & <here>"+kb.Enter)
	mention := a.next(nil, event("app_mention"))["event"].(object)
	if text := mention["text"]; text != "<@"+bottom+"> write to <mailto:dean@example.edu|dean@example.edu> *now* &amp; &lt;here&gt;" {
		t.Errorf("the app heard %q", text)
	}
	ts := mention["ts"].(string)
	b.until(`document.querySelector('[data-testid=message][data-ts="` + ts + `"] .msg-text')?.textContent === '@mecha write to dean@example.edu now & <here>'`)

	a.bot("assistant.threads.setStatus", object{"channel_id": channel, "thread_ts": ts, "status": "is thinking…"})
	b.until(`document.querySelector('[data-testid=status]:not([hidden])')?.textContent.includes('is thinking…')`)
	stream := a.bot("chat.startStream", object{"channel": channel, "thread_ts": ts, "recipient_team_id": ready.TeamID, "recipient_user_id": owner,
		"chunks": []object{{"type": "task_update", "id": "1", "title": "fs_read budget.md", "status": "in_progress"}}})["ts"].(string)
	b.click(`[data-ts="` + ts + `"] ` + id("replies"))
	b.until(`document.querySelector('[data-testid=thread-pane] .task-running')`)
	for i := range 20 {
		a.bot("chat.appendStream", object{"channel": channel, "ts": stream, "chunks": []object{{"type": "markdown_text", "text": fmt.Sprintf("**w%d** ", i)}}})
	}
	b.until(`document.querySelectorAll('[data-ts="` + stream + `"] .md strong').length === 20`)
	a.bot("chat.stopStream", object{"channel": channel, "ts": stream, "chunks": []object{{"type": "task_update", "id": "1", "title": "fs_read budget.md", "status": "complete"}},
		"blocks": []object{{"type": "context", "elements": []object{{"type": "mrkdwn", "text": "3 turns"}}}}})
	b.until(`document.querySelector('[data-ts="` + stream + `"] .task-done') && !document.querySelector('[data-testid=stop]') && document.querySelector('[data-ts="` + stream + `"] .stream-after').textContent === '3 turns'`)

	card := a.bot("chat.postMessage", object{"channel": channel, "thread_ts": ts, "text": "Draft", "blocks": draftCard()})["ts"].(string)
	b.click(`[data-ts="` + card + `"] [data-action-id="draft_edit"]`)
	press := a.next(nil, interaction("block_actions"))
	if got := press["actions"].([]any)[0].(object)["value"]; got != "token-draft_edit" {
		t.Errorf("the press carried %v", got)
	}
	view := editModal()
	delete(view, "id")
	a.bot("views.open", object{"trigger_id": press["trigger_id"], "view": view})
	b.until(`document.querySelector('dialog[open] [data-input=body] textarea')`)
	b.typeIn(`[data-input="body"] textarea`, "Dear Dean")
	b.click(id("modal-submit"))
	sent := a.next(object{"response_action": "errors", "errors": object{"to": "Not known here."}}, interaction("view_submission"))
	values := sent["view"].(object)["state"].(object)["values"].(object)
	if diff := cmp.Diff(object{"a_body": object{"type": "plain_text_input", "value": "Dear Dean"}}, values["body"]); diff != "" {
		t.Errorf("the app got (-want +got):\n%s", diff)
	}
	b.until(`document.querySelector('[data-input=to] .field-error').textContent === 'Not known here.'`)
	b.click(id("modal-submit"))
	a.next(nil, interaction("view_submission"))
	b.until(`!document.querySelector('dialog[open]')`)
	a.bot("chat.update", object{"channel": channel, "ts": card, "text": "✓ Sent", "blocks": []object{section("✓ Sent 09:15, approved by <@" + owner + ">"), draftCard()[2]}})
	b.until(`document.querySelector('[data-ts="` + card + `"] .section-text').textContent === '✓ Sent 09:15, approved by @alice'`)

	b.typeIn(id("composer-channel"), "/mecha status"+kb.Enter)
	command := a.next(object{"response_type": "ephemeral", "text": "All quiet."}, func(kind string, _ object) bool { return kind == "slash_commands" })
	if command["text"] != "status" {
		t.Errorf("the command carried %v", command["text"])
	}
	b.until(`[...document.querySelectorAll('.msg-ephemeral')].some((e) => e.textContent.includes('All quiet.') && e.textContent.includes('Only visible to you'))`)

	eval[bool](b, `(() => { const files = new DataTransfer(); files.items.add(new File(['item,amount\nbooks,340\n'], 'budget.csv', {type: 'text/csv'}));
		const picker = document.querySelector('.pane-main [data-testid=file-picker]'); picker.files = files.files; return picker.dispatchEvent(new Event('change')); })()`)
	b.click(`.pane-main ` + id("send"))
	b.until(`document.querySelector('[data-testid=message] .file-preview td')?.textContent === 'books'`)

	a.bot("views.publish", object{"user_id": owner, "view": object{"type": "home", "blocks": []object{section("*What waits*: nothing")}}})
	b.click(id("home-tab"))
	a.next(nil, event("app_home_opened"))
	b.until(`document.querySelector('[data-testid=home-view]').textContent.includes('What waits')`)
	b.click(id("inspector-toggle"))
	b.until(`[...document.querySelectorAll('.log-name')].some((e) => e.textContent === 'chat.stopStream')`)
	b.shot("inspector")
	b.click(id("channel-item"))
	b.until(`document.querySelector('[data-ts="` + ts + `"]')`)
	b.shot("channel")

	// A permalink of the workspace opens the page, and in it the thread.
	link := a.bot("chat.getPermalink", object{"channel": channel, "message_ts": card})["permalink"].(string)
	if !strings.HasPrefix(link, ready.URL+"/archives/") {
		t.Fatalf("permalink %s", link)
	}
	c := open(t, ctx, f, link+"#key="+ready.ControlToken)
	c.until(`document.querySelector('[data-testid=thread-pane] [data-ts="` + card + `"]') && location.pathname === '/' && !location.href.includes('key')`)
}
