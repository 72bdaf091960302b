package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Change is what people changed in one argument of a draft.
type Change struct {
	Arg   string
	Lines []ChangedLine
}

// ChangedLine is a line that differs, in pieces. A line that is only taken out
// or only put in is one piece.
type ChangedLine []Piece

// Piece of a changed line.
type Piece struct {
	Kind PieceKind
	Text string
}

// PieceKind tells who has a piece.
type PieceKind byte

const (
	Kept PieceKind = iota // both have it; where it is long, its middle is left out
	Out                   // only what the agent drafted
	In                    // only what would be, or was, sent
)

// Changes are what people changed in a draft, line by line and within a line word
// by word, so that one changed word of a long paragraph is seen at once. The
// arguments come in the order that they have now, those that are gone last. None
// where nothing was edited. What is only space, or a line's end, is spelled out.
func Changes(d Draft) (list []Change) {
	if bytes.Equal(d.ArgsBefore, d.Args) {
		return nil
	}
	before, errBefore := members(d.ArgsBefore)
	after, errAfter := members(d.Args)
	if errBefore != nil || errAfter != nil {
		return nil
	}
	raw := func(list []member, key string) json.RawMessage {
		if i := slices.IndexFunc(list, func(m member) bool { return m.key == key }); i >= 0 {
			return list[i].raw
		}
		return nil
	}
	for _, m := range after {
		list = appendChange(list, m.key, raw(before, m.key), m.raw)
	}
	for _, m := range before {
		if raw(after, m.key) == nil {
			list = appendChange(list, m.key, m.raw, nil)
		}
	}
	return list
}

func appendChange(list []Change, key string, before, after json.RawMessage) []Change {
	if bytes.Equal(before, after) {
		return list
	}
	x, y := prose(before), prose(after)
	if x == y { // "5" and 5 read alike
		x, y = string(before), string(after)
	}
	return append(list, Change{Arg: key, Lines: changedLines(x, y)})
}

// prose is a value as a person reads it: a string as its text, a list of
// strings as its lines, anything else as JSON.
func prose(raw json.RawMessage) string {
	var s string
	var list []string
	switch {
	case len(raw) == 0:
		return ""
	case json.Unmarshal(raw, &s) == nil:
		return s
	case json.Unmarshal(raw, &list) == nil:
		return strings.Join(list, "\n")
	}
	return string(raw)
}

// Diff is Changes as text: taken-out lines after "- ", put-in ones after "+ ",
// and in a line that was changed [-what went-]{+what came+}.
func Diff(d Draft) string {
	var b strings.Builder
	for _, c := range Changes(d) {
		fmt.Fprintf(&b, "%s:\n", spelled(c.Arg))
		for _, l := range c.Lines {
			b.WriteString(l.String() + "\n")
		}
	}
	return b.String()
}

func (l ChangedLine) String() string {
	if len(l) == 1 {
		return map[PieceKind]string{Out: "- ", In: "+ "}[l[0].Kind] + l[0].Text
	}
	var b strings.Builder
	b.WriteString("~ ")
	for _, p := range l {
		switch p.Kind {
		case Out:
			b.WriteString("[-" + p.Text + "-]")
		case In:
			b.WriteString("{+" + p.Text + "+}")
		default:
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// EditedLines counts the lines that an edit changed: "(edited: 1 line)". One that
// was replaced by quite another is one.
func EditedLines(changes []Change) (n int) {
	for _, c := range changes {
		out, in := 0, 0
		for _, l := range c.Lines {
			switch {
			case len(l) > 1:
				n++
			case l[0].Kind == Out:
				out++
			default:
				in++
			}
		}
		n += max(out, in)
	}
	return n
}

// nearby is how many lines further a line's new version is looked for.
const nearby = 5

// changedLines pairs the lines that went with those that came where they are
// versions of one another.
func changedLines(x, y string) (list []ChangedLine) {
	if !strings.HasSuffix(x, "\n") && !strings.HasSuffix(y, "\n") { // else a line that is put last would change the one before
		x, y = ended(x), ended(y)
	}
	for _, hunk := range compare(x, y) {
		in := hunk.in
		for _, out := range hunk.out {
			at := slices.IndexFunc(in[:min(len(in), nearby)], func(in string) bool { return alikeLines(out, in) })
			if at < 0 {
				list = append(list, ChangedLine{{Out, lineOf(out)}})
				continue
			}
			for _, new := range in[:at] {
				list = append(list, ChangedLine{{In, lineOf(new)}})
			}
			list = append(list, changedWords(out, in[at]))
			in = in[at+1:]
		}
		for _, new := range in {
			list = append(list, ChangedLine{{In, lineOf(new)}})
		}
	}
	return list
}

func ended(s string) string {
	if s == "" {
		return s
	}
	return s + "\n"
}

// hunk is a run of units that differ: what went, what came.
type hunk struct{ out, in []string }

// compare finds the lines that differ, each with its end.
func compare(x, y string) (list []hunk) {
	for _, h := range unified(x, y, 0) {
		var at hunk
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Delete:
				at.out = append(at.out, l.Content)
			case udiff.Insert:
				at.in = append(at.in, l.Content)
			}
		}
		list = append(list, at)
	}
	return list
}

func unified(x, y string, context int) []*udiff.Hunk {
	u, err := udiff.ToUnifiedDiff("", "", x, udiff.Lines(x, y), context)
	if err != nil {
		panic("two texts do not compare: " + err.Error()) // edits of our own making
	}
	return u.Hunks
}

// alikeLines: versions of one line share a good part of their words.
func alikeLines(a, b string) bool {
	count := map[string]int{}
	total, shared := 0, 0
	for _, w := range words(a) {
		count[w]++
		total += weight(w)
	}
	other := 0
	for _, w := range words(b) {
		other += weight(w)
		if count[w] > 0 {
			count[w]--
			shared += weight(w)
		}
	}
	if strings.TrimSpace(a) == strings.TrimSpace(b) {
		return true
	}
	return 5*shared >= 2*max(total, other) && shared > 0
}

// weight of a word in telling whether lines are alike: space is none.
func weight(w string) int {
	if strings.TrimSpace(w) == "" {
		return 0
	}
	return utf8.RuneCountInString(w)
}

// words are the pieces that a line is compared by: words, runs of space, and
// every other character alone. A line's end is a piece of its own, and so is a
// character of a script that puts no space between words.
func words(s string) (list []string) {
	class := func(r rune) int {
		switch {
		case r == '\n' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			return 0
		case unicode.IsSpace(r):
			return 1
		case unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r):
			return 2
		}
		return 0
	}
	runes := []rune(s)
	from, last := 0, 0
	for i, r := range runes {
		c := class(r)
		if inFigure(runes, i) {
			c = 2
		}
		if i > 0 && (c == 0 || c != last) {
			list, from = append(list, string(runes[from:i])), i
		}
		last = c
	}
	if from < len(runes) {
		list = append(list, string(runes[from:]))
	}
	return list
}

// inFigure tells whether a mark joins digits into one figure: 09:15, 12.5, and
// 41,200 where three digits follow.
func inFigure(s []rune, i int) bool {
	digits := func(from, n int) bool {
		for j := from; j < from+n; j++ {
			if j < 0 || j >= len(s) || !unicode.IsDigit(s[j]) {
				return false
			}
		}
		return true
	}
	switch s[i] {
	case '.', ':':
		return digits(i-1, 1) && digits(i+1, 1)
	case ',', '\'', '’':
		return digits(i-1, 1) && digits(i+1, 3) && !digits(i+4, 1)
	}
	return false
}

// changedWords compares two versions of one line word by word.
func changedWords(x, y string) (line ChangedLine) {
	// The comparison is by lines: each word is one. A line's own end is an empty
	// one, which no word is.
	const end = "\n"
	column := func(s string) string {
		var b strings.Builder
		for _, w := range words(s) {
			if w == "\n" {
				b.WriteString(end)
			} else {
				b.WriteString(w + "\n")
			}
		}
		return b.String()
	}
	a, b := column(strings.ToValidUTF8(x, "\uFFFD")), column(strings.ToValidUTF8(y, "\uFFFD"))
	var kept, out, in strings.Builder
	flush := func(k PieceKind, b *strings.Builder) {
		if b.Len() > 0 {
			line = append(line, Piece{k, b.String()})
			b.Reset()
		}
	}
	gap := "" // space after a changed word: the change's, if the next word changed too
	for _, h := range unified(a, b, len(a)+len(b)) {
		for _, l := range h.Lines {
			w := strings.TrimSuffix(l.Content, "\n")
			if l.Content == end {
				w = "\n"
			}
			if l.Kind != udiff.Equal {
				flush(Kept, &kept)
				out.WriteString(gap)
				in.WriteString(gap)
				gap = ""
			}
			switch l.Kind {
			case udiff.Delete:
				out.WriteString(w)
			case udiff.Insert:
				in.WriteString(w)
			default:
				if gap == "" && out.Len()+in.Len() > 0 && w != "\n" && strings.TrimSpace(w) == "" {
					gap = w
					continue
				}
				flush(Out, &out)
				flush(In, &in)
				kept.WriteString(gap + strings.TrimSuffix(w, "\n"))
				gap = ""
			}
		}
	}
	flush(Out, &out)
	flush(In, &in)
	kept.WriteString(gap)
	flush(Kept, &kept)
	for i, p := range line {
		if p.Kind == Kept {
			line[i].Text = shortened(p.Text, i > 0, i < len(line)-1)
		} else {
			line[i].Text = spelled(p.Text)
		}
	}
	return line
}

// lineOf is a line without its end.
func lineOf(s string) string {
	if t := strings.TrimSuffix(s, "\n"); t != "" {
		return t
	}
	return "⏎"
}

// spelled shows what would not be seen in a piece that changed: space alone, and
// a line's end.
func spelled(s string) string {
	if strings.TrimSpace(s) == "" {
		s = strings.NewReplacer(" ", "␣", "\t", "⇥").Replace(s)
	}
	return strings.ReplaceAll(s, "\n", "⏎")
}

// around is how much of an unchanged stretch is shown beside a change, in
// characters.
const around = 50

// shortened leaves out what stands far from a change: before says that one comes
// before it, after that one follows.
func shortened(s string, before, after bool) string {
	r := []rune(s)
	switch {
	case before && after && len(r) > 2*around+10:
		return string(r[:around]) + " … " + string(r[len(r)-around:])
	case before && !after && len(r) > around+10:
		return string(r[:around]) + " …"
	case after && !before && len(r) > around+10:
		return "… " + string(r[len(r)-around:])
	}
	return s
}
