package mcp

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

func TestEnvironmentIsAnAllowlist(t *testing.T) {
	// Not parallel: it sets variables of this process.
	const canary = "canary-0123456789"
	for _, name := range []string{"ANTHROPIC_API_KEY", "SLACK_BOT_TOKEN", "AWS_SECRET_ACCESS_KEY", "MECHA_HOME", "LD_PRELOAD_X"} {
		t.Setenv(name, canary)
	}
	t.Setenv("NOTES_API_TOKEN", "passed-on")
	t.Setenv("MECHA_TZ", "Nowhere/Else")
	t.Setenv("PATH", "relative/bin:"+os.Getenv("PATH")+":.")
	deps := testDeps(t)
	deps.Timezone = "Europe/Vienna"
	cfg := fakeServer(t, "e", "good")
	cfg.EnvPassthrough = []string{"NOTES_API_TOKEN"}
	cfg.Env["NOTES_REGION"] = "us"
	cfg.Env["MECHA_CHILD"] = "0"
	s := start(t, deps, cfg)
	env := thread(t)
	out := call(t, find(t, s, "e__env"), env, `{}`).Content
	own, children, ok := strings.Cut(out, "\n--\n")
	if !ok || strings.Contains(out, canary) {
		t.Fatalf("a canary is visible in the server or its children:\n%s", out)
	}
	allowed := []string{"PATH", "HOME", "LANG", "LC_ALL", "TZ", "MECHA_TZ", "MECHA_WORKSPACE", "MECHA_CHILD", "NOTES_API_TOKEN", "NOTES_REGION", fakeVar, "GOCOVERDIR"}
	for _, line := range strings.Split(own, "\n") {
		name, value, _ := strings.Cut(line, "=")
		if !slices.Contains(allowed, name) {
			t.Errorf("the server sees %s", name)
		}
		if name == "PATH" {
			for _, dir := range filepath.SplitList(value) {
				if !filepath.IsAbs(dir) {
					t.Errorf("PATH holds %q", dir)
				}
			}
		}
	}
	for _, want := range []string{"NOTES_API_TOKEN=passed-on", "NOTES_REGION=us", "MECHA_TZ=Europe/Vienna", "MECHA_CHILD=1", "MECHA_WORKSPACE=" + env.Workspace.Path()} {
		if !strings.Contains(own, want) || !strings.Contains(children, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	cfg.Env["MECHA_TZ"] = "Asia/Tokyo"
	s = start(t, deps, cfg)
	if out := call(t, find(t, s, "e__env"), env, `{}`).Content; !strings.Contains(out, "MECHA_TZ=Asia/Tokyo") {
		t.Errorf("an explicit MECHA_TZ does not win")
	}
}

func TestStartUpErrors(t *testing.T) {
	t.Parallel()
	const own = "xoxb-not-a-real-token"
	vars := map[string]string{"BOT": own, "HEADER": "Bearer " + own}
	lookup := func(name string) (string, bool) { v, ok := vars[name]; return v, ok }
	for _, tt := range []struct {
		name string
		cfg  Config
		want string
	}{
		{"sandbox without a backend", Config{Name: "graph", Command: "x", Sandbox: true},
			"MCP server `graph` is configured with `sandbox = true`, but no sandbox backend is set. Set [sandbox] kind = \"bwrap\" or \"docker\", or drop `sandbox = true` to accept that it runs unconfined"},
		{"token passed through", Config{Name: "a", Command: "x", EnvPassthrough: []string{"BOT"}}, "our own Slack token in BOT"},
		{"token set", Config{Name: "a", Command: "x", Env: map[string]string{"T": own}}, "our own Slack token in T"},
		{"token in args", Config{Name: "a", Command: "x", Args: []string{"--token=" + own}}, "our own Slack token in its args"},
		{"token in a header", Config{Name: "a", URL: "http://127.0.0.1:1/", HeadersEnv: map[string]string{"Authorization": "HEADER"}}, "the header Authorization"},
		{"no command", Config{Name: "a"}, "needs a command, or a url"},
		{"bad scope", Config{Name: "a", Command: "x", Scope: "user"}, "scope is thread or shared"},
		{"bad name", Config{Name: "a__b", Command: "x"}, "hold no `__`"},
		{"url with a password", Config{Name: "a", URL: "http://u:p@example.com/"}, "without a user or password"},
		{"url and sandbox", Config{Name: "a", URL: "http://example.com/", Sandbox: true}, "sandbox has no meaning"},
	} {
		deps := testDeps(t)
		deps.Own, deps.Env = []string{own}, lookup
		s, err := Start(t.Context(), []Config{tt.cfg}, deps)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil && strings.Contains(err.Error(), own) {
			t.Errorf("%s: the error tells the token", tt.name)
		}
	}
	if _, err := Start(t.Context(), []Config{{Name: "a", Command: "x"}, {Name: "a", Command: "y"}}, testDeps(t)); err == nil {
		t.Error("two servers of one name are taken")
	}
}

// require skips a test for something that this machine lacks, unless it is told to have it.
func require(t testing.TB, kind, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), kind) {
		t.Fatalf("%s is required and missing: %s", kind, why)
	}
	t.Skip(why)
}

func TestSandboxedServer(t *testing.T) {
	t.Parallel()
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "secret"), []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// The server's own binary lies in no system directory, so it has to be listed.
	b, _, err := sandbox.Select(t.Context(), sandbox.Config{Kind: sandbox.Bwrap, Readable: []string{filepath.Dir(exe)}}, []string{secret})
	if err != nil {
		require(t, "sandbox", err.Error())
	}
	deps := testDeps(t)
	deps.Sandbox, deps.Network = b, true
	cfg := fakeServer(t, "box", "good")
	cfg.Sandbox = true
	s := start(t, deps, cfg)
	env := thread(t)
	if out := call(t, find(t, s, "box__cwd"), env, `{}`); out.Content != env.Workspace.Path() {
		t.Errorf("cwd = %+v", out)
	}
	out := call(t, find(t, s, "box__env"), env, `{}`).Content
	for _, want := range []string{"HOME=" + env.Workspace.Path(), "PATH=/usr/local/sbin:", "MECHA_CHILD=1"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s is missing in\n%s", want, out)
		}
	}
	// Two threads' servers never see each other's files.
	other, note := thread(t), filepath.Join(env.Workspace.Path(), "note")
	if err := os.WriteFile(note, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	read := find(t, s, "box__read")
	if out := call(t, read, env, `{"text":"note"}`); !strings.HasPrefix(out.Content, "mine ") {
		t.Errorf("a thread's server does not read its own file: %+v", out)
	}
	if out := call(t, read, other, `{"text":"`+note+`"}`); strings.Contains(out.Content, "mine") || !strings.Contains(out.Content, "no such file") {
		t.Errorf("another thread's server reads it: %+v", out)
	}
	if !status(t, s, "box").Sandboxed {
		t.Error("the status does not say that it is confined")
	}
	no := false
	cfg.Network = &no
	srv := newServer(t.Context(), cfg, deps.withDefaults())
	spec, err := srv.spawn(env.Workspace.Path())
	if err != nil || slices.Contains(spec.Args, "--share-net") {
		t.Errorf("network = false does not override the global one: %q, %v", spec.Args, err)
	}
	cfg.Network = nil
	spec, err = newServer(t.Context(), cfg, deps.withDefaults()).spawn(env.Workspace.Path())
	if err != nil || !slices.Contains(spec.Args, "--share-net") {
		t.Errorf("the global network does not hold: %q, %v", spec.Args, err)
	}
}

func TestRelativeCommandIsNotTheWorkspaces(t *testing.T) {
	t.Parallel()
	env := thread(t)
	s := newServer(t.Context(), Config{Name: "a", Command: "./server"}, testDeps(t).withDefaults())
	spec, err := s.spawn(env.Workspace.Path())
	if err != nil || !filepath.IsAbs(spec.Path) || strings.HasPrefix(spec.Path, env.Workspace.Path()) {
		t.Errorf("./server is %q, %v", spec.Path, err)
	}
}

// The whole group ends with its server: a server that ignores everything, and a grandchild that holds its output.
func TestNothingOutlivesClose(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	idents := map[string]child.Ident{}
	done := map[string]int{}
	deps := testDeps(t)
	deps.Children = func(owner string, id child.Ident) func() {
		mu.Lock()
		defer mu.Unlock()
		idents[owner] = id
		return func() { mu.Lock(); done[owner]++; mu.Unlock() }
	}
	s := start(t, deps, fakeServer(t, "stubborn", "stubborn"), fakeServer(t, "nest", "grandchild"))
	env := thread(t)
	for _, name := range []string{"stubborn__echo", "nest__echo"} {
		if out := call(t, find(t, s, name), env, `{"text":"hi"}`); out.Content != "hi" {
			t.Fatalf("%s = %+v", name, out)
		}
	}
	b, err := os.ReadFile(filepath.Join(env.Workspace.Path(), "grandchild.pid"))
	if err != nil {
		t.Fatal(err)
	}
	grandchild, _ := strconv.Atoi(string(b))
	if st := status(t, s, "nest"); st.MemoryKB <= 0 || len(st.Processes) != 1 {
		t.Errorf("status %+v", st)
	}
	before := time.Now()
	s.Close()
	if took := time.Since(before); took > 20*time.Second {
		t.Errorf("Close took %s", took)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, owner := range []string{"mcp:stubborn:T1", "mcp:nest:T1", "mcp:nest:"} {
		id, ok := idents[owner]
		if !ok || done[owner] != 1 {
			t.Errorf("%s was announced %v and ended %d times", owner, ok, done[owner])
		}
		if left := living(t, id.PGID); len(left) > 0 {
			t.Errorf("of the group of %s there are still %q", owner, left)
		}
	}
	if stat, err := os.ReadFile("/proc/" + strconv.Itoa(grandchild) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the grandchild lives on: %s", stat)
	}
}

// living lists the processes of a group that still run. Whoever adopted a dead one may take its time to bury it.
func living(t testing.TB, pgid int) (left []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		f := strings.Fields(rest)
		if len(f) > 2 && f[2] == strconv.Itoa(pgid) && f[0] != "Z" && f[0] != "X" {
			left = append(left, string(b))
		}
	}
	return left
}

func TestIdleProcessesAreEnded(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	deps.Idle = 40 * time.Millisecond
	s := start(t, deps, fakeServer(t, "i", "good"))
	env := thread(t)
	call(t, find(t, s, "i__echo"), env, `{"text":"hi"}`)
	s.list[0].mu.Lock()
	p := s.list[0].procs[env.Workspace.Path()]
	s.list[0].mu.Unlock()
	if p != nil {
		select {
		case <-p.gone:
		case <-time.After(time.Minute):
			t.Fatal("an idle process is not put to bed")
		}
	}
	if out := call(t, find(t, s, "i__echo"), env, `{"text":"again"}`); out.Content != "again" {
		t.Errorf("after it slept: %+v", out)
	}
	if st := status(t, s, "i"); st.State != Ready || st.LastError != "" {
		t.Errorf("a sleep counts as a death: %+v", st)
	}
}
