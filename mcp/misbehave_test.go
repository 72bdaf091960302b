package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Each row of issue 4, point 5: the server's other tools, other servers and later calls go on.
func TestMisbehavingServers(t *testing.T) {
	t.Parallel()
	type check func(t *testing.T, s *Servers, env *tools.Env)
	echoes := func(t *testing.T, s *Servers, env *tools.Env) {
		if out := call(t, find(t, s, "bad__echo"), env, `{"text":"hi"}`); out.Content != "hi" || out.IsError {
			t.Errorf("echo = %+v", out)
		}
	}
	warns := func(text string) check {
		return func(t *testing.T, s *Servers, env *tools.Env) {
			echoes(t, s, env)
			st := status(t, s, "bad")
			n := 0
			for _, w := range st.Warnings {
				if strings.Contains(w, text) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%q is named %d times in %q", text, n, st.Warnings)
			}
		}
	}
	fails := func(text string) check {
		return func(t *testing.T, s *Servers, env *tools.Env) {
			st := status(t, s, "bad")
			if st.State != Failed || !strings.Contains(st.LastError, text) {
				t.Errorf("state %s, last error %q; want failed with %q", st.State, st.LastError, text)
			}
			if len(st.Tools) != 0 {
				t.Errorf("a server that failed offers %v", st.Tools)
			}
		}
	}
	unknown := func(tool, text string) check {
		return func(t *testing.T, s *Servers, env *tools.Env) {
			out := call(t, find(t, s, "bad__"+tool), env, `{}`)
			if !out.IsError || !out.Unknown || out.External || !strings.HasPrefix(out.Content, "MCP call failed: ") || !strings.Contains(out.Content, text) {
				t.Errorf("%s = %+v, want an unknown outcome with %q", tool, out, text)
			}
			echoes(t, s, env)
		}
	}
	for _, tt := range []struct {
		mode  string
		check check
		wait  bool // for a call that never ends
	}{
		{mode: "banner", check: warns(strayText)},
		{mode: "crlf", check: echoes},
		{mode: "pretty", check: fails(prettyJSON)},
		{mode: "stringid", check: echoes},
		{mode: "silent", check: fails("did not answer initialize within")},
		{mode: "hang", check: unknown("hang", "no answer within")},
		{mode: "good", check: unknown("hang", "no answer within"), wait: true},
		{mode: "good", check: unknown("big", "longer than 16 MiB")},
		{mode: "good", check: unknown("die", "exit")},
		{mode: "die-talk", check: func(t *testing.T, s *Servers, env *tools.Env) {
			out := call(t, find(t, s, "bad__die"), env, `{}`)
			if !out.Unknown || !strings.Contains(out.Content, "mallory@example.net") || !out.External {
				t.Errorf("what a server writes at its end is its own text, and counts as that: %+v", out)
			}
		}},
		{mode: "endless", check: fails("floods its standard output")},
		{mode: "die-start", check: fails("code 3; its last words: cannot find the database")},
		{mode: "stubborn", check: echoes},
		{mode: "grandchild", check: echoes},
		{mode: "badutf8", check: func(t *testing.T, s *Servers, env *tools.Env) {
			if out := call(t, find(t, s, "bad__echo"), env, `{}`); out.Content != "a\uFFFDb" {
				t.Errorf("echo = %q", out.Content)
			}
		}},
		{mode: "dupids", check: warns(strayAnswer)},
		{mode: "notes", check: echoes},
		{mode: "elicit", check: func(t *testing.T, s *Servers, env *tools.Env) {
			out := call(t, find(t, s, "bad__echo"), env, `{}`)
			if out.IsError || strings.Count(out.Content, "-32601") != 3 {
				t.Errorf("without anybody to ask: %+v", out)
			}
		}},
		{mode: "endless-list", check: func(t *testing.T, s *Servers, env *tools.Env) {
			if n := len(status(t, s, "bad").Tools); n != maxPages {
				t.Errorf("%d tools of an endless list", n)
			}
		}},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			deps := testDeps(t)
			if tt.mode == "silent" || tt.mode == "pretty" {
				deps.HandshakeTimeout = 6 * time.Second // which the well-behaved server has to keep, too
			}
			if tt.mode == "hang" || tt.wait {
				deps.CallTimeout = 6 * time.Second
			}
			s := start(t, deps, fakeServer(t, "bad", tt.mode), fakeServer(t, "well", "good"))
			env := thread(t)
			tt.check(t, s, env)
			if out := call(t, find(t, s, "well__echo"), env, `{"text":"still here"}`); out.Content != "still here" {
				t.Errorf("another server's tool = %+v", out)
			}
		})
	}
}

func TestRepeatedDeathsAreQuarantined(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	var mu sync.Mutex
	now := time.Now()
	deps.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	s := start(t, deps, fakeServer(t, "d", "good"))
	die, env := find(t, s, "d__die"), thread(t)
	for i := range len(pauses) + 1 {
		out := call(t, die, env, `{}`)
		if !out.Unknown {
			t.Errorf("death %d: %+v", i+1, out)
		}
		waitGone(t, s.list[0], env.Workspace.Path())
		if i > 0 && i < len(pauses) {
			out = call(t, die, env, `{}`)
			if !strings.Contains(out.Content, "tried again in") || out.Unknown {
				t.Errorf("during the pause after death %d: %+v", i+1, out)
			}
		}
		mu.Lock()
		now = now.Add(31 * time.Second / time.Duration(max(1, len(pauses)-i))) // under a minute in all between deaths
		if i >= 1 {
			now = now.Add(pauses[min(i, len(pauses)-1)])
		}
		mu.Unlock()
	}
	if st := status(t, s, "d"); st.State != Quarantined {
		t.Errorf("state %s after %d deaths", st.State, len(pauses)+1)
	}
	if out := call(t, die, env, `{}`); !strings.Contains(out.Content, "quarantined") || out.Unknown {
		t.Errorf("a quarantined server: %+v", out)
	}
	if n := len(s.Tools(t.Context())); n != 0 {
		t.Errorf("a quarantined server offers %d tools", n)
	}
}

func waitGone(t *testing.T, s *server, workspace string) {
	t.Helper()
	s.mu.Lock()
	p := s.procs[workspace]
	s.mu.Unlock()
	if p == nil {
		return
	}
	select {
	case <-p.gone:
	case <-time.After(time.Minute):
		t.Fatal("a dead process is still listed")
	}
}

// A server that lets a call time out and answers no ping is ended, so that it costs one call and not every one.
func TestHangingServerIsReplaced(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	deps.CallTimeout = 3 * time.Second
	s := start(t, deps, fakeServer(t, "dead", "hang"), fakeServer(t, "slow", "good"))
	env := thread(t)
	for _, name := range []string{"dead", "slow"} {
		if out := call(t, find(t, s, name+"__hang"), env, `{}`); !out.Unknown {
			t.Errorf("%s: %+v", name, out)
		}
	}
	if p := s.list[0].processOf(env.Workspace.Path()); p != nil {
		select {
		case <-p.gone:
		case <-time.After(time.Minute):
			t.Fatal("a server that hangs is kept")
		}
	}
	if st := status(t, s, "dead"); !strings.Contains(st.LastError, "it hangs") {
		t.Errorf("last error %q", st.LastError)
	}
	for _, name := range []string{"dead", "slow"} {
		if out := call(t, find(t, s, name+"__echo"), env, `{"text":"hi"}`); out.Content != "hi" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	// One that answers a ping is merely slow, and is kept.
	if st := status(t, s, "slow"); st.LastError != "" || len(st.Processes) != 1 {
		t.Errorf("a slow server: %+v", st)
	}
}

// A schema that points at itself takes a process down whose validator follows it: such a question is declined unread.
func TestElicitation(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	var mu sync.Mutex
	var asked []string
	deps.Elicit = func(_ context.Context, q Question) (string, map[string]any, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, q.Server+" "+q.Thread+" "+q.Message+" "+string(q.Schema))
		return "accept", map[string]any{"name": "Ann"}, nil
	}
	s := start(t, deps, fakeServer(t, "e", "elicit"))
	out := call(t, find(t, s, "e__echo"), thread(t), `{}`)
	mu.Lock()
	defer mu.Unlock()
	if len(asked) != 1 || !strings.HasPrefix(asked[0], "e T1 Your name? ") {
		t.Errorf("asked: %q", asked)
	}
	if strings.Count(out.Content, `"action":"decline"`) != 2 || !strings.Contains(out.Content, `"action":"accept"`) ||
		!strings.Contains(out.Content, `"name":"Ann"`) || !strings.Contains(out.Content, `"not":true`) {
		t.Errorf("the server was answered %s", out.Content)
	}
}

// Where no person of exactly one conversation waits for the call, a question is declined and nobody is asked.
func TestElicitationIsDeclinedWhereNobodyIs(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	deps.Elicit = func(_ context.Context, q Question) (string, map[string]any, error) {
		t.Errorf("asked %+v", q)
		return "accept", nil, nil
	}
	s := start(t, deps, fakeServer(t, "e", "elicit"))
	env := thread(t)
	env.Unattended = true
	out := call(t, find(t, s, "e__echo"), env, `{}`)
	if strings.Count(out.Content, `"action":"decline"`) != 3 {
		t.Errorf("the server was answered %s", out.Content)
	}
}

// A question ends with the call in whose course it was asked.
func TestElicitationEndsWithItsCall(t *testing.T) {
	t.Parallel()
	deps := testDeps(t)
	asked, over := make(chan struct{}), make(chan struct{})
	deps.Elicit = func(ctx context.Context, q Question) (string, map[string]any, error) {
		close(asked)
		<-ctx.Done()
		close(over)
		return "", nil, ctx.Err()
	}
	s := start(t, deps, fakeServer(t, "e", "elicit"))
	tool, env := find(t, s, "e__echo"), thread(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if out, err := tool.Call(ctx, []byte(`{}`), env); err != nil || !out.IsError || !out.Unknown {
		t.Errorf("%+v, %v", out, err)
	}
	select {
	case <-over:
	case <-time.After(30 * time.Second):
		t.Error("the question outlives its call")
	}
}

// The server sees what was approved, byte for byte, and once, whatever becomes of the answer.
func TestCallIsSentOnceAndExactly(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "calls")
	cfg := fakeServer(t, "x", "good")
	cfg.Env["MCP_TEST_CALLS"] = log
	deps := testDeps(t)
	deps.CallTimeout = 4 * time.Second
	s := start(t, deps, cfg)
	env := thread(t)
	const args = `{"text":"<a href=x>&\u2028","n":12345678901234567890,"f":1.10,"z":1,"a":"ü"}`
	for _, name := range []string{"die", "hang", "fail", "echo"} {
		call(t, find(t, s, "x__"+name), env, args)
	}
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 4 {
		t.Errorf("four calls were sent %d times:\n%s", len(lines), b)
	}
	for _, line := range lines {
		if !strings.Contains(line, `"arguments":`+args) {
			t.Errorf("the arguments were sent as %s", line)
		}
	}
}

func TestCancellation(t *testing.T) {
	t.Parallel()
	s := start(t, testDeps(t), fakeServer(t, "x", "good"))
	env := thread(t)
	hang, echo := find(t, s, "x__hang"), find(t, s, "x__echo")
	call(t, echo, env, `{}`) // it runs
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	out, err := hang.Call(ctx, json.RawMessage(`{}`), env)
	if err != nil || !out.IsError || !out.Unknown {
		t.Errorf("a cancelled call = %+v, %v", out, err)
	}
	deadline := time.After(time.Minute)
	for {
		if _, err := os.Stat(filepath.Join(env.Workspace.Path(), "cancelled")); err == nil {
			break
		}
		if out := call(t, echo, env, `{"text":"still here"}`); out.Content != "still here" {
			t.Fatalf("after a cancelled call: %+v", out)
		}
		select {
		case <-deadline:
			t.Fatal("the server is not told")
		default:
		}
	}
	if n := len(status(t, s, "x").Processes); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// A server that dies while nobody calls it costs nobody a call.
func TestServerThatDiedMeanwhile(t *testing.T) {
	t.Parallel()
	s := start(t, testDeps(t), fakeServer(t, "x", "good"))
	env := thread(t)
	echo := find(t, s, "x__echo")
	for range 3 {
		if out := call(t, echo, env, `{"text":"hi"}`); out.Content != "hi" {
			t.Fatalf("echo = %+v", out)
		}
		p := s.list[0].processOf(env.Workspace.Path())
		if p == nil {
			t.Fatal("no process after a call")
		}
		s.list[0].mu.Lock()
		s.list[0].deaths = 0 // not what is tested here
		s.list[0].notBefore = time.Time{}
		s.list[0].mu.Unlock()
		p.child.Signal(syscall.SIGKILL)
		<-p.child.Done()
	}
}

func (s *server) processOf(workspace string) *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.procs[workspace]
}
