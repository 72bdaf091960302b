package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mecha-slack": main, "replace": replaceInFile, "lossy": lossy, "stubborn": stubborn})
}

// The stories of testdata/script: the real program, in a home of its own.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("MECHA_HOME", e.WorkDir+"/home")
			e.Setenv("MECHA_NO_DISCOVERY", "1") // no model server of this machine
			e.Setenv("TZ", "UTC")
			return os.Mkdir(e.WorkDir+"/home", 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "stage": stage, "jsonkeys": jsonKeys, "hangup": hangUp},
	})
}

// replaceInFile is an editor: replace FROM TO FILE. It fails where FROM is not
// there, so that a story never edits nothing unawares.
func replaceInFile() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "replace FROM TO FILE")
		os.Exit(2)
	}
	b, err := os.ReadFile(os.Args[3])
	if err != nil || !strings.Contains(string(b), os.Args[1]) {
		fmt.Fprintf(os.Stderr, "no %q in %s: %v\n", os.Args[1], os.Args[3], err)
		os.Exit(1)
	}
	if err := os.WriteFile(os.Args[3], []byte(strings.Replace(string(b), os.Args[1], os.Args[2], 1)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// lossy PROGRAM ARG…: an MCP server whose answers to mail_send are lost: the
// request goes through, and once the answer is there the connection breaks.
func lossy() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	in, err := cmd.StdinPipe()
	check(err)
	out, err := cmd.StdoutPipe()
	check(err)
	check(cmd.Start())
	sends := make(chan bool, 100) // of each request, in order
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if bytes.Contains(lines.Bytes(), []byte(`"id":`)) {
				sends <- bytes.Contains(lines.Bytes(), []byte(`"mail_send"`))
			}
			fmt.Fprintf(in, "%s\n", lines.Bytes())
		}
		in.Close()
	}()
	answers := bufio.NewScanner(out)
	answers.Buffer(nil, 1<<20)
	for answers.Scan() {
		if <-sends {
			break
		}
		fmt.Printf("%s\n", answers.Bytes())
	}
	in.Close()
	cmd.Wait()
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// exits CODE PROGRAM ARG…: the program ends with exactly this code, and says why
// in one line where it is not 0.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("cannot run %s: %v", args[1], err)
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
	said := ts.ReadFile("stderr")
	if n := strings.Count(said, "\n"); n > 1 || n == 1 && !strings.HasPrefix(said, "mecha-slack: ") && !strings.Contains(strings.Join(args, " "), "manifest") {
		ts.Fatalf("standard error is not one line of ours:\n%s", said)
	}
}

// jsonKeys KEY…: standard output is one JSON object with exactly these keys.
func jsonKeys(ts *testscript.TestScript, neg bool, args []string) {
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile("stdout")))
	var m map[string]json.RawMessage
	ts.Check(dec.Decode(&m))
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("more than one document on standard output")
	}
	for _, k := range args {
		if _, ok := m[k]; !ok {
			ts.Fatalf("no %q in the answer", k)
		}
	}
}

// stage VAR FILE [tainted]: a call of mail__mail_send with these arguments, as
// the loop would draft it; VAR gets the draft's id.
func stage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: stage VAR FILE [tainted]")
	}
	ctx := context.Background()
	c := &cli{Main: Main{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}, logLevel: "error", logFormat: "text"}
	for _, name := range []string{"HOME", "MECHA_HOME", "PATH"} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	d, err := c.makeDesk(ctx)
	ts.Check(err)
	defer d.close()
	ts.Check(d.look(ctx, c))
	t := d.outbox.Surface.Find("mail__mail_send")
	if t == nil {
		ts.Fatalf("the mail server is not there: %+v", d.servers.Status())
	}
	workspace := d.home.path("work", "slack", "T1-D1-1")
	ts.Check(os.MkdirAll(workspace, 0o700))
	raw := json.RawMessage(strings.TrimSpace(ts.ReadFile(args[1])))
	s := outbox.Staging{Tool: t, Args: raw, Workspace: workspace, Team: "T1", Thread: "T1/D1/1", Run: "r1", Call: "c-" + args[0], Requester: "U1"}
	if len(args) > 2 {
		s.Taint = s.Taint.With(tools.Mark{Leg: tools.Private, Tool: "fs_read", What: "budget.md"}, tools.Mark{Leg: tools.Untrusted, Tool: "mail__mail_list"})
	}
	var out outbox.Staged
	ts.Check(d.db.Write(ctx, func(tx *record.Tx) error {
		out, err = d.outbox.Stage(tx, s)
		return err
	}))
	ts.Setenv(args[0], out.ID)
}

// hangup VAR: an SMTP server that takes a mail and hangs up instead of saying so;
// VAR gets its address.
func hangUp(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hangup VAR")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { l.Close() })
	ts.Setenv(args[0], l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serveSMTP(conn)
		}
	}()
}

func serveSMTP(conn net.Conn) {
	defer conn.Close()
	fmt.Fprint(conn, "220 ready\r\n")
	inMail := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		switch {
		case inMail && lines.Text() == ".":
			return
		case inMail:
		case lines.Text() == "DATA":
			inMail = true
			fmt.Fprint(conn, "354 go on\r\n")
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}
