package blockkit

import (
	"regexp"
	"strings"
)

// minSplit is the shortest piece that SplitMarkdown makes: room for a fence,
// its language and something between.
const minSplit = 256

// SplitMarkdown cuts a long answer into pieces of at most max characters (256
// at the least), at paragraph ends where it can and at line ends otherwise. A
// piece that ends inside a code fence closes it, and the next opens it again
// with its language; one that ends inside a table lets the next begin with the
// table's header. Links, code spans and table rows stay whole unless one alone
// is longer than a piece. Nothing but blank space between pieces is lost.
func SplitMarkdown(s string, max int) []string {
	if max < minSplit {
		max = minSplit
	}
	if units(s) <= max {
		return []string{s}
	}
	sp := splitter{max: max}
	for line := range strings.SplitSeq(s, "\n") {
		sp.add(line)
	}
	sp.flush(len(sp.lines))
	return sp.pieces
}

// splitter gathers lines into the piece at hand.
type splitter struct {
	max    int
	pieces []string

	lines    []mdLine // of the piece at hand
	size     int      // its length, line ends included
	injected int      // how many of its first lines repeat a fence's opening or a table's header

	fence fence    // the code fence that the last line is inside of
	table []string // the header lines of the table that the last line is in
}

type mdLine struct {
	text  string
	after fence    // the fence still open after this line
	table []string // the table's header, if the next line may continue it
}

// fence is an open code fence; the zero fence is none.
type fence struct {
	indent, marker, lang string
}

func (f fence) open() bool      { return f.marker != "" }
func (f fence) opening() string { return f.indent + f.marker + f.lang }
func (f fence) closing() string { return f.indent + f.marker }

// fenceLine is a fence's opening or closing line, inside quotes and lists as
// well. Absurdly long ones are text.
var fenceLine = regexp.MustCompile("^([ >]{0,20}(?:(?:[-*+]|[0-9]{1,3}[.)]) {1,4})?)(`{3,16}|~{3,16})([^`]{0,60})$")

// next is the state after a line.
func (f fence) next(line string) fence {
	m := fenceLine.FindStringSubmatch(strings.TrimRight(line, "\r"))
	if m == nil {
		return f
	}
	if !f.open() {
		lang := strings.TrimSpace(m[3])
		if i := strings.IndexAny(lang, " \t{"); i >= 0 {
			lang = lang[:i]
		}
		// A list item's bullet isn't repeated, its indentation is.
		return fence{strings.Map(keepQuote, m[1]), m[2], lang}
	}
	if m[2][0] == f.marker[0] && len(m[2]) >= len(f.marker) && strings.TrimSpace(m[3]) == "" {
		return fence{}
	}
	return f
}

func keepQuote(r rune) rune {
	if r == '>' {
		return r
	}
	return ' '
}

// add puts one line of the source into the piece at hand, or begins the next.
func (sp *splitter) add(line string) {
	after := sp.fence.next(line)
	need := units(line) + 1
	if !sp.fits(need, after) && len(sp.lines) > sp.injected {
		sp.flush(sp.breakPoint(line))
		if !sp.fits(need, after) && len(sp.lines) > sp.injected {
			sp.flush(len(sp.lines))
		}
	}
	for !sp.fits(need, after) {
		head := sp.cutLine(line, sp.room(after))
		sp.put(head, sp.fence)
		sp.flush(len(sp.lines))
		line = line[len(head):]
		need = units(line) + 1
		after = sp.fence // the rest of a cut line is content
	}
	sp.put(line, after)
}

func (sp *splitter) room(after fence) int {
	room := sp.max - sp.size - 1
	if after.open() {
		room -= units(after.closing()) + 1
	}
	return room
}

func (sp *splitter) fits(need int, after fence) bool { return need-1 <= sp.room(after) }

func (sp *splitter) put(line string, after fence) {
	sp.table = nextTable(sp.table, sp.lines, line, sp.fence.open() || after.open())
	sp.lines = append(sp.lines, mdLine{line, after, sp.table})
	sp.size += units(line) + 1
	sp.fence = after
}

var delimiterRow = regexp.MustCompile(`^[ >]*\|?[ :]*-+[ :]*(\|[ :]*-+[ :]*)*\|?[ \r]*$`)

// nextTable is the header of the table that line belongs to, if it does.
func nextTable(table []string, before []mdLine, line string, code bool) []string {
	switch {
	case code || !strings.Contains(line, "|"):
		return nil
	case table != nil:
		return table
	case len(before) > 0 && delimiterRow.MatchString(line) && strings.Contains(before[len(before)-1].text, "|"):
		header := []string{before[len(before)-1].text, line}
		if units(header[0])+units(header[1]) > minSplit/2 {
			return nil // too wide to repeat
		}
		return header
	}
	return nil
}

// breakPoint is how many lines of the piece at hand to let go before next
// follows: up to the last paragraph end in its second half, else all, less
// what would cut a link or a table's header in two.
func (sp *splitter) breakPoint(next string) int {
	size, best := 0, 0
	for i, l := range sp.lines {
		size += units(l.text) + 1
		if i+1 > sp.injected && !l.after.open() && strings.TrimSpace(l.text) == "" && size > sp.max/2 {
			best = i + 1
		}
	}
	if best > 0 {
		return best
	}
	k := len(sp.lines)
	if sp.fence.open() {
		return k
	}
	// A header must not part from its delimiter row, nor both from the rows.
	if delimiterRow.MatchString(next) && strings.Contains(next, "|") && k-1 > sp.injected {
		return k - 1
	}
	start := k
	for start > sp.injected && k-start < 20 && strings.TrimSpace(sp.lines[start-1].text) != "" && !sp.lines[start-1].after.open() {
		start--
	}
	for at := k; at > start; at-- {
		if at > sp.injected && !insideSpan(sp.lines[start:at], sp.lines[at:], next) {
			return at
		}
	}
	return k
}

// whole is what should not be cut: links and images, code spans, tokens,
// addresses and entities.
var wholeSpan = regexp.MustCompile("!?\\[(?:[^\\[\\]\\\\]|\\\\.|\\[[^\\[\\]]{0,200}\\])*\\]\\((?:[^()\\\\]|\\\\.|\\([^()]{0,200}\\))*\\)" +
	"|`[^`]+`|<[^<>\\s]+>|https?://[^\\s)\\]]+|&[#A-Za-z0-9]{1,10};")

func insideSpan(before, between []mdLine, next string) bool {
	var b strings.Builder
	for _, l := range before {
		b.WriteString(l.text + "\n")
	}
	at := b.Len() - 1
	for _, l := range between {
		b.WriteString(l.text + "\n")
	}
	b.WriteString(next)
	return cutsSpan(b.String(), at)
}

func cutsSpan(s string, at int) bool {
	for _, m := range wholeSpan.FindAllStringIndex(s, -1) {
		if m[0] < at && at < m[1] {
			return true
		}
	}
	return false
}

// cutLine is the part of one overlong line that fits into room.
func (sp *splitter) cutLine(line string, room int) string {
	head := SplitVerbatim(line[:min(len(line), 4*room+4)], room)[0]
	if sp.fence.open() {
		return head
	}
	window := line[:min(len(line), 8*room)]
	for _, m := range wholeSpan.FindAllStringIndex(window, -1) {
		if m[0] < len(head) && len(head) < m[1] && m[0] > 0 {
			head = line[:m[0]]
			break
		}
	}
	return head
}

// flush ends the piece at hand after n of its lines, and begins the next with
// the rest of them.
func (sp *splitter) flush(n int) {
	done, rest := sp.lines[:n], append([]mdLine(nil), sp.lines[n:]...)
	var last mdLine
	if n > 0 {
		last = done[n-1]
	}
	var b strings.Builder
	content := false
	for i, l := range done {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
		content = content || i >= sp.injected && strings.TrimSpace(l.text) != ""
	}
	if last.after.open() {
		b.WriteString("\n" + last.after.closing())
	}
	if piece := trimBlankLines(b.String()); content && piece != "" {
		sp.pieces = append(sp.pieces, piece)
	}
	sp.lines, sp.size, sp.injected, sp.table, sp.fence = nil, 0, 0, nil, fence{}
	switch {
	case last.after.open():
		sp.put(last.after.opening(), last.after)
		sp.injected = 1
	case last.table != nil:
		for _, h := range last.table {
			sp.put(h, fence{})
		}
		sp.injected = len(last.table)
		sp.table = last.table
	}
	for _, l := range rest {
		sp.put(l.text, l.after)
	}
}

// trimBlankLines takes blank lines off both ends; indentation stays.
func trimBlankLines(s string) string {
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 || strings.TrimSpace(s[:i]) != "" {
			break
		}
		s = s[i+1:]
	}
	return strings.TrimRight(s, " \t\r\n")
}
