package mcp

import (
	"log/slog"
	"testing"
)

func TestLastWords(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ written, want string }{
		{"", ""},
		{"starting\nready", "ready"},
		{"node:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module '/x/index.js'\n    at Module._load\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v20.20.2\n", "Error: Cannot find module '/x/index.js'"},
		{"Traceback (most recent call last):\n  File \"x.py\", line 1\nModuleNotFoundError: No module named 'mcp'\n", "ModuleNotFoundError: No module named 'mcp'"},
		{"sh: 1: foo: not found", "sh: 1: foo: not found"},
	} {
		l := newStderrLog(slog.New(slog.DiscardHandler))
		for i := range len(tt.written) { // in the smallest pieces
			if n, err := l.Write([]byte{tt.written[i]}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if got := l.lastWords(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.written, got, tt.want)
		}
	}
}
