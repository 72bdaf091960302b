package blockkit

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// check judges one JSON value at its place.
type check func(c *checker, p place, v any)

// shape is one kind of JSON object: its members, and rules between them.
type shape struct {
	name   string
	fields []field
	rules  func(c *checker, p place, m map[string]any)
	on     func(Surface) bool // nil: any surface
	quiet  bool               // its text is not displayed as part of the message
}

// field is one member of a shape. An absent optional member, and a null one,
// are not checked.
type field struct {
	name     string
	required bool
	check    check
}

func need(name string, ch check) field { return field{name, true, ch} }
func may(name string, ch check) field  { return field{name, false, ch} }

// check is the judgement of a whole object. Slack refuses members that it
// doesn't know ("invalid additional property"), and so does this.
func (s *shape) check(c *checker, p place, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.fail(p, s.name+".type", "object", "must be an object")
		return
	}
	if s.quiet {
		c.silent++
		defer func() { c.silent-- }()
	}
	if s.on != nil && c.surface != Anywhere && !s.on(c.surface) {
		c.fail(p.field("type"), s.name+".surface", c.surface.String(), "%s is not supported on this surface: %s", s.name, c.surface)
	}
	known := 0
	for _, f := range s.fields {
		val, present := m[f.name]
		if present {
			known++
		}
		if val == nil {
			if f.required {
				c.fail(p.field(f.name), s.name+"."+f.name+".required", nil, "missing required field: %s", f.name)
			}
			continue
		}
		f.check(c, p.field(f.name), val)
	}
	if known < len(m) {
		s.reportUnknown(c, p, m)
	}
	if s.rules != nil {
		s.rules(c, p, m)
	}
}

func (s *shape) reportUnknown(c *checker, p place, m map[string]any) {
	var unknown []string
	for name := range m {
		if !slices.ContainsFunc(s.fields, func(f field) bool { return f.name == name }) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		c.fail(p.field(name), s.name+".additional_property", nil, "invalid additional property: %s", shorten(name))
	}
}

// kinds is a choice between shapes by their "type" member. rule names the
// constraint that a type outside the choice fails.
type kinds struct {
	rule   string
	types  []string // in the order of their declaration, for messages
	shapes map[string]*shape
}

func choose(rule string, shapes ...*shape) kinds {
	k := kinds{rule: rule, shapes: make(map[string]*shape, len(shapes))}
	for _, s := range shapes {
		k.types = append(k.types, s.name)
		k.shapes[s.name] = s
	}
	return k
}

func (k kinds) check(c *checker, p place, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.failAs(p, k.rule, "type", "object", "must be an object")
		return
	}
	t, ok := m["type"].(string)
	if !ok {
		c.failAs(p.field("type"), k.rule, "required", k.types, "missing required field: type")
		return
	}
	s := k.shapes[t]
	if s == nil {
		c.failAs(p.field("type"), k.rule, "enum", k.types, "unsupported type: %s", shorten(t))
		return
	}
	s.check(c, p, v)
}

// typ is the "type" member of a shape that kinds already chose.
var typ = field{"type", true, func(*checker, place, any) {}}

func ofType(name string, fields ...field) *shape {
	return &shape{name: name, fields: append([]field{typ}, fields...)}
}

func (s *shape) with(rules func(*checker, place, map[string]any)) *shape { s.rules = rules; return s }
func (s *shape) only(on ...Surface) *shape {
	s.on = func(x Surface) bool { return slices.Contains(on, x) }
	return s
}
func (s *shape) hidden() *shape { s.quiet = true; return s }

// str is a string of min to max characters; max 0 is unbounded.
func str(rule string, min, max int) check {
	return func(c *checker, p place, v any) { stringValue(c, p, v, rule, min, max) }
}

func stringValue(c *checker, p place, v any, rule string, min, max int) (string, bool) {
	s, ok := v.(string)
	if !ok {
		c.fail(p, rule+".type", "string", "must be a string")
		return "", false
	}
	n := length(s)
	if n < min {
		c.fail(p, rule+".min_length", min, "must be more than %d characters", min-1)
	}
	if max > 0 && n > max {
		c.fail(p, rule+".max_length", max, "must be less than %d characters", max+1)
	}
	return s, true
}

// shown is a string that is displayed, and so counts towards a message's sum.
func shown(rule string, min, max int) check {
	return func(c *checker, p place, v any) {
		if s, ok := stringValue(c, p, v, rule, min, max); ok && c.silent == 0 {
			c.chars += length(s)
		}
	}
}

func boolean(c *checker, p place, v any) {
	if _, ok := v.(bool); !ok {
		c.fail(p, p.name+".type", "boolean", "must be a boolean")
	}
}

// number is any JSON number; integer bounds one (max < min: no upper bound).
func number(c *checker, p place, v any) {
	if _, ok := v.(json.Number); !ok {
		c.fail(p, p.name+".type", "number", "must be a number")
	}
}

func integer(rule string, min, max int64) check {
	return func(c *checker, p place, v any) {
		n, ok := v.(json.Number)
		if !ok {
			c.fail(p, rule+".type", "integer", "must be an integer")
			return
		}
		i, err := n.Int64()
		if err != nil {
			c.fail(p, rule+".type", "integer", "must be an integer")
			return
		}
		if i < min {
			c.fail(p, rule+".min", min, "must be at least %d", min)
		}
		if max >= min && i > max {
			c.fail(p, rule+".max", max, "must be at most %d", max)
		}
	}
}

// rational reads a decimal of sane size exactly; nil otherwise. big.Rat would
// expand an exponent such as 1e999999999, so long or exponential forms are out.
func rational(v any) *big.Rat {
	var s string
	switch n := v.(type) {
	case json.Number:
		s = n.String()
	case string:
		s = n
	}
	if s == "" || len(s) > 64 || strings.ContainsAny(s, "eE/_xXpP") {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

func enum(rule string, values ...string) check {
	return func(c *checker, p place, v any) {
		s, _ := v.(string)
		if !slices.Contains(values, s) {
			c.fail(p, rule+".enum", values, "must be one of: %s", strings.Join(values, ", "))
		}
	}
}

// listOf is an array of min to max items; max 0 is unbounded.
func listOf(rule string, min, max int, item check) check {
	return func(c *checker, p place, v any) {
		list, ok := v.([]any)
		if !ok {
			c.fail(p, rule+".type", "array", "must be an array")
			return
		}
		if len(list) < min {
			c.fail(p, rule+".min_items", min, "no fewer than %d items allowed", min)
		}
		if max > 0 && len(list) > max {
			c.fail(p, rule+".max_items", max, "no more than %d items allowed", max)
		}
		for i, v := range list {
			item(c, p.item(i), v)
		}
	}
}

// has reports whether a member is present and not null.
func has(m map[string]any, name string) bool { return m[name] != nil }

// oneOf fails rule unless exactly one of two members is there.
func oneOf(c *checker, p place, m map[string]any, rule, a, b string) {
	switch {
	case has(m, a) && has(m, b):
		c.fail(p, rule, []string{a, b}, "only one of %s and %s is allowed", a, b)
	case !has(m, a) && !has(m, b):
		c.fail(p, rule, []string{a, b}, "one of %s and %s is required", a, b)
	}
}
