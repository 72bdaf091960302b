package provider

import (
	"bytes"
	"unicode/utf8"
)

// The commonest chunk carries a piece of text and nothing else, once for each
// token. Decoding all of its JSON costs several times what everything else on
// the way to the thread does, so its one string is taken out directly. Whatever
// is not exactly of this shape goes the long way; a fuzz test holds both to the
// same answer.
var (
	fastHeads = [][]byte{
		[]byte(`"choices":[{"index":0,"delta":{"content":"`),
		[]byte(`"choices":[{"delta":{"content":"`),
		[]byte(`"choices":[{"index":0,"delta":{"role":"assistant","content":"`),
		[]byte(`"choices":[{"finish_reason":null,"index":0,"delta":{"content":"`),
	}
	fastTails = [][]byte{
		[]byte(`}}]}`), // llama-server's order; its tail comes before
		[]byte(`},"finish_reason":null}]`),
		[]byte(`},"logprobs":null,"finish_reason":null}]`),
		[]byte(`},"finish_reason":null,"index":0,"logprobs":null}]`),
		[]byte(`}}],`),
	}
	fastHead  = []byte(`"choices":[{`)
	fastUsage = []byte(`"usage"`)
	fastNil   = []byte(`"usage":null`)
	fastError = []byte(`"error"`)
)

// plainText answers the text of a chunk that has nothing but text.
func plainText(data []byte) (string, bool) {
	if len(data) < 40 || data[0] != '{' || data[len(data)-1] != '}' {
		return "", false
	}
	// Heads begin with an unescaped quote and hold unescaped ones, so none can
	// match inside a string.
	at := bytes.Index(data, fastHead)
	if at < 0 || depth(data[:at]) != 1 {
		return "", false
	}
	var rest []byte
	for _, h := range fastHeads {
		if bytes.HasPrefix(data[at:], h) {
			rest = data[at+len(h):]
			break
		}
	}
	if rest == nil {
		return "", false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || end > 0 && rest[end-1] == '\\' {
		return "", false // an escaped quote, or a backslash at the end: the long way
	}
	text, tail := rest[:end], rest[end+1:]
	tailOK := false
	for _, t := range fastTails {
		if bytes.HasPrefix(tail, t) {
			tailOK = true
			break
		}
	}
	if !tailOK || bytes.Contains(data, fastError) || bytes.Contains(tail, fastHead) {
		return "", false
	}
	if i := bytes.Index(data, fastUsage); i >= 0 && !bytes.HasPrefix(data[i:], fastNil) {
		return "", false
	}
	return unescape(text)
}

// depth counts open braces before the choices: 1, unless an object stands in
// front of them, which the long way reads.
func depth(b []byte) int { return bytes.Count(b, []byte("{")) }

// unescape reads a string's inside with the simple escapes.
func unescape(b []byte) (string, bool) {
	if bytes.IndexByte(b, '\\') < 0 {
		for _, c := range b {
			if c < ' ' {
				return "", false
			}
		}
		return string(b), utf8.Valid(b)
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c < ' ' {
			return "", false
		}
		if c != '\\' {
			out = append(out, c)
			continue
		}
		if i++; i == len(b) {
			return "", false
		}
		switch b[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case '\\', '/', '"':
			out = append(out, b[i])
		default: // \u, and what is no escape at all
			return "", false
		}
	}
	return string(out), utf8.Valid(out)
}
