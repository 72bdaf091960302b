package child

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; a failure, never a measure.
const patience = 20 * time.Second

func sh(script string) Spec {
	return Spec{Path: "sh", Args: []string{"-c", script}, Env: Env(nil, nil, nil), Grace: 100 * time.Millisecond}
}

// timed fails the test if f takes longer than limit. It is how a hang shows.
func timed(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d > limit {
		t.Errorf("took %v, want less than %v", d, limit)
	}
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, script, stdin string
		stdout, stderr      string
		code                int
		signal              syscall.Signal
		cutOut, cutErr      bool
		outTotal, errTotal  int64
		max                 int64
	}{
		{name: "both streams", script: `echo out; echo err >&2`, stdout: "out\n", stderr: "err\n", outTotal: 4, errTotal: 4},
		{name: "exit code is a result", script: `exit 3`, code: 3},
		{name: "signal is a result", script: `kill -TERM $$`, code: -1, signal: syscall.SIGTERM},
		{name: "stdin", script: `cat`, stdin: "hello", stdout: "hello", outTotal: 5},
		{name: "no stdin is an empty one", script: `cat; echo end`, stdout: "end\n", outTotal: 4},
		{name: "input that is not read", script: `exit 0`, stdin: strings.Repeat("x", 1<<20)},
		{name: "cut, and drained", script: `head -c 300000 /dev/zero | tr '\0' a; head -c 5 /dev/zero | tr '\0' b >&2`, max: 3, stdout: "aaa", stderr: "bbb", cutOut: true, cutErr: true, outTotal: 300000, errTotal: 5},
		{name: "exactly full is not cut", script: `printf abc`, max: 3, stdout: "abc", outTotal: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := sh(tt.script)
			s.MaxOutput = tt.max
			if tt.stdin != "" {
				s.Stdin = strings.NewReader(tt.stdin)
			}
			res, err := Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if string(res.Stdout) != tt.stdout || string(res.Stderr) != tt.stderr {
				t.Errorf("got %q and %q, want %q and %q", res.Stdout, res.Stderr, tt.stdout, tt.stderr)
			}
			if res.ExitCode != tt.code || res.Signal != tt.signal {
				t.Errorf("exit %d signal %v, want %d %v", res.ExitCode, res.Signal, tt.code, tt.signal)
			}
			if res.StdoutTruncated != tt.cutOut || res.StderrTruncated != tt.cutErr || res.StdoutTotal != tt.outTotal || res.StderrTotal != tt.errTotal {
				t.Errorf("truncated %v %v of %d %d", res.StdoutTruncated, res.StderrTruncated, res.StdoutTotal, res.StderrTotal)
			}
		})
	}
}

// Pitfall 1: exec.CommandContext kills the child only, and its own child keeps the pipe.
func TestDeadlineEndsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("too slow"))
	defer cancel()
	timed(t, patience, func() {
		res, err := Run(ctx, sh(`echo before; sleep 1000 & wait`))
		if err == nil || !strings.Contains(err.Error(), "too slow") {
			t.Errorf("got %v, want the context's cause", err)
		}
		if string(res.Stdout) != "before\n" {
			t.Errorf("what came before the deadline is lost: %q", res.Stdout)
		}
	})
}

// Pitfall 2: Run also waits for whoever holds the pipe after a success.
func TestBackgroundChildDoesNotHangASuccess(t *testing.T) {
	timed(t, patience, func() {
		res, err := Run(t.Context(), sh(`sleep 1000 & echo $!`))
		if err != nil || res.ExitCode != 0 {
			t.Fatalf("exit %d, %v", res.ExitCode, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(res.Stdout)))
		if err != nil {
			t.Fatal(err)
		}
		if st, ok := statOf(pid); ok && st.state != 'Z' && strings.Contains(cmdline(pid), "sleep") {
			t.Errorf("the background child %d is still running", pid)
		}
	})
}

// A process that left the group cannot be reached, but must not hang its owner either.
func TestEscapedChildDoesNotHangASuccess(t *testing.T) {
	timed(t, pipeDelay+patience, func() {
		res, err := Run(t.Context(), sh(`setsid sleep 1000 & while ! [ -d /proc/$! ]; do :; done; until [ "$(cut -d' ' -f6 /proc/$!/stat)" = $! ]; do :; done; echo $!`))
		if err != nil || !res.LeftRunning {
			t.Errorf("left running %v, %v; want true", res.LeftRunning, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(res.Stdout)))
		if err != nil {
			t.Fatalf("%q: %v", res.Stdout, err)
		}
		if strings.Contains(cmdline(pid), "sleep") {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	})
}

func cmdline(pid int) string {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return string(b)
}

// Pitfall 3: no Wait means a zombie, and Wait before the reader is done loses output.
func TestReapedWithoutWait(t *testing.T) {
	p, err := Start(t.Context(), sh(`exit 0`))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if st, ok := statOf(p.PID()); ok && st.started == p.Ident().Started {
		t.Errorf("the child is still there, in state %c", st.state)
	}
}

func TestPipedOutputIsWholeAfterWait(t *testing.T) {
	p, err := StartPiped(t.Context(), sh(`head -c 50000 /dev/zero | tr '\0' x`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if e, err := p.Wait(); err != nil || e.Code != 0 { // 50,000 bytes fit into the pipe: the child ends before we read
		t.Fatal(e, err)
	}
	b, err := io.ReadAll(p.Stdout)
	if err != nil || len(b) != 50000 {
		t.Errorf("read %d bytes, %v; want 50000", len(b), err)
	}
}

// Pitfall 4: Pdeathsig belongs to a thread. The child must survive the end of the goroutine and thread that asked.
func TestChildOutlivesTheThreadThatAsked(t *testing.T) {
	started := make(chan *Piped)
	go func() {
		// Locked and never unlocked: the thread ends with this goroutine.
		lockForever()
		p, err := StartPiped(t.Context(), sh(`read x; echo got $x`))
		if err != nil {
			t.Error(err)
		}
		started <- p
	}()
	p := <-started
	if p == nil {
		t.FailNow()
	}
	defer p.Close()
	if _, err := io.WriteString(p.Stdin, "it\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(p.Stdout).ReadString('\n')
	if err != nil || line != "got it\n" {
		e, _ := p.Wait()
		t.Errorf("got %q, %v; the child ended with %+v", line, err, e)
	}
}

// Pitfall 5: a handshake's context is not the child's life.
func TestOneContextIsTheWholeLife(t *testing.T) {
	life, end := context.WithCancel(t.Context())
	p, err := StartPiped(life, sh(`while read x; do echo $x; done`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	handshake, done := context.WithCancel(life)
	done()
	<-handshake.Done()
	if _, err := io.WriteString(p.Stdin, "still\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "still\n" {
		t.Fatal(line, err)
	}
	end()
	e, err := p.Wait()
	if err != nil || e.Signal != syscall.SIGTERM {
		t.Errorf("ended with %+v, %v; want SIGTERM", e, err)
	}
}

func TestDeafGroupIsKilledAfterTheGrace(t *testing.T) {
	p, err := StartPiped(t.Context(), sh(`trap '' TERM; echo deaf; while :; do sleep 1000; done`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); line != "deaf\n" {
		t.Fatal(line, err)
	}
	timed(t, patience, func() {
		p.Stop()
		p.Stop()
		if e, err := p.Wait(); err != nil || e.Signal != syscall.SIGKILL {
			t.Errorf("ended with %+v, %v; want SIGKILL", e, err)
		}
	})
}

func TestGraceIsTimeToCleanUp(t *testing.T) {
	s := sh(`trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.01; done`)
	s.Grace = patience
	p, err := StartPiped(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	r := bufio.NewReader(p.Stdout)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		t.Fatal(line, err)
	}
	p.Stop()
	if line, err := r.ReadString('\n'); line != "bye\n" {
		t.Errorf("got %q, %v; want its last word", line, err)
	}
	if e, _ := p.Wait(); e.Code != 0 || e.Signal != 0 {
		t.Errorf("ended with %+v, want its own exit", e)
	}
}

func TestCloseLetsAChildLeaveByItself(t *testing.T) {
	s := sh(`while read x; do :; done; exit 5`)
	s.Grace = patience
	p, err := StartPiped(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if e, _ := p.Wait(); e.Code != 5 {
		t.Errorf("ended with %+v, want exit 5", e)
	}
	if err := p.Close(); err != nil {
		t.Errorf("a second Close: %v", err)
	}
}

func TestManyAtOnceLeaveNoZombie(t *testing.T) {
	const n = 40
	procs := make([]*Proc, n)
	for i := range procs {
		p, err := Start(t.Context(), sh(`exit `+strconv.Itoa(i)))
		if err != nil {
			t.Fatal(err)
		}
		procs[i] = p
	}
	for i, p := range procs {
		if e, err := p.Wait(); err != nil || e.Code != i {
			t.Errorf("child %d ended with %+v, %v", i, e, err)
		}
		if st, ok := statOf(p.PID()); ok && st.started == p.Ident().Started {
			t.Errorf("child %d is still there, in state %c", i, st.state)
		}
	}
}

func TestStartErrors(t *testing.T) {
	done, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("shutting down"))
	notExec := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(notExec, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		ctx  context.Context
		spec Spec
		want string
	}{
		{"no name", t.Context(), Spec{}, "no program"},
		{"not in PATH", t.Context(), Spec{Path: "no-such-program-here", Env: Env(nil, nil, nil)}, "no such program in PATH="},
		{"not there", t.Context(), Spec{Path: "/no/such"}, "/no/such"},
		{"not executable", t.Context(), Spec{Path: notExec}, "permission denied"},
		{"no directory", t.Context(), Spec{Path: "/bin/sh", Dir: "/no/such/dir"}, "no such file"},
		{"context over", done, sh("true"), "shutting down"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Start(tt.ctx, tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := StartPiped(t.Context(), Spec{Path: "/no/such"}); err == nil {
		t.Error("a piped child that cannot start: no error")
	}
	if _, err := StartPiped(t.Context(), Spec{Path: "sh", Stdin: strings.NewReader("")}); err == nil {
		t.Error("two stdins: no error")
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("MY_API_KEY", "secret")
	for _, env := range [][]string{nil, {}, Env(nil, nil, nil)} {
		res, err := Run(t.Context(), Spec{Path: "/usr/bin/env", Env: env})
		if err != nil || strings.Contains(string(res.Stdout), "secret") {
			t.Errorf("with Env %q the child got %q, %v", env, res.Stdout, err)
		}
	}
}

func TestOnExitRunsBeforeDone(t *testing.T) {
	var got []Exit
	s := sh(`kill -KILL $$`)
	s.OnExit = func(e Exit) { got = append(got, e) }
	if _, err := Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Signal != syscall.SIGKILL {
		t.Errorf("got %+v, want one SIGKILL", got)
	}
}

func TestExtraFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := sh(`echo three >&3`)
	s.ExtraFiles = []*os.File{w}
	_, err = Run(t.Context(), s)
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := io.ReadAll(r); string(b) != "three\n" {
		t.Errorf("got %q", b)
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("PATH", "bin:/usr/bin:.:/opt/x::/bin")
	t.Setenv("HOME", "/home/me")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("LC_ALL", "")
	t.Setenv("TZ", "Europe/Berlin")
	t.Setenv("GIVEN", "1")
	t.Setenv("ALLOWED", "2")
	t.Setenv("SLACK_BOT_TOKEN", "xoxb-1")
	t.Setenv("MECHA_CHILD", "")
	got := Env([]string{"ALLOWED", "UNSET_NAME", ""}, []string{"GIVEN"}, map[string]string{
		"REGION": "eu", "GIVEN": "over", "MECHA_CHILD": "0", "": "x", "A=B": "x", "NUL": "a\x00b",
	})
	want := []string{
		"ALLOWED=2", "GIVEN=over", "HOME=/home/me", "LANG=C.UTF-8", "LC_ALL=", "MECHA_CHILD=1",
		"PATH=/usr/bin:/opt/x:/bin", "REGION=eu", "TZ=Europe/Berlin",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	t.Setenv("PATH", "bin:.")
	if got := Env(nil, nil, nil); !slices.Contains(got, "PATH="+defaultPath) {
		t.Errorf("without an absolute directory in PATH: %q", got)
	}
	if got := Env(nil, nil, map[string]string{"PATH": "evil:/ok"}); !slices.Contains(got, "PATH=/ok") {
		t.Errorf("a PATH that was set keeps its relative parts: %q", got)
	}
}

// A name means the program that the child itself would find.
func TestLookupUsesTheChildsPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\necho hello\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	res, err := Run(t.Context(), Spec{Path: "greet", Env: []string{"PATH=" + dir}})
	if err != nil || string(res.Stdout) != "hello\n" {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
	t.Chdir(dir)
	if _, err := Run(t.Context(), Spec{Path: "greet", Env: []string{"PATH=.:/usr/bin"}}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program in the current directory was found through a relative PATH: %v", err)
	}
}

func BenchmarkRunTrue(b *testing.B) {
	for b.Loop() {
		if _, err := Run(b.Context(), Spec{Path: "/bin/true"}); err != nil {
			b.Fatal(err)
		}
	}
}
