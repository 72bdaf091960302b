package provider

import "strings"

// thinker splits `<think>…</think>` at the start of an answer off its text:
// models behind servers without a reasoning parser write their thoughts there.
// Tags may come in pieces.
type thinker struct {
	state thinkState
	held  string // what could still become a tag
}

type thinkState int

const (
	thinkStart thinkState = iota
	thinking
	thinkGap // between </think> and the text: blank lines belong to neither
	thinkOver
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// feed takes the next piece and answers what is text and what is thought.
func (t *thinker) feed(s string) (text, thought string) {
	if t.state == thinkOver {
		return s, ""
	}
	s = t.held + s
	t.held = ""
	for {
		switch t.state {
		case thinkStart:
			trimmed := strings.TrimLeft(s, " \t\r\n")
			switch {
			case strings.HasPrefix(trimmed, thinkOpen):
				t.state, s = thinking, trimmed[len(thinkOpen):]
				continue
			case strings.HasPrefix(thinkOpen, trimmed): // also when empty
				t.held = s
				return "", thought
			}
			t.state = thinkOver
			return s, thought
		case thinking:
			before, after, found := strings.Cut(s, thinkClose)
			if !found {
				keep := overlap(s, thinkClose)
				t.held = s[len(s)-keep:]
				return "", thought + s[:len(s)-keep]
			}
			thought += before
			t.state, s = thinkGap, after
			continue
		case thinkGap:
			s = strings.TrimLeft(s, " \t\r\n")
			if s != "" {
				t.state = thinkOver
			}
			return s, thought
		}
		return s, thought
	}
}

// end answers what was held back when the stream ended.
func (t *thinker) end() (text, thought string) {
	s := t.held
	t.held = ""
	if t.state == thinking {
		return "", s
	}
	return s, ""
}

// overlap is the length of the longest end of s that begins tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasPrefix(tag, s[len(s)-n:]) {
			return n
		}
	}
	return 0
}
