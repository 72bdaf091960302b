package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Trace says where each destination first appeared (DESIGN.md §5). The owner's
// words win whenever they come; otherwise the earliest words count, so that
// what a stranger wrote does not become private by being noted down. untrusted
// tells that third-party text is in the conversation or the batch: then what
// appears nowhere is suspect too.
func Trace(dests []Destination, words []Words, untrusted bool) []Destination {
	if len(dests) == 0 {
		return nil
	}
	out := make([]Destination, len(dests))
	for i, d := range dests {
		out[i] = trace(d, words, untrusted)
	}
	return out
}

func trace(d Destination, words []Words, untrusted bool) Destination {
	m := matcherOf(d)
	d.Origin = FromNowhere
	hint := -1 // a stranger's words that name the same host
	for i, w := range words {
		if d.Origin != FromNowhere && w.Origin != FromOwner {
			continue
		}
		if m.in(w.Text) {
			d.Origin, d.Call, d.Tool = w.Origin, w.Call, w.Tool
			if w.Origin == FromOwner {
				break
			}
		} else if hint < 0 && w.Origin == FromThirdParty && m.near != nil && m.near(w.Text) {
			hint = i
		}
	}
	if d.Origin == FromNowhere && hint >= 0 {
		d.Origin, d.Call, d.Tool = FromThirdParty, words[hint].Call, words[hint].Tool
	}
	d.Suspect = d.Origin == FromThirdParty || d.Origin == FromNowhere && untrusted
	return d
}

// NeedsPerson tells whether a person must see a call because of where it goes,
// and why, for the card. Trace comes first.
func NeedsPerson(dests []Destination) (why string, yes bool) {
	const most = 3
	var parts []string
	n := 0
	for _, d := range dests {
		if !d.Suspect {
			continue
		}
		if n++; n <= most {
			parts = append(parts, line(d.Value, 120)+" "+d.whence())
		}
	}
	if n > most {
		parts = append(parts, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(parts, "; "), n > 0
}

func (d Destination) whence() string {
	switch {
	case d.Origin != FromThirdParty:
		return "appears nowhere in what you wrote, while a stranger's text is in this conversation"
	case d.Tool != "":
		return "first appeared in the result of " + line(d.Tool, 64) + ", not in anything you wrote"
	default:
		return "first appeared in a stranger's text, not in anything you wrote"
	}
}

// Red tells whether a draft or a card is red: a suspect destination that is
// not merely an id.
func Red(dests []Destination) bool {
	for _, d := range dests {
		if d.Suspect && d.Kind != ToID {
			return true
		}
	}
	return false
}

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
				for token := urlToken(text[start:]); len(token) >= at-start+len(needle); token = token[:len(token)-1] {
					if q, ok := parseWebPlace(strings.ReplaceAll(token, "&amp;", "&")); ok && q.names(p) {
						return true
					}
					if !strings.ContainsAny(token[len(token)-1:], ".,;:!?)]}'*_~\"/") {
						break
					}
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
		if unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"<>|`\\^{", r) || i > 8<<10 {
			return text[:i]
		}
	}
	return text
}

// compactIn finds an account or a telephone number, however it is spaced.
func compactIn(number string) func(string) bool {
	if number == "" {
		return func(string) bool { return false }
	}
	_, size := utf8.DecodeRuneInString(number)
	first, rest := number[:size], number[size:]
	return func(text string) bool {
		for at := range occurrences(text, first) {
			if !continuesLeft(text[:at], "") && compactHere(text[at+size:], rest) {
				return true
			}
		}
		return false
	}
}

func compactHere(text, rest string) bool {
	gap := 0
	for i, r := range text {
		if rest == "" {
			return !wordRune(r)
		}
		want, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.ToUpper(r) == want:
			rest, gap = rest[size:], 0
		case strings.ContainsRune(" -.()/\u00a0", r) && gap < 2:
			gap++
		default:
			return false
		}
		if i > 200 {
			return false
		}
	}
	return rest == ""
}

// wordIn finds value as a word of its own.
func wordIn(text, value string, foldCase bool) bool {
	if value == "" {
		return false
	}
	for at := range occurrences(text, value) {
		end := at + len(value)
		if !foldCase && text[at:end] != value {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(value); wordRune(r) && continuesLeft(text[:at], "_-@") {
			continue
		}
		if r, _ := utf8.DecodeLastRuneInString(value); wordRune(r) && continuesWord(text[end:]) {
			continue
		}
		return true
	}
	return false
}

func pathIn(text, p string) bool {
	for at := range occurrences(text, p) {
		if text[at:at+len(p)] != p || continuesLeft(text[:at], "._-/~") {
			continue
		}
		after := strings.TrimPrefix(text[at+len(p):], "/")
		if r, _ := utf8.DecodeRuneInString(after); !wordRune(r) && r != '-' && !continuesWord(after) {
			return true
		}
	}
	return false
}

// continuesLeft reports whether the name that begins behind before began
// earlier.
func continuesLeft(before, alsoPart string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return wordRune(r) || r != utf8.RuneError && strings.ContainsRune(alsoPart, r)
}

// continuesHost reports whether the host that ends before after goes on there:
// "example.org" in "example.org.evil.net", but not at the end of a sentence.
func continuesHost(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	switch {
	case wordRune(r) || r == '-' || r == '@':
		return true
	case r == '.':
		next, _ := utf8.DecodeRuneInString(after[size:])
		return wordRune(next) || next == '-'
	}
	return false
}

// continuesWord is continuesHost for ids and names.
func continuesWord(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if wordRune(r) || r == '-' || r == '@' {
		return true
	}
	if r == '.' || r == ',' {
		next, _ := utf8.DecodeRuneInString(after[size:])
		return unicode.IsDigit(next) || r == '.' && unicode.IsLetter(next)
	}
	return false
}

// wordRune is a part of a name. Marks and format characters are: a letter with
// something invisible behind it is another name.
func wordRune(r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || unicode.Is(unicode.Cf, r)
}

func isASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
