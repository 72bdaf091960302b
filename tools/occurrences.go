package tools

import (
	"iter"
	"strings"
)

// occurrences yields where needle stands in text, ASCII letters without regard
// to case. It allocates nothing, however long the text is: it is asked of
// whole transcripts.
func occurrences(text, needle string) iter.Seq[int] {
	return func(yield func(int) bool) {
		if needle == "" || len(needle) > len(text) || len(needle) > longestNeedle {
			return
		}
		// Look for the rarest byte: mail is full of letters and has few @.
		anchor := rarest(needle)
		c := needle[anchor]
		lower, upper := lowerASCII(c), upperASCII(c)
		for at := anchor; at < len(text); at++ {
			i := indexEither(text[at:], lower, upper)
			if i < 0 {
				return
			}
			at += i
			start := at - anchor
			if start+len(needle) <= len(text) && equalFoldASCII(text[start:start+len(needle)], needle) && !yield(start) {
				return
			}
		}
	}
}

// longestNeedle bounds the work on a text that was made to cost much. What is
// longer is found nowhere, which is the careful answer.
const longestNeedle = 512

func rarest(s string) int {
	best, rank := 0, -1
	for i := range len(s) {
		r := 0
		switch c := s[i]; {
		case c == '@':
			return i
		case strings.IndexByte("jqxzJQXZ", c) >= 0:
			r = 4
		case '0' <= c && c <= '9', c >= 0x80:
			r = 3
		case strings.IndexByte("bkvwfgpyBKVWFGPY-_", c) >= 0:
			r = 2
		case c != ' ' && c != 'e' && c != '/' && c != '.':
			r = 1
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

// chunk bounds how far one search for the wrong case looks ahead.
const chunk = 512

func indexEither(s string, a, b byte) int {
	if a == b {
		return strings.IndexByte(s, a)
	}
	for off := 0; off < len(s); off += chunk {
		part := s[off:min(off+chunk, len(s))]
		i := strings.IndexByte(part, a)
		if i >= 0 {
			part = part[:i]
		}
		if j := strings.IndexByte(part, b); j >= 0 {
			return off + j
		}
		if i >= 0 {
			return off + i
		}
	}
	return -1
}

func equalFoldASCII(a, b string) bool {
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

func upperASCII(c byte) byte {
	if 'a' <= c && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}
