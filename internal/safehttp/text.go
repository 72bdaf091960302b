package safehttp

import (
	"bytes"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Text decodes a body to UTF-8 as its content type, its byte order mark or its own declaration says. ok is false for
// what is not text: it is then to be named, never pasted.
func Text(body []byte, contentType string) (text string, ok bool) {
	if contentType == "" {
		contentType = http.DetectContentType(body)
	}
	if !textual(contentType, body) {
		return "", false
	}
	enc, _, certain := charset.DetermineEncoding(body, contentType)
	if !certain && utf8.Valid(trimRune(body)) {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\uFEFF"))), "\uFFFD"), true
	}
	out, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		out = body
	}
	return strings.ToValidUTF8(string(bytes.TrimPrefix(out, []byte("\uFEFF"))), "\uFFFD"), true
}

// Text is the body as UTF-8; ok is false where it is not text.
func (r *Response) Text() (text string, ok bool) { return Text(r.Body, r.Header.Get("Content-Type")) }

// Markdown is the body as Markdown, with its title where it has one. See ToMarkdown.
func (r *Response) Markdown() (title, md string, err error) {
	base, _ := url.Parse(r.URL) // it was vetted
	return ToMarkdown(r.Body, r.Header.Get("Content-Type"), base)
}

func textual(contentType string, body []byte) bool {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		media, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(contentType)), ";")
	}
	switch {
	case strings.HasPrefix(media, "text/"), strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
	case media == "application/json", media == "application/xml", media == "application/javascript",
		media == "application/x-ndjson", media == "application/yaml", media == "application/toml",
		media == "application/x-www-form-urlencoded", media == "application/ld+json", media == "application/sql":
	default:
		return false
	}
	// A label is only a claim: NUL bytes outside of UTF-16 are no text whatever it says.
	return bytes.IndexByte(body[:min(len(body), 1024)], 0) < 0 || utf16(body) || strings.Contains(strings.ToLower(contentType), "utf-16")
}

func utf16(b []byte) bool {
	return bytes.HasPrefix(b, []byte{0xFE, 0xFF}) || bytes.HasPrefix(b, []byte{0xFF, 0xFE})
}

// trimRune drops a character that truncation cut in half at the end.
func trimRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}
