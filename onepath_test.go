package mechaslack_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources visits our own files but for tests and benchmarks.
func sources(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (path == "bench" || d.Name() == "testdata" || d.Name() == "node_modules" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		seen++
		visit(filepath.ToSlash(path), file)
		return nil
	})
	if err != nil || seen < 100 {
		t.Fatalf("%d files read: %v", seen, err)
	}
}

// Retries live in three places (DESIGN.md §3): these two by the library, and
// bot.post by its own rules. A loop written by hand is not seen here.
func TestRetriesLiveInThreePlaces(t *testing.T) {
	allowed := []string{"internal/safehttp/retry.go", "agent/provider/endpoint.go"}
	var found []string
	sources(t, func(path string, file *ast.File) {
		for _, imp := range file.Imports {
			if strings.Contains(imp.Path.Value, "cenkalti/backoff") {
				found = append(found, path)
				if !slices.ContainsFunc(allowed, func(a string) bool { return strings.HasPrefix(path, a) }) {
					t.Errorf("%s retries: see DESIGN.md §3 for the three places that may", path)
				}
			}
		}
	})
	if len(found) == 0 {
		t.Error("nothing retries: this test looks at the wrong import")
	}
}

// A draft goes out through outbox.Dispatch alone (DESIGN.md §2), called by the
// bot's dispatcher and by the command that holds the home where no bot runs.
func TestOnePathToARelease(t *testing.T) {
	allowed := []string{"outbox/dispatch.go", "cmd/mecha-slack/outbox_approve.go"}
	var found []string
	sources(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Dispatch" {
					found = append(found, path)
				}
			}
			return true
		})
	})
	slices.Sort(found)
	slices.Sort(allowed)
	if !slices.Equal(slices.Compact(found), allowed) {
		t.Errorf("Dispatch is called in %v, want %v", found, allowed)
	}
}
