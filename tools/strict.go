package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a call's arguments. They are far above what a person could read
// and far below what could hurt.
const (
	maxArgBytes   = 4 << 20
	maxArgDepth   = 64
	maxNumberText = 128
	maxExponent   = 400
)

// strictJSON reads one JSON value that means the same to every reader. Go,
// JavaScript and Python disagree on repeated keys, on halves of characters and
// on bytes that are no UTF-8; what is checked here has to be what runs in a
// server written in any of them, so all three are refused. Keys that differ by
// case alone are too: encoding/json, for one, takes them for the same.
//
// Numbers come as json.Number, with their digits.
type strictJSON struct {
	src   []byte
	at    int
	depth int // the deepest nesting seen
}

func parseStrict(raw []byte) (v any, depth int, err error) {
	switch {
	case len(raw) > maxArgBytes:
		return nil, 0, fmt.Errorf("the arguments are %d bytes long; at most %d are taken", len(raw), maxArgBytes)
	case !utf8.Valid(raw):
		return nil, 0, errors.New("the arguments are not valid UTF-8")
	}
	// The grammar is the standard library's to judge; what follows may rely on it.
	if !json.Valid(raw) {
		var syntax *json.SyntaxError
		if err := json.Unmarshal(raw, new(json.RawMessage)); errors.As(err, &syntax) {
			return nil, 0, fmt.Errorf("the arguments are not valid JSON: %s (at byte %d of %d)", syntax.Error(), syntax.Offset, len(raw))
		}
		return nil, 0, errors.New("the arguments are not valid JSON")
	}
	p := &strictJSON{src: raw}
	v, err = p.value("", 1)
	return v, p.depth, err
}

// value reads the value at p.at. where is its place, for errors.
func (p *strictJSON) value(where string, depth int) (any, error) {
	if depth > maxArgDepth {
		return nil, fmt.Errorf("the arguments are nested more than %d deep", maxArgDepth)
	}
	p.depth = max(p.depth, depth)
	p.space()
	switch c := p.src[p.at]; c {
	case '{':
		return p.object(where, depth)
	case '[':
		return p.array(where, depth)
	case '"':
		return p.text(where)
	case 't':
		p.at += len("true")
		return true, nil
	case 'f':
		p.at += len("false")
		return false, nil
	case 'n':
		p.at += len("null")
		return nil, nil
	default:
		return p.number(where)
	}
}

func (p *strictJSON) space() {
	for p.at < len(p.src) {
		switch p.src[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *strictJSON) object(where string, depth int) (any, error) {
	p.at++ // {
	m := map[string]any{}
	var folded map[string]string // made when there is a second key
	for {
		p.space()
		switch p.src[p.at] {
		case '}':
			p.at++
			return m, nil
		case ',':
			p.at++
			continue
		}
		key, err := p.text(where)
		if err != nil {
			return nil, err
		}
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("the key %s appears twice%s; write it once", named(key), inside(where))
		}
		if len(m) > 0 {
			if folded == nil {
				folded = make(map[string]string, len(m)+1)
				for k := range m {
					folded[fold(k)] = k
				}
			}
			if other, same := folded[fold(key)]; same {
				return nil, fmt.Errorf("the keys %s and %s differ only by case%s; write one of them", named(other), named(key), inside(where))
			}
			folded[fold(key)] = key
		}
		p.space()
		p.at++ // :
		if m[key], err = p.value(join(where, key), depth+1); err != nil {
			return nil, err
		}
	}
}

func (p *strictJSON) array(where string, depth int) (any, error) {
	p.at++ // [
	list := []any{}
	for {
		p.space()
		switch p.src[p.at] {
		case ']':
			p.at++
			return list, nil
		case ',':
			p.at++
			continue
		}
		v, err := p.value(where+"["+strconv.Itoa(len(list))+"]", depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// text reads a string. The escapes were judged by json.Valid, but for halves
// of surrogate pairs, which Go would replace without a word.
func (p *strictJSON) text(where string) (string, error) {
	start := p.at
	p.at++
	plain := true
	for p.src[p.at] != '"' {
		if p.src[p.at] != '\\' {
			p.at++
			continue
		}
		plain = false
		if p.src[p.at+1] != 'u' {
			p.at += 2
			continue
		}
		switch r := p.hex(); {
		case r >= 0xDC00 && r <= 0xDFFF:
			return "", halfCharacter(where)
		case r >= 0xD800 && r <= 0xDBFF:
			if p.src[p.at] != '\\' || p.src[p.at+1] != 'u' {
				return "", halfCharacter(where)
			}
			if low := p.hex(); low < 0xDC00 || low > 0xDFFF {
				return "", halfCharacter(where)
			}
		}
	}
	p.at++
	if plain {
		return string(p.src[start+1 : p.at-1]), nil
	}
	var s string
	err := json.Unmarshal(p.src[start:p.at], &s)
	return s, err
}

// hex reads a \uXXXX at p.at.
func (p *strictJSON) hex() uint64 {
	n, _ := strconv.ParseUint(string(p.src[p.at+2:p.at+6]), 16, 32)
	p.at += 6
	return n
}

func halfCharacter(where string) error {
	return fmt.Errorf("a \\u escape%s is half of a character; write both halves, or the character itself", inside(where))
}

// number keeps the digits. A validator computes with exact rationals, so an
// exponent of a billion would be a billion digits.
func (p *strictJSON) number(where string) (any, error) {
	start := p.at
	for p.at < len(p.src) && strings.IndexByte("+-.0123456789eE", p.src[p.at]) >= 0 {
		p.at++
	}
	s := string(p.src[start:p.at])
	if len(s) > maxNumberText {
		return nil, fmt.Errorf("a number%s has %d characters; at most %d are taken", inside(where), len(s), maxNumberText)
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxExponent || e < -maxExponent {
			return nil, fmt.Errorf("the number %s%s is out of range", s, inside(where))
		}
	}
	return json.Number(s), nil
}

// fold maps strings that differ only by case to one, as encoding/json does.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, s)
}

// join extends a place by a key: items[0].name.
func join(where, key string) string {
	if where == "" {
		return key
	}
	return where + "." + key
}

// named shows a key or a place in an error; it may come from outside.
func named(s string) string { return "`" + line(s, 80) + "`" }

func inside(where string) string {
	if where == "" {
		return ""
	}
	return " in " + named(where)
}
