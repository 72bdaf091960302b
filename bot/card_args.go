package bot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// argument is one member of a call's arguments: in the order and with the very
// bytes that they have there.
type argument struct {
	Key      string
	Raw      json.RawMessage
	from, to int // of Raw within the object's text
}

// arguments reads the members of an object in their order.
func arguments(raw json.RawMessage) ([]argument, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.Join(errors.New("the arguments are no JSON object"), err)
	}
	var list []argument
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the arguments are no JSON: %w", err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("the arguments are no JSON: %w", err)
		}
		end := int(dec.InputOffset())
		list = append(list, argument{Key: key.(string), Raw: v, from: end - len(v), to: end})
	}
	_, err := dec.Token()
	return list, err
}

// shownArg is an argument made readable: nothing of it is left out, and what a
// reader would not see is spelled out.
type shownArg struct {
	Label  string
	Text   string
	Block  bool // long, or of several lines: in a box of its own
	Hidden int  // characters that were spelled out
	Note   string
}

// Strings up to here stand beside their label.
const inlineUnits = 200

// padding is blank space that deep indentation needs and hiding does not.
var padding = blockkit.VisibleOptions{Spaces: 40, BlankLines: 5}

// showArg makes one argument readable.
func showArg(a argument) shownArg {
	s := shownArg{Label: blockkit.OneLine(a.Key, 80)}
	text, list := "", []string(nil)
	switch firstByte(a.Raw) {
	case '"':
		if json.Unmarshal(a.Raw, &text) != nil {
			text = string(a.Raw)
		}
	case '[':
		if json.Unmarshal(a.Raw, &list) == nil {
			s.Text, s.Hidden, s.Block = showList(list)
			return s
		}
		fallthrough
	case '{':
		text = pretty(a.Raw)
		s.Block = true
	default:
		text = string(a.Raw)
	}
	s.Text, s.Hidden = blockkit.Visible(text, padding)
	s.Block = s.Block || strings.ContainsAny(s.Text, "\r\n") || width(s.Text) > inlineUnits
	if s.Text == "" {
		s.Text, s.Block = blockkit.Empty, false
	}
	return s
}

// showList shows strings side by side where no comma of theirs could be taken
// for one between them, else a line each.
func showList(list []string) (text string, hidden int, block bool) {
	if len(list) == 0 {
		return "(none)", 0, false
	}
	shown := make([]string, len(list))
	side, lines := true, false
	for i, s := range list {
		v, n := blockkit.Visible(s, padding)
		side = side && !strings.ContainsAny(v, ",\r\n") && v != ""
		lines = lines || strings.ContainsAny(v, "\r\n") || v == ""
		shown[i], hidden = v, hidden+n
	}
	if side && width(strings.Join(shown, ", ")) <= inlineUnits || len(list) == 1 && side {
		return strings.Join(shown, ", "), hidden, width(shown[0]) > inlineUnits
	}
	if lines { // only JSON tells where one ends
		b, _ := encodeJSON(list)
		text, hidden = blockkit.Visible(pretty(b), padding)
		return text, hidden, true
	}
	return strings.Join(shown, "\n"), hidden, true
}

func firstByte(raw json.RawMessage) byte {
	if t := bytes.TrimSpace(raw); len(t) > 0 {
		return t[0]
	}
	return 0
}

// pretty indents JSON; every number, string and key keeps its bytes.
func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func encodeJSON(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// mailish are the arguments that a reader of mail looks for first, in that
// order, with the names that mail programs give them.
var mailish = [...]struct{ key, label string }{
	{"to", "To"}, {"cc", "Cc"}, {"bcc", "Bcc"}, {"subject", "Subject"}, {"body", "Body"},
}

// draftArgs are all of a draft's arguments: the known ones first, every other
// one after them. filled names those that we pinned from the schema.
func draftArgs(raw json.RawMessage, filled []string) []shownArg {
	list, err := arguments(raw)
	if err != nil {
		text, hidden := blockkit.Visible(string(raw), padding)
		return []shownArg{{Label: "Arguments", Text: text, Block: true, Hidden: hidden, Note: "not readable as JSON"}}
	}
	var out, rest []shownArg
	known := map[string]shownArg{}
	for _, a := range list {
		s := showArg(a)
		if slices.Contains(filled, a.Key) {
			s.Note = "the tool's default"
		}
		if i := slices.IndexFunc(mailish[:], func(m struct{ key, label string }) bool { return m.key == a.Key }); i >= 0 {
			s.Label = mailish[i].label
			known[a.Key] = s
			continue
		}
		rest = append(rest, s)
	}
	for _, m := range mailish {
		if s, ok := known[m.key]; ok {
			out = append(out, s)
		}
	}
	return append(out, rest...)
}

// callArgs are a call's input: a command as it stands, then everything else by
// key, what it is about (a path, an address) before long text.
func callArgs(tool string, raw json.RawMessage) []shownArg {
	list, err := arguments(raw)
	if err != nil {
		return draftArgs(raw, nil)
	}
	var out, rest, long []shownArg
	for _, a := range list {
		s := showArg(a)
		if tool == "shell" && a.Key == "command" {
			s.Label, s.Block = "", true
			out = append(out, s)
			continue
		}
		if s.Block {
			long = append(long, s)
			continue
		}
		rest = append(rest, s)
	}
	return slices.Concat(out, rest, long)
}

// unlimited is for Verbatim where what follows decides what fits.
const unlimited = 1 << 26

// fieldBlocks show arguments as a letter is read: short ones beside their
// label, long ones in a box below it.
func fieldBlocks(args []shownArg) []blockkit.Block {
	var blocks []blockkit.Block
	var line []blockkit.Run
	n := 0
	flush := func() {
		if len(line) > 0 {
			blocks = append(blocks, blockkit.RichSection(line...))
			line, n = nil, 0
		}
	}
	for _, a := range args {
		if !a.Block {
			runs := []blockkit.Run{{Text: a.Label, Bold: true}, {Text: "   " + a.Text + a.note(true)}}
			size := width(runs[0].Text) + width(runs[1].Text) + 1
			if n > 0 && n+size > blockkit.MaxText/2 {
				flush()
			}
			if n > 0 {
				line = append(line, blockkit.Run{Text: "\n"})
			}
			line, n = append(line, runs...), n+size
			continue
		}
		flush()
		blocks = append(blocks, a.boxed()...)
	}
	flush()
	return blocks
}

// inputBlocks show a call's input preformatted: short ones as "key: value"
// lines of one box.
func inputBlocks(args []shownArg) []blockkit.Block {
	var blocks []blockkit.Block
	var lines []string
	flush := func() {
		if len(lines) > 0 {
			b, _ := blockkit.Verbatim(strings.Join(lines, "\n"), unlimited)
			blocks, lines = append(blocks, b...), nil
		}
	}
	for _, a := range args {
		if a.Block {
			flush()
			blocks = append(blocks, a.boxed()...)
			continue
		}
		lines = append(lines, a.Label+": "+a.Text+a.note(true))
	}
	flush()
	if len(blocks) == 0 {
		blocks = append(blocks, blockkit.Preformatted("(no arguments)"))
	}
	return blocks
}

func (a shownArg) boxed() []blockkit.Block {
	var blocks []blockkit.Block
	if label := a.Label + a.note(a.Label != ""); label != "" {
		blocks = append(blocks, blockkit.RichSection(blockkit.Run{Text: label, Bold: true}))
	}
	box, _ := blockkit.Verbatim(a.Text, unlimited)
	return append(blocks, box...)
}

// note is what a reader has to know beside the text.
func (a shownArg) note(gap bool) string {
	var parts []string
	if a.Note != "" {
		parts = append(parts, a.Note)
	}
	if a.Hidden > 0 {
		parts = append(parts, fmt.Sprintf("%s shown as ‹…›", plural(a.Hidden, "hidden character")))
	}
	if len(parts) == 0 {
		return ""
	}
	s := "(" + strings.Join(parts, "; ") + ")"
	if gap {
		s = "  " + s
	}
	return s
}

// argsText is the same as plain text, for an attachment.
func argsText(args []shownArg) string {
	var b strings.Builder
	for _, a := range args {
		if a.Block {
			fmt.Fprintf(&b, "%s%s:\n%s\n\n", orWord(a.Label, "input"), a.note(true), a.Text)
			continue
		}
		fmt.Fprintf(&b, "%s: %s%s\n", a.Label, a.Text, a.note(true))
	}
	return b.String()
}
