package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mecha-slack/mecha-slack/tools"
)

// stubborn is a command that takes for ever to stop.
func stubborn() {
	ctx, _ := interruptible(os.Stderr)
	fmt.Println("ready")
	<-ctx.Done()
	fmt.Println("asked")
	select {}
}

// The first Ctrl-C asks, and says so where that takes a while; the second ends it,
// with the exit code of its signal.
func TestASecondCtrlCEndsItAtOnce(t *testing.T) {
	t.Parallel()
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		for _, patient := range []bool{true, false} {
			cmd := exec.Command("stubborn")
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			errs, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines, told := bufio.NewScanner(out), bufio.NewScanner(errs)
			hear := func(s *bufio.Scanner, want string) {
				t.Helper()
				if !s.Scan() || !strings.Contains(s.Text(), want) {
					t.Errorf("%v: %q, not %q", sig, s.Text(), want)
				}
			}
			hear(lines, "ready")
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			hear(lines, "asked")
			if patient {
				hear(told, "Ctrl-C again ends it at once")
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			var ended *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &ended) || ended.ExitCode() != want {
				t.Errorf("%v: it ended with %v, not %d", sig, err, want)
			}
		}
	}
}

// reading is standard input on which nobody types.
type reading struct{ begun chan struct{} }

func (r reading) Read([]byte) (int, error) {
	close(r.begun)
	select {}
}

// A command that reads all of standard input does not wait for its end after
// Ctrl-C.
func TestCtrlCWhileReadingInput(t *testing.T) {
	h := newHome(t, "")
	for _, args := range [][]string{{"notify"}, {"trigger", "add", "x", "--schedule", "@daily", "--timezone", "UTC", "--prompt", "-"}} {
		ctx, interrupt := context.WithCancel(t.Context())
		in := reading{make(chan struct{})}
		go func() { <-in.begun; interrupt() }()
		var errs strings.Builder
		code := Main{Stdin: in, Stdout: io.Discard, Stderr: &errs, Env: h.env()}.Run(ctx, args)
		if code != 1 || !strings.Contains(errs.String(), "you stopped it before its end") {
			t.Errorf("%v: %d %s", args, code, errs.String())
		}
	}
}

// In an editor Ctrl-C is a key like others: neither the first nor the second ends
// what somebody is typing.
func TestCtrlCInAnEditor(t *testing.T) {
	t.Parallel()
	h := newHome(t, "[sandbox]\nkind = \"none\"\n[outbox]\ntools = [\"mail__mail_send\"]\n[[mcp]]\nname = \"mail\"\ncommand = \"mecha-slack\"\nargs = [\"demo-mail\", \"--maildir\", \""+t.TempDir()+"\"]\n")
	id := h.stage(`{"to":["dean@example.edu"],"subject":"x","body":"one"}`, tools.Taint{})
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.OpenFile(gate, os.O_RDWR, 0) // for both ends: it waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	editor := filepath.Join(dir, "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho begun\nread x < "+gate+"\nsed -i s/one/two/ \"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("mecha-slack", "outbox", "edit", id)
	cmd.Env = append(h.env(), "EDITOR="+editor)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	if line, err := out.ReadString('\n'); line != "begun\n" {
		t.Fatalf("%v: %q; %v", err, line, cmd.Wait())
	}
	for range 2 {
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := open.WriteString("go on\n"); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(out)
	if err := errors.Join(err, cmd.Wait()); err != nil || !strings.Contains(string(said), "is at revision 2 now") {
		t.Errorf("%v: %s", err, said)
	}
}
