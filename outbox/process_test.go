package outbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// helperEnv makes the test binary a second process: it says what to do.
const helperEnv = "OUTBOX_TEST_HELPER"

// order is what a second process is told to do.
type order struct {
	What   string // approve, disk
	Path   string // of the record
	Mail   string // a file: each delivery is a line of it
	Draft  string
	Digest string
	N      int
}

// helper does what it is ordered, and tells on standard output.
func helper() {
	var o order
	if err := json.Unmarshal([]byte(os.Getenv(helperEnv)), &o); err != nil {
		panic(err)
	}
	var err error
	switch o.What {
	case "approve":
		err = o.approve()
	case "disk":
		err = o.fullDisk()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// process starts a second process of the test.
func (o order) process(t *testing.T) *exec.Cmd {
	t.Helper()
	b, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperEnv+"="+string(b))
	cmd.Stderr = os.Stderr
	return cmd
}

// mailbox is a server that outlives processes: a file with a line a delivery.
type mailbox string

func (m mailbox) call(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	f, err := os.OpenFile(string(m), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return tools.Output{}, err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, env.IdempotencyKey)
	return tools.OK("Sent."), err
}

func (m mailbox) count(key string) int {
	b, _ := os.ReadFile(string(m)) // none: nothing came
	return strings.Count(string(b), key+"\n")
}

// open is an outbox of this process over the record.
func (o order) open(migrate bool) (*Outbox, *record.DB, error) {
	db, err := record.Open(context.Background(), o.Path, record.Options{Migrate: migrate})
	if err != nil {
		return nil, nil, err
	}
	s := newSender()
	s.call = mailbox(o.Mail).call
	return New(db, Config{Tools: []string{s.name}}, Deps{Surface: surface{s.name: s}, Log: quiet()}), db, nil
}

// approve presses N times at once, as N different people, and dispatches.
func (o order) approve() error {
	ob, db, err := o.open(false)
	if err != nil {
		return err
	}
	defer db.Close()
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil { // go
		return err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	approved := 0
	var failed error
	for i := range o.N {
		wg.Go(func() {
			_, err := ob.Approve(ctx, Decision{ID: o.Draft, Revision: 1, Digest: o.Digest, By: fmt.Sprintf("U%d-%d", os.Getpid(), i), Surface: "slack", Second: true})
			_, derr := ob.Dispatch(ctx, o.Draft)
			var state *StateError
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				approved++
			}
			for _, e := range []error{err, derr} {
				if e != nil && !errors.As(e, &state) {
					failed = e
				}
			}
		})
	}
	wg.Wait()
	fmt.Println(approved)
	return failed
}

// Two processes with 100 goroutines each approve and dispatch one draft at the
// same moment: one approval, one attempt, one delivery.
func TestOneAttemptOfTwoProcesses(t *testing.T) {
	b := newBench(t, Config{})
	d := b.stage(args("hello"))
	o := order{What: "approve", Path: b.path, Mail: filepath.Join(t.TempDir(), "mail"), Draft: d.ID, Digest: d.Digest, N: 100}
	type proc struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var procs []proc
	for range 2 {
		p := proc{cmd: o.process(t)}
		var err error
		if p.in, err = p.cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.out = bufio.NewReader(out)
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		procs = append(procs, p)
	}
	for _, p := range procs {
		if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	for _, p := range procs {
		if _, err := io.WriteString(p.in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	approved := 0
	for _, p := range procs {
		var n int
		if _, err := fmt.Fscanln(p.out, &n); err != nil {
			t.Error(err)
		}
		approved += n
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("a process: %v", err)
		}
	}
	d = b.get(d.ID)
	want(t, d, Released)
	if n := mailbox(o.Mail).count(d.IdempotencyKey); approved != 1 || len(d.Approvals) != 1 || len(d.Attempts) != 1 || n != 1 {
		t.Fatalf("%d approvals (%d on record), %d attempts, %d deliveries", approved, len(d.Approvals), len(d.Attempts), n)
	}
}
