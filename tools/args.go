package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compiled is a tool's schema, ready to judge arguments. It is safe for
// concurrent use.
type Compiled struct {
	schema    *jsonschema.Schema // nil: not usable, see why
	why       error
	recursive bool
	defaults  []pinned // of top-level properties, sorted by name
}

// pinned is a default that a call without the property gets.
type pinned struct {
	name   string
	member []byte // "name":default
	value  any
}

// ArgsError says everything that is wrong with a call's arguments, in words
// that a model can act on.
type ArgsError struct {
	Tool     string
	Problems []string // at least one, each a clause
}

func (e *ArgsError) Error() string {
	to := ""
	if e.Tool != "" {
		to = " for " + e.Tool
	}
	if len(e.Problems) == 1 {
		return fmt.Sprintf("invalid arguments%s: %s", to, e.Problems[0])
	}
	return fmt.Sprintf("invalid arguments%s:\n- %s", to, strings.Join(e.Problems, "\n- "))
}

const schemaURL = "mem:///schema.json"

// Compile reads a JSON Schema. One that cannot be used, or that would cost more
// to apply than it is worth, leaves a Compiled that checks well-formedness only;
// Unchecked says why. A server's own validation then has the last word.
func Compile(schema json.RawMessage) *Compiled {
	c := &Compiled{}
	c.schema, c.why = compile(schema)
	if c.why != nil {
		c.schema = nil
		return c
	}
	cost := costOf(c.schema)
	if cost.total > maxSchemaCost {
		c.schema, c.why = nil, errors.New("the schema expands to too many parts")
		return c
	}
	c.recursive = cost.recursive
	c.defaults = defaultsOf(c.schema, schema)
	return c
}

func compile(schema json.RawMessage) (s *jsonschema.Schema, err error) {
	defer func() { // a library's panic on a server's schema is that schema's trouble
		if p := recover(); p != nil {
			err = fmt.Errorf("the schema breaks its compiler: %v", p)
		}
	}()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	comp := jsonschema.NewCompiler()
	comp.UseLoader(nil) // a $ref never reads a file or the network
	if err := comp.AddResource(schemaURL, doc); err != nil {
		return nil, err
	}
	return comp.Compile(schemaURL)
}

// Unchecked says why arguments are not validated against the schema, or nil.
func (c *Compiled) Unchecked() error { return c.why }

// Parsed is a call's arguments, judged once.
type Parsed struct {
	// Args are what is gated, staged, shown and run: the very bytes of the call,
	// with the schema's defaults of absent top-level properties at the end.
	Args   json.RawMessage
	Filled []string       // the properties whose defaults were added, sorted
	Values map[string]any // what Args hold; numbers are json.Number
}

// Parse judges a call's arguments once; see Parsed for what it answers. Nothing
// or null is {}. An error is an *ArgsError.
func (c *Compiled) Parse(raw json.RawMessage) (args json.RawMessage, filled []string, err error) {
	p, err := c.parse(raw)
	return p.Args, p.Filled, err
}

func (c *Compiled) parse(raw json.RawMessage) (Parsed, error) {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		raw = json.RawMessage("{}")
	}
	v, depth, err := parseStrict(raw)
	if err != nil {
		return Parsed{}, &ArgsError{Problems: []string{err.Error()}}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return Parsed{}, &ArgsError{Problems: []string{"the arguments must be a JSON object, got " + kindOf(v)}}
	}
	if c.schema == nil || c.recursive && depth > maxRecursiveDepth {
		return Parsed{raw, nil, object}, nil
	}
	with, names, members := c.pin(object)
	if len(names) > 0 && c.validate(with) == nil {
		return Parsed{appendMembers(raw, len(object) == 0, members), names, with}, nil
	}
	if problems := c.validate(object); problems != nil {
		return Parsed{}, &ArgsError{Problems: problems}
	}
	return Parsed{raw, nil, object}, nil
}

// pin adds the defaults of absent properties to a copy of object.
func (c *Compiled) pin(object map[string]any) (with map[string]any, names []string, members [][]byte) {
	for _, d := range c.defaults {
		if _, there := object[d.name]; there {
			continue
		}
		if with == nil {
			with = make(map[string]any, len(object)+len(c.defaults))
			for k, v := range object {
				with[k] = v
			}
		}
		// Beside "limit", a pinned "Limit" would be the ambiguity that parseStrict refuses.
		if slices.ContainsFunc(keys(with), func(k string) bool { return fold(k) == fold(d.name) }) {
			continue
		}
		with[d.name] = d.value
		names = append(names, d.name)
		members = append(members, d.member)
	}
	return with, names, members
}

func keys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	return out
}

// appendMembers puts members before the last brace and touches nothing else.
func appendMembers(raw []byte, empty bool, members [][]byte) json.RawMessage {
	end := bytes.LastIndexByte(raw, '}')
	out := make([]byte, 0, len(raw)+64)
	out = append(out, raw[:end]...)
	for i, m := range members {
		if i > 0 || !empty {
			out = append(out, ',')
		}
		out = append(out, m...)
	}
	return append(out, raw[end:]...)
}

func (c *Compiled) validate(v any) (problems []string) {
	defer func() {
		if p := recover(); p != nil {
			problems = []string{fmt.Sprintf("they break the schema's validator: %v", p)}
		}
	}()
	err := c.schema.Validate(v)
	if err == nil {
		return nil
	}
	var verr *jsonschema.ValidationError
	if !errors.As(err, &verr) {
		return []string{line(err.Error(), 300)}
	}
	return problemsOf(verr)
}

// defaultsOf takes the defaults whose own property's schema accepts them: a
// server that says "type": "string", "default": null means that there is none.
func defaultsOf(s *jsonschema.Schema, schema json.RawMessage) []pinned {
	var doc struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &doc) != nil {
		return nil
	}
	var out []pinned
	for name, raw := range doc.Properties {
		var prop struct {
			Default json.RawMessage `json:"default"`
		}
		if sub := s.Properties[name]; sub == nil || json.Unmarshal(raw, &prop) != nil || prop.Default == nil || !accepts(sub, prop.Default) {
			continue
		}
		var member bytes.Buffer
		member.Write(quoteJSON(name))
		member.WriteByte(':')
		if json.Compact(&member, prop.Default) != nil {
			continue
		}
		v, _, err := parseStrict(prop.Default)
		if err != nil {
			continue
		}
		out = append(out, pinned{name, member.Bytes(), v})
	}
	slices.SortFunc(out, func(a, b pinned) int { return strings.Compare(a.name, b.name) })
	return out
}

func accepts(s *jsonschema.Schema, raw json.RawMessage) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	v, _, err := parseStrict(raw)
	return err == nil && s.Validate(v) == nil
}

// quoteJSON writes a string as JSON, without HTML escapes.
func quoteJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// ParseArgs parses a call's arguments for t; see Compiled.Parse. It compiles
// the schema each time: a run asks its Registry instead.
func ParseArgs(t Tool, raw json.RawMessage) (args json.RawMessage, filled []string, err error) {
	p, err := parseFor(t, Compile(t.InputSchema()), raw)
	return p.Args, p.Filled, err
}

// ParseArgs is the package's ParseArgs with schemas that are compiled once.
func (r *Registry) ParseArgs(t Tool, raw json.RawMessage) (args json.RawMessage, filled []string, err error) {
	p, err := r.Parse(t, raw)
	return p.Args, p.Filled, err
}

// Parse is ParseArgs for who wants the values too, without reading them again.
func (r *Registry) Parse(t Tool, raw json.RawMessage) (Parsed, error) {
	return parseFor(t, r.schemas.of(t), raw)
}

// Unchecked says why t's arguments are not validated, or nil.
func (r *Registry) Unchecked(t Tool) error { return r.schemas.of(t).Unchecked() }

func parseFor(t Tool, c *Compiled, raw json.RawMessage) (Parsed, error) {
	p, err := c.parse(raw)
	if err == nil {
		return p, nil
	}
	var bad *ArgsError
	if errors.As(err, &bad) {
		bad.Tool = t.Name()
	}
	return p, err
}

// schemaCache holds what was compiled, by tool, as long as its schema has the
// same bytes. Registries that were made from one another share it.
type schemaCache struct {
	mu sync.Mutex
	by map[string]compiledSchema // by the tool's name
}

type compiledSchema struct {
	bytes json.RawMessage
	*Compiled
}

func newSchemaCache() *schemaCache {
	return &schemaCache{by: map[string]compiledSchema{}}
}

func (s *schemaCache) of(t Tool) *Compiled {
	name, schema := t.Name(), t.InputSchema()
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.by[name]
	if c.Compiled == nil || !bytes.Equal(c.bytes, schema) {
		c = compiledSchema{bytes.Clone(schema), Compile(schema)}
		s.by[name] = c
	}
	return c.Compiled
}
