package blockkit

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// VisibleOptions say how much blank space and how many combining marks are
// ordinary. Zero values take the defaults.
type VisibleOptions struct {
	Spaces      int  // longest run of spaces and tabs left alone; 16
	BlankLines  int  // longest run of blank lines left alone; 3
	Marks       int  // most combining marks on one character; 4
	KeepSpacing bool // leave spaces and blank lines alone, however many
}

func (o VisibleOptions) defaults() VisibleOptions {
	if o.Spaces <= 0 {
		o.Spaces = 16
	}
	if o.BlankLines <= 0 {
		o.BlankLines = 3
	}
	if o.Marks <= 0 {
		o.Marks = 4
	}
	return o
}

// Visible shows what a reader of s would not see: every invisible, direction-
// changing, private-use or unassigned character as ‹U+200B›, hidden tag text
// spelled out, unusual spaces by number, long padding as ‹37 spaces› or ‹12
// blank lines›, a flood of combining marks by its number. hidden is how many
// characters that was; 0 means that shown equals s.
//
// Left alone, because they are spelling and not hiding: joiners and selectors
// inside emoji, the three flags made of tags, joiners between letters of the
// scripts that need them, line ends (a carriage return before its line feed
// included).
func Visible(s string, opts VisibleOptions) (shown string, hidden int) {
	v := viewer{opts: opts.defaults(), s: s}
	for v.i < len(s) {
		v.step()
	}
	return v.out.String(), v.hidden
}

type viewer struct {
	opts   VisibleOptions
	s      string
	i      int
	prev   rune // the character before i, 0 at the start
	marks  int  // combining marks since the last base
	hidden int
	out    strings.Builder
}

// keep copies the next n bytes as they are.
func (v *viewer) keep(n int) {
	v.out.WriteString(v.s[v.i : v.i+n])
	r, _ := utf8.DecodeLastRuneInString(v.s[v.i : v.i+n])
	v.prev = r
	v.i += n
}

// reveal replaces the next n bytes, which hid count characters.
func (v *viewer) reveal(n, count int, format string, args ...any) {
	v.out.WriteString("‹" + fmt.Sprintf(format, args...) + "›")
	v.hidden += count
	v.prev = '›' // what a joiner would stand behind now
	v.i += n
}

func (v *viewer) step() {
	rest := v.s[v.i:]
	r, size := utf8.DecodeRuneInString(rest)
	switch {
	case r == utf8.RuneError && size == 1:
		v.reveal(1, 1, "byte %02X", rest[0])
	case r == '\n' || r == '\r' && strings.HasPrefix(rest, "\r\n"):
		v.lineEnds(rest)
	case r == ' ' || r == '\t':
		v.spaces(rest)
	case unicode.In(r, unicode.Mn, unicode.Me) && !isHidden(r):
		v.combining(rest)
		return
	case r == 0x1F3F4 && flagLength(rest) > 0:
		v.keep(flagLength(rest))
	case r >= 0xE0000 && r <= 0xE007F:
		v.tags(rest)
	case isHidden(r):
		v.invisible(rest, r, size)
	default:
		v.keep(size)
	}
	v.marks = 0
}

// spaces collapses padding: it pushes what follows out of sight.
func (v *viewer) spaces(rest string) {
	n := len(rest) - len(strings.TrimLeft(rest, " \t"))
	if v.opts.KeepSpacing || n <= v.opts.Spaces {
		v.keep(n)
		return
	}
	what := "spaces"
	if tabs := strings.Count(rest[:n], "\t"); tabs == n {
		what = "tabs"
	} else if tabs > 0 {
		what = "spaces and tabs"
	}
	v.reveal(n, n, "%d %s", n, what)
}

// lineEnds collapses runs of blank lines, which push what follows below the
// fold. A line of ordinary spaces is blank as well.
func (v *viewer) lineEnds(rest string) {
	if v.opts.KeepSpacing {
		v.keep(strings.IndexByte(rest, '\n') + 1)
		return
	}
	end, lines := 0, 0 // end of the run, and the line ends in it
	for j := 0; j < len(rest); j++ {
		switch rest[j] {
		case '\n':
			lines++
			end = j + 1
			continue
		case ' ', '\t', '\r':
			continue
		}
		break
	}
	blank := lines - 1
	if blank <= v.opts.BlankLines {
		first := strings.IndexByte(rest, '\n') + 1
		v.keep(first)
		return
	}
	v.out.WriteByte('\n')
	v.reveal(end, blank, "%d blank lines", blank)
	v.out.WriteByte('\n')
	v.prev = '\n'
}

// combining keeps a few marks on one character and counts the rest.
func (v *viewer) combining(rest string) {
	end, n := 0, 0
	for end < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[end:])
		if !unicode.In(r, unicode.Mn, unicode.Me) || isHidden(r) {
			break
		}
		if v.marks == v.opts.Marks {
			n++
		} else {
			v.marks++
			v.keep(size)
			rest, end = v.s[v.i:], 0
			continue
		}
		end += size
	}
	if n > 0 {
		v.reveal(end, n, "%d more marks", n)
	}
}

// tags spells out text that is written in invisible tag characters.
func (v *viewer) tags(rest string) {
	var text strings.Builder
	end, n := 0, 0
	for end < len(rest) {
		r, size := utf8.DecodeRuneInString(rest[end:])
		if r < 0xE0000 || r > 0xE007F {
			break
		}
		if c := r - 0xE0000; c >= 0x20 && c < 0x7F {
			text.WriteRune(c)
		} else {
			fmt.Fprintf(&text, "\\x%02x", c)
		}
		end += size
		n++
	}
	v.reveal(end, n, "%d tag characters: %s", n, text.String())
}

func (v *viewer) invisible(rest string, r rune, size int) {
	next, _ := utf8.DecodeRuneInString(rest[size:])
	if v.spelling(r, next) {
		v.keep(size)
		return
	}
	n := 1
	for strings.HasPrefix(rest[n*size:], rest[:size]) {
		n++
	}
	if n < 4 {
		n = 1
		v.reveal(size, 1, "U+%04X", r)
		return
	}
	v.reveal(n*size, n, "U+%04X ×%d", r, n)
}

// spelling reports whether an invisible character does its proper work between
// its neighbours.
func (v *viewer) spelling(r, next rune) bool {
	switch r {
	case 0x200D: // zero width joiner
		if emojiPart(v.prev) && unicode.Is(unicode.So, next) {
			return true
		}
		return joining(v.prev) && joining(next)
	case 0x200C: // zero width non-joiner
		return joining(v.prev) && joining(next)
	case 0xFE0E, 0xFE0F: // text and emoji presentation
		return unicode.Is(unicode.So, v.prev) || next == 0x20E3 && strings.ContainsRune("0123456789#*", v.prev) ||
			strings.ContainsRune("‼⁉↔↕↖↗↘↙↩↪▪▫◻◼◽◾〰〽©®™", v.prev)
	}
	return false
}

func emojiPart(r rune) bool {
	return unicode.Is(unicode.So, r) || r == 0xFE0F || r >= 0x1F3FB && r <= 0x1F3FF
}

// joining: scripts whose spelling uses joiners.
func joining(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
		unicode.Khmer, unicode.Myanmar) && !isHidden(r)
}

// flagLength is the length of one of the three flags spelled in tags.
func flagLength(s string) int {
	for _, flag := range []string{"gbeng", "gbsct", "gbwls"} {
		want := string(rune(0x1F3F4))
		for _, c := range flag {
			want += string(0xE0000 + c)
		}
		want += string(rune(0xE007F))
		if strings.HasPrefix(s, want) {
			return len(want)
		}
	}
	return 0
}

// isHidden reports whether r shows nothing, or something other than itself:
// control, format, private-use, unassigned and surrogate code points, line
// separators, spaces other than the space, variation selectors, and the blanks
// that Unicode files under letters, marks and symbols.
func isHidden(r rune) bool {
	switch r {
	case '\n', '\t', ' ':
		return false
	case 0x034F, // combining grapheme joiner
		0x115F, 0x1160, 0x3164, 0xFFA0, // Hangul fillers
		0x17B4, 0x17B5, // Khmer inherent vowels
		0x2800,  // braille blank
		0xFFFC,  // object replacement
		0x1D159: // musical null notehead
		return true
	}
	if unicode.In(r, unicode.Variation_Selector, unicode.Zs, unicode.Zl, unicode.Zp) || r >= 0x180B && r <= 0x180F {
		return true
	}
	return !unicode.IsGraphic(r)
}
