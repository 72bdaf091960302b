package page_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

// pressing is what a page elsewhere in the same browser would try: to press the
// button by every means that a page has. It says done in the title.
const pressing = `<!DOCTYPE html><title>trying</title><body><iframe id=frame src="WORKSPACE/"></iframe>
<form id=form method=post action="WORKSPACE/_local/click" enctype="text/plain" target=sink><input name='{"user":"alice","channel":"#general","ts":"TS","action_id":"approve","x":"' value='"}'></form><iframe name=sink></iframe>
<script>
const body = JSON.stringify({user: 'alice', channel: '#general', ts: 'TS', action_id: 'approve'});
const tries = [];
const url = 'WORKSPACE/_local/click';
tries.push(fetch(url, {method: 'POST', mode: 'no-cors', body, credentials: 'include'}));
tries.push(fetch(url, {method: 'POST', mode: 'no-cors', body: new Blob([body], {type: 'text/plain'})}));
tries.push(fetch(url, {method: 'POST', body, headers: {'Content-Type': 'application/json', Authorization: 'Bearer guess'}}));
tries.push(fetch('WORKSPACE/api/chat.postMessage?channel=%23general&text=stolen&token=guess', {mode: 'no-cors'}));
tries.push(fetch('WORKSPACE/_local/messages?channel=%23general').then((r) => r.text()).then((t) => { window.read = t; }));
tries.push(new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = url; }));
tries.push(new Promise((done) => { const s = new EventSource('WORKSPACE/_local/events?user=alice'); s.onmessage = () => { window.read = 'events'; }; s.onerror = () => { s.close(); done(); }; }));
tries.push(new Promise((done) => { const s = new WebSocket('SOCKET/link/?ticket=guess&app_id=x'); s.onopen = () => { window.read = 'socket'; }; s.onclose = done; }));
tries.push(new Promise((done) => { navigator.sendBeacon(url, body); setTimeout(done, 100); }));
document.getElementById('form').submit();
let framed = '';
try { framed = document.getElementById('frame').contentWindow.sessionStorage.getItem('mecha.key'); } catch {}
Promise.allSettled(tries).then(() => setTimeout(() => { document.title = 'done ' + (window.read ?? '') + (framed ?? ''); }, 200));
</script>`

// TestAnotherPageCannotPress has a real browser, in which the workspace is open,
// visit a page at another port and another name of this machine; and an
// uploaded HTML and SVG file. None of them may press Approve.
func TestAnotherPageCannotPress(t *testing.T) {
	ready, a, b := rehearsal(t, localslack.Config{})
	channel := ready.Channels[0].ID
	ts := a.bot("chat.postMessage", object{"channel": channel, "text": "card", "blocks": []object{{"type": "actions", "block_id": "d", "elements": []object{button("Approve", "approve", "primary")}}}})["ts"].(string)
	b.until(`document.querySelector('[data-action-id=approve]')`)
	hostile := strings.NewReplacer("WORKSPACE", ready.URL, "SOCKET", "ws"+strings.TrimPrefix(ready.URL, "http"), "TS", ts).Replace(pressing)
	srv := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/html; charset=utf-8")
		rw.Write([]byte(hostile))
	}))
	defer srv.Close()
	for name, address := range map[string]string{"another port": srv.URL, "another name": strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)} {
		ctx, cancel := chromedp.NewContext(browser(t))
		if err := chromedp.Do(ctx, chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
		title, err := chromedp.Run(ctx, chromedp.Evaluate[string](`new Promise((done) => { const look = () => (document.title.startsWith('done') ? done(document.title) : setTimeout(look, 20)); look(); })`, chromedp.EvalAwaitPromise))
		if err != nil || title != "done" {
			t.Errorf("%s: it read %q: %v", name, title, err)
		}
		cancel()
	}

	// What people upload doesn't run in the page's origin, opened in a tab of its own or not.
	upload := func(name, content string) string {
		out := a.local("message", object{"user": "mallory", "channel": "#general", "text": name, "files": []object{{"name": name, "content_base64": base64.StdEncoding.EncodeToString([]byte(content))}}})
		var link string
		for _, m := range a.local("messages?channel="+channel, nil)["messages"].([]any) {
			if m := m.(object); m["ts"] == out["ts"] {
				link = m["files"].([]any)[0].(object)["page_url"].(string)
			}
		}
		return link
	}
	script := `fetch('/_local/click',{method:'POST',headers:{'Content-Type':'application/json',Authorization:'Bearer '+sessionStorage.getItem('mecha.key')},body:'{"user":"alice","channel":"#general","ts":"` + ts + `","action_id":"approve"}'})`
	for name, content := range map[string]string{"a.html": "<script>" + script + "</script>", "b.svg": `<svg xmlns="http://www.w3.org/2000/svg"><script>` + script + `</script></svg>`} {
		link := upload(name, content)
		// A download aborts the navigation; a framed one stays empty. Either way nothing runs.
		eval[bool](b, `(() => { const f = document.createElement('iframe'); f.src = '`+link+`'; document.body.append(f); const o = document.createElement('object'); o.data = '`+link+`'; document.body.append(o); return true; })()`)
		confined := eval[bool](b, `fetch('`+link+`').then((r) => r.headers.get('content-disposition').startsWith('attachment') && r.headers.get('content-security-policy').includes('sandbox'))`)
		if !confined {
			t.Errorf("%s is not served as a download into a sandbox", name)
		}
	}
	eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 300))`)
	b.mu.Lock()
	b.seen = nil // the browser complains about what it refused to load: it should
	b.mu.Unlock()
	eval[bool](b, `(window.violations.length = 0, true)`)

	for _, e := range a.local("log", nil)["entries"].([]any) {
		if e := e.(object); e["method"] == "block_actions" {
			t.Errorf("somebody pressed the button: %v", e)
		}
	}
	b.click(`[data-action-id="approve"]`) // the person can
	a.next(nil, interaction("block_actions"))
}

// local calls a /_local/ endpoint as a script beside the browser would.
func (a *app) local(path string, body object) object {
	a.t.Helper()
	request, _ := http.NewRequest("GET", a.r.URL+"/_local/"+path, nil)
	if body != nil {
		raw, _ := json.Marshal(body)
		request, _ = http.NewRequest("POST", a.r.URL+"/_local/"+path, bytes.NewReader(raw))
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+a.r.ControlToken)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatalf("%s: %v", path, err)
	}
	defer response.Body.Close()
	var out object
	if err := json.NewDecoder(response.Body).Decode(&out); err != nil || response.StatusCode != http.StatusOK {
		a.t.Fatalf("%s: HTTP %d %v %v", path, response.StatusCode, out, err)
	}
	return out
}
