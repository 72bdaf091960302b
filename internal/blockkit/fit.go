package blockkit

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis ends every text that was cut.
const ellipsis = "…"

// units is the length of s in UTF-16 units: the longest of the readings of
// "characters" (see the package comment).
func units(s string) (n int) {
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// Fit cuts mrkdwn or Markdown to at most max characters. What is cut ends with
// "…" and never inside a rune, an entity (&lt;), a token (<@U1>, <http://…>)
// or, left open, a code fence: a fence that the cut fell into is closed.
func Fit(text string, max int) (shown string, cut bool) {
	if units(text) <= max {
		return text, false
	}
	const closing = ellipsis + "\n```"
	if max < units(closing) {
		return fitPlain(text, max)
	}
	// Assume that the fence must be closed; if it needn't be, there is room
	// for a little more, found by a second try.
	head := backOff(prefix(text, max-1), text)
	if strings.Count(head, "```")%2 == 0 {
		return head + ellipsis, true
	}
	head = backOff(prefix(text, max-units(closing)), text)
	if strings.Count(head, "```")%2 == 0 {
		return head + ellipsis, true
	}
	if i := strings.LastIndex(head, "```"); strings.TrimSpace(head[i+3:]) == "" {
		return head[:i] + ellipsis, true // nothing of the fence's content fits
	}
	return head + closing, true
}

// fitPlain cuts text that is shown as it is, at a rune.
func fitPlain(text string, max int) (shown string, cut bool) {
	if units(text) <= max {
		return text, false
	}
	if max < 1 {
		return "", true
	}
	return whole(prefix(text, max-1), text) + ellipsis, true
}

// prefix is the longest prefix of s within max units.
func prefix(s string, max int) string {
	n := 0
	for i, r := range s {
		w := 1
		if r >= 0x10000 {
			w = 2
		}
		if n+w > max {
			return s[:i]
		}
		n += w
	}
	return s
}

// whole steps back from a cut inside a CRLF or a cluster of combining marks,
// so that the last character shown is one that the text has. A flood of marks
// is cut anyway.
func whole(head, text string) string {
	if strings.HasSuffix(head, "\r") && strings.HasPrefix(text[len(head):], "\n") {
		return head[:len(head)-1]
	}
	for at, n := head, 0; n < 16 && at != ""; n++ {
		next, _ := utf8.DecodeRuneInString(text[len(at):])
		if !joins(next) && !strings.HasSuffix(at, "\u200d") {
			return at
		}
		_, size := utf8.DecodeLastRuneInString(at)
		at = at[:len(at)-size]
	}
	return head
}

// joins reports whether r belongs to the character before it.
func joins(r rune) bool {
	return r == 0x200D || unicode.In(r, unicode.Mn, unicode.Me, unicode.Variation_Selector)
}

// backOff shortens head, a prefix of text, so that it ends outside an entity
// or token and doesn't split a fence's own marks.
func backOff(head, text string) string {
	const longestEntity = len("&thetasym;")
	if i := strings.LastIndexByte(head, '&'); i >= 0 && len(head)-i < longestEntity && !strings.ContainsAny(head[i:], "; \n") {
		if j := strings.IndexByte(text[i:], ';'); j > 0 && j < longestEntity && !strings.ContainsAny(text[i:i+j], " \n") {
			head = head[:i]
		}
	}
	const longestToken = 2000 // a bare "<" long ago is a less-than sign
	if i := strings.LastIndexByte(head, '<'); i >= 0 && len(head)-i < longestToken && !strings.ContainsAny(head[i:], ">\n") {
		if j := strings.IndexAny(text[i:], ">\n"); j > 0 && text[i+j] == '>' {
			head = head[:i]
		}
	}
	if n := len(head) - len(strings.TrimRight(head, "`")); n > 0 && strings.HasPrefix(text[len(head):], "`") {
		head = head[:len(head)-n]
	}
	return whole(head, text)
}

// SplitVerbatim splits text into parts of at most max characters that join to
// the very same bytes. It prefers line ends, then spaces, and never splits a
// CRLF, a rune or (but for floods of marks) a character.
func SplitVerbatim(text string, max int) []string {
	if max < 2 {
		max = 2
	}
	var parts []string
	for {
		head := prefix(text, max)
		if len(head) == len(text) {
			break
		}
		if h := whole(head, text); h != "" {
			head = h
		}
		if i := strings.LastIndexByte(head, '\n'); i >= len(head)/2 {
			head = head[:i+1]
		} else if i := strings.LastIndexByte(head, ' '); i >= len(head)*3/4 {
			head = head[:i+1]
		}
		parts = append(parts, head)
		text = text[len(head):]
	}
	if text != "" || parts == nil {
		parts = append(parts, text)
	}
	return parts
}
