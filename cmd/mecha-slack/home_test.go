package main

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// A home made by hand is closed; a directory of other things is not touched.
func TestAHomeIsClosedAndNothingElse(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no such modes there")
	}
	for name, c := range map[string]struct {
		files []string
		want  os.FileMode
	}{
		"empty":                  {nil, 0o700},
		"with its configuration": {[]string{"config.toml", "mecha.db", "mecha.db-wal"}, 0o700},
		"a project":              {[]string{"config.toml", "main.go"}, 0o755},
	} {
		dir := t.TempDir()
		for _, f := range c.files {
			if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Chmod(dir, 0o755); err != nil { // whatever the umask
			t.Fatal(err)
		}
		cli := &cli{Main: Main{Env: []string{"MECHA_HOME=" + dir}}, logLevel: "warn", logFormat: "text"}
		if _, err := cli.openHome(true); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		st, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := st.Mode().Perm(); got != c.want {
			t.Errorf("%s: mode %v, want %v", name, got, c.want)
		}
	}
}
