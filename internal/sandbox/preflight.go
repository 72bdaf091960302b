package sandbox

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// probe.sh tries everything that a confined command must not be able to do, and says what it could.
//
//go:embed probe.sh
var probe string

const probeTimeout = 30 * time.Second

// setupError means that the sandbox did not come up, so nothing was executed in it. Another variant may.
type setupError struct{ what string }

func (e *setupError) Error() string { return e.what }

// prove runs the probe, first outside and then inside, and returns nil only if everything succeeded outside and
// everything that must not succeed failed inside.
func prove(ctx context.Context, b Backend, hidden []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, probeTimeout, fmt.Errorf("the preflight did not end within %v", probeTimeout))
	defer cancel()
	p, err := plant(hidden)
	if err != nil {
		return fmt.Errorf("preparing the sandbox preflight: %w", err)
	}
	defer p.remove()

	cmd := Cmd{Argv: p.argv(), Dir: p.workspace, Network: !b.NetworkOff()}
	control, err := p.run(ctx, unconfined{}, cmd)
	if err != nil {
		return fmt.Errorf("the sandbox preflight does not even run outside of the sandbox: %w", err)
	}
	if err := p.judgeControl(control, b.NetworkOff()); err != nil {
		return err
	}
	inside, err := p.run(ctx, b, cmd)
	if err != nil {
		return err
	}
	return p.judge(inside, control, b.NetworkOff())
}

// planted is what the probe tries to reach.
type planted struct {
	nonce     string
	workspace string
	files     []string
	tcp       *net.TCPListener
	udp       *net.UDPConn
	unix      *net.UnixListener
	abstract  string
	dirs      []string // to remove
}

func plant(hidden []string) (p *planted, err error) {
	p = &planted{nonce: rand.Text()}
	defer func() {
		if err != nil {
			p.remove()
		}
	}()
	// One file in every hidden directory that there is, and one in the machine's own temporary directory.
	for _, dir := range append([]string{os.TempDir()}, hidden...) {
		if fi, serr := os.Stat(dir); serr != nil || !fi.IsDir() {
			continue
		}
		d, err := os.MkdirTemp(dir, ".mecha-preflight-")
		if err != nil {
			return p, err
		}
		p.dirs = append(p.dirs, d)
		f := filepath.Join(d, "secret")
		if err := os.WriteFile(f, []byte(p.nonce), 0o600); err != nil {
			return p, err
		}
		p.files = append(p.files, f)
	}
	// The workspace lies where workspaces lie: inside the last hidden place, beside what must not be read.
	ws := filepath.Join(p.dirs[len(p.dirs)-1], "workspace")
	if err := os.Mkdir(ws, 0o700); err != nil {
		return p, err
	}
	if p.workspace, err = filepath.EvalSymlinks(ws); err != nil {
		return p, err
	}
	if p.tcp, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return p, err
	}
	if p.udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return p, err
	}
	p.abstract = "mecha-preflight-" + p.nonce
	p.unix, err = net.ListenUnix("unix", &net.UnixAddr{Name: "@" + p.abstract, Net: "unix"})
	return p, err
}

func (p *planted) remove() {
	for _, d := range p.dirs {
		_ = os.RemoveAll(d)
	}
	if p.tcp != nil {
		_ = p.tcp.Close()
	}
	if p.udp != nil {
		_ = p.udp.Close()
	}
	if p.unix != nil {
		_ = p.unix.Close()
	}
}

func (p *planted) argv() []string {
	return append([]string{
		"bash", "-c", probe, "probe", p.nonce,
		strconv.Itoa(p.tcp.Addr().(*net.TCPAddr).Port), strconv.Itoa(p.udp.LocalAddr().(*net.UDPAddr).Port), p.abstract,
	}, p.files...)
}

// finding is what the probe could do, as it says itself and as our listeners saw.
type finding struct {
	read                     []string
	tcp, udp                 bool
	abstract                 string // open, shut or untested
	netns, home, pwd, status string
	wrote                    bool
}

func (p *planted) run(ctx context.Context, b Backend, cmd Cmd) (finding, error) {
	spec, err := b.Command(cmd)
	if err != nil {
		return finding{}, err
	}
	out := filepath.Join(p.workspace, "written")
	_ = os.Remove(out)
	res, err := child.Run(ctx, spec)
	if err != nil {
		return finding{}, err
	}
	f := parseFinding(string(res.Stdout))
	if f.status != p.nonce {
		return f, &setupError{fmt.Sprintf("%s did not come up (exit %d): %s", b.Name(), res.ExitCode, firstLine(string(res.Stderr)))}
	}
	// Loopback delivers at once, so what was sent to us lies in these sockets' queues now. They are asked without any
	// deadline: on a busy machine one could pass before the first look, and nothing seen would pass for nothing sent.
	f.tcp = taken(p.tcp, accept) || f.tcp
	f.udp = taken(p.udp, receive)
	if taken(p.unix, accept) {
		f.abstract = "open"
	}
	b2, err := os.ReadFile(out)
	f.wrote = err == nil && strings.TrimSpace(string(b2)) == p.nonce
	return f, nil
}

// taken empties a socket's queue and reports whether anything was in it.
func taken(c syscall.Conn, take func(fd int) error) (any bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return true // what cannot be looked at counts as a way out
	}
	err = raw.Control(func(fd uintptr) {
		for {
			switch err := take(int(fd)); err {
			case nil:
				any = true
			case unix.EINTR, unix.ECONNABORTED:
			default:
				any = any || err != unix.EAGAIN
				return
			}
		}
	})
	return any || err != nil
}

func accept(fd int) error {
	conn, _, err := unix.Accept4(fd, unix.SOCK_CLOEXEC)
	if err == nil {
		_ = unix.Close(conn)
	}
	return err
}

func receive(fd int) error {
	_, _, err := unix.Recvfrom(fd, make([]byte, 64), unix.MSG_DONTWAIT)
	return err
}

func parseFinding(out string) finding {
	f := finding{abstract: "untested"}
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "read":
			f.read = append(f.read, value)
		case "tcp":
			f.tcp = true
		case "unix":
			f.abstract = value
		case "netns":
			f.netns = value
		case "home":
			f.home = value
		case "pwd":
			f.pwd = value
		case "done":
			f.status = value
		}
	}
	return f
}

// judgeControl refuses a probe that proves nothing because it could not have succeeded anyway.
func (p *planted) judgeControl(c finding, networkOff bool) error {
	switch {
	case len(c.read) != len(p.files):
		return errors.New("the sandbox preflight cannot read its own files even outside of the sandbox, so it proves nothing")
	case !c.wrote:
		return errors.New("the sandbox preflight cannot write its workspace even outside of the sandbox, so it proves nothing")
	case networkOff && (!c.tcp || !c.udp):
		return errors.New("the sandbox preflight cannot connect even outside of the sandbox (bash without /dev/tcp?), so it proves nothing")
	}
	return nil
}

// judge says what the sandbox let through, or what it broke.
func (p *planted) judge(f, control finding, networkOff bool) error {
	switch {
	case len(f.read) > 0:
		return fmt.Errorf("a command in the sandbox could read %s", strings.Join(f.read, ", "))
	case !f.wrote:
		return &setupError{"a command in the sandbox could not write its workspace"}
	case f.home != p.workspace || f.pwd != p.workspace:
		return &setupError{fmt.Sprintf("a command in the sandbox had HOME=%s and started in %s instead of its workspace", f.home, f.pwd)}
	}
	if !networkOff {
		return nil
	}
	switch {
	case f.tcp:
		return errors.New("a command in the sandbox could connect to us over TCP, though the network is off")
	case f.udp:
		return errors.New("a command in the sandbox could send to us over UDP, though the network is off")
	case f.abstract == "open":
		return errors.New("a command in the sandbox could connect to our abstract socket, though the network is off")
	case f.netns != "" && f.netns == control.netns:
		return errors.New("a command in the sandbox is in our own network namespace, though the network is off")
	case f.netns == "" && (f.abstract != "shut" || control.abstract != "open"):
		return &setupError{"nothing could show that abstract sockets are out of reach (no /proc, no python3 or perl)"}
	}
	return nil
}

func firstLine(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return "it said nothing"
	}
	line, _, _ := strings.Cut(s, "\n")
	if len(line) > 300 {
		line = strings.ToValidUTF8(line[:300], "") + "…"
	}
	return line
}
