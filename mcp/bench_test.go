package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/tools"
)

// BenchmarkCall measures a whole call of ours against the floor: the same lines written to and read from the same
// server with nothing in between.
func BenchmarkCall(b *testing.B) {
	cfg := fakeServer(b, "x", "good")
	deps := testDeps(b)
	deps.Log = nil
	s, err := Start(b.Context(), []Config{cfg}, deps)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	echo, env, args := find(b, s, "x__echo"), thread(b), json.RawMessage(`{"text":"hello"}`)
	call(b, echo, env, string(args)) // starts the process

	b.Run("ours", func(b *testing.B) {
		for b.Loop() {
			if out, err := echo.Call(b.Context(), args, env); err != nil || out.IsError {
				b.Fatal(out, err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		c, err := child.StartPiped(b.Context(), child.Spec{Path: cfg.Command, Env: child.Env(nil, nil, cfg.Env), Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		in := bufio.NewReader(c.Stdout)
		n := 0
		for b.Loop() {
			n++
			fmt.Fprintf(c.Stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`+"\n", n)
			if _, err := in.ReadBytes('\n'); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A call costs under a millisecond over the bare exchange of lines, the fastest tenth of each compared: the rest measures
// who else is on the machine.
func TestCallCostsUnderAMillisecond(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector is what would be measured")
	}
	cfg := fakeServer(t, "x", "good")
	deps := testDeps(t)
	deps.Log = nil
	s := start(t, deps, cfg)
	echo, env, args := find(t, s, "x__echo"), thread(t), json.RawMessage(`{"text":"hello"}`)
	call(t, echo, env, string(args))
	c, err := child.StartPiped(t.Context(), child.Spec{Path: cfg.Command, Env: child.Env(nil, nil, cfg.Env), Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	in := bufio.NewReader(c.Stdout)
	var ours, floor []time.Duration
	for n := range 500 {
		begin := time.Now()
		if out, err := echo.Call(t.Context(), args, env); err != nil || out.IsError {
			t.Fatal(out, err)
		}
		ours = append(ours, time.Since(begin))
		begin = time.Now()
		fmt.Fprintf(c.Stdin, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}`+"\n", n)
		if _, err := in.ReadBytes('\n'); err != nil {
			t.Fatal(err)
		}
		floor = append(floor, time.Since(begin))
	}
	slices.Sort(ours)
	slices.Sort(floor)
	over := ours[50] - floor[50]
	t.Logf("ours %s, bare %s, over it %s", ours[50], floor[50], over)
	if over > time.Millisecond {
		t.Errorf("a call costs %s over the bare exchange", over)
	}
}

// Threads by the hundred, with two servers each, start and stop without leaving a process, a pipe or a goroutine.
func TestManyThreadsLeaveNothing(t *testing.T) {
	threads := 200
	if testing.Short() {
		threads = 12
	}
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	fdsBefore := openFiles(t)
	var mu sync.Mutex
	running := map[child.Ident]bool{}
	deps := testDeps(t)
	deps.HandshakeTimeout, deps.CallTimeout = 2*time.Minute, 2*time.Minute
	deps.Children = func(_ string, id child.Ident) func() {
		mu.Lock()
		defer mu.Unlock()
		running[id] = true
		return func() { mu.Lock(); delete(running, id); mu.Unlock() }
	}
	s, err := Start(t.Context(), []Config{fakeServer(t, "a", "good"), fakeServer(t, "b", "good")}, deps)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cwds := []tools.Tool{find(t, s, "a__cwd"), find(t, s, "b__cwd")}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	limit := make(chan struct{}, 4*runtime.NumCPU())
	var wg sync.WaitGroup
	for i := range threads {
		wg.Go(func() {
			limit <- struct{}{}
			defer func() { <-limit }()
			dir := filepath.Join(root, fmt.Sprint(i))
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Error(err)
				return
			}
			j, err := jail.Open(dir)
			if err != nil {
				t.Error(err)
				return
			}
			defer j.Close()
			env := &tools.Env{Workspace: j, Thread: fmt.Sprint("T", i), Progress: func(string) {}}
			for _, cwd := range cwds {
				out, err := cwd.Call(t.Context(), json.RawMessage(`{}`), env)
				if err != nil || out.Content != dir {
					t.Errorf("thread %d: %+v, %v", i, out, err)
				}
			}
			if i%2 == 0 {
				s.Sleep(dir)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	n := len(running)
	mu.Unlock()
	if n != threads {
		t.Errorf("%d processes run; %d were to be left awake", n, threads)
	}
	s.Close()
	mu.Lock()
	defer mu.Unlock()
	if len(running) != 0 {
		t.Errorf("%d processes are left", len(running))
	}
	if after := openFiles(t); after > fdsBefore {
		t.Errorf("%d files were open before, %d after", fdsBefore, after)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
