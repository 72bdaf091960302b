package blockkit

// Interactive elements and the input block.

// Style is a button's colour.
type Style string

const (
	Neutral Style = ""
	Primary Style = "primary"
	Danger  Style = "danger"
)

// Confirm is the dialog between a press and its effect.
type Confirm struct {
	Title, Text   string
	Confirm, Deny string
	Style         Style
}

func (c *Confirm) object() (o object) {
	if c == nil {
		return o
	}
	for _, part := range []struct {
		name, text, otherwise string
		max                   int
	}{
		{"title", c.Title, "Sure?", MaxConfirmTitle}, {"text", c.Text, Empty, MaxConfirmText},
		{"confirm", c.Confirm, "Yes", MaxConfirmButton}, {"deny", c.Deny, "Cancel", MaxConfirmButton},
	} {
		text := part.text
		if text == "" {
			text = part.otherwise
		}
		t, _ := Plain(text).within(part.max)
		o.set(part.name, t)
		o.cut = o.cut || t.cut
	}
	o.set("style", c.Style.known())
	return o
}

func (s Style) known() string {
	if s == Primary || s == Danger {
		return string(s)
	}
	return ""
}

// Button is a button; value is what a press brings back, a token.
func Button(text, actionID, value string, style Style, confirm *Confirm) Element {
	t, n := Plain(text).within(MaxButtonText)
	o := newObject("button", "text", t, "action_id", Identifier(actionID, MaxActionID),
		"value", Identifier(value, MaxButtonValue), "style", style.known())
	dialog := confirm.object()
	if !dialog.IsZero() {
		o.set("confirm", dialog)
	}
	return Element{object: carry(o, t.cut || dialog.cut), chars: n}
}

// Option is one choice of a menu.
type Option struct {
	Text, Value, Description string
}

func (o Option) object() object {
	t, _ := Plain(o.Text).within(MaxOptionText)
	out := newObject("", "text", t)
	out.members = append(out.members, member{"value", Identifier(o.Value, MaxOptionValue)})
	out.cut = t.cut
	if o.Description != "" {
		d, _ := Plain(o.Description).within(MaxOptionDescription)
		out.set("description", d)
		out.cut = out.cut || d.cut
	}
	return out
}

// choice builds a menu of at most max options with those of initial chosen
// that are among them. Too many options, and a chosen one that isn't offered,
// count as cut: the menu doesn't show all there is.
func choice(typ, actionID, placeholder string, options []Option, max int, single bool, initial ...string) Element {
	if len(options) == 0 {
		return Element{}
	}
	e := Element{}
	if len(options) > max {
		options, e.cut = options[:max], true
	}
	var list, chosen []object
	for _, o := range options {
		obj := o.object()
		e.cut = e.cut || obj.cut
		list = append(list, obj)
	}
	for _, v := range initial {
		if v == "" {
			continue
		}
		found := false
		for i, o := range options {
			if o.Value == v {
				chosen, found = append(chosen, list[i]), true
				break
			}
		}
		e.cut = e.cut || !found
	}
	o := newObject(typ, "action_id", Identifier(actionID, MaxActionID), "options", list)
	if placeholder != "" {
		p, _ := Plain(placeholder).within(MaxPlaceholder)
		o.set("placeholder", p)
	}
	switch {
	case len(chosen) == 0:
	case single:
		o.set("initial_option", chosen[0])
	default:
		o.set("initial_options", chosen)
	}
	e.object = carry(o, e.cut)
	return e
}

// Select is a menu of which one is chosen; initial is a value, or "".
func Select(actionID, placeholder string, options []Option, initial string) Element {
	return choice("static_select", actionID, placeholder, options, MaxOptions, true, initial)
}

// MultiSelect is a menu of which any number are chosen.
func MultiSelect(actionID, placeholder string, options []Option, initial ...string) Element {
	return choice("multi_static_select", actionID, placeholder, options, MaxOptions, false, unique(initial)...)
}

// Checkboxes are up to ten boxes.
func Checkboxes(actionID string, options []Option, initial ...string) Element {
	return choice("checkboxes", actionID, "", options, MaxCheckboxes, false, unique(initial)...)
}

// Radio is up to ten buttons of which one is chosen.
func Radio(actionID string, options []Option, initial string) Element {
	return choice("radio_buttons", actionID, "", options, MaxRadioButtons, true, initial)
}

// Overflow is a menu of up to five further actions.
func Overflow(actionID string, options ...Option) Element {
	return choice("overflow", actionID, "", options, MaxOverflowOptions, true)
}

func unique(values []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, v := range values {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// TextInput is a field for text. An initial value over 3,000 characters is cut
// and says so: split it first (SplitVerbatim) where it is to come back whole.
func TextInput(actionID, initial, placeholder string, multiline bool) Element {
	e := textField("plain_text_input", actionID, initial, placeholder)
	e.set("multiline", multiline)
	return e
}

// EmailInput is a field for a mail address, checked by the client.
func EmailInput(actionID, initial, placeholder string) Element {
	return textField("email_text_input", actionID, initial, placeholder)
}

// URLInput is a field for an address, checked by the client.
func URLInput(actionID, initial, placeholder string) Element {
	return textField("url_text_input", actionID, initial, placeholder)
}

func textField(typ, actionID, initial, placeholder string) Element {
	value, cut := fitPlain(initial, MaxInputLength)
	o := newObject(typ, "action_id", Identifier(actionID, MaxActionID), "initial_value", value)
	if placeholder != "" {
		p, _ := Plain(placeholder).within(MaxPlaceholder)
		o.set("placeholder", p)
	}
	return Element{object: carry(o, cut)}
}

// NumberInput is a field for a number. An initial value, or a bound, that is
// no plain decimal or contradicts the others is left out, as cut.
func NumberInput(actionID, initial, min, max string, decimals bool) Element {
	e := Element{object: newObject("number_input", "action_id", Identifier(actionID, MaxActionID))}
	e.members = append(e.members, member{"is_decimal_allowed", decimals})
	lo, hi, at := rational(min), rational(max), rational(initial)
	if lo != nil && hi != nil && lo.Cmp(hi) > 0 {
		lo, hi = nil, nil
	}
	if at != nil && (lo != nil && at.Cmp(lo) < 0 || hi != nil && at.Cmp(hi) > 0) {
		at = nil
	}
	for _, part := range []struct {
		name, text string
		ok         bool
	}{{"initial_value", initial, at != nil}, {"min_value", min, lo != nil}, {"max_value", max, hi != nil}} {
		if part.ok {
			e.set(part.name, part.text)
		} else if part.text != "" {
			e.cut = true
		}
	}
	return e
}

// Input is a labelled field of a form. Its block id is what a submission's
// values and errors are keyed by.
func Input(blockID, label, hint string, optional bool, e Element) Block {
	if e.IsZero() {
		return Block{}
	}
	l, n := Plain(label).within(MaxInputLabel)
	o := newObject("input", "block_id", Identifier(blockID, MaxBlockID), "label", l, "element", e.object)
	b := Block{object: carry(o, l.cut || e.cut), chars: n, input: true}
	if hint != "" {
		h, n := Plain(hint).within(MaxInputLabel)
		b.set("hint", h)
		b.cut = b.cut || h.cut
		b.chars += n
	}
	b.set("optional", optional)
	return b
}
