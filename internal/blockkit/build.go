package blockkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Empty stands where there is no text: Slack refuses empty text objects.
const Empty = "(empty)"

// Block is one block as the constructors make it: always valid by itself. The
// zero Block is no block, and is left out wherever blocks are gathered; a
// constructor that was given nothing to show returns it.
type Block struct {
	object
	chars  int                 // displayed text, in UTF-16 units
	input  bool                // an input block, which makes a modal need a submit button
	shrink func(max int) Block // the same block within max characters of text; nil: as it is or not at all
	inView func() []Block      // what stands for it in a modal or Home tab; nil: itself
}

// Element is an interactive element. The zero Element is none.
type Element struct {
	object
	chars int
}

// object is a JSON object whose members keep their order.
type object struct {
	members []member
	cut     bool
}

type member struct {
	name  string
	value any
}

// Cut reports whether anything was left out to stay within a limit: then the
// whole must be offered some other way, and what is shown must not be
// approved from.
func (o object) Cut() bool { return o.cut }

// IsZero reports whether there is nothing here to send.
func (o object) IsZero() bool { return len(o.members) == 0 }

// MarshalJSON writes the members in their order, without HTML escaping.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o.members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := encode(m.name)
		if err != nil {
			return nil, err
		}
		value, err := encode(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encode is json.Marshal without HTML escaping: Slack's texts are full of <
// and &, and a card's golden file should read like the card.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mustEncode encodes what this package built: strings, numbers, booleans and
// objects of them, which cannot fail.
func mustEncode(v any) json.RawMessage {
	b, err := encode(v)
	if err != nil {
		panic("blockkit: encoding a built card: " + err.Error())
	}
	return b
}

// make an object of name, value pairs; nil values and empty strings are left
// out.
func newObject(typ string, pairs ...any) object {
	var o object
	if typ != "" {
		o.members = append(o.members, member{"type", typ})
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *object) set(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case bool:
		if !v {
			return
		}
	}
	o.members = append(o.members, member{name, value})
}

// WithID gives the block an id of its own, unique in its message or view.
func (b Block) WithID(id string) Block {
	if b.IsZero() {
		return b
	}
	members := append([]member{b.members[0], {"block_id", Identifier(id, MaxBlockID)}}, b.members[1:]...)
	if shrink := b.shrink; shrink != nil {
		b.shrink = func(max int) Block { return shrink(max).WithID(id) }
	}
	b.members = members
	return b
}

// Identifier is id if it fits into max characters, and else a digest of it:
// cutting an id could make it equal to another. Ids, values and tokens all
// pass through it; compare what comes back with Identifier of what was meant.
func Identifier(id string, max int) string {
	if units(id) <= max {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Text is a text object before it is given its place, which has the limit.
type Text struct {
	typ  string
	text string
}

// Plain is text without any formatting.
func Plain(s string) Text { return Text{"plain_text", s} }

// Mrkdwn is text in Slack's own markup, and ours: what others wrote must have
// gone through Escape.
func Mrkdwn(s string) Text { return Text{"mrkdwn", s} }

// within is the text object cut to max characters.
func (t Text) within(max int) (o object, chars int) {
	text := t.text
	if text == "" {
		text = Empty
	}
	var cut bool
	if t.typ == "mrkdwn" {
		text, cut = Fit(text, max)
	} else {
		text, cut = fitPlain(text, max)
	}
	if text == "" {
		text, cut = ellipsis, true
	}
	o = newObject(t.typ, "text", text)
	// Links in our texts are written out; Slack shall not make more of them.
	if t.typ == "mrkdwn" {
		o.set("verbatim", true)
	}
	o.cut = cut
	return o, units(text)
}
