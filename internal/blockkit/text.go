package blockkit

import (
	"strings"
	"unicode"
)

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// Escape makes text inert in mrkdwn: & < > become entities, and nothing else
// does (Slack decodes no other entity, and measured, re-parses none of these).
// With it <!channel>, <@U1> and <http://…|label> are letters. Formatting marks
// (*, _, `) stay live; text that must show exactly as it is belongs into rich
// text.
func Escape(s string) string { return escaper.Replace(s) }

// OneLine is a foreign string as one line of at most max characters: a name, a
// subject, a recipient. Hidden characters show, line ends become ⏎, so that it
// can neither start a line of its own nor push ours out of sight.
func OneLine(s string, max int) string {
	// What can't be shown need not be read: a rune shows as at least a quarter
	// of a character once runs are collapsed only for spaces, so bound it far off.
	if max >= 0 && len(s) > 64*(max+16) {
		s = strings.ToValidUTF8(s[:64*(max+16)], "") + ellipsis
	}
	shown, _ := Visible(strings.TrimSpace(s), VisibleOptions{Spaces: 2, BlankLines: 1})
	shown = strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\t", " ").Replace(shown)
	shown, _ = fitPlain(shown, max)
	return shown
}

// marks are the signs that begin our own lines, their near twins, and the
// emoji codes that Slack would turn into them; each with what stands for it.
var marks = map[string]string{
	"▸": "›", "▶": "›", "►": "›", "‣": "›", "▷": "›", ":arrow_forward:": "›",
	"✓": "√", "✔": "√", "🗸": "√", ":heavy_check_mark:": "√",
	"✕": "×", "✖": "×", "✗": "×", "✘": "×", "❌": "×", ":heavy_multiplication_x:": "×", ":x:": "×",
	"◌": "○", "⚠": "!", ":warning:": "!",
	"?": "¿", "？": "¿", "❓": "¿", "❔": "¿", ":question:": "¿", ":grey_question:": "¿",
	"✉": "@", "🖂": "@", "📧": "@", ":email:": "@", ":envelope:": "@", ":e-mail:": "@",
}

// longestMark bounds the search for a mark at a line's start, in bytes.
const longestMark = len(":heavy_multiplication_x:")

// DefuseMarks replaces the marks that begin our own lines (▸ ✓ ✕ ◌ ⚠ ? ✉)
// where others' text begins a line with one, through quotation, list and
// emphasis signs, by signs that we never use: nobody's text can pass for a
// line of ours. A question mark counts only where a space follows it.
func DefuseMarks(s string) string { return defuse(s, true) }

// defuse is DefuseMarks for a piece of text that may begin inside a line.
func defuse(s string, lineStart bool) string {
	var b strings.Builder
	last := 0
	for i, r := range s {
		if i < last {
			continue
		}
		switch {
		case isLineEnd(r):
			lineStart = true
		case !lineStart:
		case leadIn(r):
		default:
			lineStart = false
			m := markAt(s[i:])
			if m == "" {
				continue
			}
			b.WriteString(s[last:i])
			b.WriteString(marks[m])
			last = i + len(m)
			// An emoji selector after the mark would turn its stand-in.
			if strings.HasPrefix(s[last:], "\ufe0f") || strings.HasPrefix(s[last:], "\ufe0e") {
				last += len("\ufe0f")
			}
		}
	}
	if last == 0 {
		return s
	}
	b.WriteString(s[last:])
	return b.String()
}

func isLineEnd(r rune) bool {
	return r == '\n' || r == '\r' || r == '\v' || r == '\f' || r == 0x85 || r == 0x2028 || r == 0x2029
}

// leadIn reports whether r may stand before a line's first character without
// anyone taking it for one.
func leadIn(r rune) bool {
	return strings.ContainsRune(">*_~#-+|`[\\", r) || unicode.IsSpace(r) || isHidden(r) || unicode.Is(unicode.Mn, r)
}

func markAt(s string) string {
	for n := min(longestMark, len(s)); n > 0; n-- {
		m := s[:n]
		if _, ok := marks[m]; !ok {
			continue
		}
		if m == "?" && n < len(s) && !strings.ContainsRune(" \t\n\r", rune(s[n])) {
			return ""
		}
		return m
	}
	return ""
}
