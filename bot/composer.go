package bot

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// composer turns a model's text, as it arrives, into pieces that are safe to
// append: what went out never has to be taken back. Text is made safe as a
// whole (blockkit.SafeMarkdown), so what could still change its meaning is held
// until its end is there; plain words go out at once.
type composer struct {
	list  []section // oldest first; only the last may still grow
	notes []string  // lines of ours that wait until the growing section ends
	any   bool      // something went out: sections are set apart
}

// section is the text of one turn, or one line of ours.
type section struct {
	raw  string
	end  bool   // raw is all of it
	text bool   // a journaled turn: it counts as shown once it went out whole
	gone bool   // all of it went out
	out  string // the safe text that went out
	lead bool   // its separator went out
	// parted: what went out beyond out is not what the turn said in the end.
	parted bool
}

// growing is the section that still grows, nil for none.
func (c *composer) growing() *section {
	if n := len(c.list); n > 0 && !c.list[n-1].end {
		return &c.list[n-1]
	}
	return nil
}

// delta adds what has arrived.
func (c *composer) delta(text string) {
	s := c.growing()
	if s == nil {
		c.list = append(c.list, section{})
		s = &c.list[len(c.list)-1]
	}
	s.raw += text
}

// again says that the turn begins anew: what it said so far does not count. It
// stands as a preview until the new text is whole.
func (c *composer) again() {
	if s := c.growing(); s != nil {
		s.raw = ""
	}
}

// whole says what a turn's text is, as journaled: what streamed before was a
// preview of it.
func (c *composer) whole(text string) {
	s := c.growing()
	switch {
	case text == "":
		c.close()
		return
	case s == nil:
		c.list = append(c.list, section{})
		s = &c.list[len(c.list)-1]
	}
	s.raw, s.end, s.text = text, true, true
	c.close()
}

// notice adds a line of ours between the turns.
func (c *composer) notice(line string) {
	if c.growing() != nil {
		c.notes = append(c.notes, line)
		return
	}
	c.list = append(c.list, section{raw: line, end: true})
}

// close ends what grows, journaled or not.
func (c *composer) close() {
	if s := c.growing(); s != nil {
		s.end = true
	}
	for _, n := range c.notes {
		c.list = append(c.list, section{raw: n, end: true})
	}
	c.notes = nil
}

// shown counts the journaled turns that went out whole, from the first on.
func (c *composer) shown() (n int) {
	for _, s := range c.list {
		if !s.gone {
			break
		}
		if s.text {
			n++
		}
	}
	return n
}

// offset is how much of the first section that has not gone out whole is out,
// in bytes of its safe text, and whether that is a journaled turn or will be.
func (c *composer) offset() int {
	for _, s := range c.list {
		if !s.gone && (s.text || !s.end) {
			return len(s.out)
		}
	}
	return 0
}

// waiting is about how many bytes have not gone out.
func (c *composer) waiting() (n int) {
	for _, s := range c.list {
		if !s.gone {
			n += max(0, len(s.raw)-len(s.out))
			if s.end {
				n++
			}
		}
	}
	return n
}

// next answers the next piece, of at most limit bytes and a separator; commit
// says that it went out. Between the two nothing else may be called.
func (c *composer) next(limit int) (piece string, commit func()) {
	for i := range c.list {
		s := &c.list[i]
		if s.gone {
			continue
		}
		var rest string
		if s.end {
			safe := blockkit.SafeMarkdown(s.raw)
			if !strings.HasPrefix(safe, s.out) {
				s.part(safe)
			}
			if rest = safe[len(s.out):]; rest == "" {
				s.gone = true
				continue
			}
		} else if tail, ok := strings.CutPrefix(settled(s.raw), s.out); ok {
			rest = tail
		}
		if rest == "" {
			break
		}
		return c.piece(s, rest, limit)
	}
	return "", func() {}
}

// piece is the beginning of rest, cut at a line's end where there is one.
func (c *composer) piece(s *section, rest string, limit int) (string, func()) {
	lead := ""
	switch {
	case s.parted:
		lead = "\n"
	case !s.lead && c.any:
		lead = "\n\n"
	}
	all := len(rest) <= limit
	if !all {
		cut := limit
		if i := strings.LastIndexByte(rest[:limit], '\n'); i > limit/2 {
			cut = i + 1
		}
		for cut > 0 && !utf8.RuneStart(rest[cut]) {
			cut--
		}
		rest = rest[:cut]
	}
	return lead + rest, func() {
		s.out, s.lead, s.parted, c.any = s.out+rest, true, false, true
		if s.end && all {
			s.gone = true
		}
	}
}

// part is for a whole text that is not what was previewed (a turn that was asked
// again): it begins again at the line in which the two part.
func (s *section) part(safe string) {
	n := 0
	for n < len(safe) && n < len(s.out) && safe[n] == s.out[n] {
		n++
	}
	s.out, s.parted = safe[:strings.LastIndexByte(safe[:n], '\n')+1], true
}

var reference = regexp.MustCompile(`\]\s?\[[^\]\d]|(?m:^ {0,3}\[[^\]]+\]:)`)

// settled is the safe form of what cannot change its meaning any more: whole
// lines, and the plain words of the last one.
func settled(raw string) string {
	// Where a link leads that names a reference is told at the end.
	if at := reference.FindStringIndex(raw); at != nil {
		raw = raw[:strings.LastIndexByte(raw[:at[0]], '\n')+1]
	}
	line := strings.LastIndexByte(raw, '\n') + 1
	tail := raw[line:]
	if i := strings.IndexAny(tail, "<>&`[]!|@\\"); i >= 0 {
		tail = tail[:i]
	}
	for _, word := range []string{"://", "www."} {
		if i := strings.Index(tail, word); i >= 0 {
			tail = tail[:strings.LastIndexByte(tail[:i], ' ')+1]
		}
	}
	// A word that is still being written may become one that matters.
	tail = tail[:strings.LastIndexByte(tail, ' ')+1]
	return blockkit.SafeMarkdown(raw[:line] + tail)
}

// fenceOf tells the code fence that text leaves open: the line that opened it,
// or "".
func fenceOf(text string) (opening string) {
	for line := range strings.SplitSeq(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		if len(line)-len(bare) > 3 {
			continue
		}
		switch {
		case opening == "" && (strings.HasPrefix(bare, "```") || strings.HasPrefix(bare, "~~~")):
			opening = bare
		case opening != "" && strings.HasPrefix(bare, opening[:3]) && strings.Trim(bare, opening[:1]+" ") == "":
			opening = ""
		}
	}
	return opening
}

// pace keeps attempts that brought nothing from being repeated at once: making
// a long text safe costs time.
const pace = 50 * time.Millisecond
