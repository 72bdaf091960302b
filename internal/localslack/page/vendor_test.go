package page_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestVendored derives dist/vendor again from npm and compares every byte. It asks the npm registry, so it runs only
// where MECHA_TEST_REQUIRE names npm, as CI's does.
func TestVendored(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "npm") {
		t.Skip("MECHA_TEST_REQUIRE does not name npm: the vendored files are not compared with the registry's")
	}
	out, err := exec.CommandContext(t.Context(), "node", "vendor.mjs", "--check").CombinedOutput()
	if err != nil {
		t.Fatalf("node vendor.mjs --check: %v\n%s", err, out)
	}
}

// TestLockNamesNoHost wants a lock that works with any registry.
func TestLockNamesNoHost(t *testing.T) {
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(lock), `"resolved"`) {
		t.Error("package-lock.json names a registry's host: strip the resolved fields")
	}
}
