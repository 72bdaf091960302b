package threads

import (
	"time"
	"unicode"
	"unicode/utf8"
)

// readTimeout bounds the short looks into the record that no caller's context
// covers.
const readTimeout = 10 * time.Second

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// around is the passage of text that holds n bytes from i on, with about 300
// bytes before and after.
func around(text string, i, n int) string {
	i = min(i, len(text))
	from, to := max(0, i-300), min(len(text), i+n+300)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	s := text[from:to]
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}
