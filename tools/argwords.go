package tools

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// maxProblems bounds what one refused call says.
const maxProblems = 20

// problemsOf turns a validator's tree into clauses: what is wrong, where, in
// the order of their places.
func problemsOf(err *jsonschema.ValidationError) []string {
	var out []string
	collect(err, &out)
	slices.Sort(out)
	out = slices.Compact(out)
	if len(out) > maxProblems {
		out = append(out[:maxProblems], fmt.Sprintf("and %d more", len(out)-maxProblems))
	}
	if len(out) == 0 {
		out = []string{"they do not match the schema"}
	}
	return out
}

func collect(e *jsonschema.ValidationError, out *[]string) {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		*out = append(*out, alternatives(e))
		return
	case *kind.PropertyNames: // the causes speak of the key as if it were the value
		*out = append(*out, place(e.InstanceLocation)+" has the key "+named(k.Property)+", which is not allowed")
		return
	}
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			collect(c, out)
		}
		return
	}
	*out = append(*out, words(e)...)
}

// alternatives says what each form of an anyOf or oneOf wanted.
func alternatives(e *jsonschema.ValidationError) string {
	at := place(e.InstanceLocation)
	if k, ok := e.ErrorKind.(*kind.OneOf); ok && len(k.Subschemas) > 1 {
		return at + " fits more than one of the allowed forms; it must fit exactly one"
	}
	// Where only the types are at odds, the types are all there is to say.
	var want []string
	var got string
	types := true
	var forms []string
	for _, c := range e.Causes {
		var problems []string
		collect(c, &problems)
		slices.Sort(problems)
		forms = append(forms, strings.Join(slices.Compact(problems), " and "))
		if t, ok := leaf(c).ErrorKind.(*kind.Type); ok && len(leaf(c).InstanceLocation) == len(e.InstanceLocation) {
			want, got = append(want, t.Want...), t.Got
		} else {
			types = false
		}
	}
	if types && len(want) > 0 {
		return fmt.Sprintf("%s must be %s, got %s", at, either(want), got)
	}
	forms = slices.Compact(forms)
	if len(forms) > 4 {
		forms = append(forms[:4], "…")
	}
	return fmt.Sprintf("%s fits none of the allowed forms: %s", at, strings.Join(forms, "; or "))
}

func leaf(e *jsonschema.ValidationError) *jsonschema.ValidationError {
	for len(e.Causes) == 1 {
		e = e.Causes[0]
	}
	return e
}

func words(e *jsonschema.ValidationError) []string {
	at := place(e.InstanceLocation)
	one := func(format string, a ...any) []string { return []string{at + " " + fmt.Sprintf(format, a...)} }
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return each(k.Missing, func(name string) string { return place(append(slices.Clone(e.InstanceLocation), name)) + " is missing" })
	case *kind.AdditionalProperties:
		return each(k.Properties, func(name string) string {
			return place(append(slices.Clone(e.InstanceLocation), name)) + " is not an argument of this tool"
		})
	case *kind.Type:
		return one("must be %s, got %s", either(k.Want), k.Got)
	case *kind.Enum:
		return one("must be one of %s, got %s", list(k.Want), show(k.Got))
	case *kind.Const:
		return one("must be %s, got %s", show(k.Want), show(k.Got))
	case *kind.Minimum:
		return one("must be at least %s, got %s", number(k.Want), number(k.Got))
	case *kind.Maximum:
		return one("must be at most %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMinimum:
		return one("must be more than %s, got %s", number(k.Want), number(k.Got))
	case *kind.ExclusiveMaximum:
		return one("must be less than %s, got %s", number(k.Want), number(k.Got))
	case *kind.MultipleOf:
		return one("must be a multiple of %s, got %s", number(k.Want), number(k.Got))
	case *kind.MinLength:
		return one("must have at least %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return one("must have at most %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return one("must have at least %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MaxItems:
		return one("must have at most %s, got %d", count(k.Want, "item"), k.Got)
	case *kind.MinProperties:
		return one("must have at least %s, got %d", count(k.Want, "key"), k.Got)
	case *kind.MaxProperties:
		return one("must have at most %s, got %d", count(k.Want, "key"), k.Got)
	case *kind.UniqueItems:
		return one("must not repeat an item: %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Pattern:
		return one("must match %s, got %s", line(k.Want, 200), show(k.Got))
	case *kind.Format:
		return one("must be a valid %s, got %s", k.Want, show(k.Got))
	case *kind.FalseSchema:
		return one("is not allowed here")
	case *kind.Not:
		return one("has a form that is not allowed")
	case *kind.DependentRequired:
		return each(k.Missing, func(name string) string {
			return place(append(slices.Clone(e.InstanceLocation), name)) + " is missing; " + named(k.Prop) + " needs it"
		})
	default:
		text := (&jsonschema.ValidationError{ErrorKind: e.ErrorKind}).Error()
		_, after, found := strings.Cut(text, "at '': ")
		if !found {
			after = text
		}
		return one("is invalid: %s", line(after, 200))
	}
}

// place writes a location as people write it: `items[0].name`.
func place(loc []string) string {
	if len(loc) == 0 {
		return "the arguments"
	}
	var b strings.Builder
	for i, part := range loc {
		if _, err := strconv.Atoi(part); err == nil && i > 0 {
			b.WriteString("[" + part + "]")
			continue
		}
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(part)
	}
	return named(b.String())
}

func each(names []string, f func(string) string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = f(n)
	}
	return out
}

// either joins types with their articles: "a string or an integer".
func either(types []string) string {
	types = slices.Compact(slices.Sorted(slices.Values(types)))
	for i, t := range types {
		switch {
		case t == "null":
		case strings.HasPrefix(t, "a"), strings.HasPrefix(t, "i"), strings.HasPrefix(t, "o"):
			types[i] = "an " + t
		default:
			types[i] = "a " + t
		}
	}
	return strings.Join(types, " or ")
}

func list(values []any) string {
	const most = 30
	parts := make([]string, 0, len(values))
	for i, v := range values {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, show(v))
	}
	return strings.Join(parts, ", ")
}

func show(v any) string {
	switch v := v.(type) {
	case string:
		return `"` + line(v, 60) + `"`
	case map[string]any, []any:
		return kindOf(v)
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return kindOf(v)
		}
		return line(string(b), 60)
	}
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}
