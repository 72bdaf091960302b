package docs

import (
	"encoding"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mecha-slack/mecha-slack/internal/config"
	"github.com/mecha-slack/mecha-slack/mcp"
)

// tables lists every key of the configuration by the table that it stands in,
// as the file spells both: "[[outbox.policy]]" → "min_approvals".
func tables() map[string][]string {
	found := map[string][]string{}
	collect(found, "", false, reflect.TypeFor[config.Config]())
	return found
}

func collect(found map[string][]string, path string, array bool, t reflect.Type) {
	heading := "[" + path + "]"
	if array {
		heading = "[" + heading + "]"
	}
	for i := range t.NumField() {
		f := t.Field(i)
		key, ok := f.Tag.Lookup("toml")
		if !ok {
			continue
		}
		inner := key
		if path != "" {
			inner = path + "." + key
		}
		ft := f.Type
		if ft.Kind() == reflect.Pointer {
			ft = ft.Elem()
		}
		switch {
		case plain(ft) || ft == widening:
			found[heading] = append(found[heading], key)
		case ft.Kind() == reflect.Struct:
			collect(found, inner, false, ft)
		case ft.Kind() == reflect.Slice && table(ft.Elem()):
			collect(found, inner, true, ft.Elem())
		case ft.Kind() == reflect.Map && table(ft.Elem()) && ft.Elem() != widening:
			collect(found, inner+".NAME", false, ft.Elem())
		default:
			found[heading] = append(found[heading], key)
		}
	}
}

// widening is written inline, in one line: it is a value of its table.
var widening = reflect.TypeFor[mcp.Widening]()

func table(t reflect.Type) bool { return t.Kind() == reflect.Struct && !plain(t) }

// plain tells whether a value of t is written after an equals sign.
func plain(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) || p.Implements(reflect.TypeFor[toml.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// section is the part of a page under a heading that names a table.
func section(t *testing.T, page, heading string) string {
	t.Helper()
	_, after, ok := strings.Cut(page, "\n## `"+heading+"`\n")
	if !ok {
		t.Errorf("configuration.md has no section %s", heading)
		return ""
	}
	before, _, _ := strings.Cut(after, "\n## ")
	return before
}

func TestEveryKeyIsDocumented(t *testing.T) {
	b, err := os.ReadFile("configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	all := tables()
	if len(all) < 15 {
		t.Fatalf("found %d tables; the walk is broken", len(all))
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|")
	for heading, keys := range all {
		if heading == "[]" {
			heading = "top level"
		}
		known := map[string]bool{}
		for _, m := range row.FindAllStringSubmatch(section(t, page, heading), -1) {
			known[m[1]] = true
		}
		for _, key := range keys {
			if !known[key] {
				t.Errorf("configuration.md, %s, has no row for %s", heading, key)
			}
			delete(known, key)
		}
		for key := range known {
			t.Errorf("configuration.md, %s, tells of %s, which the program does not know", heading, key)
		}
	}
}

// example is the file with its settings switched on: a # with no space after it
// stands before a setting, one with a space before words.
func example(t *testing.T) (asIs, on string) {
	t.Helper()
	b, err := os.ReadFile("../config.example.toml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b), regexp.MustCompile(`(?m)^#([^ #\n])`).ReplaceAllString(string(b), "$1")
}

func TestTheExampleParses(t *testing.T) {
	asIs, on := example(t)
	c, err := config.Parse("config.example.toml", asIs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), c, cmpopts.IgnoreUnexported(config.Config{})); diff != "" {
		t.Errorf("as it lies there it changes something (-default +example):\n%s", diff)
	}
	if _, err := config.Parse("config.example.toml", on); err != nil {
		t.Errorf("with everything switched on: %v", err)
	}
}

func TestTheExampleHasEveryKey(t *testing.T) {
	_, on := example(t)
	for heading, keys := range tables() {
		for _, key := range keys {
			if !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(key)+`(\.\w+)? = `).MatchString(on) && !strings.Contains(on, "\n["+strings.Trim(heading, "[]")+"."+key+"]\n") {
				t.Errorf("config.example.toml shows nothing of %s %s", heading, key)
			}
		}
	}
}
