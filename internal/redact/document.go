package redact

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// document masks the JSON document s value by value, keeping the order of its members. ok is false where s cannot be
// read as one.
func (r *Redactor) document(s string) (out string, ok bool) {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var b bytes.Buffer
	if err := r.value(dec, &b); err != nil {
		return "", false
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", false
	}
	return b.String(), json.Valid(b.Bytes())
}

func (r *Redactor) value(dec *json.Decoder, b *bytes.Buffer) error {
	tok, err := dec.Token()
	if err != nil {
		return err
	}
	switch t := tok.(type) {
	case json.Delim:
		b.WriteRune(rune(t))
		for i := 0; dec.More(); i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			if t == '{' {
				key, err := dec.Token()
				if err != nil {
					return err
				}
				name, _ := key.(string)
				writeString(b, r.mask(name))
				b.WriteByte(':')
			}
			if err := r.value(dec, b); err != nil {
				return err
			}
		}
		end, err := dec.Token()
		if err != nil {
			return err
		}
		if d, ok := end.(json.Delim); ok {
			b.WriteRune(rune(d))
		}
	case string:
		writeString(b, r.mask(t))
	case json.Number:
		if m := r.mask(t.String()); m != t.String() {
			writeString(b, m)
		} else {
			b.WriteString(m)
		}
	case bool:
		if t {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case nil:
		b.WriteString("null")
	}
	return nil
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string and a bytes.Buffer cannot fail
	b.Truncate(b.Len() - 1)
}
