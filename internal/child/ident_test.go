package child

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestKillIdentEndsWhatAKilledProcessLeft(t *testing.T) {
	// This very test binary plays the process that is killed: it starts a child with a grandchild, says who they are,
	// and waits to be killed with SIGKILL, which runs no cleanup of any kind.
	owner := exec.Command(os.Args[0], "-test.run=^TestOwnerToBeKilled$")
	owner.Env = append(os.Environ(), "CHILD_TEST_OWNER=1")
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	var id Ident
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = json.Unmarshal([]byte(line), &id)
	}
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	_ = owner.Process.Kill()
	_ = owner.Wait()

	if len(members(id.PGID)) == 0 {
		t.Fatal("nothing was left behind, so this test shows nothing")
	}
	wrongBoot, older := id, id
	wrongBoot.BootID = "00000000-0000-0000-0000-000000000000"
	if err := KillIdent(wrongBoot); !errors.Is(err, ErrNotOurs) {
		t.Errorf("another boot: %v, want ErrNotOurs", err)
	}
	older.Started = 1 << 62 // what is left cannot be younger than this leader
	if err := KillIdent(older); !errors.Is(err, ErrNotOurs) {
		t.Errorf("another start: %v, want ErrNotOurs", err)
	}
	if len(members(id.PGID)) == 0 {
		t.Fatal("a refusal ended the group")
	}
	if err := KillIdent(id); err != nil {
		t.Error(err)
	}
	if left := members(id.PGID); len(left) != 0 {
		t.Errorf("still there: %+v", left)
	}
	if err := KillIdent(id); err != nil {
		t.Errorf("a second time: %v, want nil", err)
	}
}

// TestOwnerToBeKilled is not a test of its own; see above.
func TestOwnerToBeKilled(t *testing.T) {
	if os.Getenv("CHILD_TEST_OWNER") == "" {
		t.Skip("runs only inside TestKillIdentEndsWhatAKilledProcessLeft")
	}
	p, err := StartPiped(t.Context(), sh(`sleep 1000 & echo up; wait`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(p.Ident())
	fmt.Println(string(b))
	select {}
}

func TestKillIdentOfALiveLeader(t *testing.T) {
	p, err := StartPiped(t.Context(), sh(`trap '' TERM; echo up; sleep 1000; sleep 1000`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	other := p.Ident()
	other.Started++
	if err := KillIdent(other); !errors.Is(err, ErrNotOurs) {
		t.Errorf("another start time: %v, want ErrNotOurs", err)
	}
	select {
	case <-p.Done():
		t.Fatal("a refusal ended the child")
	default:
	}
	if err := KillIdent(p.Ident()); err != nil {
		t.Error(err)
	}
	if e, _ := p.Wait(); e.Signal != unix.SIGKILL {
		t.Errorf("ended with %+v", e)
	}
}

func TestKillIdentNeverTouchesTheWorld(t *testing.T) {
	boot := bootID()
	if boot == "" {
		t.Skip("no /proc/sys/kernel/random/boot_id here")
	}
	stranger := exec.Command("sleep", "1000") // no mark, and in our own group
	stranger.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Process.Kill(); _ = stranger.Wait() }()
	for _, id := range []Ident{
		{},
		{PGID: 0, BootID: boot},
		{PGID: 1, BootID: boot},
		{PGID: -1, BootID: boot},
		{PGID: -stranger.Process.Pid, BootID: boot},
		{PGID: unix.Getpgrp(), BootID: boot},
		{PGID: os.Getpid(), BootID: boot},
		{PGID: stranger.Process.Pid},
		{PGID: stranger.Process.Pid, BootID: boot, Started: 1},
	} {
		if err := KillIdent(id); !errors.Is(err, ErrNotOurs) {
			t.Errorf("%+v: %v, want ErrNotOurs", id, err)
		}
	}
	if err := stranger.Process.Signal(unix.Signal(0)); err != nil {
		t.Errorf("the stranger is gone: %v", err)
	}
}

func TestAlive(t *testing.T) {
	if !Self().Alive() {
		t.Error("we are not alive")
	}
	p, err := Start(t.Context(), sh(`exit 0`))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	other := Self()
	other.Started--
	for name, id := range map[string]Ident{"reaped": p.Ident(), "another start": other, "zero": {}} {
		if id.Alive() {
			t.Errorf("%s is alive: %+v", name, id)
		}
	}
}

func TestParseStat(t *testing.T) {
	tail := " S 1 7 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 12345 1 1"
	tests := []struct {
		line string
		want procStat
		ok   bool
	}{
		{"42 (sh)" + tail, procStat{pid: 42, pgid: 7, state: 'S', started: 12345}, true},
		{"42 (a b)) R 9 (c)" + tail, procStat{pid: 42, pgid: 7, state: 'S', started: 12345}, true},
		{"42 ()" + tail, procStat{pid: 42, pgid: 7, state: 'S', started: 12345}, true},
		{"", procStat{}, false},
		{"42 (sh", procStat{}, false},
		{"42 (sh) S 1 7", procStat{}, false},
		{") (", procStat{}, false},
		{"x (sh)" + tail, procStat{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat([]byte(tt.line))
		if ok != tt.ok {
			t.Errorf("%q: ok %v", tt.line, ok)
		}
		if d := cmp.Diff(tt.want, got, cmp.AllowUnexported(procStat{})); d != "" {
			t.Errorf("%q: %s", tt.line, d)
		}
	}
	self, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	if st, ok := parseStat(self); !ok || st.pid != os.Getpid() || st.pgid != unix.Getpgrp() {
		t.Errorf("our own line reads as %+v", st)
	}
}

// A program chooses its own name; it must not choose what we read of it.
func FuzzParseStat(f *testing.F) {
	for _, name := range []string{"sh", "a) S 1 1 (b", "", ") R", "\n"} {
		f.Add(name, 42, 7, int64(12345))
	}
	f.Fuzz(func(t *testing.T, name string, pid, pgid int, started int64) {
		line := fmt.Sprintf("%d (%s) S 1 %d 7 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 %d 1 1", pid, name, pgid, started)
		want := procStat{pid: pid, pgid: pgid, state: 'S', started: started}
		if got, ok := parseStat([]byte(line)); !ok || got != want {
			t.Errorf("%q reads as %+v, %v", line, got, ok)
		}
		_, _ = parseStat([]byte(name)) // must not panic
	})
}
