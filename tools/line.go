package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// line makes foreign text fit to stand inside a sentence of ours: one line,
// nothing invisible, no backticks that would end a quotation, at most most
// characters.
func line(s string, most int) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
			gap = b.Len() > 0
			continue
		case r == utf8.RuneError, !unicode.IsPrint(r): // controls, bidi marks, tags, zero widths
			continue
		case r == '`':
			r = '\''
		}
		if n >= most {
			b.WriteRune('…')
			break
		}
		if gap {
			b.WriteByte(' ')
			n, gap = n+1, false
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}
