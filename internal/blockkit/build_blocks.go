package blockkit

// The display blocks of cards.

// Header is a title line.
func Header(s string) Block {
	t, n := Plain(s).within(MaxHeader)
	return Block{object: carry(newObject("header", "text", t), t.cut), chars: n}
}

// Section is a paragraph.
func Section(t Text) Block {
	build := func(max int) Block {
		o, n := t.within(min(max, MaxSection))
		return Block{object: carry(newObject("section", "text", o), o.cut), chars: n}
	}
	b := build(MaxSection)
	b.shrink = build
	return b
}

// SectionWith is a paragraph with an element at its right.
func SectionWith(t Text, accessory Element) Block {
	if accessory.IsZero() {
		return Section(t)
	}
	build := func(max int) Block {
		o, n := t.within(min(max-accessory.chars, MaxSection))
		return Block{object: carry(newObject("section", "text", o, "accessory", accessory.object), o.cut || accessory.cut),
			chars: n + accessory.chars}
	}
	b := build(MaxSection + accessory.chars)
	b.shrink = build
	return b
}

// Fields are short texts in two columns: one block for every ten.
func Fields(fields ...Text) []Block {
	var blocks []Block
	for len(fields) > 0 {
		n := min(len(fields), MaxFields)
		var list []object
		var b Block
		for _, f := range fields[:n] {
			o, chars := f.within(MaxField)
			list = append(list, o)
			b.chars += chars
			b.cut = b.cut || o.cut
		}
		b.object = carry(newObject("section", "fields", list), b.cut)
		blocks = append(blocks, b)
		fields = fields[n:]
	}
	return blocks
}

// Context is small print. Ten texts fit; the last is "…" where there were more.
func Context(texts ...Text) Block {
	if len(texts) == 0 {
		return Block{}
	}
	tooMany := len(texts) > MaxContext
	if tooMany {
		texts = append(texts[:MaxContext-1:MaxContext-1], Plain(ellipsis))
	}
	build := func(max int) Block {
		b := Block{object: object{cut: tooMany}}
		var list []object
		for i, t := range texts {
			rest := len(texts) - 1 - i // leave a character for each that follows
			o, chars := t.within(min(max-b.chars-rest, MaxText))
			list = append(list, o)
			b.chars += chars
			b.cut = b.cut || o.cut
		}
		b.object = carry(newObject("context", "elements", list), b.cut)
		return b
	}
	b := build(MaxContext * MaxText)
	b.shrink = build
	return b
}

// Divider is a line.
func Divider() Block { return Block{object: newObject("divider")} }

// Actions is a row of buttons and menus, at most 25.
func Actions(elements ...Element) Block {
	var b Block
	var list []object
	for _, e := range elements {
		if e.IsZero() {
			continue
		}
		if len(list) == MaxActions {
			b.cut = true
			break
		}
		list = append(list, e.object)
		b.chars += e.chars
		b.cut = b.cut || e.cut
	}
	if len(list) == 0 {
		return Block{}
	}
	b.object = carry(newObject("actions", "elements", list), b.cut)
	return b
}

// Markdown is a block of standard Markdown, which Slack renders. A model's
// must have gone through SafeMarkdown, and through SplitMarkdown where it may
// be long. A view, where Slack has no such block, shows the source.
func Markdown(s string) Block {
	if s == "" {
		s = Empty
	}
	build := func(max int) Block {
		text, cut := Fit(s, min(max, MaxMarkdown))
		if text == "" {
			text = ellipsis
		}
		return Block{object: carry(newObject("markdown", "text", text), cut), chars: units(text)}
	}
	b := build(MaxMarkdown)
	b.shrink = build
	b.inView = func() []Block { blocks, _ := Verbatim(s, MaxMarkdown); return blocks }
	return b
}

// Status of a task card.
type Status string

const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Complete   Status = "complete"
	Failed     Status = "error"
)

// TaskCard is one step of a run: what is done, how it stands, and what came of
// it. Details and output are shown verbatim; either may be empty.
func TaskCard(id, title string, status Status, details, output string) Block {
	build := func(max int) Block {
		b := Block{}
		name, cut := fitPlain(orEmpty(title), min(max, MaxTaskField))
		if name == "" {
			name, cut = ellipsis, true
		}
		b.chars, b.cut = units(name), cut
		o := newObject("task_card", "task_id", Identifier(orEmpty(id), MaxActionID), "title", name)
		for _, part := range []struct{ name, text string }{{"details", details}, {"output", output}} {
			text, cut := fitPlain(part.text, min(max-b.chars, MaxText))
			b.cut = b.cut || cut
			if text != "" {
				o.set(part.name, newObject("rich_text", "elements", []object{Run{Text: text}.section()}))
				b.chars += units(text)
			}
		}
		switch status {
		case Pending, InProgress, Complete, Failed:
		default:
			status = Pending
		}
		o.set("status", string(status))
		b.object = carry(o, b.cut)
		return b
	}
	b := build(MaxTaskField + 2*MaxText)
	b.shrink = build
	b.inView = func() []Block { return []Block{Section(Plain(title))} }
	return b
}

func carry(o object, cut bool) object {
	o.cut = o.cut || cut
	return o
}

func orEmpty(s string) string {
	if s == "" {
		return Empty
	}
	return s
}
