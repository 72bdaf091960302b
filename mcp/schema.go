package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	maxSchema     = 128 << 10 // bytes, as written and as offered
	maxSchemaDeep = 48        // levels
	maxSchemaSize = 8000      // values, after references are written out
	maxRefDeep    = 3         // times that one reference is written out within itself
)

// acceptableSchema makes a schema from outside one that providers take: an object at the root with a type and
// properties, references written out, arrays with items. It never tightens: where a keyword cannot be kept, more is
// accepted than the server meant, and the server is the one to refuse. One bad schema in the list makes a provider
// refuse every turn, so a schema that cannot be made acceptable is an error, and costs its tool only.
func acceptableSchema(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, errors.New("it has no input schema")
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("its input schema is %d bytes long; %d are taken", len(raw), maxSchema)
	}
	v, err := decodeExact(raw)
	if err != nil {
		return nil, fmt.Errorf("its input schema is no JSON: %w", err)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("its input schema is not an object")
	}
	if t, there := root["type"]; there && !saysObject(t) {
		return nil, fmt.Errorf("its input schema is of type %s, not object", oneLine(fmt.Sprint(t), 40))
	}
	m := &mender{root: root}
	out := m.mend(root, 0, nil)
	if m.err != nil {
		return nil, m.err
	}
	flattenRoot(out)
	out["type"] = "object"
	completeObject(out)
	b, err := encodeExact(out)
	if err != nil {
		return nil, err
	}
	if len(b) > maxSchema {
		return nil, fmt.Errorf("its input schema is %d bytes long once its references are written out; %d are taken", len(b), maxSchema)
	}
	return b, nil
}

// decodeExact keeps numbers as they are written.
func decodeExact(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("something follows it")
	}
	return v, nil
}

// encodeExact writes a value with sorted keys and without escaping for HTML: the same bytes for the same value.
func encodeExact(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func saysObject(t any) bool {
	switch t := t.(type) {
	case string:
		return t == "object"
	case []any:
		return slices.Contains(t, any("object"))
	case nil:
		return true
	}
	return false
}

// mender rewrites one schema.
type mender struct {
	root map[string]any
	size int
	err  error
}

// Keywords by what their values are.
var (
	holdsSchema  = []string{"items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "additionalItems"}
	holdsSchemas = []string{"properties", "patternProperties", "dependentSchemas"}
	holdsList    = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	dropped      = []string{"$schema", "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor", "$vocabulary", "$comment", "$defs", "definitions"}
	knownTypes   = []string{"object", "array", "string", "number", "integer", "boolean", "null"}
	annotating   = []string{"description", "title", "default", "examples", "deprecated"}
)

// mend rewrites a schema. open holds the references that are being written out above it.
func (m *mender) mend(s map[string]any, depth int, open []string) map[string]any {
	if m.size++; m.size > maxSchemaSize {
		m.fail("its input schema is too large once its references are written out")
		return map[string]any{}
	}
	if depth > maxSchemaDeep {
		m.fail("its input schema is nested too deeply")
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok {
		return m.follow(s, ref, depth, open)
	}
	out := make(map[string]any, len(s))
	for k, v := range s {
		switch {
		case slices.Contains(dropped, k) || k == "$ref":
		case slices.Contains(holdsSchema, k):
			if w, ok := m.value(k, v, depth, open); ok {
				out[k] = w
			}
		case slices.Contains(holdsSchemas, k):
			if w := m.named(v, depth, open); w != nil {
				out[k] = w
			}
		case slices.Contains(holdsList, k):
			if w := m.list(v, depth, open); len(w) > 0 {
				out[k] = w
			}
		default:
			out[k] = v
		}
	}
	mendKeywords(out)
	return out
}

func (m *mender) fail(why string) {
	if m.err == nil {
		m.err = errors.New(why)
	}
}

// follow writes a reference out. What leads elsewhere, nowhere or too often into itself accepts anything.
func (m *mender) follow(s map[string]any, ref string, depth int, open []string) map[string]any {
	target, ok := lookUp(m.root, ref)
	times := 0
	for _, o := range open {
		if o == ref {
			times++
		}
	}
	out := map[string]any{}
	if ok && times < maxRefDeep {
		out = m.mend(target, depth+1, append(slices.Clip(open), ref))
	}
	for k, v := range s {
		// What stands beside a reference holds too; where both say something, the referenced schema does.
		if _, there := out[k]; slices.Contains(annotating, k) || (!there && k != "$ref") {
			for kk, vv := range m.mend(map[string]any{k: v}, depth+1, open) {
				if _, there := out[kk]; !there || kk == k {
					out[kk] = vv
				}
			}
		}
	}
	mendKeywords(out)
	return out
}

// lookUp follows a pointer within the document.
func lookUp(root map[string]any, ref string) (map[string]any, bool) {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	var v any = root
	for _, part := range strings.Split(strings.Trim(path, "/"), "/") {
		if part == "" {
			continue
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch w := v.(type) {
		case map[string]any:
			v = w[part]
		default:
			return nil, false
		}
	}
	target, ok := v.(map[string]any)
	return target, ok
}

func (m *mender) value(k string, v any, depth int, open []string) (any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return m.mend(v, depth+1, open), true
	case bool:
		if k == "additionalProperties" || k == "unevaluatedProperties" || k == "additionalItems" {
			return v, true
		}
		return map[string]any{}, v
	case []any: // items as a tuple, before 2020
		return map[string]any{}, k == "items"
	}
	return nil, false
}

func (m *mender) named(v any, depth int, open []string) map[string]any {
	in, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]any, len(in))
	for name, s := range in {
		if sub, ok := s.(map[string]any); ok {
			out[name] = m.mend(sub, depth+1, open)
		} else {
			out[name] = map[string]any{}
		}
	}
	return out
}

func (m *mender) list(v any, depth int, open []string) []any {
	in, ok := v.([]any)
	if !ok {
		return nil
	}
	out := make([]any, 0, len(in))
	for _, s := range in {
		if sub, ok := s.(map[string]any); ok {
			out = append(out, m.mend(sub, depth+1, open))
		} else {
			out = append(out, map[string]any{})
		}
	}
	return out
}

// mendKeywords repairs the keywords of one schema in place.
func mendKeywords(s map[string]any) {
	mendType(s)
	if isType(s, "array") {
		if _, ok := s["items"]; !ok {
			s["items"] = map[string]any{}
		}
	}
	if isType(s, "object") {
		completeObject(s)
	}
	for _, k := range []string{"exclusiveMinimum", "exclusiveMaximum", "required"} { // draft 4 had booleans here
		if _, ok := s[k].(bool); ok {
			delete(s, k)
		}
	}
	if e, there := s["enum"]; there {
		if list, ok := e.([]any); !ok || len(list) == 0 {
			delete(s, "enum")
		}
	}
}

func mendType(s map[string]any) {
	switch t := s["type"].(type) {
	case string:
		if !slices.Contains(knownTypes, t) {
			delete(s, "type")
		}
	case []any:
		var keep []any
		for _, one := range t {
			name, ok := one.(string)
			if !ok || !slices.Contains(knownTypes, name) {
				keep = nil
				break
			}
			keep = append(keep, one)
		}
		if len(keep) == 0 {
			delete(s, "type")
		}
	default:
		delete(s, "type")
	}
	if _, ok := s["type"]; ok {
		return
	}
	// Only what the other keywords imply for every sensible reader.
	if _, ok := s["properties"].(map[string]any); ok {
		s["type"] = "object"
	} else if _, ok := s["items"].(map[string]any); ok {
		s["type"] = "array"
	}
}

func isType(s map[string]any, name string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

// completeObject gives an object properties, and every required name one.
func completeObject(s map[string]any) {
	props, ok := s["properties"].(map[string]any)
	if !ok {
		props = map[string]any{}
		s["properties"] = props
	}
	list, ok := s["required"].([]any)
	if !ok {
		delete(s, "required")
		return
	}
	var names []any
	for _, n := range list {
		name, ok := n.(string)
		if !ok || slices.Contains(names, any(name)) {
			continue
		}
		names = append(names, name)
		if _, ok := props[name]; !ok {
			props[name] = map[string]any{}
		}
	}
	if len(names) == 0 {
		delete(s, "required")
		return
	}
	s["required"] = names
}

// flattenRoot takes the combining keywords off the root, where providers refuse them: the properties of every branch
// are offered, and only what every branch requires is required.
func flattenRoot(s map[string]any) {
	for _, k := range []string{"not", "if", "then", "else", "enum", "const", "dependentSchemas"} {
		delete(s, k)
	}
	if all, ok := s["allOf"].([]any); ok {
		delete(s, "allOf")
		for _, b := range all {
			branch, _ := b.(map[string]any)
			mergeProperties(s, branch)
			s["required"] = append(stringsOf(s["required"]), stringsOf(branch["required"])...)
		}
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		branches, ok := s[k].([]any)
		if !ok {
			continue
		}
		delete(s, k)
		var common []any
		for i, b := range branches {
			branch, _ := b.(map[string]any)
			mergeProperties(s, branch)
			req := stringsOf(branch["required"])
			if i == 0 {
				common = req
			} else {
				common = slices.DeleteFunc(common, func(n any) bool { return !slices.Contains(req, n) })
			}
		}
		s["required"] = append(stringsOf(s["required"]), common...)
	}
	// A branch may itself have been a combination.
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		delete(s, k)
	}
}

func stringsOf(v any) []any {
	list, _ := v.([]any)
	return slices.Clone(list)
}

// mergeProperties adds the properties of a branch; a name that both have accepts what either does.
func mergeProperties(s, branch map[string]any) {
	from, _ := branch["properties"].(map[string]any)
	if len(from) == 0 {
		return
	}
	to, ok := s["properties"].(map[string]any)
	if !ok {
		to = map[string]any{}
		s["properties"] = to
	}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		have, there := to[name]
		switch {
		case !there:
			to[name] = from[name]
		case sameJSON(have, from[name]):
		default:
			to[name] = either(have, from[name])
		}
	}
}

func either(a, b any) any {
	if m, ok := a.(map[string]any); ok && len(m) == 1 {
		if list, ok := m["anyOf"].([]any); ok {
			for _, one := range list {
				if sameJSON(one, b) {
					return a
				}
			}
			return map[string]any{"anyOf": append(slices.Clone(list), b)}
		}
	}
	return map[string]any{"anyOf": []any{a, b}}
}

func sameJSON(a, b any) bool {
	x, err1 := encodeExact(a)
	y, err2 := encodeExact(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
