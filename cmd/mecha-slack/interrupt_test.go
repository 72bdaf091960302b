package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
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
