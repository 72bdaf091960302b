package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

func TestMain(m *testing.M) {
	MaybeExec()
	os.Exit(m.Run())
}

// home makes a home with a workspace inside it, both by their real names.
func home(t *testing.T) (home, workspace string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	workspace = filepath.Join(home, "work", "thread")
	if err := os.MkdirAll(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "credentials.toml"), "token = 1")
	return home, workspace
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func missing(t *testing.T, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), "sandbox") {
		t.Fatalf("MECHA_TEST_REQUIRE names sandbox, but %s", why)
	}
	t.Skip(why)
}

func bwrapBackend(t *testing.T, cfg Config, hidden ...string) Backend {
	t.Helper()
	cfg.Kind = Bwrap
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bwrap is not installed")
	}
	b, _, err := Select(t.Context(), cfg, hidden)
	if errors.Is(err, ErrUnavailable) {
		missing(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func landlockBackend(t *testing.T, hidden ...string) Backend {
	t.Helper()
	b, _, err := Select(t.Context(), Config{Kind: Landlock}, hidden)
	if errors.Is(err, ErrUnavailable) {
		t.Skip(err) // a kernel without Landlock; CI's sandbox is bwrap
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bash(t *testing.T, b Backend, cmd Cmd, script string) child.Result {
	t.Helper()
	cmd.Argv = []string{"bash", "-c", script}
	spec, err := b.Command(cmd)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	res, err := child.Run(ctx, spec)
	if err != nil {
		t.Fatalf("%s: %v\nstdout: %s\nstderr: %s", script, err, res.Stdout, res.Stderr)
	}
	return res
}

// confined runs the same table against every backend that confines.
func TestConfinedBackendsHideTheHome(t *testing.T) {
	for _, kind := range []string{Bwrap, Landlock} {
		t.Run(kind, func(t *testing.T) {
			h, ws := home(t)
			spill := filepath.Join(h, "work", "thread.spill")
			if err := os.Mkdir(spill, 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(spill, "out.txt"), "spilled")
			write(t, filepath.Join(ws, "in.txt"), "mine")
			other := filepath.Join(t.TempDir(), "other")
			write(t, other, "another program's")
			var b Backend
			if kind == Bwrap {
				b = bwrapBackend(t, Config{}, h)
			} else {
				b = landlockBackend(t, h)
			}
			t.Setenv("SECRET_API_KEY", "sk-do-not-leak")
			neighbour, err := child.Start(t.Context(), child.Spec{Path: "sleep", Args: []string{"1000"}, Env: []string{"PATH=/usr/bin:/bin", "SECRET=sk-do-not-leak"}})
			if err != nil {
				t.Fatal(err)
			}
			defer neighbour.Stop()
			environ := fmt.Sprintf("/proc/%d/environ", neighbour.PID())
			if b, err := os.ReadFile(environ); err != nil || !strings.Contains(string(b), "sk-do-not-leak") {
				t.Fatalf("even we cannot read %s, so trying it shows nothing: %q, %v", environ, b, err)
			}
			tests := []struct{ name, script, want string }{
				{"workspace is read", `cat in.txt`, "mine"},
				{"workspace is written", `echo new >out.txt && cat out.txt`, "new"},
				{"workspace has its real path", `pwd`, ws},
				{"home is the workspace", `echo $HOME`, ws},
				{"home's files are out of reach", `cat ../../credentials.toml 2>/dev/null || echo no`, "no"},
				{"by the absolute path too", `cat ` + h + `/credentials.toml 2>/dev/null || echo no`, "no"},
				{"through a link of its own", `ln -sf ` + h + `/credentials.toml l; cat l 2>/dev/null || echo no`, "no"},
				{"through /proc", `cat /proc/self/root` + h + `/credentials.toml 2>/dev/null || echo no`, "no"},
				{"a neighbour's environment is out of reach", `grep -q do-not-leak ` + environ + ` 2>/dev/null && echo leak || echo no`, "no"},
				{"a neighbour cannot be ended", `kill -9 ` + fmt.Sprint(neighbour.PID()) + ` 2>/dev/null && echo killed || echo no`, "no"},
				{"the kernel's switches are out of reach", `(exec 3>>/proc/sys/kernel/core_pattern) 2>/dev/null && echo open || echo no`, "no"},
				{"nothing in /proc but its own is writable", `find /proc -maxdepth 4 -type f -not -path '/proc/[0-9]*' -not -path '/proc/self/*' -not -path '/proc/thread-self/*' 2>/dev/null | while read -r f; do (exec 3>>"$f") 2>/dev/null && echo "$f"; done; echo end`, "end"},
				{"no capability is left", `grep CapEff /proc/self/status | cut -f2`, "0000000000000000"},
				{"its own /proc is there", `cat /proc/self/comm`, "cat"},
				{"spill is read", `cat ` + spill + `/out.txt`, "spilled"},
				{"spill is not written", `(echo x >` + spill + `/out.txt) 2>/dev/null || echo no`, "no"},
				{"shadow is out of reach", `cat /etc/shadow 2>/dev/null || echo no`, "no"},
				{"the system is not written", `(touch /usr/x || touch /etc/x || touch /x) 2>/dev/null || echo no`, "no"},
				{"the environment is an allowlist", `echo "${SECRET_API_KEY-none}"`, "none"},
				{"it knows that it is a child", `echo $MECHA_CHILD $MECHA_WORKSPACE`, "1 " + ws},
				{"temporary files work", `f=$(mktemp) && echo t >"$f" && cat "$f"`, "t"},
				{"what others left in /tmp is out of reach", `cat ` + other + ` 2>/dev/null || echo no`, "no"},
				{"programs run", `printf 'b\na\n' | sort | head -1`, "a"},
				{"exit status comes through", `exit 7`, ""},
			}
			for _, tt := range tests {
				t.Run(tt.name, func(t *testing.T) {
					res := bash(t, b, Cmd{Dir: ws, ReadOnly: []string{spill}}, tt.script)
					if got := strings.TrimSpace(string(res.Stdout)); got != tt.want {
						t.Errorf("%s\n got %q\nwant %q\nstderr: %s", tt.script, got, tt.want, res.Stderr)
					}
					if tt.script == `exit 7` && res.ExitCode != 7 {
						t.Errorf("exit code %d, want 7", res.ExitCode)
					}
				})
			}
			if got, err := os.ReadFile(filepath.Join(spill, "out.txt")); err != nil || string(got) != "spilled" {
				t.Errorf("the spill file is now %q, %v", got, err)
			}
		})
	}
}

// The weaker variants are for other kernels, but each must hold where it can be tried.
func TestEveryBwrapVariantProvesItself(t *testing.T) {
	h, ws := home(t)
	bwrapBackend(t, Config{}, h) // skips where bwrap does not work
	path, err := exec.LookPath("bwrap")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			b := &bwrap{hidden: []string{h}, path: path, variant: v}
			if err := prove(t.Context(), b, b.hidden); err != nil {
				t.Fatal(err)
			}
			res := bash(t, b, Cmd{Dir: ws}, `ls /proc | grep -c . ; unshare -U true 2>/dev/null && echo userns`)
			f := strings.Fields(string(res.Stdout))
			if hasProc := f[0] != "0"; hasProc != v.proc {
				t.Errorf("/proc is there: %v, want %v", hasProc, v.proc)
			}
			if nested := len(f) > 1; nested && v.disableUserns {
				t.Error("a further user namespace could be made")
			}
			if got := strings.Contains(b.Describe(), v.name); got == (v.name == "full") {
				t.Errorf("Describe() = %q for the variant %s", b.Describe(), v.name)
			}
		})
	}
}

func TestBwrapSpillInsideTheWorkspaceIsReadOnly(t *testing.T) {
	h, ws := home(t)
	b := bwrapBackend(t, Config{}, h)
	spill := filepath.Join(ws, "spill")
	if err := os.Mkdir(spill, 0o755); err != nil {
		t.Fatal(err)
	}
	res := bash(t, b, Cmd{Dir: ws, ReadOnly: []string{spill}}, `(echo x >spill/f) 2>/dev/null || echo no`)
	if got := strings.TrimSpace(string(res.Stdout)); got != "no" {
		t.Errorf("a read-only path inside the workspace could be written: %q", got)
	}
}

func TestBwrapHasNoWayOut(t *testing.T) {
	h, ws := home(t)
	b := bwrapBackend(t, Config{}, h)
	if !b.NetworkOff() {
		t.Fatal("NetworkOff is false without network = true")
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	_, port, _ := net.SplitHostPort(tcp.Addr().String())
	connect := `(exec 3<>/dev/tcp/127.0.0.1/` + port + `) 2>/dev/null && echo open || echo shut`
	for _, network := range []bool{false, true} {
		want := map[bool]string{false: "shut", true: "open"}[network]
		res := bash(t, b, Cmd{Dir: ws, Network: network}, connect)
		if got := strings.TrimSpace(string(res.Stdout)); got != want {
			t.Errorf("network %v: %s, want %s (%s)", network, got, want, res.Stderr)
		}
	}
	res := bash(t, b, Cmd{Dir: ws}, `cat /proc/net/dev | tail -n +3 | cut -d: -f1`)
	if got := strings.TrimSpace(string(res.Stdout)); got != "lo" {
		t.Errorf("interfaces inside: %q, want only lo", got)
	}
}

func TestBwrapEndsEverythingWithItsGroup(t *testing.T) {
	h, ws := home(t)
	b := bwrapBackend(t, Config{}, h)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tag := filepath.Base(filepath.Dir(h)) + "-" + filepath.Base(h)
	spec, err := b.Command(Cmd{Dir: ws, Argv: []string{"bash", "-c", `exec -a "sleeper-` + tag + `" setsid sleep 1000 & echo ready; sleep 1001`}})
	if err != nil {
		t.Fatal(err)
	}
	spec.Grace = 100 * time.Millisecond
	p, err := child.StartPiped(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	buf := make([]byte, 16)
	if n, _ := p.Stdout.Read(buf); !strings.HasPrefix(string(buf[:n]), "ready") {
		t.Fatalf("got %q", buf[:n])
	}
	cancel()
	<-p.Done()
	// The sleeper left the group and the session, but not the process namespace.
	if !gone(t, "sleeper-"+tag) {
		t.Error("a process that left its group outlived the sandbox")
	}
}

// gone polls /proc: the kernel takes a namespace down on its own time.
func gone(t *testing.T, name string) bool {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(5 * time.Second)
	for {
		found := false
		cmdlines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, c := range cmdlines {
			if b, err := os.ReadFile(c); err == nil && strings.HasPrefix(string(b), name) {
				found = true
			}
		}
		if !found {
			return true
		}
		select {
		case <-tick.C:
		case <-timeout:
			return false
		}
	}
}

func TestBwrapValuesAreNotOnTheCommandLine(t *testing.T) {
	h, ws := home(t)
	b := bwrapBackend(t, Config{}, h)
	spec, err := b.Command(Cmd{Dir: ws, Argv: []string{"true"}, Env: []string{"TOKEN=xoxb-secret"}})
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.Join(spec.Args, " "), "xoxb-secret") {
		t.Error("a variable's value is in the arguments, where every user of the machine can read it")
	}
	if !slices.Contains(spec.Env, "TOKEN=xoxb-secret") {
		t.Errorf("TOKEN is not in the environment: %q", spec.Env)
	}
	res := bash(t, b, Cmd{Dir: ws, Env: []string{"TOKEN=xoxb-secret", "HOME=/root", "PATH=/evil"}}, `echo $TOKEN $HOME $PATH`)
	if got, want := strings.TrimSpace(string(res.Stdout)), "xoxb-secret "+ws+" "+systemPath; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestBwrapLimits(t *testing.T) {
	h, ws := home(t)
	b := bwrapBackend(t, Config{MemoryMB: 300, CPUs: 1}, h)
	res := bash(t, b, Cmd{Dir: ws}, `ulimit -v; ulimit -c; nproc; ulimit -u`)
	if got, want := strings.Fields(string(res.Stdout)), []string{"307200", "0", "1", fmt.Sprint(maxProcesses)}; !slices.Equal(got, want) {
		t.Errorf("limits %q, want %q (%s)", got, want, res.Stderr)
	}
}

func TestReadableAndWritable(t *testing.T) {
	h, ws := home(t)
	ro, rw := t.TempDir(), t.TempDir()
	write(t, filepath.Join(ro, "f"), "data")
	b := bwrapBackend(t, Config{Readable: []string{ro}, Writable: []string{rw}}, h)
	res := bash(t, b, Cmd{Dir: ws}, `cat `+ro+`/f; (echo x >`+ro+`/f) 2>/dev/null || echo -n " no"; echo x >`+rw+`/g`)
	if got := string(res.Stdout); got != "data no" {
		t.Errorf("got %q (%s)", got, res.Stderr)
	}
	if _, err := os.Stat(filepath.Join(rw, "g")); err != nil {
		t.Error(err)
	}
}

func TestRefusedPaths(t *testing.T) {
	h, ws := home(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(h, link); err != nil {
		t.Fatal(err)
	}
	b := bwrapBackend(t, Config{}, h)
	tests := map[string]Cmd{
		"workspace is the home":         {Argv: []string{"true"}, Dir: h},
		"workspace contains the home":   {Argv: []string{"true"}, Dir: filepath.Dir(h)},
		"workspace is the file system":  {Argv: []string{"true"}, Dir: "/"},
		"workspace is a link to home":   {Argv: []string{"true"}, Dir: link},
		"workspace is relative":         {Argv: []string{"true"}, Dir: "work"},
		"workspace is not there":        {Argv: []string{"true"}, Dir: ws + "/nope"},
		"read-only path shows the home": {Argv: []string{"true"}, Dir: ws, ReadOnly: []string{h}},
		"writable path shows the home":  {Argv: []string{"true"}, Dir: ws, Writable: []string{h}},
		"start outside":                 {Argv: []string{"true"}, Dir: ws, Cwd: filepath.Dir(ws)},
		"start beside":                  {Argv: []string{"true"}, Dir: ws, Cwd: ws + "-other"},
		"nothing to run":                {Dir: ws},
	}
	for name, cmd := range tests {
		t.Run(name, func(t *testing.T) {
			if spec, err := b.Command(cmd); err == nil {
				t.Errorf("no error; it would run %q", spec.Args)
			}
		})
	}
	for _, cfg := range []Config{{Kind: Bwrap, Readable: []string{h}}, {Kind: Bwrap, Writable: []string{"/"}}, {Kind: Bwrap, Readable: []string{"rel"}}, {Kind: "jail"}, {MemoryMB: -1}} {
		if _, _, err := Select(t.Context(), cfg, []string{h}); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}

func TestSelectAutoWithoutBwrapWithholds(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	h, _ := home(t)
	b, withheld, err := Select(t.Context(), Config{}, []string{h})
	if b != nil || err != nil {
		t.Fatalf("got %v, %v; want no backend and no error", b, err)
	}
	for _, want := range []string{"bubblewrap", `kind = "none"`} {
		if !strings.Contains(withheld, want) {
			t.Errorf("withheld = %q does not name %s", withheld, want)
		}
	}
	if _, _, err := Select(t.Context(), Config{Kind: Bwrap}, []string{h}); !errors.Is(err, ErrUnavailable) {
		t.Errorf("a configured sandbox that does not work: %v, want ErrUnavailable", err)
	}
}

// leaky is a bwrap that does not confine: the preflight must see through each of these.
func TestPreflightSeesThroughAFake(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		missing(t, "bwrap is not installed")
	}
	real, _ := exec.LookPath("bwrap")
	tests := []struct{ name, script, want string }{
		{"it ignores everything", `while [ "$1" != -- ]; do case "$1" in --chdir) cd "$2";; esac; shift; done; shift; exec "$@"`, "could read"},
		{"it does not start", `echo "bwrap: setting up uid map: Permission denied" >&2; exit 1`, "did not come up"},
		{"it starts nothing and says nothing", `exit 0`, "did not come up"},
		{"it shares the network", `exec ` + real + ` --unshare-all --share-net "${@:2}"`, "over TCP"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, _ := home(t)
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte("#!/bin/bash\n"+tt.script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			_, _, err := Select(t.Context(), Config{Kind: Bwrap}, []string{h})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			b, withheld, autoErr := Select(t.Context(), Config{Kind: Auto}, []string{h})
			if b != nil || autoErr != nil || !strings.Contains(withheld, tt.want) {
				t.Errorf("auto: %v, %q, %v; want no backend and the reason", b, withheld, autoErr)
			}
		})
	}
}

func TestPreflightLeavesNothingBehind(t *testing.T) {
	h, _ := home(t)
	bwrapBackend(t, Config{}, h)
	left, err := filepath.Glob(filepath.Join(h, ".mecha-preflight-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

func TestLandlockKeepsEgressOpen(t *testing.T) {
	h, _ := home(t)
	if landlockBackend(t, h).NetworkOff() {
		t.Error("landlock cannot close UDP, so it must not claim that the network is off")
	}
}

func TestNoneSaysSo(t *testing.T) {
	_, ws := home(t)
	b, withheld, err := Select(t.Context(), Config{Kind: None}, nil)
	if err != nil || withheld != "" {
		t.Fatal(withheld, err)
	}
	if b.NetworkOff() || !strings.Contains(b.Describe(), "unconfined") {
		t.Errorf("none claims too much: %q", b.Describe())
	}
	if res := bash(t, b, Cmd{Dir: ws}, `echo $MECHA_CHILD; pwd`); string(res.Stdout) != "1\n"+ws+"\n" {
		t.Errorf("got %q", res.Stdout)
	}
}

func BenchmarkBwrapTrue(b *testing.B) {
	dir := b.TempDir()
	be, _, err := Select(b.Context(), Config{Kind: Bwrap}, nil)
	if err != nil {
		b.Skip(err)
	}
	spec, err := be.Command(Cmd{Argv: []string{"true"}, Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := child.Run(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
	}
}
