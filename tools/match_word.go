package tools

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// compactIn finds an account or a telephone number, however it is spaced.
func compactIn(number string) func(string) bool {
	if number == "" {
		return func(string) bool { return false }
	}
	_, size := utf8.DecodeRuneInString(number)
	first, rest := number[:size], number[size:]
	return func(text string) bool {
		for at := range occurrences(text, first) {
			if !continuesLeft(text[:at], "") && compactHere(text[at+size:], rest) {
				return true
			}
		}
		return false
	}
}

func compactHere(text, rest string) bool {
	gap := 0
	for i, r := range text {
		if rest == "" {
			return !wordRune(r)
		}
		want, size := utf8.DecodeRuneInString(rest)
		switch {
		case unicode.ToUpper(r) == want:
			rest, gap = rest[size:], 0
		case strings.ContainsRune(" -.()/\u00a0", r) && gap < 2:
			gap++
		default:
			return false
		}
		if i > 200 {
			return false
		}
	}
	return rest == ""
}

// wordIn finds value as a word of its own.
func wordIn(text, value string, foldCase bool) bool {
	if value == "" {
		return false
	}
	for at := range occurrences(text, value) {
		end := at + len(value)
		if !foldCase && text[at:end] != value {
			continue
		}
		if r, _ := utf8.DecodeRuneInString(value); wordRune(r) && continuesLeft(text[:at], "_-@") {
			continue
		}
		if r, _ := utf8.DecodeLastRuneInString(value); wordRune(r) && continuesWord(text[end:]) {
			continue
		}
		return true
	}
	return false
}

// shortID is the length up to which a number is more often a day or an amount
// than an id.
const shortID = 4

// idNouns stand before a number that is an id. "June 13" does not name file 13.
var idNouns = map[string]bool{
	"id": true, "ids": true, "no": true, "nr": true, "number": true, "item": true, "message": true, "mail": true, "email": true,
	"file": true, "document": true, "note": true, "event": true, "appointment": true, "thread": true, "entry": true, "row": true,
	"record": true, "task": true, "issue": true, "ticket": true, "order": true, "booking": true, "invoice": true, "payment": true,
	"transaction": true, "draft": true,
}

// nounsOf takes the words of an argument's name: "file" of /file_id.
func nounsOf(pointer string) []string {
	parts := strings.Split(pointer, "/")
	for i := len(parts) - 1; i > 0; i-- {
		if strings.Trim(parts[i], "0123456789") != "" {
			return nameWords(parts[i])
		}
	}
	return nil
}

// numberIn finds a short number where the words before it say that it is an id.
func numberIn(text, number string, nouns []string) bool {
	for at := range occurrences(text, number) {
		if continuesLeft(text[:at], "_-@.,:") || continuesWord(text[at+len(number):]) {
			continue
		}
		if strings.HasSuffix(text[:at], "#") {
			return true
		}
		before := nameWords(strings.ToValidUTF8(text[max(0, at-40):at], " "))
		for i := len(before) - 1; i >= max(0, len(before)-2); i-- {
			w := singular(before[i])
			if idNouns[w] {
				return true
			}
			for _, n := range nouns {
				if w == singular(n) {
					return true
				}
			}
		}
	}
	return false
}

func pathIn(text, p string) bool {
	for at := range occurrences(text, p) {
		if text[at:at+len(p)] != p || continuesLeft(text[:at], "._-/~") {
			continue
		}
		after := strings.TrimPrefix(text[at+len(p):], "/")
		if r, _ := utf8.DecodeRuneInString(after); !wordRune(r) && r != '-' && !continuesWord(after) {
			return true
		}
	}
	return false
}

// continuesLeft reports whether the name that begins behind before began
// earlier.
func continuesLeft(before, alsoPart string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	return wordRune(r) || r != utf8.RuneError && strings.ContainsRune(alsoPart, r)
}

// continuesHost reports whether the host that ends before after goes on there:
// "example.org" in "example.org.evil.net", but not at the end of a sentence.
func continuesHost(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	switch {
	case wordRune(r) || r == '-' || r == '@':
		return true
	case r == '.':
		next, _ := utf8.DecodeRuneInString(after[size:])
		return wordRune(next) || next == '-'
	}
	return false
}

// continuesWord is continuesHost for ids and names.
func continuesWord(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if wordRune(r) || r == '-' || r == '@' {
		return true
	}
	if r == '.' || r == ',' {
		next, _ := utf8.DecodeRuneInString(after[size:])
		return unicode.IsDigit(next) || r == '.' && unicode.IsLetter(next)
	}
	return false
}

// wordRune is a part of a name. Marks and format characters are: a letter with
// something invisible behind it is another name.
func wordRune(r rune) bool {
	if r == utf8.RuneError {
		return false
	}
	return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || unicode.Is(unicode.Cf, r)
}

func isASCIIWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
