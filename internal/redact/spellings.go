package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
)

// minEncoded is the shortest base64 fragment used as a needle: shorter ones occur in innocent data.
const minEncoded = 8

// spellings returns the forms in which a secret turns up: as it is, in a query, in a path, in JSON, and in base64 at
// each of the three alignments that bytes in front of it can give it ("user:secret" in a Basic header).
func spellings(secret string) []string {
	out := []string{secret}
	add := func(s string) {
		if len(s) >= minSecret {
			out = append(out, s)
		}
	}
	for _, enc := range []string{url.QueryEscape(secret), url.PathEscape(secret)} {
		add(enc)
		add(lowerHex(enc))
	}
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(secret) == nil {
			add(strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`))
		}
	}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for pad := range 3 {
			if s := aligned(enc, secret, pad); len(s) >= minEncoded {
				out = append(out, s)
			}
		}
	}
	return out
}

// aligned is the part of the base64 text that depends on the secret alone when pad bytes of something else come first.
func aligned(enc *base64.Encoding, secret string, pad int) string {
	s := enc.EncodeToString(append(make([]byte, pad), secret...))
	start := (pad*8 + 5) / 6
	end := len(s)
	if (pad+len(secret))%3 != 0 {
		end-- // the last character also carries bits of what follows
	}
	if start >= end {
		return ""
	}
	return s[start:end]
}

// lowerHex turns %2F into %2f: both are in use.
func lowerHex(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], bytes.ToLower(b[i+1:i+3]))
			i += 2
		}
	}
	return string(b)
}
