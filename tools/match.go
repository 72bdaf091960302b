package tools

import (
	"path/filepath"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// matcher finds one destination in texts.
type matcher struct {
	in   func(text string) bool
	near func(text string) bool // a looser look, for evidence only; may be nil
}

func matcherOf(d Destination) matcher {
	v := strings.TrimSpace(d.Value)
	switch d.Kind {
	case ToURL:
		if a := bareAddress(v); a != "" && len(v) > 7 && strings.EqualFold(v[:7], "mailto:") {
			return matcher{in: addressIn(a)}
		}
		if p, ok := parseWebPlace(v); ok {
			return matcher{in: urlIn(p), near: hostIn(p.host)}
		}
	case ToAddress:
		if a := bareAddress(v); a != "" {
			return matcher{in: addressIn(a)}
		}
		if phoneShaped(v) {
			return matcher{in: compactIn(compact(v))}
		}
	case ToAccount:
		return matcher{in: compactIn(compact(v))}
	case ToChannel:
		if !channelID.MatchString(v) {
			name := strings.ToLower(strings.TrimPrefix(v, "#"))
			return matcher{in: func(text string) bool {
				return wordIn(text, "#"+name, true) || wordIn(text, "|"+name, true)
			}}
		}
	case ToPath:
		clean := filepath.Clean(v)
		return matcher{in: func(text string) bool { return pathIn(text, clean) || pathIn(text, v) }}
	}
	if d.Kind == ToID && len(v) <= shortID && strings.Trim(v, "0123456789") == "" {
		nouns := nounsOf(d.Arg)
		return matcher{in: func(text string) bool { return numberIn(text, v, nouns) }}
	}
	foldCase := d.Kind == ToAddress || d.Kind == ToURL
	return matcher{in: func(text string) bool { return wordIn(text, v, foldCase) }}
}

func phoneShaped(v string) bool {
	digits := 0
	for _, r := range v {
		switch {
		case unicode.IsDigit(r):
			digits++
		case !strings.ContainsRune("+ -.()/", r):
			return false
		}
	}
	return digits >= 6
}

// spellings are the ways in which a host stands in texts.
func spellings(host string) []string {
	out := []string{host}
	if strings.Contains(host, "xn--") {
		if u, err := idna.Lookup.ToUnicode(host); err == nil && u != host {
			out = append(out, u)
		}
	}
	return out
}

// addressIn finds a bare address that is not a part of a longer one.
func addressIn(address string) func(string) bool {
	local, host, _ := strings.Cut(address, "@")
	var needles []string
	for _, h := range spellings(host) {
		needles = append(needles, local+"@"+h)
	}
	return func(text string) bool {
		for _, needle := range needles {
			for at := range occurrences(text, needle) {
				if !continuesLeft(text[:at], ".!#$%&*+/=?^_{|}~-@") && !continuesHost(text[at+len(needle):]) {
					return true
				}
			}
		}
		return false
	}
}

// urlIn finds a URL that names p.
func urlIn(p webPlace) func(string) bool {
	needles := spellings(strings.Split(p.host, ":")[0])
	if strings.Count(p.host, ":") > 1 {
		needles = []string{p.host}
	}
	return func(text string) bool {
		for _, needle := range needles {
			for at := range occurrences(text, needle) {
				start, ok := urlStart(text, at)
				if !ok {
					continue
				}
				// Closing punctuation may belong to the URL or to the sentence: try both.
				token := urlToken(text[start:])
				for trimmed := 0; trimmed < 16 && len(token) >= at-start+len(needle); trimmed++ {
					if q, ok := parseWebPlace(strings.ReplaceAll(token, "&amp;", "&")); ok && q.names(p) {
						return true
					}
					if !strings.ContainsAny(token[len(token)-1:], ".,;:!?)]}'*_~\"/") {
						break
					}
					token = token[:len(token)-1]
				}
			}
		}
		return false
	}
}

// hostIn finds the host of a URL anywhere, as a name of its own.
func hostIn(host string) func(string) bool {
	needles := spellings(strings.Split(host, ":")[0])
	return func(text string) bool {
		for _, needle := range needles {
			for at := range occurrences(text, needle) {
				if !continuesLeft(text[:at], "-.") && !continuesHost(text[at+len(needle):]) {
					return true
				}
			}
		}
		return false
	}
}

// urlStart goes back from a host to the beginning of its URL.
func urlStart(text string, host int) (start int, ok bool) {
	before := text[:host]
	if rest, found := strings.CutSuffix(before, "://"); found {
		start = len(rest)
		for start > 0 && (isASCIIWord(rest[start-1]) || strings.IndexByte("+-.", rest[start-1]) >= 0) {
			start--
		}
		return start, start < len(rest)
	}
	if strings.HasSuffix(before, "[") { // an IPv6 host in brackets
		return urlStart(text, host-1)
	}
	return host, !continuesLeft(before, "@.-/_\\%=&?#:~+")
}

// urlToken is the run of characters from the start that a URL may hold.
func urlToken(text string) string {
	for i, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"<>|`\\^{", r) || i > 2<<10 {
			return text[:i]
		}
	}
	return text
}
