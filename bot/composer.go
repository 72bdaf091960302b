package bot

import (
	"strings"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// composer turns a model's text, as it arrives, into pieces that are safe to
// append: what went out never has to be taken back. Text is made safe as a
// whole (blockkit.SafeMarkdown), so a line that could still change its meaning
// is held until its end is there; plain words go out at once.
type composer struct {
	done []section // whole turns, oldest first, that have not gone out whole
	cur  section   // the turn that arrives
	any  bool      // something went out before: turns are set apart
}

// section is the text of one turn.
type section struct {
	turn  int
	raw   string
	whole bool   // raw is all of it, as journaled
	gone  bool   // all of it went out
	out   string // the safe text that went out
	lead  bool   // its separator went out
}

// rest is what of safe has still to go out. Where the journaled text is not
// what was previewed (a retried turn), it begins again at the line in which
// they part.
func (s section) rest(safe string) string {
	if rest, ok := strings.CutPrefix(safe, s.out); ok {
		return rest
	}
	n := 0
	for n < len(safe) && n < len(s.out) && safe[n] == s.out[n] {
		n++
	}
	return "\n" + safe[strings.LastIndexByte(safe[:n], '\n')+1:]
}

func (c *composer) delta(turn int, text string) {
	if turn != c.cur.turn && c.cur.turn != 0 {
		c.close()
	}
	c.cur.turn = turn
	c.cur.raw += text
}

// whole says what a turn's text is, as journaled: what streamed before was a
// preview of it.
func (c *composer) whole(turn int, text string) {
	if c.cur.turn == turn {
		c.cur.raw, c.cur.whole = text, true
		c.close()
		return
	}
	for i := range c.done {
		if c.done[i].turn == turn && c.done[i].raw == text {
			return
		}
	}
	if text != "" {
		c.done = append(c.done, section{turn: turn, raw: text, whole: true})
	}
}

func (c *composer) notice(line string) {
	if c.cur.raw != "" {
		c.close()
	}
	c.done = append(c.done, section{turn: c.cur.turn, raw: line, whole: true})
}

func (c *composer) close() {
	if c.cur.raw != "" {
		c.cur.whole = true
		c.done = append(c.done, c.cur)
	}
	c.cur = section{}
}

// complete is the newest turn that has gone out whole.
func (c *composer) complete() int {
	turn := 0
	for _, s := range c.done {
		if !s.gone {
			break
		}
		turn = max(turn, s.turn)
	}
	return turn
}

// waiting is about how many bytes have not gone out.
func (c *composer) waiting() int {
	n := 0
	for _, s := range c.done {
		if !s.gone {
			n += max(1, len(s.raw)-len(s.out))
		}
	}
	return n + max(0, len(c.cur.raw)-len(c.cur.out))
}

// next answers the next piece, of at most limit bytes; commit says that it went
// out. final lets held words go.
func (c *composer) next(limit int, final bool) (piece string, commit func()) {
	for i := range c.done {
		if s := &c.done[i]; !s.gone {
			rest := s.rest(blockkit.SafeMarkdown(s.raw))
			if rest == "" {
				s.gone = true
				continue
			}
			return c.piece(s, rest, limit)
		}
	}
	if c.cur.raw == "" {
		return "", func() {}
	}
	safe := settled(c.cur.raw)
	if final {
		safe = blockkit.SafeMarkdown(c.cur.raw)
	}
	rest, ok := strings.CutPrefix(safe, c.cur.out)
	if !ok || rest == "" {
		return "", func() {}
	}
	return c.piece(&c.cur, rest, limit)
}

// piece is the beginning of rest, cut at a line's end where there is one. s is
// found again by its turn when it is committed: sections move when a turn ends.
func (c *composer) piece(s *section, rest string, limit int) (string, func()) {
	lead := ""
	if !s.lead && c.any {
		lead = "\n\n"
	}
	if len(rest) > limit {
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
		s.out, s.lead, c.any = s.out+rest, true, true
		if s.whole && s.rest(blockkit.SafeMarkdown(s.raw)) == "" {
			s.gone = true
		}
	}
}

// settled is the safe form of what cannot change its meaning any more: whole
// lines, and the plain words of the last one.
func settled(raw string) string {
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
