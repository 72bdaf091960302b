package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func unconfined(t testing.TB) sandbox.Backend {
	t.Helper()
	b, _, err := sandbox.Select(t.Context(), sandbox.Config{Kind: sandbox.None}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// confined is a proven sandbox, or the end of the test.
func confined(t testing.TB, hidden ...string) sandbox.Backend {
	t.Helper()
	b, why, err := sandbox.Select(t.Context(), sandbox.Config{}, hidden)
	if err != nil {
		t.Fatal(err)
	}
	if b == nil {
		if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "sandbox") {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	return b
}

func TestShell(t *testing.T) {
	env := spillEnv(t)
	put(t, env, "sub/f", "x")
	s := &shell{backend: unconfined(t), most: 100}
	tests := []struct {
		args    string
		want    string
		isError bool
	}{
		{`{"command":"echo hi"}`, "hi\n", false},
		{`{"command":"true"}`, "(no output)", false},
		{`{"command":"echo out; echo err >&2"}`, "out\n[stderr]\nerr\n", false},
		{`{"command":"echo err >&2; exit 3"}`, "exit status 3\n[stderr]\nerr\n", true},
		{`{"command":"kill -9 $$"}`, "ended by signal 9 (killed)\n(no output)", true},
		{`{"command":"cat; echo done"}`, "done\n", false}, // no input to wait for
		{`{"command":"pwd | sed 's|.*/||'; cat f","cwd":"sub"}`, "sub\nx", false},
		{`{"command":"pwd","cwd":"sub/f"}`, "nothing was executed: cwd sub/f is a file, not a directory", true},
		{`{"command":"pwd","cwd":".."}`, "nothing was executed: cannot use \"..\": it leads out of the workspace, which is all that can be reached (the workspace is " + env.Workspace.Path() + ")", true},
		{`{"command":"pwd","cwd":"nope"}`, "nothing was executed: cannot look at \"nope\": no such file or directory", true},
		{`{"command":"head -c 5000 /dev/zero | tr '\\0' x"}`, strings.Repeat("x", 100) + "\n[only the first 100 of 5000 bytes of this stream were kept]", false},
		{`{"command":"printf 'caf\\351'"}`, "caf\uFFFD", false},
		{`{"command":"echo a\u0000b"}`, "a command cannot hold a NUL byte", true},
		{`{"command":""}`, "invalid arguments for shell: `command` must have at least 1 character, got 0", true},
	}
	for _, tt := range tests {
		out := call(t, s, env, tt.args)
		if out.Content != tt.want || out.IsError != tt.isError || out.External {
			t.Errorf("%s: %v %q\nwant %q", tt.args, out.IsError, out.Content, tt.want)
		}
	}
}

func TestShellEnvironmentIsAnAllowlist(t *testing.T) {
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-secret")
	env := spillEnv(t)
	out := call(t, &shell{backend: unconfined(t)}, env, `{"command":"env"}`)
	if strings.Contains(out.Content, "xoxb") || !strings.Contains(out.Content, "MECHA_CHILD=1") || !strings.Contains(out.Content, "MECHA_WORKSPACE="+env.Workspace.Path()) {
		t.Error(out.Content)
	}
}

func TestShellScope(t *testing.T) {
	s := &shell{}
	a, b := s.Scope(json.RawMessage(`{"command":"ls"}`)), s.Scope(json.RawMessage(`{"command":"ls; curl x"}`))
	if a != "ls" || a == b || a == s.Scope(json.RawMessage(`{"command":"ls","cwd":"sub"}`)) {
		t.Errorf("%q %q", a, b)
	}
}

// A command that does not end is ended with everything that it started.
func TestShellTimeoutAndCancel(t *testing.T) {
	const command = `{"command":"echo begun; sleep 300 & echo $! > kid; sleep 300"}`
	for _, how := range []string{"timeout", "cancel"} {
		t.Run(how, func(t *testing.T) {
			env := spillEnv(t)
			s := &shell{backend: unconfined(t)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var id child.Ident
			s.children = func(_ context.Context, _ *Env, got child.Ident) (func(), error) {
				id = got
				return func() {}, nil
			}
			if how == "timeout" {
				s.timeout = 300 * time.Millisecond
			} else {
				s.children = func(_ context.Context, _ *Env, got child.Ident) (func(), error) {
					id = got
					go func() { // ends when the file is there or the test is over
						for ctx.Err() == nil {
							if b, _ := os.ReadFile(filepath.Join(env.Workspace.Path(), "kid")); len(b) > 0 {
								cancel()
							}
						}
					}()
					return func() {}, nil
				}
			}
			out, err := s.Call(ctx, json.RawMessage(command), env)
			if err != nil || !out.IsError || !out.Unknown {
				t.Fatalf("%v %+v", err, out)
			}
			if want := map[string]string{"timeout": "timed out: no end within 300ms", "cancel": "interrupted"}[how]; !strings.HasPrefix(out.Content, want) || how == "timeout" && !strings.Contains(out.Content, "begun") {
				t.Errorf("%q", out.Content)
			}
			kid, _ := strconv.Atoi(strings.TrimSpace(get(t, env, "kid")))
			for _, pid := range []int{kid, id.PGID} {
				if pid <= 1 || !ends(t, pid) {
					t.Errorf("process %d is still there", pid)
				}
			}
		})
	}
}

// ends waits for a process that was killed already: its end takes the kernel a
// moment.
func ends(t *testing.T, pid int) bool {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000)
	return err == nil && n == 1
}

func TestShellTellsOfItsChildren(t *testing.T) {
	env := spillEnv(t)
	var mu sync.Mutex
	var told []string
	s := &shell{backend: unconfined(t), children: func(_ context.Context, e *Env, id child.Ident) (func(), error) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, "began "+e.Call)
		if id.PGID <= 1 || id.BootID == "" || id.Started == 0 {
			t.Errorf("%+v", id)
		}
		return func() { mu.Lock(); defer mu.Unlock(); told = append(told, "ended") }, nil
	}}
	if out := call(t, s, env, `{"command":"true"}`); out.IsError || strings.Join(told, ",") != "began c1,ended" {
		t.Errorf("%v %+v", told, out)
	}
	s.children = func(context.Context, *Env, child.Ident) (func(), error) { return nil, errors.New("the record is full") }
	if out := call(t, s, env, `{"command":"sleep 300"}`); !out.IsError || !out.Unknown || !strings.Contains(out.Content, "the record is full") {
		t.Errorf("%+v", out)
	}
}

func TestShellCapabilities(t *testing.T) {
	if c := (&shell{backend: unconfined(t)}).Capabilities(); c != (Capabilities{PrivateData: true, Destructive: true, Egress: Chosen}) {
		t.Errorf("unconfined: %+v", c)
	}
	if c := (&shell{backend: confined(t)}).Capabilities(); c != (Capabilities{PrivateData: true, Destructive: true}) {
		t.Errorf("confined: %+v", c)
	}
}

func TestShellConfined(t *testing.T) {
	env := spillEnv(t)
	root := filepath.Dir(env.Workspace.Path())
	if err := os.WriteFile(filepath.Join(root, "secret"), []byte("outside"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := (Spill{env.Spill}).Put("shell", "c0", Ours, "spilled"); err != nil {
		t.Fatal(err)
	}
	s := &shell{backend: confined(t, root)}
	out := call(t, s, env, argsOf("command", fmt.Sprintf("cat %s/secret; cat %s/shell-c0.txt; echo; echo x > %s/shell-c0.txt; echo y > made; (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1 | grep -c unreach; true", root, env.Spill.Path(), env.Spill.Path())))
	if strings.Contains(out.Content, "outside") || !strings.Contains(out.Content, "spilled") || get(t, env, "made") != "y\n" {
		t.Errorf("%q", out.Content)
	}
	if b, _ := os.ReadFile(filepath.Join(env.Spill.Path(), "shell-c0.txt")); string(b) != "spilled" {
		t.Errorf("the spill directory was written: %q", b)
	}
}

// noSandbox is a backend that fails when it is used.
type noSandbox struct{ sandbox.Backend }

func (noSandbox) Command(sandbox.Cmd) (child.Spec, error) {
	return child.Spec{}, errors.New("no such backend")
}
func (noSandbox) Name() string     { return sandbox.Bwrap }
func (noSandbox) NetworkOff() bool { return true }

func TestShellNeverRunsUnconfinedInstead(t *testing.T) {
	env := spillEnv(t)
	out := call(t, &shell{backend: noSandbox{}}, env, `{"command":"touch ran"}`)
	if !out.IsError || !strings.HasPrefix(out.Content, "nothing was executed") {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(filepath.Join(env.Workspace.Path(), "ran")); err == nil {
		t.Error("it ran")
	}
}
