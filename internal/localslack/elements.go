package localslack

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// element is one thing in blocks that a person can press, pick or fill in.
type element struct {
	BlockID  string
	ActionID string
	Type     string
	Input    bool // in an input block, so part of what a modal submits
	Optional bool
	Dispatch bool
	raw      json.RawMessage
	offered  map[string]json.RawMessage // by an app, to an external select: its options by their values
}

// elementFields are what decides an element's state and whether a value fits.
type elementFields struct {
	Options       []option        `json:"options"`
	OptionGroups  []optionGroup   `json:"option_groups"`
	MinLength     int             `json:"min_length"`
	MaxLength     int             `json:"max_length"`
	MinValue      string          `json:"min_value"`
	MaxValue      string          `json:"max_value"`
	Decimal       bool            `json:"is_decimal_allowed"`
	MaxSelected   int             `json:"max_selected_items"`
	MaxFiles      int             `json:"max_files"`
	Value         string          `json:"value"`
	Text          json.RawMessage `json:"text"`
	Style         string          `json:"style"`
	Positive      json.RawMessage `json:"positive_button"`
	Negative      json.RawMessage `json:"negative_button"`
	InitialValue  *string         `json:"initial_value"`
	InitialOption json.RawMessage `json:"initial_option"`
	Initials      json.RawMessage `json:"initial_options"`
	InitialDate   *string         `json:"initial_date"`
	InitialTime   *string         `json:"initial_time"`
	InitialDT     *int64          `json:"initial_date_time"`
	InitialUser   *string         `json:"initial_user"`
	InitialUsers  []string        `json:"initial_users"`
	InitialConv   *string         `json:"initial_conversation"`
	InitialConvs  []string        `json:"initial_conversations"`
	InitialChan   *string         `json:"initial_channel"`
	InitialChans  []string        `json:"initial_channels"`
}

type option struct {
	raw   json.RawMessage
	value string
}

func (o *option) UnmarshalJSON(b []byte) error {
	var v struct {
		Value string `json:"value"`
	}
	o.raw = slices.Clone(b)
	err := json.Unmarshal(b, &v)
	o.value = v.Value
	return err
}

type optionGroup struct {
	Options []option `json:"options"`
}

func (e element) fields() elementFields {
	var f elementFields
	json.Unmarshal(e.raw, &f) // what doesn't decode is absent; the validator has seen it
	return f
}

func (f elementFields) option(value string) json.RawMessage {
	for _, o := range f.Options {
		if o.value == value {
			return o.raw
		}
	}
	for _, g := range f.OptionGroups {
		for _, o := range g.Options {
			if o.value == value {
				return o.raw
			}
		}
	}
	return nil
}

// interactive finds every element of blocks, those inside containers and cards too.
func interactive(blocks json.RawMessage) []element {
	var out []element
	walkBlocks(blocks, &out, 0)
	return out
}

func walkBlocks(blocks json.RawMessage, out *[]element, depth int) {
	if depth > 4 {
		return
	}
	list, _ := rawList[json.RawMessage](blocks)
	for _, raw := range list {
		var b struct {
			Type      string            `json:"type"`
			BlockID   string            `json:"block_id"`
			Optional  bool              `json:"optional"`
			Dispatch  bool              `json:"dispatch_action"`
			Elements  []json.RawMessage `json:"elements"`
			Actions   []json.RawMessage `json:"actions"`
			Element   json.RawMessage   `json:"element"`
			Accessory json.RawMessage   `json:"accessory"`
			Blocks    json.RawMessage   `json:"blocks"`
			Children  json.RawMessage   `json:"child_blocks"`
		}
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		add := func(el json.RawMessage, input bool) {
			var e struct {
				Type     string `json:"type"`
				ActionID string `json:"action_id"`
			}
			if !isNull(el) && json.Unmarshal(el, &e) == nil && e.ActionID != "" {
				*out = append(*out, element{BlockID: b.BlockID, ActionID: e.ActionID, Type: e.Type, Input: input,
					Optional: b.Optional, Dispatch: b.Dispatch, raw: el})
			}
		}
		switch b.Type {
		case "input":
			add(b.Element, true)
		case "section":
			add(b.Accessory, false)
		default:
			if b.Type != "rich_text" {
				for _, el := range append(b.Elements, b.Actions...) {
					add(el, false)
				}
			}
			walkBlocks(b.Blocks, out, depth+1)
			walkBlocks(b.Children, out, depth+1)
			if b.Type == "carousel" {
				walkBlocks(encode(b.Elements), out, depth+1)
			}
		}
	}
}

// findElement is the element with that action, in that block if one is named.
func findElement(blocks json.RawMessage, blockID, actionID string) (element, bool) {
	for _, e := range interactive(blocks) {
		if e.ActionID == actionID && (blockID == "" || e.BlockID == blockID) {
			return e, true
		}
	}
	return element{}, false
}

// initialValues is the state of a fresh view's or message's inputs.
func initialValues(blocks json.RawMessage) values {
	out := values{}
	for _, e := range interactive(blocks) {
		if state := e.initial(); state != nil {
			out.set(e.BlockID, e.ActionID, state)
		}
	}
	return out
}

// initial is nil for what holds no state, such as a button.
func (e element) initial() json.RawMessage {
	f := e.fields()
	state := map[string]any{"type": e.Type}
	list := func(l []string) []string { return append([]string{}, l...) }
	switch e.Type {
	case "plain_text_input", "email_text_input", "url_text_input", "number_input":
		state["value"] = f.InitialValue
	case "rich_text_input":
		var v struct {
			Initial json.RawMessage `json:"initial_value"`
		}
		json.Unmarshal(e.raw, &v)
		if v.Initial != nil {
			state["rich_text_value"] = v.Initial
		}
	case "static_select", "external_select", "radio_buttons":
		state["selected_option"] = orNull(f.InitialOption)
	case "multi_static_select", "multi_external_select", "checkboxes":
		state["selected_options"] = json.RawMessage("[]")
		if f.Initials != nil {
			state["selected_options"] = f.Initials
		}
	case "datepicker":
		state["selected_date"] = f.InitialDate
	case "timepicker":
		state["selected_time"] = f.InitialTime
	case "datetimepicker":
		state["selected_date_time"] = f.InitialDT
	case "users_select":
		state["selected_user"] = f.InitialUser
	case "multi_users_select":
		state["selected_users"] = list(f.InitialUsers)
	case "conversations_select":
		state["selected_conversation"] = f.InitialConv
	case "multi_conversations_select":
		state["selected_conversations"] = list(f.InitialConvs)
	case "channels_select":
		state["selected_channel"] = f.InitialChan
	case "multi_channels_select":
		state["selected_channels"] = list(f.InitialChans)
	case "file_input":
		state["files"] = []any{}
	default:
		return nil
	}
	return encode(state)
}

// state is the element's state once a person entered raw: a string, or a list
// of strings. The error is what Slack's client would say below the field.
func (e element) state(raw json.RawMessage) (json.RawMessage, error) {
	f := e.fields()
	state := map[string]any{"type": e.Type}
	one, many := oneString(raw), manyStrings(raw)
	nothing := one == "" && len(many) == 0
	var picked []json.RawMessage
	switch e.Type {
	case "static_select", "radio_buttons", "overflow", "multi_static_select", "checkboxes":
		for _, v := range many {
			o := f.option(v)
			if o == nil {
				return nil, says("%q is not one of the options.", v)
			}
			picked = append(picked, o)
		}
	case "external_select", "multi_external_select":
		for _, v := range many {
			if o := e.offered[v]; o != nil {
				picked = append(picked, o)
				continue
			}
			picked = append(picked, encode(map[string]any{"text": map[string]any{"type": "plain_text", "text": v, "emoji": true}, "value": v}))
		}
	}
	if f.MaxSelected > 0 && len(many) > f.MaxSelected {
		return nil, says("Choose no more than %d.", f.MaxSelected)
	}
	null := func(s string) any {
		if s == "" {
			return nil
		}
		return s
	}
	switch e.Type {
	case "plain_text_input", "email_text_input", "url_text_input", "number_input":
		if err := f.fits(e.Type, one); err != nil {
			return nil, err
		}
		state["value"] = null(one)
	case "rich_text_input":
		if !nothing {
			if list, ok := rawList[json.RawMessage](richText(escaper.Replace(one))); ok {
				state["rich_text_value"] = list[0]
			}
		}
	case "static_select", "external_select", "radio_buttons", "overflow":
		state["selected_option"] = nil
		if len(picked) > 0 {
			state["selected_option"] = picked[0]
		}
	case "multi_static_select", "multi_external_select", "checkboxes":
		state["selected_options"] = append([]json.RawMessage{}, picked...)
	case "datepicker":
		state["selected_date"] = null(one)
	case "timepicker":
		state["selected_time"] = null(one)
	case "datetimepicker":
		state["selected_date_time"] = nil
		if one != "" {
			n, err := strconv.ParseInt(one, 10, 64)
			if err != nil {
				return nil, says("%q is not a time in Unix seconds.", one)
			}
			state["selected_date_time"] = n
		}
	case "users_select":
		state["selected_user"] = null(one)
	case "conversations_select":
		state["selected_conversation"] = null(one)
	case "channels_select":
		state["selected_channel"] = null(one)
	case "multi_users_select":
		state["selected_users"] = many
	case "multi_conversations_select":
		state["selected_conversations"] = many
	case "multi_channels_select":
		state["selected_channels"] = many
	default:
		return nil, nil
	}
	return encode(state), nil
}

// inputError is what Slack's client says below a field.
type inputError string

func (e inputError) Error() string { return string(e) }

func says(format string, args ...any) error { return inputError(fmt.Sprintf(format, args...)) }

// fits says what Slack's client would say about text of that kind; nothing
// entered fits, whether it may stay empty is the block's matter.
func (f elementFields) fits(kind, text string) error {
	n := utf8.RuneCountInString(text)
	if text == "" {
		return nil
	}
	if f.MaxLength == 0 && kind == "plain_text_input" {
		f.MaxLength = 3000
	}
	switch {
	case n < f.MinLength:
		return says("Enter at least %d characters.", f.MinLength)
	case f.MaxLength > 0 && n > f.MaxLength:
		return says("Enter no more than %d characters.", f.MaxLength)
	}
	switch kind {
	case "email_text_input":
		if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
			return says("Enter an email address.")
		}
	case "url_text_input":
		if u, err := url.Parse(text); err != nil || u.Scheme == "" || u.Host == "" {
			return says("Enter a web address.")
		}
	case "number_input":
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !f.Decimal && strings.ContainsAny(text, ".eE") {
			return says("Enter a number.")
		}
		if least, err := strconv.ParseFloat(f.MinValue, 64); err == nil && x < least {
			return says("Enter a number of at least %s.", f.MinValue)
		}
		if most, err := strconv.ParseFloat(f.MaxValue, 64); err == nil && x > most {
			return says("Enter a number of at most %s.", f.MaxValue)
		}
	}
	return nil
}

// empty reports whether a state holds nothing that a person entered.
func emptyState(state json.RawMessage) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(state, &m) != nil {
		return true
	}
	for k, v := range m {
		if k != "type" && !isNull(v) && string(v) != "[]" && string(v) != `""` {
			return false
		}
	}
	return true
}

func oneString(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0]
	}
	if isNull(raw) || len(raw) > 0 && (raw[0] == '[' || raw[0] == '{') {
		return ""
	}
	return string(raw) // a number or a boolean
}

// manyStrings reads a list of strings, which may itself be inside a string.
func manyStrings(raw json.RawMessage) []string {
	list := []string{}
	if json.Unmarshal(raw, &list) == nil && list != nil {
		return list
	}
	s := oneString(raw)
	if s == "" {
		return []string{}
	}
	if s[0] == '[' && json.Unmarshal([]byte(s), &list) == nil {
		return list
	}
	return []string{s}
}
