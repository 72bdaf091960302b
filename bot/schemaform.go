package bot

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// form is a call's arguments as the fields of a modal, made from the tool's
// JSON Schema and the arguments themselves. The same schema and arguments make
// the same form, so that a submission is read against the form that was shown.
//
// What comes back as it was shown keeps its bytes: only what somebody changed
// is written, into the original text, at its place.
type form struct {
	raw    json.RawMessage
	args   []argument
	fields []field
}

// field is one argument of a form.
type field struct {
	id       string // of its block (and action), or, in parts, the beginning of it
	key      string
	label    string
	kind     fieldKind
	integer  bool
	required bool
	present  bool            // the arguments have it
	raw      json.RawMessage // its value there
	text     string          // as it is shown for editing
	parts    []string        // text, in what an input takes
	options  []json.RawMessage
	hint     string
}

type fieldKind int

const (
	lineField   fieldKind = iota // a string of one line
	textField                    // a string
	linesField                   // an array of strings, a line each
	numberField                  // a number or integer
	boolField
	choiceField // an enum of strings
	jsonField   // anything else, as JSON
	fixedField  // shown, not changed
)

// Bounds of a form: what a modal takes, and what a person edits on a phone.
const (
	maxFormUnits = 60000
	maxPartUnits = 2900
	maxFormInput = 85 // blocks, of the hundred
)

// errFormTooLong: the arguments are more than a modal holds.
var errFormTooLong = errors.New("these arguments are too long for a form")

// property is what a form reads of a schema.
type property struct {
	Type        any               `json:"type"`
	Enum        []json.RawMessage `json:"enum"`
	Items       *property         `json:"items"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
}

// types are the types that a property allows; none: any.
func (p *property) types() []string {
	if p == nil {
		return nil
	}
	switch t := p.Type.(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, v := range t {
			if s, ok := v.(string); ok {
				list = append(list, s)
			}
		}
		return list
	}
	return nil
}

func (p *property) allows(typ string) bool {
	t := p.types()
	return len(t) == 0 || slices.Contains(t, typ)
}

// only is the one type besides null that a property allows, or "".
func (p *property) only() string {
	t := slices.DeleteFunc(slices.Clone(p.types()), func(s string) bool { return s == "null" })
	if len(t) == 1 {
		return t[0]
	}
	return ""
}

// newForm makes the form. fixed names arguments that are shown and not changed.
func newForm(schema, args json.RawMessage, fixed ...string) (form, error) {
	f := form{raw: args}
	var err error
	if f.args, err = arguments(args); err != nil {
		return f, err
	}
	var doc struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	_ = json.Unmarshal(schema, &doc) // a schema that cannot be read types nothing
	props := map[string]*property{}
	var order []string
	if list, err := arguments(doc.Properties); err == nil {
		for _, a := range list {
			p := new(property)
			if json.Unmarshal(a.Raw, p) != nil {
				p = nil
			}
			props[a.Key] = p
			order = append(order, a.Key)
		}
	}
	have := map[string]bool{}
	for _, a := range f.args {
		have[a.Key] = true
		fl := field{key: a.Key, present: true, raw: a.Raw}
		fl.shape(props[a.Key])
		if slices.Contains(fixed, a.Key) {
			fl.kind = fixedField
		}
		f.fields = append(f.fields, fl)
	}
	for _, key := range order {
		if !have[key] && !slices.Contains(fixed, key) {
			fl := field{key: key}
			fl.shapeAbsent(props[key])
			f.fields = append(f.fields, fl)
		}
	}
	slices.SortStableFunc(f.fields, func(a, b field) int { return a.rank() - b.rank() })
	total, inputs := 0, 0
	for i := range f.fields {
		fl := &f.fields[i]
		fl.id = fmt.Sprintf("f%d", i)
		fl.required = slices.Contains(doc.Required, fl.key)
		fl.name(props[fl.key])
		fl.parts = []string{fl.text}
		switch fl.kind {
		case textField, linesField, jsonField:
			fl.parts = blockkit.SplitVerbatim(fl.text, maxPartUnits)
		}
		total += width(fl.text)
		inputs += len(fl.parts)
	}
	if total > maxFormUnits || inputs > maxFormInput {
		return f, errFormTooLong
	}
	return f, nil
}

func (fl field) rank() int {
	for i, m := range mailish {
		if m.key == fl.key {
			return i
		}
	}
	return len(mailish)
}

func (fl *field) name(p *property) {
	fl.label = blockkit.OneLine(fl.key, 80)
	for _, m := range mailish {
		if m.key == fl.key {
			fl.label = m.label
		}
	}
	if p != nil {
		fl.hint = blockkit.OneLine(p.Description, 300)
	}
	switch fl.kind {
	case linesField:
		fl.hint = strings.TrimSpace("One a line. " + fl.hint)
	case jsonField:
		fl.label += " (JSON)"
	}
}

// shape picks the kind of a field whose value is there: by the value, as far as
// the schema allows it.
func (fl *field) shape(p *property) {
	fl.kind, fl.text = jsonField, string(fl.raw)
	switch c := firstByte(fl.raw); {
	case c == '"':
		var s string
		if json.Unmarshal(fl.raw, &s) != nil || !typeable(s) || !p.allows("string") {
			return
		}
		fl.text = s
		if p != nil && len(p.Enum) > 0 {
			if fl.choices(p) && slices.ContainsFunc(fl.options, func(o json.RawMessage) bool { return sameString(o, s) }) {
				return
			}
			fl.options = nil
		}
		fl.kind = textField
		if !strings.ContainsAny(s, "\r\n") && width(s) <= inlineUnits && fl.key != "body" {
			fl.kind = lineField
		}
	case c == '[':
		var list []string
		if json.Unmarshal(fl.raw, &list) == nil && p.allows("array") && stringItems(p, list) && !slices.ContainsFunc(list, func(s string) bool { return !lineable(s) }) {
			fl.kind, fl.text = linesField, strings.Join(list, "\n")
			return
		}
		fl.text = pretty(fl.raw)
	case c == '{':
		fl.text = pretty(fl.raw)
	case c == 't' || c == 'f':
		if p.allows("boolean") {
			fl.kind = boolField
		}
	case c == '-' || c >= '0' && c <= '9':
		if p.allows("number") || p.allows("integer") {
			fl.kind, fl.integer = numberField, p.only() == "integer"
		}
	}
}

// stringItems: an empty array takes lines only where the schema says so.
func stringItems(p *property, list []string) bool {
	if p == nil || p.Items == nil {
		return len(list) > 0
	}
	return p.Items.only() == "string" && len(p.Items.Enum) == 0
}

// shapeAbsent picks the kind of a field that the arguments do not have.
func (fl *field) shapeAbsent(p *property) {
	fl.kind = jsonField
	switch p.only() {
	case "string":
		if p != nil && len(p.Enum) > 0 {
			if !fl.choices(p) {
				fl.kind = lineField
			}
			return
		}
		fl.kind = lineField
		if fl.key == "body" {
			fl.kind = textField
		}
	case "array":
		if stringItems(p, nil) {
			fl.kind = linesField
		}
	case "number", "integer":
		fl.kind, fl.integer = numberField, p.only() == "integer"
	case "boolean":
		fl.kind = boolField
	}
}

// choices takes an enum of strings that a menu can show whole.
func (fl *field) choices(p *property) bool {
	if len(p.Enum) > blockkit.MaxOptions {
		return false
	}
	for _, e := range p.Enum {
		var s string
		if firstByte(e) != '"' || json.Unmarshal(e, &s) != nil || s == "" || width(blockkit.OneLine(s, 200)) > blockkit.MaxOptionText {
			return false
		}
	}
	fl.kind, fl.options = choiceField, p.Enum
	return true
}

func sameString(raw json.RawMessage, s string) bool {
	var v string
	return json.Unmarshal(raw, &v) == nil && v == s
}

// typeable tells whether a text input can hold s: control characters it cannot.
func typeable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\r' && r != '\t' || r == 0x7f || r == 0xfffd })
}

// lineable tells whether s is one line of a list, and comes back as itself.
func lineable(s string) bool {
	return s != "" && typeable(s) && !strings.ContainsAny(s, "\r\n\u2028\u2029\u0085") && strings.TrimSpace(s) == s
}

// ---- showing

// blocks are the inputs, hidden characters listed above their field.
func (f form) blocks() []blockkit.Block {
	var list []blockkit.Block
	for _, fl := range f.fields {
		if h := hiddenLine(fl.text); h != "" {
			list = append(list, smallPlain(h))
		}
		list = append(list, fl.blocks()...)
	}
	return list
}

func (fl field) blocks() []blockkit.Block {
	var e blockkit.Element
	switch fl.kind {
	case fixedField:
		return []blockkit.Block{blockkit.RichSection(blockkit.Run{Text: fl.label, Bold: true}, blockkit.Run{Text: "   " + showArg(argument{Key: fl.key, Raw: fl.raw}).Text + "  (not changed here)"})}
	case boolField:
		e = blockkit.Select(fl.id, "choose", []blockkit.Option{{Text: "yes (true)", Value: "true"}, {Text: "no (false)", Value: "false"}}, fl.text)
	case choiceField:
		var options []blockkit.Option
		initial := ""
		for i, o := range fl.options {
			var s string
			_ = json.Unmarshal(o, &s) // choices has read it
			options = append(options, blockkit.Option{Text: blockkit.OneLine(s, blockkit.MaxOptionText), Value: optionValue(i)})
			if fl.present && s == fl.text {
				initial = optionValue(i)
			}
		}
		e = blockkit.Select(fl.id, "choose", options, initial)
	case numberField:
		if e = blockkit.NumberInput(fl.id, fl.text, "", "", !fl.integer); e.Cut() {
			e = blockkit.TextInput(fl.id, fl.text, "", false)
		}
	case lineField:
		e = blockkit.TextInput(fl.id, fl.text, "", false)
	default:
		var list []blockkit.Block
		for i, part := range fl.parts {
			label, hint := fl.label, fl.hint
			if len(fl.parts) > 1 {
				label = fmt.Sprintf("%s, part %d of %d", fl.label, i+1, len(fl.parts))
				if i > 0 {
					hint = ""
				}
			}
			id := fl.part(i)
			list = append(list, blockkit.Input(id, label, hint, !fl.needed() || i > 0, blockkit.TextInput(id, part, "", true)))
		}
		return list
	}
	return []blockkit.Block{blockkit.Input(fl.id, fl.label, fl.hint, !fl.needed(), e)}
}

// needed tells whether Slack may insist on the field: not where it is required
// and empty as it stands, since then an empty text is a value like any other.
func (fl field) needed() bool {
	return fl.required && !(fl.present && fl.text == "" && (fl.kind == lineField || fl.kind == textField || fl.kind == linesField))
}

// part is the block id of a part.
func (fl field) part(i int) string {
	if len(fl.parts) == 1 {
		return fl.id
	}
	return fmt.Sprintf("%s.%d", fl.id, i)
}

// block is the id at which an error of the field is shown.
func (fl field) block() string {
	if fl.kind == fixedField {
		return ""
	}
	return fl.part(0)
}

var spelled = regexp.MustCompile(`‹[^‹›]{1,24}›`)

// hiddenLine lists what a reader of a field would not see, or "".
func hiddenLine(s string) string {
	shown, n := blockkit.Visible(s, padding)
	if n == 0 {
		return ""
	}
	var names []string
	times := map[string]int{}
	for _, m := range spelled.FindAllString(shown, -1) {
		if times[m]++; times[m] == 1 && len(names) < 12 {
			names = append(names, m)
		}
	}
	for i, m := range names {
		if times[m] > 1 {
			names[i] = fmt.Sprintf("%s ×%d", m, times[m])
		}
	}
	return fmt.Sprintf("⚠ %s in the field below: %s", plural(n, "hidden character"), strings.Join(names, " "))
}

// ---- reading back

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// change is what a submission does to one field.
type change struct {
	raw    json.RawMessage // the new value; nil: as it was
	remove bool
}

// apply answers the arguments as submitted, or what is wrong, by block id.
func (f form) apply(in values) (json.RawMessage, map[string]string) {
	errs := map[string]string{}
	changes := map[string]change{}
	for _, fl := range f.fields {
		if fl.kind == fixedField {
			continue
		}
		c, why := fl.read(in)
		if why != "" {
			errs[fl.block()] = why
			continue
		}
		if c.raw != nil || c.remove {
			changes[fl.key] = c
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return f.splice(changes), nil
}

func (fl field) read(in values) (c change, why string) {
	switch fl.kind {
	case boolField:
		got, _ := in.text(fl.id)
		if got == "" || fl.present && got == fl.text {
			return c, ""
		}
		return change{raw: json.RawMessage(got)}, map[bool]string{false: "Choose yes or no."}[got == "true" || got == "false"]
	case choiceField:
		got, _ := in.text(fl.id)
		for i, o := range fl.options {
			if got == optionValue(i) && !(fl.present && sameString(o, fl.text)) {
				return change{raw: o}, ""
			}
		}
		return c, ""
	case numberField:
		return fl.readNumber(in)
	}
	text, same := fl.joined(in)
	if same {
		return c, ""
	}
	switch fl.kind {
	case linesField:
		return change{raw: fl.lines(text)}, ""
	case jsonField:
		text = strings.TrimSpace(text)
		switch {
		case text == "" && fl.required:
			return c, "This is needed."
		case text == "":
			return change{remove: fl.present}, ""
		case !json.Valid([]byte(text)):
			var syntax *json.SyntaxError
			if err := json.Unmarshal([]byte(text), new(any)); errors.As(err, &syntax) {
				return c, fmt.Sprintf("This is not JSON: %s, at character %d.", syntax, syntax.Offset)
			}
			return c, "This is not JSON."
		}
		return change{raw: json.RawMessage(text)}, ""
	}
	raw, err := encodeJSON(text)
	if err != nil {
		return c, err.Error()
	}
	return change{raw: raw}, ""
}

func (fl field) readNumber(in values) (c change, why string) {
	got, ok := in.text(fl.id)
	got = strings.TrimSpace(got)
	switch {
	case !ok || got == fl.text:
		return c, ""
	case got == "" && fl.required:
		return c, "This needs a number."
	case got == "":
		return change{remove: fl.present}, ""
	case !jsonNumber.MatchString(got) || len(got) > 100:
		return c, "This is not a number."
	}
	now, ok := rat(got)
	if !ok {
		return c, "This number is out of range."
	}
	if was, ok := rat(fl.text); ok && fl.present && was.Cmp(now) == 0 {
		return c, "" // written differently, the same number: it keeps its digits
	}
	if fl.integer && !now.IsInt() {
		return c, "This needs a whole number."
	}
	return change{raw: json.RawMessage(got)}, ""
}

// rat reads a number whose exponent is small enough to compute with.
func rat(s string) (*big.Rat, bool) {
	if i := strings.IndexAny(s, "eE"); i >= 0 && len(s)-i > 5 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// joined puts the parts of a text together. A part that comes back as it was
// shown, line ends aside (Slack may normalise them), keeps its bytes.
func (fl field) joined(in values) (text string, same bool) {
	same = true
	crlf := strings.Contains(fl.text, "\r\n") && !strings.Contains(strings.ReplaceAll(fl.text, "\r\n", ""), "\n")
	var b strings.Builder
	for i, part := range fl.parts {
		got, ok := in.text(fl.part(i))
		end := lineEnd(part)
		ours := i < len(fl.parts)-1 && end != ""
		if !ok || unix(got) == unix(part) || ours && unix(got) == unix(strings.TrimSuffix(part, end)) {
			b.WriteString(part)
			continue
		}
		same = false
		got = unix(got)
		// The line end at a cut of ours belongs to the text, whether or not the
		// input gave it back.
		if ours && got != "" && !strings.HasSuffix(got, "\n") {
			got += "\n"
		}
		if crlf {
			got = strings.ReplaceAll(got, "\n", "\r\n")
		}
		b.WriteString(got)
	}
	return b.String(), same
}

func lineEnd(s string) string {
	for _, e := range []string{"\r\n", "\n", "\r"} {
		if strings.HasSuffix(s, e) {
			return e
		}
	}
	return ""
}

// unix is s with the line ends of Unix.
func unix(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// lines is an array of the text's lines; an element that was there keeps its
// bytes.
func (fl field) lines(text string) json.RawMessage {
	var raws []json.RawMessage
	_ = json.Unmarshal(fl.raw, &raws) // absent: none
	was := map[string]json.RawMessage{}
	for _, r := range raws {
		var s string
		if json.Unmarshal(r, &s) == nil {
			was[s] = r
		}
	}
	out := []byte{'['}
	for line := range strings.SplitSeq(unix(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		raw, ok := was[line]
		if !ok {
			raw, _ = encodeJSON(line) // a string encodes
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']')
}

// splice writes the changes into the original text: every other byte stays.
func (f form) splice(changes map[string]change) json.RawMessage {
	raw := slices.Clone(f.raw)
	for _, a := range slices.Backward(f.args) {
		if c, ok := changes[a.Key]; ok && c.raw != nil {
			raw = slices.Replace(raw, a.from, a.to, c.raw...)
		}
	}
	for _, fl := range f.fields {
		c, ok := changes[fl.key]
		switch {
		case !ok:
		case c.remove:
			raw = without(raw, fl.key)
		case !fl.present:
			raw = with(raw, fl.key, c.raw)
		}
	}
	return raw
}

// with adds a member at the end of an object.
func with(raw json.RawMessage, key string, value json.RawMessage) json.RawMessage {
	args, err := arguments(raw)
	name, nameErr := encodeJSON(key)
	if err != nil || nameErr != nil {
		return raw
	}
	member := append(append(slices.Clone(name), ':'), value...)
	at := strings.IndexByte(string(raw), '{') + 1
	if n := len(args); n > 0 {
		at = args[n-1].to
		member = append([]byte{','}, member...)
	}
	return slices.Insert(slices.Clone(raw), at, member...)
}

// without takes a member out of an object, with one comma.
func without(raw json.RawMessage, key string) json.RawMessage {
	args, err := arguments(raw)
	i := slices.IndexFunc(args, func(a argument) bool { return a.Key == key })
	if err != nil || i < 0 {
		return raw
	}
	from, to := strings.IndexByte(string(raw), '{')+1, args[i].to
	switch {
	case i > 0:
		from = args[i-1].to
	case len(args) > 1:
		to += strings.IndexByte(string(raw[to:]), '"') // the next key
	}
	return slices.Delete(slices.Clone(raw), from, to)
}
