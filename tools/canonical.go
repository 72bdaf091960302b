package tools

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Destinations are compared parsed, never as they were written: upper case, a
// trailing dot, a display name and Unicode against punycode are the same place;
// another digit, a plus tag and another scheme are not.

// bareAddress takes "Ann <A@Example.org>", "a@example.org" and
// "mailto:a@example.org" to a@example.org, and everything else to "".
func bareAddress(s string) string {
	s = strings.TrimSpace(s)
	if open := strings.LastIndexByte(s, '<'); open >= 0 && strings.HasSuffix(s, ">") {
		s = s[open+1 : len(s)-1]
	}
	if len(s) > 7 && strings.EqualFold(s[:7], "mailto:") {
		s, _, _ = strings.Cut(s[7:], "?")
		if u, err := url.PathUnescape(s); err == nil {
			s = u
		}
	}
	at := strings.LastIndexByte(s, '@')
	if at < 1 || len(s) > 320 || strings.ContainsAny(s, " \t\r\n<>,;") {
		return ""
	}
	local, host := s[:at], asciiHost(s[at+1:])
	if host == "" || !strings.Contains(host, ".") || strings.ContainsRune(local, '@') || strings.Contains(local, "://") {
		return ""
	}
	return strings.ToLower(local) + "@" + host
}

// asciiHost is a host in the one spelling that is compared, or "".
func asciiHost(h string) string {
	h = strings.TrimSuffix(h, ".")
	if a, err := netip.ParseAddr(strings.Trim(h, "[]")); err == nil {
		return a.String()
	}
	a, err := idna.Lookup.ToASCII(h)
	if err != nil {
		for _, r := range h { // the underscore, which real hosts use
			if !(r == '-' || r == '.' || r == '_' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r))) {
				return ""
			}
		}
		a = h
	}
	return strings.ToLower(a)
}

// place is a URL, taken apart. A missing scheme is a bare "example.org/x".
type webPlace struct {
	scheme, host, path, query, fragment string
}

func parseWebPlace(s string) (webPlace, bool) {
	bare := !strings.Contains(s, "://")
	if bare {
		s = "//" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Opaque != "" {
		return webPlace{}, false
	}
	p := webPlace{scheme: strings.ToLower(u.Scheme), host: asciiHost(u.Hostname()), path: u.EscapedPath(), query: u.RawQuery, fragment: u.EscapedFragment()}
	if p.host == "" || bare && !strings.Contains(p.host, ".") {
		return webPlace{}, false
	}
	if port := u.Port(); port != "" && !(p.scheme == "http" && port == "80") && !(p.scheme == "https" && port == "443") {
		p.host += ":" + port
	}
	if p.path == "" {
		p.path = "/"
	}
	return p, true
}

// names reports whether text that holds p has named q. Something that is added
// (a query, a fragment) has not been named: it is where data would ride along.
func (p webPlace) names(q webPlace) bool {
	scheme := p.scheme
	if scheme == "" {
		scheme = "https" // what a person means by a bare host
	}
	return (q.scheme == "" || q.scheme == scheme) && p.host == q.host && p.path == q.path &&
		(q.query == "" || q.query == p.query) && (q.fragment == "" || q.fragment == p.fragment)
}

// digitsOnly strips what people put between the characters of an account or a
// telephone number.
func compact(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" -.()/\u00a0", r) {
			return -1
		}
		return unicode.ToUpper(r)
	}, s)
}
