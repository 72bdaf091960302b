// Package child runs other programs as process groups that have an owner.
//
// It owns every process that this program starts: the shell, hooks, MCP servers, converters, an editor's helper. It
// promises that a child is reaped as soon as it exits, that its whole group ends with it and with its context, that
// nothing which a grandchild does to a pipe can hang its owner, that output is bounded, that the environment is an
// allowlist, and that a group left behind by a killed process can be found again and ended without touching a
// stranger that was given the same number.
//
// It must never know what the programs are for, and it retries nothing. A process that leaves its group (setsid) is
// out of its reach; a sandbox with its own process namespace is the answer to that.
//
//	res, err := child.Run(ctx, child.Spec{Path: "git", Args: []string{"status"}, Dir: dir, Env: env})
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// DefaultGrace is the time between SIGTERM and SIGKILL where a Spec names none.
const DefaultGrace = 2 * time.Second

// pipeDelay bounds how long a reaped child's output is still read: only a process that left the group can hold the
// pipe then, and its owner must not wait for it.
const pipeDelay = 3 * time.Second

// Spec says what to start. Path is a bare name, looked up in the PATH of Env (absolute directories only), or a path.
type Spec struct {
	Path       string
	Args       []string // without the program's own name
	Dir        string
	Env        []string  // the whole environment: nothing is inherited, nil is empty. See Env
	Stdin      io.Reader // nil is empty. A reader that is no file must come to its end: the child's end waits for it, briefly
	Stdout     io.Writer // for Run: nil collects
	Stderr     io.Writer
	ExtraFiles []*os.File
	Grace      time.Duration // between SIGTERM and SIGKILL; DefaultGrace if 0
	MaxOutput  int64         // Run keeps this many bytes of each stream and drains the rest; DefaultMaxOutput if 0

	// OnExit takes down what ends with the child but is not in its group, such as a container. It is called once,
	// after the child is reaped and before Done is closed, and must come to an end by itself.
	OnExit func(Exit)
}

// Exit says how a child ended.
type Exit struct {
	Code        int            // -1 if a signal ended it
	Signal      syscall.Signal // 0 if it exited by itself
	LeftRunning bool           // a process outside the group still held its output when we stopped reading
}

// Proc is a running child. Its methods are safe for concurrent use.
type Proc struct {
	cmd    *exec.Cmd
	ident  Ident
	grace  time.Duration
	onExit func(Exit)
	stop   chan struct{} // closed by Stop
	once   sync.Once
	done   chan struct{} // closed when the child is reaped and its output is read
	exit   Exit
	err    error

	mu     sync.Mutex
	reaped bool // from here on the number may belong to someone else
}

// Start starts a child as the leader of a new process group. When ctx ends the group gets SIGTERM, and SIGKILL after
// the grace. The context is the child's whole life: a deadline for a handshake does not belong here.
//
// The caller need not call Wait: the child is reaped either way.
func Start(ctx context.Context, s Spec) (*Proc, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Path, context.Cause(ctx))
	}
	path, err := lookPath(s.Path, s.Env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{s.Path}, s.Args...), Dir: s.Dir,
		Env:   s.Env,
		Stdin: s.Stdin, Stdout: s.Stdout, Stderr: s.Stderr, ExtraFiles: s.ExtraFiles,
		WaitDelay: pipeDelay,
		// Pdeathsig fires when the thread that forked ends, not the process (golang/go#27505). The thread is locked
		// to the goroutine below until the child is gone, so here the two are the same. bwrap's --die-with-parent
		// uses the same signal and depends on the same lock.
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // nil would mean ours
	}
	p := &Proc{cmd: cmd, grace: s.Grace, onExit: s.OnExit, stop: make(chan struct{}), done: make(chan struct{})}
	if p.grace <= 0 {
		p.grace = DefaultGrace
	}
	started := make(chan error, 1)
	go p.live(started) // ends when the child does
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Path, err)
	}
	go p.watch(ctx) // ends when the child does
	return p, nil
}

// live starts the child, waits for it and reaps it, all on one thread.
func (p *Proc) live(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	pid := p.cmd.Process.Pid
	// Not reaped yet, whatever it has done meanwhile: its entry in /proc is there and is its own.
	p.ident = identOf(pid)
	started <- nil
	defer close(p.done)

	// Look without reaping: while the leader is a zombie its number, and so the group's, cannot be given to anyone,
	// and the group can be ended without a race.
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			break
		}
	}
	p.mu.Lock()
	_ = unix.Kill(-pid, unix.SIGKILL) // what the leader left running ends with it
	p.reaped = true
	p.mu.Unlock()

	err := p.cmd.Wait()
	p.exit, p.err = exitOf(p.cmd.ProcessState, err)
	if p.onExit != nil {
		p.onExit(p.exit)
	}
}

// watch takes the group down when its context or its owner says so.
func (p *Proc) watch(ctx context.Context) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	case <-p.stop:
	}
	p.Signal(unix.SIGTERM)
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.done:
	case <-t.C:
		p.Signal(unix.SIGKILL)
	}
}

// Signal sends sig to the whole group. It does nothing once the child has been reaped.
func (p *Proc) Signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		_ = unix.Kill(-p.cmd.Process.Pid, sig)
	}
}

// Stop begins the end of the group (SIGTERM, the grace, SIGKILL) and returns at once. It may be called twice.
func (p *Proc) Stop() { p.once.Do(func() { close(p.stop) }) }

// PID is the leader's number, which is also the group's.
func (p *Proc) PID() int { return p.cmd.Process.Pid }

// Ident is what the record keeps so that a later process can end this group. See KillIdent.
func (p *Proc) Ident() Ident { return p.ident }

// Done is closed when the child has been reaped and its output read.
func (p *Proc) Done() <-chan struct{} { return p.done }

// Wait waits for the child and says how it ended. It may be called by several and more than once. A non-zero exit is
// not an error; an error means that its output could not be read or its input not be written.
func (p *Proc) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

func exitOf(st *os.ProcessState, err error) (Exit, error) {
	e := Exit{Code: -1}
	if st != nil {
		e.Code = st.ExitCode()
		if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
			e.Signal = ws.Signal()
		}
	}
	var status *exec.ExitError
	switch {
	case err == nil, errors.As(err, &status):
		return e, nil
	case errors.Is(err, exec.ErrWaitDelay):
		e.LeftRunning = true
		return e, nil
	default:
		return e, err
	}
}
