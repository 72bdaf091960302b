package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// rehearsal starts a real workspace with an app in it and opens its page.
func rehearsal(t *testing.T, cfg localslack.Config) (localslack.Ready, *app, *tab) {
	t.Helper()
	cfg.RateScale = -1
	w, err := localslack.Start(context.Background(), cfg)
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
	f := newFake(t)
	f.URL = ready.URL // the tab's watch allows this origin
	b := open(t, browser(t), f, ready.URL+"/#key="+ready.ControlToken)
	b.until(`document.body.dataset.connection === 'open'`)
	return ready, a, b
}

// raw calls a Web API method, whatever comes of it.
func (a *app) raw(method string, arguments object) (status int, out object) {
	a.t.Helper()
	body, _ := json.Marshal(arguments)
	request, _ := http.NewRequest("POST", a.r.APIURL+method, strings.NewReader(string(body)))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	request.Header.Set("Authorization", "Bearer "+a.r.BotToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil // a lost answer
	}
	defer response.Body.Close()
	json.NewDecoder(response.Body).Decode(&out) // an HTTP 500 has no JSON
	return response.StatusCode, out
}

// TestStopIsHeard: the button ends the stream on the page, tells the app, and
// what the app appends afterwards is refused.
func TestStopIsHeard(t *testing.T) {
	ready, a, b := rehearsal(t, localslack.Config{})
	channel := ready.Channels[0].ID
	b.typeIn(id("composer-channel"), "@mecha go"+kb.Enter)
	ts := a.next(nil, event("app_mention"))["event"].(object)["ts"].(string)
	stream := a.bot("chat.startStream", object{"channel": channel, "thread_ts": ts, "recipient_team_id": ready.TeamID, "recipient_user_id": ready.Users[0].ID, "markdown_text": "on and "})["ts"].(string)
	b.click(`[data-ts="` + ts + `"] ` + id("replies"))
	b.click(`[data-testid=thread-pane] ` + id("stop"))
	e := a.next(nil, event("agent_session_stopped"))["event"].(object)
	if e["thread_ts"] != ts || fmt.Sprint(e["streaming_message_ts"]) != "["+stream+"]" || e["user"] != ready.Users[0].ID {
		t.Errorf("the app heard %v", e)
	}
	b.until(`!document.querySelector('[data-testid=stop]')`)
	if _, out := a.raw("chat.appendStream", object{"channel": channel, "ts": stream, "markdown_text": "on"}); out["error"] != "stopped_by_user" {
		t.Errorf("append after the stop: %v", out)
	}
	a.bot("assistant.threads.setStatus", object{"channel_id": channel, "thread_ts": ts, "status": "is thinking…"})
	b.click(id("stop-status"))
	a.next(nil, event("agent_session_stopped"))
}

// TestThemeStays: what was chosen wins over the system, and a reload keeps it.
func TestThemeStays(t *testing.T) {
	_, _, b := rehearsal(t, localslack.Config{})
	background := `getComputedStyle(document.querySelector('.pane-main')).backgroundColor`
	b.dark(false)
	light := eval[string](b, background)
	b.click(id("theme"))
	b.until(`document.querySelectorAll('.menu-item').length === 3`)
	eval[bool](b, `([...document.querySelectorAll('.menu-item')].find((e) => e.textContent.includes('dark')).click(), true)`)
	b.until(background + ` !== '` + light + `'`)
	dark := eval[string](b, background)
	b.run(chromedp.Reload())
	b.until(`document.body.dataset.connection === 'open' && document.querySelector('.pane-main')`)
	if got := eval[string](b, background); got != dark {
		t.Errorf("after a reload the page is %s, was %s", got, dark)
	}
}

// TestDroppedFile: a file dropped anywhere on a channel waits in its composer, and
// goes out with the words; one that misses doesn't open in the page's place.
func TestDroppedFile(t *testing.T) {
	_, a, b := rehearsal(t, localslack.Config{})
	drag := func(kind, where string) {
		t.Helper()
		if !eval[bool](b, `(() => { const data = new DataTransfer(); data.items.add(new File(['dropped'], 'plan <b>.txt', {type: 'text/plain'}));
			return !document.querySelector('`+where+`').dispatchEvent(new DragEvent('`+kind+`', {dataTransfer: data, bubbles: true, cancelable: true})); })()`) {
			t.Errorf("%s on %s is left to the browser", kind, where)
		}
	}
	drag("dragover", ".sidebar")
	drag("drop", ".sidebar")
	drag("dragover", ".pane-main .messages")
	b.until(`document.querySelector('.composer.dropping')`)
	drag("drop", ".pane-main .messages")
	b.until(`document.querySelectorAll('.composer-file').length === 1 && !document.querySelector('.composer.dropping') && document.querySelector('.composer-file bdi').textContent === 'plan <b>.txt'`)
	b.typeIn(id("composer-channel"), "here"+kb.Enter)
	m := a.next(nil, event("message"))["event"].(object)
	file := m["files"].([]any)[0].(object)
	if m["text"] != "here" || file["name"] != "plan <b>.txt" || file["size"] != 7.0 {
		t.Errorf("the app got %v", m)
	}
	b.until(`document.querySelector('[data-testid=message] .file-card')?.textContent.includes('plan <b>.txt')`)
}

// TestFaultButtons presses every fault of the inspector, and the app meets it.
func TestFaultButtons(t *testing.T) {
	ready, a, b := rehearsal(t, localslack.Config{})
	channel := ready.Channels[0].ID
	b.click(id("inspector-toggle"))
	press := func(label string) {
		t.Helper()
		eval[bool](b, `([...document.querySelectorAll('.faults button')].find((e) => e.textContent === '`+label+`').click(), true)`)
		b.until(`[...document.querySelectorAll('.toast')].some((e) => e.textContent.includes('` + label + `: set.'))`)
		eval[bool](b, `(document.querySelectorAll('.toast').forEach((e) => e.remove()), true)`)
	}
	b.click(id("export"))
	b.until(`[...document.querySelectorAll('.toast')].some((e) => /^Exported \d+ entries/.test(e.textContent))`)
	hello := object{"channel": channel, "text": "hello"}
	press("429 next call")
	if status, out := a.raw("chat.postMessage", hello); status != 429 || out["error"] != "ratelimited" {
		t.Errorf("429: %d %v", status, out)
	}
	for mode, want := range map[string]int{"ratelimit": 429, "http500": 500, "error": 200, "lost_answer": 0} {
		eval[bool](b, `(document.querySelector('.faults select').value = '`+mode+`', true)`)
		press("Fail next call")
		if status, out := a.raw("chat.postMessage", hello); status != want || out["ok"] == true {
			t.Errorf("%s: %d %v", mode, status, out)
		}
		if _, out := a.raw("chat.postMessage", hello); out["ok"] != true {
			t.Errorf("the call after %s: %v", mode, out)
		}
	}
	ts := a.bot("chat.postMessage", hello)["ts"]
	stream := a.bot("chat.startStream", object{"channel": channel, "thread_ts": ts, "recipient_team_id": ready.TeamID, "recipient_user_id": ready.Users[0].ID})["ts"]
	press("Close stream")
	if _, out := a.raw("chat.appendStream", object{"channel": channel, "ts": stream, "markdown_text": "x"}); out["error"] != "message_not_in_streaming_state" {
		t.Errorf("a closed stream: %v", out)
	}

	// An event again, with its retry said.
	eval[bool](b, `(document.querySelector('.log-filter input').value = 'message', document.querySelector('.log-filter input').dispatchEvent(new Event('input')), true)`)
	b.until(`document.querySelector('.log li:not([hidden]) .log-envelope')`)
	eval[bool](b, `(document.querySelector('.log li:not([hidden]) .log-envelope').closest('details').open = true)`)
	b.until(`document.querySelector('details[open] .log-part button')`)
	eval[bool](b, `(document.querySelector('details[open] .log-part button').click(), true)`)
	frame := func(want string) object {
		t.Helper()
		a.conn.SetReadDeadline(time.Now().Add(patience))
		for {
			var f object
			if err := a.conn.ReadJSON(&f); err != nil {
				t.Fatalf("waiting for %s: %v", want, err)
			}
			if f["type"] == want || f["retry_attempt"] == 1.0 && want == "retry" {
				return f
			}
			if f["envelope_id"] != nil {
				a.conn.WriteJSON(object{"envelope_id": f["envelope_id"]})
			}
		}
	}
	if f := frame("retry"); f["retry_reason"] != "timeout" {
		t.Errorf("delivered again: %v", f)
	}
	press("Warn, then disconnect")
	if f := frame("disconnect"); f["reason"] != "warning" {
		t.Errorf("warned: %v", f)
	}
	press("Disconnect")
	if f := frame("disconnect"); f["reason"] != "refresh_requested" {
		t.Errorf("disconnected: %v", f)
	}
	if _, _, err := a.conn.ReadMessage(); err == nil {
		t.Error("the socket is still open")
	}
	a = connect(t, ready)
	press("Half-open")
	a.conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	for {
		var f object
		if err := a.conn.ReadJSON(&f); err != nil {
			break // silence: the socket is there and says nothing
		}
		if f["type"] != "hello" {
			t.Errorf("a half-open socket says %v", f)
		}
	}
}

// TestExternalSelect: typing asks the app; a pick is shown by the app's words
// and sent as the app's option. With the keyboard alone.
func TestExternalSelect(t *testing.T) {
	ready, a, b := rehearsal(t, localslack.Config{})
	channel := ready.Channels[0].ID
	a.bot("chat.postMessage", object{"channel": channel, "text": "pick", "blocks": []object{{"type": "actions", "block_id": "blk", "elements": []object{
		{"type": "external_select", "action_id": "city", "min_query_length": 2, "placeholder": plainText("City")}}}}})
	input := `[data-action-id="city"]`
	b.typeIn(input, "v")
	b.until(`document.querySelector('.suggest-note')?.textContent === 'Type 2 letters or more'`)
	b.typeIn(input, "i")
	asked := a.next(object{"options": []object{{"text": plainText("Vienna"), "value": "vie"}, {"text": plainText("Vilnius <b>"), "value": "vno"}}}, interaction("block_suggestion"))
	if asked["value"] != "vi" || asked["action_id"] != "city" {
		t.Errorf("asked: %v", asked)
	}
	b.until(`[...document.querySelectorAll('.external .suggestion-name')].map((e) => e.textContent).join() === 'Vienna,Vilnius <b>'`)
	b.shot("options")
	if cut := eval[bool](b, `(() => { const r = document.querySelector('.options-list').getBoundingClientRect(), at = document.elementFromPoint(r.left + 9, r.bottom - 9); return !document.querySelector('.options-list').contains(at); })()`); cut {
		t.Error("the list of options is cut off or lies under something")
	}
	b.typeIn(input, kb.ArrowDown+kb.ArrowDown)
	b.until(`document.querySelector('` + input + `').getAttribute('aria-activedescendant').endsWith('-1')`)
	b.typeIn(input, kb.Enter)
	picked := a.next(nil, interaction("block_actions"))["actions"].([]any)[0].(object)["selected_option"].(object)
	if picked["value"] != "vno" || picked["text"].(object)["text"] != "Vilnius <b>" {
		t.Errorf("picked: %v", picked)
	}
	b.until(`document.querySelector('` + input + `').value === 'Vilnius <b>'`)
}

// TestTwoAppsOnOnePage: each has its DM and its Home, and what is private shows
// up for its members as it is made.
func TestTwoAppsOnOnePage(t *testing.T) {
	manifest := func(name string) localslack.Manifest {
		m, err := localslack.ParseManifest([]byte(`{"display_information":{"name":"` + name + `"},"features":{"app_home":{"home_tab_enabled":true}},
			"oauth_config":{"scopes":{"bot":["chat:write","mpim:write","groups:history"]}},"settings":{"event_subscriptions":{"bot_events":["app_home_opened"]},"interactivity":{"is_enabled":true},"socket_mode_enabled":true}}`))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	ready, a, b := rehearsal(t, localslack.Config{Manifests: []localslack.Manifest{manifest("Clerk"), manifest("Librarian")}})
	b.until(`document.querySelectorAll('[data-testid=home-tab]').length === 2`)
	for i, name := range []string{"clerk", "librarian"} {
		a.call("views.publish", ready.Apps[i].BotToken, object{"user_id": ready.Users[0].ID, "view": object{"type": "home", "blocks": []object{section("home of " + name)}}})
	}
	for i, name := range []string{"clerk", "librarian"} {
		eval[bool](b, fmt.Sprintf(`(document.querySelectorAll('[data-testid=home-tab]')[%d].click(), true)`, i))
		b.until(`document.querySelector('[data-testid=home-view]')?.textContent.includes('home of ` + name + `')`)
		b.until(fmt.Sprintf(`document.querySelectorAll('[data-testid=home-tab]')[%d].getAttribute('aria-current') === 'page'`, i))
	}
	a.call("views.publish", ready.Apps[0].BotToken, object{"user_id": ready.Users[0].ID, "view": object{"type": "home", "blocks": []object{section("changed")}}})
	a.call("views.publish", ready.Apps[1].BotToken, object{"user_id": ready.Users[0].ID, "view": object{"type": "home", "blocks": []object{section("of the librarian")}}})
	b.until(`document.querySelector('[data-testid=home-view]').textContent.includes('of the librarian')`)
	if eval[bool](b, `document.querySelector('[data-testid=home-view]').textContent.includes('changed')`) {
		t.Error("one app's view is shown as the other's")
	}
	a.call("conversations.create", ready.Users[0].Token, object{"name": "vault", "is_private": true})
	a.bot("conversations.open", object{"users": ready.Users[0].ID + "," + ready.Users[1].ID})
	b.until(`[...document.querySelectorAll('.side-name')].some((e) => e.textContent === 'vault (private)') && [...document.querySelectorAll('.side-name')].some((e) => e.textContent === 'clerk, bob')`)
	b.shot("sidebar")
}
