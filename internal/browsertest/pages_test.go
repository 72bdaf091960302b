package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commandLines are what the pages for people tell them to type, in code blocks
// and within lines.
func commandLines(t *testing.T) map[string][]string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```[a-z]*\n(.*?)```|`([^`]+)`")
	line := regexp.MustCompile(`^(?:\$ )?(?:go run \./cmd/mecha-slack|mecha-slack)((?: .*)?)$`)
	found := map[string][]string{}
	n := 0
	for _, name := range append(names, "../../README.md", "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range code.FindAllStringSubmatch(string(b), -1) {
			block := strings.ReplaceAll(m[1]+m[2], "\\\n", " ")
			for l := range strings.Lines(block) {
				l, _, _ = strings.Cut(strings.TrimSpace(l), "  #")
				if c := line.FindStringSubmatch(l); c != nil {
					found[filepath.Base(name)] = append(found[filepath.Base(name)], strings.TrimSpace(c[1]))
					n++
				}
			}
		}
	}
	if n < 40 {
		t.Fatalf("found %d command lines; the search is broken", n)
	}
	return found
}

// TestPagesNameRealCommands asks the binary itself about every command and flag
// that the pages name.
func TestPagesNameRealCommands(t *testing.T) {
	mecha := binary(t)
	subcommand := regexp.MustCompile(`^[a-z][a-z-]*$`)
	helps := map[string]string{}
	help := func(words []string) string {
		key := strings.Join(words, " ")
		if _, ok := helps[key]; !ok {
			out, _ := exec.Command(mecha, append(words, "--help")...).CombinedOutput()
			helps[key] = string(out)
		}
		return helps[key]
	}
	for page, lines := range commandLines(t) {
		for _, l := range lines {
			var words []string
			for _, w := range strings.Fields(l) {
				if !subcommand.MatchString(w) || !strings.Contains(help(append(words[:len(words):len(words)], w)), "\n  mecha-slack "+strings.Join(append(words[:len(words):len(words)], w), " ")+" ") {
					break
				}
				words = append(words, w)
			}
			first, _, _ := strings.Cut(l, " ")
			if len(words) == 0 && subcommand.MatchString(first) && first != "local:" {
				t.Errorf("%s: there is no command in %q", page, "mecha-slack "+l)
				continue
			}
			for _, f := range regexp.MustCompile(`(?:^| )(--?[a-z][a-z-]*)`).FindAllStringSubmatch(l, -1) {
				if h := help(words); !strings.Contains(h, f[1]+" ") && !strings.Contains(h, f[1]+",") && !strings.Contains(h, f[1]+"\n") {
					t.Errorf("%s: %q has no %s", page, "mecha-slack "+strings.Join(words, " "), f[1])
				}
			}
		}
	}
}

// TestReadmeCommands holds the README to two commands: one that runs
// everything, one that tests it.
func TestReadmeCommands(t *testing.T) {
	b, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(string(b), 2)
	if len(blocks) != 2 || blocks[0][1] != "go run ./cmd/mecha-slack local\n" || blocks[1][1] != "go test ./...\n" {
		t.Fatalf("the first two blocks are %q", blocks)
	}
	// The same way into the program, by a command that ends by itself.
	run := strings.Fields(strings.Replace(strings.TrimSpace(blocks[0][1]), " local", " version", 1))
	cmd := exec.CommandContext(t.Context(), run[0], run[1:]...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "mecha-slack ") {
		t.Errorf("%s: %v\n%s", run, err, out)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "./...")
	list.Dir = "../.."
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "/internal/browsertest\n") {
		t.Errorf("go test ./... would not find this test: %v\n%s", err, out)
	}
}
