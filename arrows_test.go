package mechaslack_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mecha-slack/mecha-slack"

// arrows says which of our packages each package may import, directly or not
// (DESIGN.md §2). A name ending in /... stands for the whole tree below it.
// What is not here imports nothing of ours but internal/redact and
// internal/child, which every room may use.
var arrows = map[string][]string{
	"bot":                 {"threads", "outbox", "triggers", "agent", "tools", "internal/record", "internal/blockkit"},
	"threads":             {"agent", "tools", "mcp", "outbox", "internal/record", "internal/jail"},
	"triggers":            {"internal/record"},
	"outbox":              {"tools", "internal/record", "internal/jail"},
	"agent":               {"tools"},
	"mcp":                 {"tools", "internal/sandbox", "internal/safehttp"},
	"tools":               {"internal/jail", "internal/sandbox", "internal/safehttp"},
	"internal/config":     {"bot", "threads", "triggers", "outbox", "agent", "mcp", "tools", "internal/record", "internal/sandbox"},
	"internal/localslack": {"internal/blockkit"},
	"internal/record":     {""},
}

// outside says which packages alone may import a dependency, and why.
var outside = map[string]struct {
	only []string
	why  string
}{
	"github.com/slack-go/slack":                  {[]string{"bot"}, "one path to Slack"},
	"github.com/sashabaranov/go-openai":          {[]string{"agent/provider"}, "a model is an interface everywhere else"},
	"modernc.org/sqlite":                         {[]string{"internal/record"}, "one writer, one place that knows the driver"},
	"database/sql":                               {[]string{"internal/record", "threads", "outbox", "triggers", "bot"}, "SQL stays in a room's store.go"},
	"github.com/modelcontextprotocol/go-sdk/mcp": {[]string{"mcp", "internal/demomail"}, "servers are tools everywhere else"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Doc        string
	Name       string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-e", "-json=ImportPath,Imports,Doc,Name", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []pkg
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

func ours(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

// room is the entry of arrows that a package belongs to: its own, or that of
// the room whose sub-package it is.
func room(name string) string {
	for n := name; n != ""; {
		if _, ok := arrows[n]; ok {
			return n
		}
		i := strings.LastIndexByte(n, '/')
		if i < 0 {
			break
		}
		n = n[:i]
	}
	return name
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		from, ok := ours(p.ImportPath)
		if !ok || strings.HasPrefix(from, "cmd/") || from == "cmd" || strings.HasPrefix(from, "bench") {
			continue
		}
		for _, imp := range p.Imports {
			to, ok := ours(imp)
			if !ok || room(to) == room(from) || to == "internal/redact" || to == "internal/child" {
				continue
			}
			if !slices.Contains(arrows[room(from)], room(to)) {
				t.Errorf("%s imports %s: no such arrow in DESIGN.md §2; turn it round with an interface where it is used, or move the code", from, to)
			}
		}
	}
}

func TestDependenciesStayInTheirRoom(t *testing.T) {
	for _, p := range packages(t) {
		from, _ := ours(p.ImportPath)
		if strings.HasPrefix(from, "bench") {
			continue
		}
		for _, imp := range p.Imports {
			for dep, rule := range outside {
				if (imp == dep || strings.HasPrefix(imp, dep+"/")) && !slices.Contains(rule.only, from) {
					t.Errorf("%s imports %s, which only %v may: %s", from, imp, rule.only, rule.why)
				}
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment that says what it owns", p.ImportPath)
		}
	}
}

func TestLibcIsTheOneThatSQLiteWasBuiltWith(t *testing.T) {
	want := requirement(t, "modernc.org/sqlite", "modernc.org/libc")
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "modernc.org/libc").Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.TrimSpace(string(out)); got != want {
		t.Errorf("modernc.org/libc is %s; modernc.org/sqlite was built with %s and asks for exactly that", got, want)
	}
}

// requirement reads which version of dep the module's own go.mod asks for.
func requirement(t *testing.T, mod, dep string) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "graph").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(from, mod+"@") {
			if v, ok := strings.CutPrefix(to, dep+"@"); ok {
				return v
			}
		}
	}
	t.Fatalf("%s does not require %s", mod, dep)
	return ""
}
