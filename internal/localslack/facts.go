package localslack

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// facts.txt is what Slack's published schemas say of each method, a line each;
// a test proves that it does. Only the facts are there, not the schemas.
//
//go:embed facts.txt
var factsText string

// facts are one method's: how often it may be called, what it needs, and its
// arguments.
type facts struct {
	rate   string   // t1 to t4; t5 is a special one, see tierOf
	json   bool     // Slack reads a JSON body
	scopes []string // of a bot's token; any one of them will do
	args   []argument
}

// argument is one argument of a method.
type argument struct {
	name     string
	kind     string   // string, number, boolean, list, json, or any of the first three
	enum     []string // of a string; nil: anything
	required bool
}

// readFacts parses facts.txt.
func readFacts() map[string]facts {
	out := map[string]facts{}
	for line := range strings.Lines(factsText) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] == "#" {
			continue
		}
		f := facts{rate: words[1], json: words[2] == "json"}
		if scopes := strings.TrimPrefix(words[3], "bot="); scopes != "" {
			f.scopes = strings.Split(scopes, ",")
		}
		for _, word := range words[4:] {
			var a argument
			a.name, a.kind, _ = strings.Cut(word, ":")
			a.name, a.required = strings.CutSuffix(a.name, "!")
			kind, enum, closed := strings.Cut(a.kind, "=")
			if a.kind = kind; closed {
				a.enum = strings.Split(enum, "|")
			}
			f.args = append(f.args, a)
		}
		out[words[0]] = f
	}
	return out
}

// check judges arguments as Slack does before a method sees them: those that
// must be there, and the kind of each. Arguments that it doesn't know are
// nobody's business, to Slack as well.
func (f facts) check(a args) error {
	var wrong []string
	for _, arg := range f.args {
		switch {
		case !a.has(arg.name):
			if arg.required {
				wrong = append(wrong, "[ERROR] missing required field: "+arg.name)
			}
		case !a.fits(arg):
			wrong = append(wrong, "[ERROR] "+arg.wants()+" [json-pointer:/"+arg.name+"]")
		}
	}
	if wrong != nil {
		return fail("invalid_arguments", wrong...)
	}
	return nil
}

// wants says in Slack's manner what an argument has to be.
func (arg argument) wants() string {
	switch {
	case arg.enum != nil:
		return "must be a valid enum value"
	case arg.kind == "list":
		return "must provide an array"
	default:
		return "must provide a " + arg.kind
	}
}

// fits reports whether a given argument is of its kind. Structured ones are
// their methods' to judge, by errors with names of their own; so is an empty
// string in a form, which clients send for what they leave out.
func (a args) fits(arg argument) bool {
	v := a[arg.name]
	text := v.text
	if !v.isText {
		switch v.raw[0] {
		case '"':
			if json.Unmarshal(v.raw, &text) != nil {
				return false
			}
		case '[', '{':
			return arg.kind == "json" || v.raw[0] == '[' && (arg.kind == "list" || arg.name == "users")
		default:
			text = string(v.raw)
			if arg.kind == "string" && (text == "true" || text == "false") {
				return false
			}
		}
	}
	if text == "" {
		return true
	}
	switch arg.kind {
	case "number":
		_, err := strconv.ParseFloat(text, 64)
		return err == nil
	case "boolean":
		return slices.Contains([]string{"true", "false", "1", "0"}, strings.ToLower(text))
	case "string":
		return arg.enum == nil || slices.Contains(arg.enum, text)
	}
	return true
}
