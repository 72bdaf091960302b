package localslack

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestDoors tries every door that a web page elsewhere in the same browser, or
// a name rebound to this machine, could try.
func TestDoors(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	u, _ := url.Parse(b.ready.URL)
	_, port, _ := strings.Cut(u.Host, ":")
	key := b.ready.ControlToken
	card := `{"user":"alice","channel":"#general","text":"pressed"}`

	type attempt struct {
		method, path, body string
		header             map[string]string
		host               string
		status             int
	}
	json := map[string]string{"Content-Type": "application/json", "Authorization": "Bearer " + key}
	with := func(base map[string]string, kv ...string) map[string]string {
		out := map[string]string{}
		for k, v := range base {
			out[k] = v
		}
		for i := 0; i < len(kv); i += 2 {
			out[kv[i]] = kv[i+1]
		}
		return out
	}
	for name, a := range map[string]attempt{
		"the page's own press":       {"POST", "/_local/message", card, with(json, "Origin", b.ready.URL, "Sec-Fetch-Site", "same-origin"), "", 200},
		"a script without a browser": {"POST", "/_local/message", card, json, "", 200},
		"localhost by name":          {"POST", "/_local/message", card, with(json, "Origin", "http://localhost:"+port), "localhost:" + port, 200},
		"no token":                   {"POST", "/_local/message", card, map[string]string{"Content-Type": "application/json"}, "", 401},
		"a wrong token":              {"POST", "/_local/message", card, with(json, "Authorization", "Bearer "+key[:63]+"x"), "", 401},
		"the token in the query":     {"POST", "/_local/message?token=" + key, card, map[string]string{"Content-Type": "application/json"}, "", 401},
		"the token as a cookie":      {"POST", "/_local/message", card, map[string]string{"Content-Type": "application/json", "Cookie": "key=" + key}, "", 401},
		"an app's token":             {"POST", "/_local/message", card, with(json, "Authorization", "Bearer "+b.ready.BotToken), "", 401},
		"another origin":             {"POST", "/_local/message", card, with(json, "Origin", "https://evil.example"), "", 403},
		"another port":               {"POST", "/_local/message", card, with(json, "Origin", "http://127.0.0.1:1"), "", 403},
		"an opaque origin":           {"POST", "/_local/message", card, with(json, "Origin", "null"), "", 403},
		"the other loopback name":    {"POST", "/_local/message", card, with(json, "Origin", "http://localhost:"+port), "", 403},
		"the origin with TLS":        {"POST", "/_local/message", card, with(json, "Origin", "https://"+u.Host), "", 403},
		"cross-site":                 {"POST", "/_local/message", card, with(json, "Sec-Fetch-Site", "cross-site"), "", 403},
		"same-site":                  {"POST", "/_local/message", card, with(json, "Sec-Fetch-Site", "same-site"), "", 403},
		"a rebound name":             {"POST", "/_local/message", card, json, "evil.example:" + port, 421},
		"a lookalike name":           {"POST", "/_local/message", card, json, "127.0.0.1.evil.example", 421},
		"a form":                     {"POST", "/_local/message", "user=alice&text=x", with(json, "Content-Type", "application/x-www-form-urlencoded"), "", 415},
		"text that is JSON":          {"POST", "/_local/message", card, with(json, "Content-Type", "text/plain"), "", 415},
		"reading, another origin":    {"GET", "/_local/messages?channel=general", "", with(json, "Origin", "https://evil.example"), "", 403},
		"reading, no token":          {"GET", "/_local/log", "", nil, "", 401},
		"events, no token":           {"GET", "/_local/events?user=alice", "", nil, "", 401},
		"an unknown endpoint":        {"GET", "/_local/nothing", "", nil, "", 401},
		"a body that isn't JSON":     {"POST", "/_local/message", `{"user":`, json, "", 400},
		"the page, another origin":   {"GET", "/", "", map[string]string{"Origin": "https://evil.example"}, "", 403},
		"the page, a rebound name":   {"GET", "/", "", nil, "evil.example", 421},
		"the API, a rebound name":    {"POST", "/api/auth.test", "", map[string]string{"Authorization": "Bearer " + b.ready.BotToken}, "evil.example", 421},
		"the API, whatever origin":   {"POST", "/api/auth.test", "", map[string]string{"Authorization": "Bearer " + b.ready.BotToken, "Origin": "https://api.slack.com"}, "", 200},
		"a file, another origin":     {"GET", "/file/F0?m=d", "", map[string]string{"Origin": "https://evil.example"}, "", 403},
		"a preflight":                {"OPTIONS", "/_local/message", "", map[string]string{"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, "", 403},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(a.method, b.ready.URL+a.path, strings.NewReader(a.body))
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range a.header {
				req.Header.Set(k, v)
			}
			req.Host = a.host
			res, err := b.http.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			io.Copy(io.Discard, res.Body)
			if res.StatusCode != a.status {
				t.Errorf("HTTP %d, want %d", res.StatusCode, a.status)
			}
			for k := range res.Header {
				if strings.HasPrefix(k, "Access-Control-") {
					t.Errorf("a CORS header was sent: %s", k)
				}
			}
			if len(res.Cookies()) > 0 {
				t.Error("a cookie was set")
			}
		})
	}
}

func TestThePageIsConfined(t *testing.T) {
	t.Parallel()
	b := start(t, Config{})
	res, err := b.http.Get(b.ready.URL + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if strings.Contains(string(body), b.ready.ControlToken) {
		t.Error("the page holds the control token")
	}
	csp := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'self'", "frame-ancestors 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("the policy lacks %s: %s", want, csp)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("the policy allows inline code: %s", csp)
	}
	if res.Header.Get("Referrer-Policy") != "no-referrer" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers: %v", res.Header)
	}
}

// TestUploadedBytesNeverRun: an HTML or SVG file is a download into an empty
// sandbox, whatever it is called; only raster images are inline.
func TestUploadedBytesNeverRun(t *testing.T) {
	t.Parallel()
	now := time.Now()
	b := start(t, Config{Now: func() time.Time { return now }})
	png := "\x89PNG\r\n\x1a\n"
	b.local("message", map[string]any{"user": "mallory", "channel": "#general", "files": []any{
		map[string]any{"name": "a.html", "content_base64": base64.StdEncoding.EncodeToString([]byte("<script>fetch('/_local/click')</script>"))},
		map[string]any{"name": "b.svg", "content_base64": base64.StdEncoding.EncodeToString([]byte("<svg onload='alert(1)'/>"))},
		map[string]any{"name": "c.png", "content_base64": base64.StdEncoding.EncodeToString([]byte(png))}}})
	files := b.messages(b.channel("general"), "")[0].(map[string]any)["files"].([]any)
	get := func(path string) *http.Response {
		res, err := b.http.Get(b.ready.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res
	}
	for i, f := range files {
		m := f.(map[string]any)
		res := get(m["page_url"].(string))
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "attachment") ||
			res.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: HTTP %d %v", m["name"], res.StatusCode, res.Header)
		}
		thumb, inline := m["thumb_page_url"].(string)
		if inline != (i == 2) {
			t.Errorf("%s: shown inline is %v", m["name"], inline)
		}
		if inline && !strings.HasPrefix(get(thumb).Header.Get("Content-Disposition"), "inline") {
			t.Errorf("the picture isn't shown inline")
		}
	}
	link := files[0].(map[string]any)["page_url"].(string)
	for name, forged := range map[string]string{
		"as an image":  strings.Replace(link, "m=d", "m=i", 1),
		"another file": strings.Replace(link, files[0].(map[string]any)["id"].(string), files[1].(map[string]any)["id"].(string), 1),
		"longer":       strings.Replace(link, "e=", "e=9", 1),
		"unsigned":     strings.Split(link, "&s=")[0],
	} {
		if res := get(forged); res.StatusCode != http.StatusForbidden {
			t.Errorf("a link forged %s: HTTP %d", name, res.StatusCode)
		}
	}
	b.store.links.now = func() time.Time { return now.Add(linkLife + time.Second) }
	if res := get(link); res.StatusCode != http.StatusForbidden {
		t.Errorf("an old link: HTTP %d", res.StatusCode)
	}
}

func TestOnlyLoopbackAddresses(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:80"} {
		if _, err := listen(addr); err == nil || !strings.Contains(err.Error(), "loopback") {
			t.Errorf("%s: %v", addr, err)
		}
	}
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := listen(ln.Addr().String()); err == nil || !strings.Contains(err.Error(), "taken") {
		t.Errorf("a busy port: %v", err)
	}
}
