package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the product, built once a run; MECHA_TEST_BINARY names one that is
// there already.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		if binary = os.Getenv("MECHA_TEST_BINARY"); binary == "" {
			dir, err := os.MkdirTemp("", "mecha-e2e-*")
			if err != nil {
				fmt.Fprintln(os.Stderr, "cannot make a directory for the binary:", err)
				return 1
			}
			defer os.RemoveAll(dir)
			binary = filepath.Join(dir, "mecha-slack")
			build := exec.Command("go", "build", "-o", binary, "../../cmd/mecha-slack")
			if out, err := build.CombinedOutput(); err != nil {
				fmt.Fprintf(os.Stderr, "cannot build the product: %v\n%s", err, out)
				return 1
			}
		}
		return m.Run()
	}())
}
