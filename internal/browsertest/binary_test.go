package browsertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// built is the one binary of this package's tests.
var built struct {
	once sync.Once
	dir  string
	path string
	err  error
}

// binary builds the command once; MECHA_TEST_BINARY names one that is there
// already.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("MECHA_TEST_BINARY"); path != "" {
		return path
	}
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "browsertest-"); built.err != nil {
			return
		}
		built.path = filepath.Join(built.dir, "mecha-slack")
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", built.path, "github.com/mecha-slack/mecha-slack/cmd/mecha-slack").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.path
}

// product is a running `mecha-slack local`.
type product struct {
	t    *testing.T
	home string
	cmd  *exec.Cmd
	out  *output

	Page    string            // the address that it printed, with its key
	URL     string            `json:"url"`
	Maildir string            `json:"maildir"`
	DMs     map[string]string `json:"dms"`
	Users   []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"users"`
}

// startLocal starts the binary on home and waits until a message would be
// answered.
func startLocal(t *testing.T, home string, flags ...string) *product {
	t.Helper()
	p := &product{t: t, home: home, out: newOutput(t)}
	ready := filepath.Join(t.TempDir(), "ready.json")
	p.cmd = exec.Command(binary(t), append([]string{"local", "--home", home, "--addr", "127.0.0.1:0", "--ready", ready}, flags...)...)
	p.cmd.Env = append(os.Environ(), "MECHA_NO_DISCOVERY=1", "TZ=Europe/Berlin")
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.stop)
	// The last line is printed after the ready file is whole.
	p.out.waitFor("Ctrl-C stops it")
	b, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, p); err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`http://\S+/#key=\S+`).FindString(p.out.String())
	if m == "" {
		t.Fatalf("no address of a page in:\n%s", p.out)
	}
	p.Page = m
	return p
}

// stop presses Ctrl-C and wants a clean end.
func (p *product) stop() {
	if p.cmd.ProcessState != nil {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	stuck := time.AfterFunc(patience, func() { p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	stuck.Stop()
	if err != nil {
		p.t.Errorf("mecha-slack local ended with %v:\n%s", err, p.out)
	}
}

// run runs another command on the same home, as a second terminal would.
func (p *product) run(args ...string) (string, error) {
	p.t.Helper()
	ctx, stop := context.WithTimeout(p.t.Context(), patience)
	defer stop()
	cmd := exec.CommandContext(ctx, binary(p.t), append(args, "--home", p.home)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// sent reads the mails that went out, decoded by nobody: as they lie there.
func (p *product) sent() []string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.Maildir, ".Sent", "new", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	var list []string
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			p.t.Fatal(err)
		}
		list = append(list, string(b))
	}
	return list
}

// output is what a process printed so far; whoever waits for a text wakes when
// more comes.
type output struct {
	t    *testing.T
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{}
}

func newOutput(t *testing.T) *output { return &output{t: t, more: make(chan struct{}, 1)} }

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(b)
	select {
	case o.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func (o *output) waitFor(text string) {
	o.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for !strings.Contains(o.String(), text) {
		select {
		case <-o.more:
		case <-deadline.C:
			o.t.Fatalf("never printed %q:\n%s", text, o)
		}
	}
}
