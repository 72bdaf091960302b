package e2e

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// product is one home and the process that serves it. It may be killed and
// started again.
type product struct {
	t      testing.TB
	bin    string // what is started; "" is binary
	points string // where the points of a build with kill points are told and armed
	home   string
	args   []string
	env    []string
	ready  ready
	cmd    *exec.Cmd
	ended  chan error
	log    *logTail
}

// ready is the file that --ready writes.
type ready struct {
	URL          string `json:"url"`
	APIURL       string `json:"api_url"`
	ControlToken string `json:"control_token"`
	Maildir      string `json:"maildir"`
	TeamID       string `json:"team_id"`
	BotUserID    string `json:"bot_user_id"`
	BotToken     string `json:"bot_token"`
	AppToken     string `json:"app_token"`
	Users        []struct {
		ID, Name, Token string
	} `json:"users"`
	Channels []struct{ ID, Name string } `json:"channels"`
	DMs      map[string]string           `json:"dms"`
}

// start serves a fresh home with the local workspace in the same process.
func start(t *testing.T, config string, args ...string) *product {
	t.Helper()
	p := &product{t: t, home: t.TempDir(), args: append([]string{"local", "--addr", "127.0.0.1:0", "--offline"}, args...), log: &logTail{}}
	if config != "" {
		if err := os.WriteFile(filepath.Join(p.home, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.begin()
	t.Cleanup(p.stop)
	return p
}

// launch serves a home; whoever calls it stops it.
func launch(t testing.TB, home string) *product {
	p := &product{t: t, home: home, args: []string{"local", "--addr", "127.0.0.1:0", "--offline"}, log: &logTail{}}
	p.begin()
	return p
}

// environ is what the product's processes get.
func (p *product) environ() []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.home, "TZ=Europe/Berlin"}, p.env...)
}

// begin starts the process and waits until a message would be answered.
func (p *product) begin() {
	p.t.Helper()
	if !p.tryBegin() {
		p.t.Fatalf("the process ended before it was ready:\n%s", p.log)
	}
}

// tryBegin starts the process and waits until a message would be answered;
// false: it has ended before.
func (p *product) tryBegin() (ready bool) {
	p.t.Helper()
	file := filepath.Join(p.t.TempDir(), "ready.json")
	p.cmd = exec.Command(cmp.Or(p.bin, binary), append(append([]string{}, p.args...), "--home", p.home, "--ready", file)...)
	p.cmd.Env = p.environ()
	if p.points != "" {
		p.cmd.Env = append(p.cmd.Env, "MECHA_KILLPOINTS="+p.points)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan error, 1)
	cmd, ended := p.cmd, p.ended
	go func() { ended <- cmd.Wait() }() // ends with the process
	eventually(p.t, 20*time.Second, "the ready file", func() error {
		select {
		case err := <-p.ended:
			p.ended <- err
			ready = false
			return nil
		default:
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		r := p.ready
		if err := json.Unmarshal(b, &r); err != nil {
			return err
		}
		if r.URL == "" {
			return errors.New("it names no address")
		}
		p.ready, ready = r, true
		return nil
	})
	return ready
}

// kill is kill -9, of the process alone: its children have to notice.
func (p *product) kill() {
	p.t.Helper()
	p.cmd.Process.Kill()
	<-p.ended
	p.ended <- nil
}

// stop ends it as Ctrl-C does, and fails the test where that takes too long.
func (p *product) stop() {
	p.t.Helper()
	select {
	case err := <-p.ended:
		p.ended <- err
		if p.t.Failed() {
			p.t.Logf("the process had ended before: %v", err)
		}
	default:
		p.interrupt()
	}
	if keep := os.Getenv("MECHA_TEST_KEEP"); keep != "" && p.t.Failed() {
		if err := os.CopyFS(filepath.Join(keep, filepath.Base(filepath.Dir(p.home))), os.DirFS(p.home)); err != nil {
			p.t.Log("cannot keep the home:", err)
		}
	}
	if p.t.Failed() {
		p.t.Logf("what the process wrote:\n%s", p.log)
	}
}

// interrupt is Ctrl-C.
func (p *product) interrupt() {
	p.t.Helper()
	p.cmd.Process.Signal(os.Interrupt)
	select {
	case <-p.ended:
		p.ended <- nil
	case <-time.After(10 * time.Second):
		p.cmd.Process.Signal(syscall.SIGQUIT)
		<-p.ended
		p.ended <- nil
		p.t.Errorf("the process did not stop within 10 s:\n%s", p.log)
	}
}

// logTail keeps the end of what a process writes.
type logTail struct {
	mu sync.Mutex
	b  []byte
}

func (l *logTail) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, b...)
	if len(l.b) > 64<<10 {
		l.b = l.b[len(l.b)-64<<10:]
	}
	return len(b), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}

// post sends body to a /_local/ endpoint and decodes the answer into out, which
// may be nil.
func (p *product) post(path string, body, out any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return p.do(http.MethodPost, path, bytes.NewReader(b), out)
}

func (p *product) get(path string, out any) error { return p.do(http.MethodGet, path, nil, out) }

func (p *product) do(method, path string, body io.Reader, out any) error {
	req, err := http.NewRequest(method, p.ready.URL+"/_local/"+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.ready.ControlToken)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: HTTP %d: %.300s", method, path, res.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// must fails the test on an error.
func (p *product) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// run executes a command of the product beside the bot.
func (p *product) run(args ...string) (string, error) {
	cmd := exec.Command(binary, append(args, "--home", p.home)...)
	cmd.Env = p.environ()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// eventually waits until ok answers nil, looking again and again; it fails the
// test with the last answer when the time is over.
func eventually(t testing.TB, within time.Duration, what string, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s did not come within %v: %v", what, within, err)
		}
		<-tick.C
	}
}

func (p *product) channel(name string) string {
	for _, c := range p.ready.Channels {
		if strings.TrimPrefix(c.Name, "#") == name {
			return c.ID
		}
	}
	p.t.Fatalf("there is no channel %s", name)
	return ""
}

// work are the files of this name in the threads' directories.
func (p *product) work(name string) []string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.home, "work", "slack", "*", name))
	p.must(err)
	return files
}

// settled waits until no thread runs and no message is being written.
func (p *product) settled() {
	p.t.Helper()
	eventually(p.t, patience, "rest", func() error {
		for _, th := range p.rows("threads") {
			switch th["state"] {
			case "running", "queued", "interrupted":
				return fmt.Errorf("thread %v is %v", th["key"], th["state"])
			}
		}
		return nil
	})
}
