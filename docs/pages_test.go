package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are those for people, by their path from the repository's root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"../*.md", "*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = string(b)
		}
	}
	if len(found) < 10 {
		t.Fatalf("found %d pages; the search is broken", len(found))
	}
	return found
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// anchor is how GitHub names a heading.
func anchor(heading string) string {
	return strings.ReplaceAll(regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

func TestLinksLeadSomewhere(t *testing.T) {
	for name, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, part, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(name), target)
			if target == "" {
				to = name
			}
			b, err := os.ReadFile(to)
			if err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if part == "" {
				continue
			}
			known := false
			for _, h := range heading.FindAllStringSubmatch(string(b), -1) {
				known = known || anchor(h[1]) == part
			}
			if !known {
				t.Errorf("%s links to %s, which has no such heading", name, m[1])
			}
		}
	}
}

var testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)

// A promise names the test that shows it; the test has to be there.
func TestNamedTestsExist(t *testing.T) {
	known := map[string]bool{}
	err := filepath.WalkDir("..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && path != "..") {
				return filepath.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, "_test.go") {
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(b), -1) {
				known[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages(t) {
		for _, n := range testName.FindAllString(text, -1) {
			if !known[n] {
				t.Errorf("%s names %s, which is no test here", name, n)
			}
		}
	}
}

func TestLicencesListWhatIsBuiltIn(t *testing.T) {
	page, err := os.ReadFile("licences.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\S+)` \\| (\\S+) \\| \\S.* \\|$").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]+" "+m[2]] = true
	}
	list := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "../cmd/mecha-slack")
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64") // the list is of that binary
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	built := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSpace(line); line != "" {
			built[line] = true
		}
	}
	for m := range built {
		if !listed[m] {
			t.Errorf("licences.md does not list %s", m)
		}
	}
	for m := range listed {
		if !built[m] {
			t.Errorf("licences.md lists %s, which is not built in", m)
		}
	}
}
