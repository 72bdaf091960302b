package docs

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLocalWorkspacePage runs what local-workspace.md shows: its commands in one
// shell, in their order, and its two apps while their commands run. An id, a
// time or a token may differ; all else is compared.
func TestLocalWorkspacePage(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "jq", "node"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "npm", "the page's commands want "+tool)
		}
	}
	modules, err := filepath.Abs("../internal/localslack/testdata/bolt/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@slack", "bolt")); err != nil {
		missing(t, "npm", "@slack/bolt isn't here; run npm ci in internal/localslack/testdata/bolt")
	}
	raw, err := os.ReadFile("local-workspace.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "mecha-slack"), "../cmd/mecha-slack").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	sh := newShell(t, dir)
	sh.run("mecha-slack workspace --addr 127.0.0.1:0 --ready ready.json >workspace.out 2>&1 &")
	sh.waitFor("ready.json")

	var app *process
	stopApp := func() {
		if app != nil {
			app.stop()
			app = nil
		}
	}
	t.Cleanup(stopApp)
	ran := 0
	for _, section := range strings.Split(string(raw), "\n## ") {
		stopApp()
		title, _, _ := strings.Cut(section, "\n")
		for _, fence := range regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(section, -1) {
			switch lang, body := fence[1], fence[2]; {
			case lang == "js":
				file := filepath.Join(dir, "app.js")
				if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
				app = sh.start("Bolt is connected", "NODE_PATH="+modules, "node", file)
			case lang == "go":
				// The file needs this module's slack-go, so it is built from here.
				file := filepath.Join(dir, "main.go")
				if err := os.WriteFile(file, []byte(body), 0o600); err != nil {
					t.Fatal(err)
				}
				bin := filepath.Join(dir, "app")
				if out, err := exec.Command("go", "build", "-o", bin, file).CombinedOutput(); err != nil {
					t.Fatalf("%s: the program doesn't build: %v\n%s", title, err, out)
				}
				app = sh.start("slack-go is connected", "", bin)
			case strings.HasPrefix(body, "export "):
				sh.run(body)
			case strings.HasPrefix(body, "$ "):
				ran += sh.session(title, body)
			}
		}
	}
	if ran < 15 {
		t.Errorf("only %d commands ran: the page is read wrongly", ran)
	}
}

// missing skips, unless MECHA_TEST_REQUIRE names what is missing.
func missing(t *testing.T, what, why string) {
	t.Helper()
	if slices.Contains(strings.Split(os.Getenv("MECHA_TEST_REQUIRE"), ","), what) {
		t.Fatal(why)
	}
	t.Skip(why)
}

// shell is one bash whose variables and functions stay from command to command.
type shell struct {
	t   *testing.T
	dir string
	in  io.WriteCloser
	out *output
}

func newShell(t *testing.T, dir string) *shell {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MECHA_NO_DISCOVERY=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		io.WriteString(in, "kill $(jobs -p) 2>/dev/null; wait; exit\n") // the workspaces that it started
		in.Close()
		cmd.Wait()
	})
	return &shell{t: t, dir: dir, in: in, out: out}
}

// run runs one command and returns what it printed.
func (s *shell) run(command string) string {
	s.t.Helper()
	mark := fmt.Sprintf("--done-%d--", time.Now().UnixNano())
	if _, err := io.WriteString(s.in, command+"\necho "+mark+"\n"); err != nil {
		s.t.Fatal(err)
	}
	text, ok := s.out.until(mark, time.Minute)
	if !ok {
		s.t.Fatalf("the shell never finished %q: %s", command, text)
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\r", ""))
}

func (s *shell) waitFor(file string) {
	s.t.Helper()
	for range 600 {
		if b, err := os.ReadFile(filepath.Join(s.dir, file)); err == nil && len(b) > 0 {
			return
		}
		time.Sleep(50 * time.Millisecond) // polling for another process's file
	}
	s.t.Fatalf("%s never came", file)
}

// session runs the commands of one block and compares what they print.
func (s *shell) session(title, block string) (ran int) {
	s.t.Helper()
	for _, entry := range strings.Split("\n"+strings.TrimSpace(block), "\n$ ")[1:] {
		lines := strings.Split(entry, "\n")
		n := 1 // lines of the command itself
		for n < len(lines) && strings.HasSuffix(lines[n-1], "\\") {
			n++
		}
		if strings.Contains(lines[0], "<<'END'") {
			n = slices.Index(lines, "END") + 1
		}
		command, want := strings.Join(lines[:n], "\n"), strings.TrimSpace(strings.Join(lines[n:], "\n"))
		if strings.HasPrefix(command, "mecha-slack ") {
			if !strings.HasSuffix(command, "&") {
				continue // it stays in the foreground; other tests run it
			}
			s.run(strings.TrimSuffix(command, "&") + ">>background.out 2>&1 &")
			s.waitFor(regexp.MustCompile(`--ready (\S+)`).FindStringSubmatch(command)[1])
			ran++
			continue
		}
		got := s.run(command)
		for deadline := time.Now().Add(20 * time.Second); strings.HasPrefix(command, `local "messages`) && alike(got) != alike(want) && time.Now().Before(deadline); {
			time.Sleep(50 * time.Millisecond) // the app answers in its own time
			got = s.run(command)
		}
		ran++
		if alike(got) != alike(want) {
			s.t.Errorf("%s: $ %s\nprinted\n%s\nand the page says\n%s", title, command, got, want)
		}
	}
	return ran
}

// alike is output without what differs from run to run.
func alike(s string) string {
	return regexp.MustCompile(`[UCTBA]0[0-9A-Z]{9}\b`).ReplaceAllString(s, "ID")
}

// start runs an app until it says that it is connected.
func (s *shell) start(connected, env, name string, args ...string) *process {
	s.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "SLACK_API_URL="+s.run("echo $SLACK_API_URL"), "SLACK_BOT_TOKEN="+s.run("echo $SLACK_BOT_TOKEN"),
		"SLACK_APP_TOKEN="+s.run("echo $SLACK_APP_TOKEN"), env)
	out := newOutput()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	p := &process{cmd}
	if text, ok := out.until(connected, time.Minute); !ok {
		p.stop()
		s.t.Fatalf("%s never said %q: %s", name, connected, text)
	}
	return p
}

type process struct{ *exec.Cmd }

func (p *process) stop() {
	p.Process.Kill()
	p.Wait()
}

// output gathers what a process prints and can be waited on.
type output struct {
	lines chan []byte
	buf   bytes.Buffer
}

func newOutput() *output { return &output{lines: make(chan []byte, 1000)} }

func (o *output) Write(b []byte) (int, error) {
	select {
	case o.lines <- bytes.Clone(b):
	default: // nobody waits any more
	}
	return len(b), nil
}

// until takes output up to mark; ok is false when it doesn't come in time.
func (o *output) until(mark string, patience time.Duration) (text string, ok bool) {
	deadline := time.After(patience)
	for {
		if before, after, found := strings.Cut(o.buf.String(), mark); found {
			o.buf.Reset()
			o.buf.WriteString(strings.TrimPrefix(after, "\n"))
			return before, true
		}
		select {
		case b := <-o.lines:
			o.buf.Write(b)
		case <-deadline:
			return o.buf.String(), false
		}
	}
}
