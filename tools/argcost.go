package tools

import "github.com/santhosh-tekuri/jsonschema/v6"

const (
	// maxSchemaCost bounds how many subschemas one pass over a schema visits. A
	// few dozen definitions that each name the next one twice would take years.
	maxSchemaCost = 200_000
	// maxRecursiveDepth: a schema that contains itself can branch at every level
	// of the arguments, so deep ones are left to the tool that wrote it.
	maxRecursiveDepth = 12
)

type schemaCost struct {
	total     int
	recursive bool
}

// costOf counts the subschemas that one pass over s visits, each as often as it
// is reached.
func costOf(s *jsonschema.Schema) schemaCost {
	w := costWalk{known: map[*jsonschema.Schema]int{}, open: map[*jsonschema.Schema]bool{}}
	return schemaCost{w.of(s), w.recursive}
}

type costWalk struct {
	known     map[*jsonschema.Schema]int
	open      map[*jsonschema.Schema]bool
	recursive bool
}

func (w *costWalk) of(s *jsonschema.Schema) int {
	if s == nil {
		return 0
	}
	if n, ok := w.known[s]; ok {
		return n
	}
	if w.open[s] {
		w.recursive = true
		return 1
	}
	w.open[s] = true
	n := 1
	for _, sub := range subschemas(s) {
		n = min(n+w.of(sub), maxSchemaCost+1)
	}
	delete(w.open, s)
	w.known[s] = n
	return n
}

func subschemas(s *jsonschema.Schema) []*jsonschema.Schema {
	out := []*jsonschema.Schema{
		s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else, s.PropertyNames, s.UnevaluatedProperties, s.Contains,
		s.Items2020, s.UnevaluatedItems, s.ContentSchema,
	}
	if s.DynamicRef != nil {
		out = append(out, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf, s.PrefixItems} {
		out = append(out, list...)
	}
	for _, sub := range s.Properties {
		out = append(out, sub)
	}
	for _, sub := range s.PatternProperties {
		out = append(out, sub)
	}
	for _, sub := range s.DependentSchemas {
		out = append(out, sub)
	}
	for _, any := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch v := any.(type) {
		case *jsonschema.Schema:
			out = append(out, v)
		case []*jsonschema.Schema:
			out = append(out, v...)
		}
	}
	for _, any := range s.Dependencies {
		if v, ok := any.(*jsonschema.Schema); ok {
			out = append(out, v)
		}
	}
	return out
}
