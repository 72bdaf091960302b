package blockkit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is one thing that Slack would refuse, in the form in which
// blocks.validate reports it. Code is "failed_constraint" for a constraint of
// one element; a limit over the whole payload has the code that the posting
// method would answer with (see MethodError). Pointer is a JSON pointer from
// the root of what was validated.
type Error struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	Field      string `json:"field,omitempty"`
	Pointer    string `json:"pointer"`
	Constraint any    `json:"constraint,omitempty"`

	// Rule names the limit in dotted form, as in "button.text.max_length".
	Rule string `json:"-"`
}

// Constraint is what an Error's Constraint holds: which kind of rule failed
// and what it expected.
type Constraint struct {
	Type     string `json:"type"`
	Expected any    `json:"expected,omitempty"`
}

// Error says it in the form that Slack puts into response_metadata.messages.
func (e Error) Error() string {
	return e.Message + " [json-pointer:" + e.Pointer + "]"
}

// Codes of an Error.
const (
	CodeConstraint   = "failed_constraint"
	CodeFormat       = "invalid_blocks_format" // not JSON, or not the kind of JSON value that belongs there
	CodeTooLong      = "msg_blocks_too_long"
	CodeViewTooLarge = "view_too_large"
	CodeMetadata     = "invalid_metadata_format"
	CodeMetadataSize = "metadata_too_large"
	CodeAttachments  = "too_many_attachments"
	CodeNoText       = "no_text"
)

// Surface is where blocks are to appear. It decides how many there may be,
// which kinds, and which sums are bounded.
type Surface int

const (
	Message Surface = iota
	Modal
	Home
	StreamChunk // the blocks of a chunk of a streamed message
	Anywhere    // no surface yet: what at least one surface takes (blocks.validate with bare blocks)
)

func (s Surface) String() string {
	switch s {
	case Message:
		return "message"
	case Modal:
		return "modal"
	case Home:
		return "home"
	case StreamChunk:
		return "stream chunk"
	default:
		return "any surface"
	}
}

func (s Surface) isMessage() bool { return s == Message || s == StreamChunk }

func (s Surface) maxBlocks() int {
	if s.isMessage() {
		return MaxMessageBlocks
	}
	return MaxViewBlocks
}

// MethodError is the error that a posting method (chat.postMessage,
// views.open, …) would answer for errs: the code of the first error over the
// whole payload if there is one, else invalid. It is "" when errs is empty.
func MethodError(errs []Error, invalid string) string {
	if len(errs) == 0 {
		return ""
	}
	for _, e := range errs {
		if e.Code != CodeConstraint {
			return e.Code
		}
	}
	return invalid
}

// ValidateBlocks judges an array of blocks as one surface would. Pointers
// start at the array: "/0/text". A nil result means valid.
func ValidateBlocks(blocks json.RawMessage, s Surface) []Error {
	c := newChecker(s)
	v, ok := c.decode(blocks)
	if !ok {
		return c.errs
	}
	c.blockArray(place{}, v)
	c.sums(place{})
	return c.errs
}

// ValidateView judges a modal or Home view.
func ValidateView(view json.RawMessage) []Error {
	c := newChecker(Modal)
	if len(view) > MaxViewBytes {
		c.add(Error{Code: CodeViewTooLarge, Message: fmt.Sprintf("the view is %d bytes; %d are allowed", len(view), MaxViewBytes),
			Rule: "view.max_bytes", Constraint: Constraint{"max_bytes", MaxViewBytes}})
		return c.errs
	}
	v, ok := c.decode(view)
	if !ok {
		return c.errs
	}
	c.view(place{}, v)
	return c.errs
}

// ValidateMessage judges the parts of a message that Block Kit governs: text,
// blocks, attachments (with blocks of their own) and metadata. Other members
// are arguments of the posting method and pass.
func ValidateMessage(msg json.RawMessage) []Error {
	c := newChecker(Message)
	v, ok := c.decode(msg)
	if !ok {
		return c.errs
	}
	c.message(place{}, v)
	return c.errs
}

// ValidateChunks judges the chunks of a streamed message's start, append or
// stop call.
func ValidateChunks(chunks json.RawMessage) []Error {
	c := newChecker(StreamChunk)
	v, ok := c.decode(chunks)
	if !ok {
		return c.errs
	}
	listOf("chunks", 0, 0, chunkKinds.check)(c, place{}, v)
	c.sums(place{})
	return c.errs
}

// place is where in the payload a value stands. Pointers are only built when
// there is an error to report.
type place struct {
	up   *place
	name string // a member's name, where elem is false
	elem bool
	idx  int
}

func (p *place) field(name string) place { return place{up: p, name: name} }
func (p *place) item(i int) place        { return place{up: p, elem: true, idx: i} }

func (p *place) pointer() string {
	var parts []string
	for ; p != nil && p.up != nil; p = p.up {
		if p.elem {
			parts = append(parts, strconv.Itoa(p.idx))
		} else {
			parts = append(parts, strings.NewReplacer("~", "~0", "/", "~1").Replace(shorten(p.name)))
		}
	}
	var b strings.Builder
	for i := len(parts) - 1; i >= 0; i-- {
		b.WriteByte('/')
		b.WriteString(parts[i])
	}
	return b.String()
}

// checker collects errors and sums over one payload.
type checker struct {
	surface Surface
	errs    []Error
	blocks  kinds // every block kind; here, so that shapes may refer to it

	ids       map[string]bool // block_ids of the array at hand
	looseIDs  bool            // a response_url or webhook body: ids are not compared
	hasInput  bool
	silent    int // > 0 while inside text that is not displayed as part of a message (options, dialogs, tables)
	chars     int // displayed text
	markdown  int
	tableText int
}

func newChecker(s Surface) *checker { return &checker{surface: s, blocks: blockKinds} }

func (c *checker) add(e Error) {
	if len(c.errs) < maxErrors {
		c.errs = append(c.errs, e)
	}
}

// fail reports a failed constraint of the value at p. The constraint's kind is
// the last part of the rule's name.
func (c *checker) fail(p place, rule string, expected any, format string, args ...any) {
	c.failAs(p, rule, rule[strings.LastIndexByte(rule, '.')+1:], expected, format, args...)
}

func (c *checker) failAs(p place, rule, kind string, expected any, format string, args ...any) {
	c.add(Error{Code: CodeConstraint, Message: fmt.Sprintf(format, args...), Field: p.name,
		Pointer: p.pointer(), Rule: rule, Constraint: Constraint{kind, expected}})
}

// decode parses bounded JSON: the size and depth are checked before anything
// is built, so that a hostile payload costs no more than reading it.
func (c *checker) decode(raw json.RawMessage) (any, bool) {
	bad := func(format string, args ...any) (any, bool) {
		c.add(Error{Code: CodeFormat, Message: fmt.Sprintf(format, args...), Rule: "json", Constraint: Constraint{Type: "json"}})
		return nil, false
	}
	if len(raw) > maxPayloadBytes {
		return bad("the payload is %d bytes; at most %d are read", len(raw), maxPayloadBytes)
	}
	if d := depth(raw); d > maxDepth {
		return bad("the payload is nested deeper than %d levels", maxDepth)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return bad("not valid JSON: %v", err)
	}
	if rest := bytes.TrimSpace(raw[dec.InputOffset():]); len(rest) > 0 {
		return bad("not valid JSON: more follows the value")
	}
	return v, true
}

// depth is the deepest nesting of raw, by brackets outside strings. It reads
// invalid JSON as well: the decoder refuses that afterwards.
func depth(raw []byte) int {
	var now, max int
	inString := false
	for i := 0; i < len(raw); i++ {
		switch ch := raw[i]; {
		case inString && ch == '\\':
			i++
		case ch == '"':
			inString = !inString
		case inString:
		case ch == '{' || ch == '[':
			if now++; now > max {
				max = now
			}
		case ch == '}' || ch == ']':
			now--
		}
	}
	return max
}

// length counts the characters of s as the validator does.
func length(s string) int { return utf8.RuneCountInString(s) }

// blockArray checks the blocks of one message, attachment or view.
func (c *checker) blockArray(p place, v any) {
	list, ok := v.([]any)
	if !ok {
		c.add(Error{Code: CodeFormat, Message: "blocks must be an array", Field: p.name, Pointer: p.pointer(),
			Rule: "blocks.array", Constraint: Constraint{"type", "array"}})
		return
	}
	if max := c.surface.maxBlocks(); len(list) > max {
		rule := "message.blocks.max_items"
		if !c.surface.isMessage() {
			rule = "view.blocks.max_items"
		}
		c.fail(p, rule, max, "no more than %d items allowed", max)
	}
	c.ids = map[string]bool{}
	tables := 0
	for i, b := range list {
		at := p.item(i)
		c.blocks.check(c, at, b)
		if typeOf(b) == "table" {
			if tables++; tables == 2 && c.surface.isMessage() {
				c.fail(at, "message.tables.max_items", 1, "only one table is allowed in a message")
			}
		}
	}
}

// blockID checks a block_id and that it is the only one of its kind.
func blockID(c *checker, p place, v any) {
	str("block_id", 0, MaxBlockID)(c, p, v)
	id, _ := v.(string)
	if id == "" || c.looseIDs {
		return
	}
	if c.ids[id] {
		c.fail(p, "block_id.unique", nil, "block_id %q already exists", shorten(id))
	}
	if c.ids != nil {
		c.ids[id] = true
	}
}

// sums reports the limits over a whole message.
func (c *checker) sums(p place) {
	tooLong := func(code, rule string, got, max int, what string) {
		if got > max {
			c.add(Error{Code: code, Message: fmt.Sprintf("%s: %d characters; %d are allowed", what, got, max),
				Pointer: p.pointer(), Field: p.name, Rule: rule, Constraint: Constraint{"max_length", max}})
		}
	}
	tooLong(CodeTooLong, "markdown.total.max_length", c.markdown, MaxMarkdown, "the markdown blocks together are too long")
	if !c.surface.isMessage() {
		return
	}
	tooLong(CodeTooLong, "message.max_length", c.chars, MaxMessageChars, "the text of the blocks together is too long")
	tooLong(CodeConstraint, "table.total.max_length", c.tableText, MaxTableText, "the tables together are too long")
}

// shorten bounds a foreign string for use inside an error message.
func shorten(s string) string {
	const max = 60
	if utf8.RuneCountInString(s) <= max {
		return s
	}
	return string([]rune(s)[:max]) + "…"
}

func typeOf(v any) string {
	m, _ := v.(map[string]any)
	s, _ := m["type"].(string)
	return s
}
