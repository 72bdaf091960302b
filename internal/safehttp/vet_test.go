package safehttp

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"unicode"
)

func TestVet(t *testing.T) {
	c := New(Policy{})
	tests := []struct{ in, want, refusal string }{
		{"http://example.com", "http://example.com", ""},
		{"https://Example.COM:443/A?q=1#f", "https://example.com/A?q=1#f", ""},
		{"http://example.com:80/", "http://example.com/", ""},
		{"http://example.com:8080/", "http://example.com:8080/", ""},
		{"http://example.com./x", "http://example.com/x", ""},
		{"https://bücher.example/", "https://xn--bcher-kva.example/", ""},
		{"https://ｅｘａｍｐｌｅ．com/", "https://example.com/", ""},
		{"http://under_score.example.com/", "http://under_score.example.com/", ""},
		{"http://8.8.8.8/", "http://8.8.8.8/", ""},
		{"http://[2606:4700:4700::1111]/", "http://[2606:4700:4700::1111]/", ""},
		{"http://example.com/a%20b?x=%2F", "http://example.com/a%20b?x=%2F", ""},
		{"http://example.com/?u=me@x.com", "http://example.com/?u=me@x.com", ""},

		{"ftp://example.com/", "", "only http and https"},
		{"file:///etc/passwd", "", "only http and https"},
		{"gopher://example.com/", "", "only http and https"},
		{"javascript:alert(1)", "", "only http and https"},
		{"example.com", "", "only http and https"},
		{"", "", "only http and https"},
		{"http:example.com", "", "no host"},
		{"http:///x", "", "no host"},
		{"http://", "", "no host"},
		{"//example.com/", "", "only http and https"},
		{"http://user@example.com/", "", "user name"},
		{"http://user:pw@example.com/", "", "user name"},
		{"http://@example.com/", "", "user name"},
		{"http://example.com\\@evil.com/", "", "character"},
		{"http://exa mple.com/", "", "character"},
		{"http://example.com/\n", "", "character"},
		{"http://example.com/\u200b", "", "character"},
		{"http://exam\u00adple.com/", "", "character"},
		{"http://example.com/\xff", "", "UTF-8"},
		{"http://example.com:0/", "", "port"},
		{"http://example.com:65536/", "", "port"},
		{"http://example.com:22/", "", "another protocol"},
		{"http://example.com:6379/", "", "another protocol"},
		{"http://exa%6dple.com/", "", "well-formed"},
		{"http://exa%00mple.com/", "", "well-formed"},
		{"http://-/", "http://-/", ""},
		{"http://a..b/", "", "not a name"},
		{"http://a,b/", "", "not a name"},
		{"http://" + strings.Repeat("a", 300) + ".com/", "", "not a name"},
		{"http://example.com/" + strings.Repeat("a", maxURL), "", "longer"},

		{"http://localhost/", "", "this machine"},
		{"http://LOCALHOST:8080/", "", "this machine"},
		{"http://x.localhost/", "", "this machine"},
		{"http://localhost./", "", "this machine"},
		{"http://printer.local/", "", "this machine"},
		{"http://metadata.google.internal/", "", "this machine"},
		{"http://127.0.0.1/", "", "not a public address"},
		{"http://0.0.0.0/", "", "not a public address"},
		{"http://10.1.2.3/", "", "not a public address"},
		{"http://100.64.0.1/", "", "not a public address"},
		{"http://169.254.169.254/latest/", "", "not a public address"},
		{"http://172.16.0.1/", "", "not a public address"},
		{"http://192.168.1.1/", "", "not a public address"},
		{"http://192.0.2.1/", "", "not a public address"},
		{"http://224.0.0.1/", "", "not a public address"},
		{"http://255.255.255.255/", "", "not a public address"},
		{"http://[::]/", "", "not a public address"},
		{"http://[::1]/", "", "not a public address"},
		{"http://[::ffff:127.0.0.1]/", "", "spells an IPv4"},
		{"http://[::ffff:7f00:1]/", "", "spells an IPv4"},
		{"http://[::ffff:8.8.8.8]/", "", "spells an IPv4"},
		{"http://[::127.0.0.1]/", "", "not a public address"},
		{"http://[64:ff9b::7f00:1]/", "", "not a public address"},
		{"http://[64:ff9b:1::7f00:1]/", "", "not a public address"},
		{"http://[2002:7f00:1::]/", "", "not a public address"},
		{"http://[2001::1]/", "", "not a public address"},
		{"http://[2001:db8::1]/", "", "not a public address"},
		{"http://[fc00::1]/", "", "not a public address"},
		{"http://[fe80::1]/", "", "not a public address"},
		{"http://[fec0::1]/", "", "not a public address"},
		{"http://[ff02::1]/", "", "not a public address"},
		{"http://[3fff::1]/", "", "not a public address"},
		{"http://[5f00::1]/", "", "not a public address"},
		{"http://[fe80::1%25lo]/", "", "zone"},
		{"http://[::1%25lo]/", "", "zone"},
		{"http://2130706433/", "", "number"},
		{"http://0x7f000001/", "", "number"},
		{"http://0x7f.1/", "", "number"},
		{"http://0177.0.0.1/", "", "number"},
		{"http://127.1/", "", "number"},
		{"http://127.0.0.01/", "", "number"},
		{"http://1.1.1.1.1/", "", "number"},
		{"http://256.1.1.1/", "", "number"},
		{"http://example.0x1/", "", "number"},
		{"http://①②⑦.⓪.⓪.①/", "", "not a public address"},
		{"http://１２７．０．０．１/", "", "not a public address"},
		{"http://127。0。0。1/", "", "not a public address"},
		{"http://[v1.x]/", "", "well-formed"},
	}
	for _, tt := range tests {
		u, err := c.Vet(tt.in)
		if tt.refusal == "" {
			if err != nil || u.String() != tt.want {
				t.Errorf("Vet(%q) = %v, %v; want %s", tt.in, u, err, tt.want)
			}
			continue
		}
		var r *Refusal
		if !errors.As(err, &r) || !strings.Contains(r.Reason, tt.refusal) {
			t.Errorf("Vet(%q) = %v, %v; want a refusal with %q", tt.in, u, err, tt.refusal)
		}
	}
}

func TestRefusalKeepsPasswordsAndControlCharactersOut(t *testing.T) {
	_, err := Vet("http://me:hunter2@example.com/")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	_, err = Vet("http://example.com/\x1b[2J\u202e" + strings.Repeat("a", 5000))
	if err == nil || len(err.Error()) > 600 || strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("got %q", err)
	}
}

func TestDomains(t *testing.T) {
	tests := []struct {
		allowed, blocked []string
		url              string
		ok               bool
	}{
		{nil, nil, "http://example.com/", true},
		{nil, []string{"example.com"}, "http://example.com/", false},
		{nil, []string{"example.com"}, "http://www.EXAMPLE.com./", false},
		{nil, []string{"*.example.com"}, "http://example.com/", false},
		{nil, []string{"example.com"}, "http://notexample.com/", true},
		{nil, []string{"bücher.example"}, "http://xn--bcher-kva.example/", false},
		{nil, []string{""}, "http://example.com/", true},
		{[]string{"example.com"}, nil, "http://a.example.com/", true},
		{[]string{"example.com"}, nil, "http://example.org/", false},
		{[]string{"example.com"}, nil, "http://example.com.evil.org/", false},
		{[]string{""}, nil, "http://example.com/", false}, // a list that allows nothing
		{[]string{"example.com"}, []string{"bad.example.com"}, "http://x.bad.example.com/", false},
		{[]string{"127.0.0.1", "localhost", "169.254.169.254"}, nil, "http://127.0.0.1/", false},
		{[]string{"localhost"}, nil, "http://localhost/", false},
	}
	for _, tt := range tests {
		_, err := New(Policy{AllowedDomains: tt.allowed, BlockedDomains: tt.blocked}).Vet(tt.url)
		if (err == nil) != tt.ok {
			t.Errorf("allowed %q blocked %q: Vet(%s) = %v, want ok %v", tt.allowed, tt.blocked, tt.url, err, tt.ok)
		}
	}
}

func FuzzVet(f *testing.F) {
	for _, s := range []string{
		"http://example.com/", "http://127.1/", "http://[::1%25lo]/", "http://a@b/", "http://ex\\ample/", "HTTP://EXAMPLE.com:080/",
		"http://①②⑦.0.0.1/", "http://0x7f.1", "http://a:80:80/", "http://[::ffff:1.2.3.4]/", "http://x.%6cocalhost/",
	} {
		f.Add(s)
	}
	c := New(Policy{})
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := c.Vet(raw)
		if err != nil {
			var r *Refusal
			if !errors.As(err, &r) || r.Reason == "" {
				t.Errorf("Vet(%q): %v is not a refusal with a reason", raw, err)
			}
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.Host == "" {
			t.Errorf("Vet(%q) let %q through", raw, u)
		}
		h := u.Hostname()
		if a, err := netip.ParseAddr(h); err == nil && !public(a) {
			t.Errorf("Vet(%q) let %s through", raw, a)
		}
		if isLocalName(h) {
			t.Errorf("Vet(%q) let %s through", raw, h)
		}
		// One spelling: what was vetted is a fixed point, for us and for the standard parser.
		again, err := c.Vet(u.String())
		if err != nil || again.Host != u.Host {
			t.Errorf("Vet(%q) = %q, whose own Vet is %v, %v", raw, u, again, err)
		}
		if parsed, err := url.Parse(u.String()); err != nil || parsed.Host != u.Host {
			t.Errorf("%q parses as %v, %v", u, parsed, err)
		}
	})
}
