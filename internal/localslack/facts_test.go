package localslack

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateFacts = flag.Bool("update-facts", false, "write facts.txt from Slack's schemas")

// schemas is where Slack's published method schemas are; without them the test is skipped.
func schemas(t testing.TB) string {
	t.Helper()
	shared := os.Getenv("MECHA_SHARED")
	if shared == "" {
		t.Skip("MECHA_SHARED is unset: Slack's catalogue isn't here")
	}
	return filepath.Join(shared, "slack", "methods")
}

// schema is what we read of one.
type schema struct {
	Tier  string `json:"rate_limits"`
	JSON  bool   `json:"json_input_supported"`
	Scope struct {
		Bot  []string `json:"bot"`
		User []string `json:"user"`
	} `json:"scope"`
	Args struct {
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
	} `json:"args"`
	Errors map[string]any `json:"errors"`
}

func readSchema(t testing.TB, dir, method string) schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, method+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return s
}

// TestFactsAreSlacks compares facts.txt with Slack's schemas, or writes it.
func TestFactsAreSlacks(t *testing.T) {
	dir := schemas(t)
	var out bytes.Buffer
	comment, _, _ := strings.Cut(factsText, "\n\n")
	out.WriteString(comment + "\n\n")
	for _, name := range slices.Sorted(maps.Keys(methodTable())) {
		if unpublished[name] != nil {
			line, _, _ := strings.Cut(factsText[strings.Index(factsText, "\n"+name+" ")+1:], "\n")
			out.WriteString(line + "\n")
			continue
		}
		out.WriteString(factLine(name, readSchema(t, dir, name)) + "\n")
	}
	if *updateFacts {
		if err := os.WriteFile("facts.txt", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, got := strings.Split(out.String(), "\n"), strings.Split(factsText, "\n")
	for i := range max(len(want), len(got)) {
		if i >= len(want) || i >= len(got) || want[i] != got[i] {
			t.Fatalf("facts.txt is not what Slack's schemas say; run go test -run FactsAreSlacks -update-facts. Line %d:\n has  %s\n want %s",
				i+1, at(got, i), at(want, i))
		}
	}
}

// unpublished are the methods that the schemas at hand lack, with the errors
// that their pages in Slack's reference list; their lines are from there too.
var unpublished = map[string][]string{
	"pins.add":    strings.Fields("already_pinned bad_timestamp channel_not_found message_not_found no_item_specified not_pinnable"),
	"pins.remove": strings.Fields("bad_timestamp channel_not_found message_not_found no_item_specified no_pin not_pinned"),
	"pins.list":   strings.Fields("channel_not_found"),
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}

// anywhere are the errors that every method may answer with: of the token, the
// transport and the arguments, and those of limits that Slack documents beside
// its methods.
var anywhere = strings.Fields(`invalid_auth not_authed account_inactive not_allowed_token_type missing_scope internal_error invalid_arguments
	invalid_json json_not_object invalid_form_data invalid_post_type request_timeout ratelimited unknown_method request_too_large`)

// beside are errors that Slack gives though the schemas at hand don't list them:
// their sources are in the documents of each limit.
var beside = map[string][]string{
	"chat.postMessage":  {"msg_too_long", "invalid_attachments"},
	"chat.appendStream": {"msg_too_long"}, // the cumulative cap, which apps have measured
}

// inCatalogue reports whether Slack lists that error for the method. Without
// its catalogue everything passes.
func inCatalogue(t testing.TB, method, name string) bool {
	shared := os.Getenv("MECHA_SHARED")
	if errors, ok := unpublished[method]; ok && !slices.Contains(anywhere, name) {
		return slices.Contains(errors, name)
	}
	if shared == "" || slices.Contains(anywhere, name) || slices.Contains(beside[method], name) {
		return true
	}
	if _, ok := methodTable()[method]; !ok {
		return false
	}
	_, listed := readSchema(t, filepath.Join(shared, "slack", "methods"), method).Errors[name]
	return listed
}

// factLine is one method's line of facts.txt.
func factLine(name string, s schema) string {
	var b strings.Builder
	tier, body := s.Tier, "form"
	if tier == "" {
		tier = "t5"
	}
	if s.JSON {
		body = "json"
	}
	fmt.Fprintf(&b, "%s %s %s bot=%s", name, tier, body, strings.Join(s.Scope.Bot, ","))
	for _, arg := range slices.Sorted(maps.Keys(s.Args.Properties)) {
		if arg == "token" {
			continue
		}
		must := ""
		// Slack's own SDKs send chunks alone; its schema says that markdown_text must be there.
		if slices.Contains(s.Args.Required, arg) && !(name == "chat.appendStream" && arg == "markdown_text") {
			must = "!"
		}
		fmt.Fprintf(&b, " %s%s:%s", arg, must, argKind(s, arg))
	}
	return b.String()
}

// argKind maps a schema to one of our kinds. What holds a structure is json,
// whatever the schema says: as a form it is a string that holds JSON.
func argKind(s schema, arg string) string {
	var p struct {
		Type   string   `json:"type"`
		Schema string   `json:"schema"`
		Enum   []string `json:"enum"`
		AnyOf  []struct {
			Type string   `json:"type"`
			Enum []string `json:"enum"`
		} `json:"anyOf"`
	}
	json.Unmarshal(s.Args.Properties[arg], &p)
	switch arg {
	case "attachments", "blocks", "message", "metadata", "prompts", "unfurled_attachments", "unfurls", "user_auth_blocks", "view", "files", "chunks":
		return "json"
	}
	kinds := map[string]bool{}
	if p.Type != "" {
		kinds[p.Type] = true
	}
	for _, alternative := range p.AnyOf {
		kinds[alternative.Type] = true
		p.Enum = append(p.Enum, alternative.Enum...)
	}
	delete(kinds, "null")
	_, judged := s.Errors["invalid_"+arg] // then the method refuses it by that name
	switch {
	case len(kinds) > 1 && kinds["string"]:
		return "any"
	case kinds["array"]:
		return "list"
	case kinds["string"] && len(p.Enum) > 0 && !judged:
		return "string=" + strings.Join(slices.DeleteFunc(p.Enum, func(e string) bool { return e == "" }), "|")
	case kinds["string"], p.Schema != "":
		return "string"
	case kinds["integer"], kinds["number"]:
		return "number"
	case kinds["boolean"]:
		return "boolean"
	}
	return "string"
}
