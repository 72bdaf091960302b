package page_test

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/localslack/page"
)

// forbidden is what turns a text into markup or code, leaves the origin, or outlives the tab.
var forbidden = regexp.MustCompile(`\.innerHTML\s*=|\.outerHTML\s*=|insertAdjacentHTML|document\.write|\beval\(|new Function|document\.cookie|setAttribute\('style'|importScripts|<script[^>]*>[^<]|\son[a-z]+="|style="`)

// TestSource reads our own files of the page, since a browser test sees only what it happens to touch.
func TestSource(t *testing.T) {
	files := page.Files()
	imported := regexp.MustCompile(`from '(\./[^']+)'`)
	seen := 0
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "vendor/") {
			return err
		}
		seen++
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		if found := forbidden.Find(body); found != nil {
			t.Errorf("%s holds %q", name, found)
		}
		if lines := strings.Count(string(body), "\n"); lines > 400 {
			t.Errorf("%s has %d lines: one file, one thing", name, lines)
		}
		for _, m := range imported.FindAllSubmatch(body, -1) {
			if _, err := fs.Stat(files, path.Join(path.Dir(name), string(m[1]))); err != nil {
				t.Errorf("%s imports %s: %v", name, m[1], err)
			}
		}
		return nil
	})
	if err != nil || seen < 20 {
		t.Fatalf("read %d files: %v", seen, err)
	}
}
