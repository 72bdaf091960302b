package mcp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// npmServers finds the installed servers, and installs them where that is demanded. Installing needs a registry, which a
// test must not reach for on its own.
func npmServers(t *testing.T) string {
	t.Helper()
	modules, err := filepath.Abs(filepath.Join("testdata", "npm", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		require(t, "npm", "node is not installed")
	}
	if _, err := os.Stat(filepath.Join(modules, ".package-lock.json")); err == nil {
		return modules
	}
	if !slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "npm") {
		t.Skip("not installed: run npm ci --ignore-scripts in mcp/testdata/npm, or set MECHA_TEST_REQUIRE=npm")
	}
	dir := t.TempDir()
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("testdata", "npm", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules")
}

// Servers that others wrote, over the protocol as they speak it.
func TestServersThatOthersWrote(t *testing.T) {
	modules := npmServers(t)
	server := func(name string, args ...string) Config {
		return Config{Name: name, Command: "node", Args: append([]string{filepath.Join(modules, "@modelcontextprotocol", "server-"+name, "dist", "index.js")}, args...)}
	}
	deps := testDeps(t)
	deps.StartTimeout, deps.HandshakeTimeout, deps.CallTimeout = time.Minute, time.Minute, time.Minute
	deps.Grace = 2 * time.Second
	memory := server("memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "memory.jsonl")}
	s := start(t, deps, server("everything"), server("filesystem", "."), memory, server("sequential-thinking"))
	if _, err := tools.NewRegistry(s.Tools(t.Context())...); err != nil {
		t.Errorf("the surface: %v", err)
	}
	for _, st := range s.Status() {
		if st.State != Ready || len(st.Tools) == 0 || len(st.Quarantined) != 0 {
			t.Errorf("%s: %s, %d tools, withheld %+v, last error %q", st.Name, st.State, len(st.Tools), st.Quarantined, st.LastError)
		}
		for _, tool := range st.Tools {
			if tool.Unchecked {
				t.Errorf("the schema of %s does not compile", tool.Name)
			}
		}
	}
	env := thread(t)
	if err := os.WriteFile(filepath.Join(env.Workspace.Path(), "notes.md"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, args, want string }{
		{"everything__echo", `{"message":"hi & <bye>"}`, "hi & <bye>"},
		{"everything__get-sum", `{"a":2,"b":3}`, "5"},
		{"filesystem__read_text_file", `{"path":"notes.md"}`, "buy milk"}, // relative: it stands in the thread's workspace
		{"filesystem__write_file", `{"path":"new.md","content":"x"}`, "new.md"},
		{"memory__create_entities", `{"entities":[{"name":"Ann","entityType":"person","observations":["likes tea"]}]}`, "Ann"},
		{"memory__read_graph", `{}`, "likes tea"},
		{"sequential-thinking__sequentialthinking", `{"thought":"one","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, "thoughtNumber"},
	} {
		if out := call(t, find(t, s, tt.tool), env, tt.args); out.IsError || !strings.Contains(out.Content, tt.want) {
			t.Errorf("%s(%s) = %+v", tt.tool, tt.args, out)
		}
	}
	if write := find(t, s, "filesystem__write_file"); write.ReadOnly() || !write.Capabilities().Destructive {
		t.Errorf("write_file: read-only %v, %+v", write.ReadOnly(), write.Capabilities())
	}
	// Another thread's process stands elsewhere, and may read nothing here.
	if out := call(t, find(t, s, "filesystem__read_text_file"), thread(t), `{"path":"`+filepath.Join(env.Workspace.Path(), "notes.md")+`"}`); !out.IsError {
		t.Errorf("one thread's server reads another's file: %+v", out)
	}
	if out := call(t, find(t, s, resourceTool), env, `{"server":"everything"}`); out.IsError || !strings.Contains(out.Content, "demo://resource") {
		t.Errorf("resources of everything: %+v", out)
	}
}
