package safehttp

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const somewhere = "93.184.216.34" // public; nothing is ever sent there

func TestGet(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/", text("hello"))
	mux.HandleFunc("/missing", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "nothing here", http.StatusNotFound) })
	mux.HandleFunc("/who", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s|%s|%s", r.Host, r.UserAgent(), r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
	})
	w := newWorld(t, mux)
	w.other = []string{somewhere}
	c := w.client(Policy{UserAgent: "test/1"})

	r, err := c.Get(t.Context(), "http://Example.com/")
	if err != nil || string(r.Body) != "hello" || r.Status != 200 || r.StatusText != "200 OK" || r.URL != "http://example.com/" || r.Truncated {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = c.Get(t.Context(), "http://example.com/missing")
	if err != nil || r.Status != 404 || !strings.Contains(string(r.Body), "nothing here") {
		t.Errorf("an error status is an answer: %+v, %v", r, err)
	}
	for range 2 { // no cookie comes back
		r, err = c.Get(t.Context(), "http://example.com/who")
		if err != nil || string(r.Body) != "example.com|test/1|" {
			t.Errorf("the server saw %q, %v", r.Body, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/end", text("end"))
	mux.Handle("/one", http.RedirectHandler("/end", http.StatusFound))
	mux.Handle("/two", http.RedirectHandler("https-not-really", http.StatusMovedPermanently))
	mux.Handle("/three", http.RedirectHandler("/two", http.StatusFound))
	mux.Handle("/https-not-really", http.RedirectHandler("http://other.example/end", http.StatusTemporaryRedirect))
	mux.Handle("/inside", http.RedirectHandler("http://169.254.169.254/latest/", http.StatusFound))
	mux.Handle("/rebound", http.RedirectHandler("http://inside.example/", http.StatusFound))
	mux.Handle("/file", http.RedirectHandler("file:///etc/passwd", http.StatusFound))
	mux.Handle("/user", http.RedirectHandler("http://u:p@other.example/", http.StatusFound))
	mux.Handle("/blocked", http.RedirectHandler("http://blocked.example/", http.StatusFound))
	mux.Handle("/loop", http.RedirectHandler("/loop", http.StatusFound))
	mux.HandleFunc("/none", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusFound) })
	w := newWorld(t, mux)
	w.other = []string{somewhere}
	w.names["inside.example"] = []string{"10.0.0.1"}

	strict := w.client(Policy{})
	r, err := strict.Get(t.Context(), "http://a.example/one")
	if err != nil || r.Status != 302 || r.Redirect != "http://a.example/end" {
		t.Errorf("without redirects: %+v, %v; want the target named", r, err)
	}
	if r, err = strict.Get(t.Context(), "http://a.example/none"); err != nil || r.Redirect != "" {
		t.Errorf("a redirect to nowhere: %+v, %v", r, err)
	}

	c := w.client(Policy{MaxRedirects: 3, BlockedDomains: []string{"blocked.example"}})
	r, err = c.Get(t.Context(), "http://a.example/three")
	if err != nil || string(r.Body) != "end" || r.URL != "http://other.example/end" {
		t.Errorf("three hops: %+v, %v", r, err)
	}
	r, err = c.Get(t.Context(), "http://a.example/loop")
	if err != nil || r.Redirect != "http://a.example/loop" {
		t.Errorf("a loop: %+v, %v; want it named", r, err)
	}
	for path, want := range map[string]string{
		"inside": "not a public address", "rebound": "10.0.0.1", "file": "only http", "user": "user name", "blocked": "blocked_domains",
	} {
		var refusal *Refusal
		if r, err := c.Get(t.Context(), "http://a.example/"+path); !errors.As(err, &refusal) || !strings.Contains(refusal.Reason, want) {
			t.Errorf("redirect %s: %+v, %v; want a refusal with %q", path, r, err, want)
		}
	}
}

func TestNamesThatLeadInside(t *testing.T) {
	w := newWorld(t, text("hello"))
	w.names["inside.example"] = []string{"127.0.0.1"}
	w.names["mixed.example"] = []string{"10.0.0.1", somewhere, "::1"}
	w.names["mapped.example"] = []string{"::ffff:192.168.0.1"}
	w.names["zone.example"] = []string{"fe80::1%lo"}
	w.names["nat64.example"] = []string{"64:ff9b::a9fe:a9fe"}
	w.names["rebind.example"] = []string{"then " + somewhere, "then 127.0.0.1"}
	c := w.client(Policy{})
	for _, host := range []string{"inside", "mapped", "zone", "nat64"} {
		var r *Refusal
		if _, err := c.Get(t.Context(), "http://"+host+".example/"); !errors.As(err, &r) || r.URL != "http://"+host+".example/" {
			t.Errorf("%s: %v, want a refusal that names the URL", host, err)
		}
	}
	if len(w.dialed) != 0 {
		t.Errorf("dialled %q", w.dialed)
	}
	if _, err := c.Get(t.Context(), "http://mixed.example/"); err != nil {
		t.Errorf("a public address among private ones: %v", err)
	}
	if want := []string{somewhere + ":80"}; len(w.dialed) != 1 || w.dialed[0] != want[0] {
		t.Errorf("dialled %q, want %q", w.dialed, want)
	}

	// Rebinding: the answer changes between the first request and the second. One lookup, one address, no second look.
	if _, err := c.Get(t.Context(), "http://rebind.example/"); err != nil {
		t.Error(err)
	}
	if w.looked["rebind.example"] != 1 {
		t.Errorf("one request looked the name up %d times", w.looked["rebind.example"])
	}
	c.Close() // no connection is left to reuse
	var r *Refusal
	if _, err := c.Get(t.Context(), "http://rebind.example/"); !errors.As(err, &r) {
		t.Errorf("after rebinding: %v, want a refusal", err)
	}
}

// The last guard stands on its own, whatever the code above it lets through.
func TestControlJudgesTheSocket(t *testing.T) {
	c := New(Policy{})
	for address, ok := range map[string]bool{
		somewhere + ":80": true, "[2606:4700::1111]:443": true, "127.0.0.1:80": false, "[::1]:80": false, "[::ffff:10.0.0.1]:80": false,
		"[fe80::1%lo]:80": false, "0.0.0.0:80": false, "example.com:80": false, "": false,
	} {
		if err := c.control("tcp4", address, nil); (err == nil) != ok {
			t.Errorf("control(%q) = %v, want ok %v", address, err, ok)
		}
	}
	if err := c.control("udp4", somewhere+":53", nil); err == nil {
		t.Error("udp was let through")
	}
}

// A server of ours on loopback is really not reached, by any name for it, through the real dialer.
func TestRealLoopbackIsRefused(t *testing.T) {
	srv := httptest.NewServer(text("secret"))
	defer srv.Close()
	_, port, err := net.SplitHostPort(srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, names: map[string][]string{"inside.example": {"127.0.0.1"}}, looked: map[string]int{}}
	c := New(Policy{Resolver: w})
	defer c.Close()
	for _, host := range []string{"127.0.0.1", "localhost", "inside.example", "[::ffff:127.0.0.1]"} {
		var r *Refusal
		if got, err := c.Get(t.Context(), "http://"+host+":"+port+"/"); !errors.As(err, &r) {
			t.Errorf("%s: %+v, %v; want a refusal", host, got, err)
		}
	}
	open := New(Policy{AllowPrivate: true})
	defer open.Close()
	if r, err := open.Get(t.Context(), srv.URL); err != nil || string(r.Body) != "secret" {
		t.Errorf("AllowPrivate: %+v, %v", r, err)
	}
}

func TestProxyVariablesAreIgnored(t *testing.T) {
	proxied := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { proxied <- r.URL.String() }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	w := newWorld(t, text("direct"))
	w.other = []string{somewhere}
	c := w.client(Policy{})
	if r, err := c.Get(t.Context(), "http://example.com/"); err != nil || string(r.Body) != "direct" {
		t.Errorf("%+v, %v", r, err)
	}
	var r *Refusal
	if _, err := c.Get(t.Context(), "http://169.254.169.254/"); !errors.As(err, &r) {
		t.Errorf("%v, want a refusal", err)
	}
	if c.transport.Proxy != nil || len(proxied) != 0 {
		t.Errorf("the proxy saw %d requests", len(proxied))
	}
}

func TestBodiesAreBounded(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/exact", text(strings.Repeat("a", 1000)))
	mux.HandleFunc("/more", text(strings.Repeat("a", 1001)))
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		zeros := make([]byte, 1<<20)
		for range 200 {
			if _, err := z.Write(zeros); err != nil {
				return // the client has seen enough
			}
		}
		_ = z.Close()
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("b", 4096)); err != nil {
				return
			}
		}
	})
	mux.HandleFunc("/brotli", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		_, _ = io.WriteString(w, "xxxx")
	})
	w := newWorld(t, mux)
	w.other = []string{somewhere}
	c := w.client(Policy{MaxBody: 1000})
	for path, truncated := range map[string]bool{"exact": false, "more": true, "bomb": true, "endless": true} {
		r, err := c.Get(t.Context(), "http://example.com/"+path)
		if err != nil || len(r.Body) != 1000 || r.Truncated != truncated {
			t.Errorf("%s: %v, %v; want 1000 bytes, truncated %v", path, r, err, truncated)
		}
	}
	if _, err := c.Get(t.Context(), "http://example.com/brotli"); err == nil || !strings.Contains(err.Error(), `"br"`) {
		t.Errorf("an encoding that was not asked for: %v", err)
	}
}

func TestHTTPClientIsGuardedToo(t *testing.T) {
	var methods []string
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		methods = append(methods, r.Method)
		rw.WriteHeader(http.StatusServiceUnavailable)
	}))
	w.other = []string{somewhere}
	w.names["inside.example"] = []string{"192.168.1.1"}
	hc := w.client(Policy{}).HTTPClient()
	resp, err := hc.Post("http://example.com/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if len(methods) != 1 {
		t.Errorf("a POST was sent %d times: nothing but Get may be retried", len(methods))
	}
	for _, u := range []string{"http://127.0.0.1/", "http://inside.example/", "http://u:p@example.com/", "http://0x7f.1/"} {
		var r *Refusal
		if _, err := hc.Post(u, "text/plain", strings.NewReader("x")); !errors.As(err, &r) {
			t.Errorf("POST %s: %v, want a refusal", u, err)
		}
	}
}

// No line of the public lists leads to a dial of an address that is not public, whatever the resolver answers.
func TestSSRFCorpus(t *testing.T) {
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED is not set, so there is no corpus to read")
	}
	f, err := os.Open(filepath.Join(shared, "corpora", "ssrf.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var lines []string
	for sc := bufio.NewScanner(f); sc.Scan(); {
		lines = append(lines, sc.Text())
	}
	if len(lines) < 100 {
		t.Fatalf("only %d lines", len(lines))
	}
	for _, answer := range []string{somewhere, "127.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "fe80::1%lo", "100.100.100.200"} {
		w := newWorld(t, text("reached"))
		w.other = []string{answer}
		c := w.client(Policy{MaxRedirects: 2})
		c.retryBase = time.Microsecond
		refused := 0
		for _, line := range lines {
			if _, err := c.Get(t.Context(), line); err != nil {
				refused++
			}
		}
		for _, d := range w.dialed {
			if !public(netip.MustParseAddrPort(d).Addr()) {
				t.Errorf("resolver says %s: dialled %s", answer, d)
			}
		}
		if answer != somewhere && len(w.dialed) > 0 {
			t.Logf("resolver says %s: dialled literal public addresses only: %q", answer, w.dialed)
		}
		if answer == somewhere && (len(w.dialed) == 0 || refused == 0) {
			t.Errorf("%d dials, %d refusals: the test shows nothing", len(w.dialed), refused)
		}
	}
}

func TestTimeoutNamesItself(t *testing.T) {
	release := make(chan struct{})
	w := newWorld(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer close(release)
	w.other = []string{somewhere}
	c := w.client(Policy{Timeout: 50 * time.Millisecond})
	_, err := c.Get(t.Context(), "http://example.com/")
	if err == nil || !strings.Contains(err.Error(), "no complete answer within 50ms") || !strings.Contains(err.Error(), "http://example.com/") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped by you"))
	if _, err := c.Get(ctx, "http://example.com/"); err == nil || !strings.Contains(err.Error(), "stopped by you") {
		t.Errorf("got %v, want the context's cause", err)
	}
}
