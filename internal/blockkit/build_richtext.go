package blockkit

// Rich text shows text verbatim: nothing in it is markup, a mention or an
// emoji code. It is where what others wrote belongs, after Visible.

// Run is a run of text in one style.
type Run struct {
	Text                       string
	Bold, Italic, Strike, Code bool
}

func (r Run) object() object {
	o := newObject("text", "text", r.Text)
	var style object
	style.set("bold", r.Bold)
	style.set("italic", r.Italic)
	style.set("strike", r.Strike)
	style.set("code", r.Code)
	if !style.IsZero() {
		o.set("style", style)
	}
	return o
}

func (r Run) section() object {
	return newObject("rich_text_section", "elements", []object{r.object()})
}

// Preformatted is text in a fixed-width box, cut to one block's limit. Verbatim
// shows long text over several.
func Preformatted(s string) Block { return richBlock("rich_text_preformatted", Run{Text: orEmpty(s)}) }

// Quote is text with a bar at its left: another's words.
func Quote(s string) Block { return richBlock("rich_text_quote", Run{Text: orEmpty(s)}) }

// RichSection is a paragraph of styled runs.
func RichSection(runs ...Run) Block { return richBlock("rich_text_section", runs...) }

func richBlock(typ string, runs ...Run) Block {
	build := func(max int) Block {
		var b Block
		var list []object
		max = min(max, MaxText)
		for _, r := range runs {
			if r.Text == "" {
				continue
			}
			text, cut := fitPlain(r.Text, max-b.chars)
			if text == "" {
				b.cut = true
				break
			}
			r.Text = text
			list = append(list, r.object())
			b.chars += units(text)
			if cut {
				b.cut = true
				break
			}
		}
		if len(list) == 0 {
			if !b.cut {
				return Block{}
			}
			list = []object{Run{Text: ellipsis}.object()}
			b.chars = 1
		}
		part := newObject(typ, "elements", list)
		b.object = carry(newObject("rich_text", "elements", []object{part}), b.cut)
		return b
	}
	b := build(MaxText)
	b.shrink = build
	return b
}

// Verbatim shows text preformatted over as many blocks as max characters
// allow, and reports whether that was all of it. The parts join to the text's
// own bytes; where it had to be cut, the last part ends with "…".
func Verbatim(s string, max int) (blocks []Block, whole bool) {
	if max < 1 {
		return nil, s == ""
	}
	shown, cut := fitPlain(orEmpty(s), max)
	for _, part := range SplitVerbatim(shown, MaxText) {
		b := Preformatted(part)
		b.cut = cut
		blocks = append(blocks, b)
	}
	return blocks, !cut
}
