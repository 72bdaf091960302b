package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// maxProcesses bounds a fork bomb. It counts inside the sandbox's own user namespace only.
const maxProcesses = 1024

// tmpSize bounds what a command can put into memory through /tmp.
const tmpSize = 1 << 30

// bwrap confines with bubblewrap: its own user, process, network, mount, ipc and host name namespaces, the system
// read-only, the workspace at its real place and nothing else of the disk.
type bwrap struct {
	cfg     Config
	hidden  []string
	path    string
	variant variant
	cpus    string // a list for taskset; empty: all
}

// variant is a set of arguments that not every kernel, container or release takes. Each is proven before it is used.
type variant struct {
	name          string
	disableUserns bool // no further user namespaces inside: less kernel to attack
	proc          bool // a /proc of its own; containers often refuse to mount one
	sized         bool // --size for /tmp, since bubblewrap 0.8
}

var variants = []variant{
	{name: "full", disableUserns: true, proc: true, sized: true},
	{name: "without --disable-userns", proc: true},
	{name: "without --disable-userns and /proc"},
}

func selectBwrap(ctx context.Context, cfg Config, hidden []string) (Backend, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("%w: bwrap is not installed; install the package bubblewrap", ErrUnavailable)
	}
	b := bwrap{cfg: cfg, path: path}
	if b.hidden, err = settle(hidden); err != nil {
		return nil, err
	}
	for _, p := range append(append([]string{}, cfg.Readable...), cfg.Writable...) {
		if err := opens(p, b.hidden); err != nil {
			return nil, err
		}
	}
	if cfg.CPUs > 0 {
		if b.cpus, err = cpuList(cfg.CPUs); err != nil {
			return nil, err
		}
	}
	var first error
	for _, v := range variants {
		b.variant = v
		err := prove(ctx, &b, b.hidden)
		if err == nil {
			return &b, nil
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var setup *setupError
		if !errors.As(err, &setup) {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err) // it ran and leaked: a weaker variant is no answer
		}
	}
	return nil, fmt.Errorf("%w: %w. %s", ErrUnavailable, first, remedy(first.Error()))
}

func (b *bwrap) Name() string     { return Bwrap }
func (b *bwrap) NetworkOff() bool { return !b.cfg.Network }

func (b *bwrap) Describe() string {
	s := "bwrap: the workspace and a read-only system, "
	if b.cfg.Network {
		s += "with network"
	} else {
		s += "no network"
	}
	if b.variant.name != "full" {
		s += " (" + b.variant.name + ")"
	}
	return s
}

// etc is what programs need of /etc to run at all; nothing in it is secret.
var etc = []string{
	"alternatives", "ca-certificates", "fonts", "gai.conf", "group", "host.conf", "java-17-openjdk", "ld.so.cache",
	"ld.so.conf", "ld.so.conf.d", "locale.alias", "localtime", "magic", "mime.types", "nsswitch.conf", "os-release",
	"passwd", "pki", "protocols", "python3", "services", "ssl", "terminfo", "timezone",
}

// etcNetwork is what they need to find others.
var etcNetwork = []string{"hosts", "resolv.conf"}

// Command builds the whole command line. The environment is bwrap's own, made from nothing by child.Env: --clearenv
// and --setenv would do the same and show every value, tokens included, to whoever lists processes.
func (b *bwrap) Command(cmd Cmd) (child.Spec, error) {
	cwd, err := cmd.check(b.hidden)
	if err != nil {
		return child.Spec{}, err
	}
	a := []string{"--unshare-all"}
	if cmd.Network {
		a = append(a, "--share-net")
	}
	a = append(a, "--unshare-user", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox")
	if b.variant.disableUserns {
		a = append(a, "--disable-userns")
	}
	a = append(a, "--ro-bind", "/usr", "/usr")
	for _, dir := range []string{"/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32"} {
		a = append(a, systemDir(dir)...)
	}
	names := etc
	if cmd.Network {
		names = append(append([]string{}, etc...), etcNetwork...)
	}
	for _, name := range names {
		// The try variant: a distribution has some of them, and a link to a missing file is none of our business.
		a = append(a, "--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	if b.variant.proc {
		a = append(a, "--proc", "/proc")
		// Run by root, the sandbox's user is root to the kernel's switches too, without any capability: one write to
		// core_pattern would run a program outside. bwrap covers these itself only where it thinks it must.
		for _, p := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "driver", "pressure"} {
			a = append(a, "--ro-bind-try", "/proc/"+p, "/proc/"+p)
		}
	}
	a = append(a, "--dev", "/dev")
	if b.variant.sized {
		a = append(a, "--size", strconv.Itoa(tmpSize))
	}
	a = append(a, "--tmpfs", "/tmp", "--symlink", "../tmp", "/var/tmp", "--dir", "/run")
	// Parents before children, so that a mount inside another is not covered by it.
	for _, p := range append(append([]string{}, b.cfg.Readable...), cmd.ReadOnly...) {
		a = append(a, "--ro-bind", p, p)
	}
	for _, p := range append(append([]string{}, b.cfg.Writable...), cmd.Writable...) {
		a = append(a, "--bind", p, p)
	}
	a = append(a, "--bind", cmd.Dir, cmd.Dir)
	for _, p := range cmd.ReadOnly {
		if inside(p, cmd.Dir) {
			a = append(a, "--ro-bind", p, p) // once more on top of the workspace, or it would be writable
		}
	}
	a = append(a, "--remount-ro", "/", "--chdir", cwd, "--")
	a = append(a, b.limited(cmd.Argv)...)
	return child.Spec{Path: b.path, Args: a, Dir: "/", Env: confinedEnv(b.cfg, cmd, "/tmp")}, nil
}

// limited puts the limits on inside the sandbox: the number of processes counts per user namespace, and outside it
// would count the user's whole desktop. The shells differ in the letter for it.
func (b *bwrap) limited(argv []string) []string {
	script := fmt.Sprintf("ulimit -c 0; ulimit -u %[1]d 2>/dev/null || ulimit -p %[1]d 2>/dev/null; ", maxProcesses)
	if b.cfg.MemoryMB > 0 {
		script += fmt.Sprintf("ulimit -v %d || exit 125; ", b.cfg.MemoryMB*1024)
	}
	out := []string{"/bin/sh", "-c", script + `exec "$@"`, "sandbox"}
	if b.cpus != "" {
		out = append(out, "taskset", "-c", b.cpus)
	}
	return append(out, argv...)
}

// systemDir mounts a directory that may be a link into /usr, or be missing.
func systemDir(dir string) []string {
	fi, err := os.Lstat(dir)
	if err != nil {
		return nil
	}
	if fi.Mode()&os.ModeSymlink == 0 {
		return []string{"--ro-bind", dir, dir}
	}
	to, err := os.Readlink(dir)
	if err != nil {
		return nil
	}
	return []string{"--symlink", to, dir}
}

// cpuList names the first n processors that we may use ourselves.
func cpuList(n int) (string, error) {
	if _, err := os.Stat("/usr/bin/taskset"); err != nil {
		return "", fmt.Errorf("[sandbox] cpus = %d needs taskset (package util-linux)", n)
	}
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return "", fmt.Errorf("[sandbox] cpus = %d: %w", n, err)
	}
	var list []string
	for i := 0; len(list) < n && i < 1024; i++ {
		if set.IsSet(i) {
			list = append(list, strconv.Itoa(i))
		}
	}
	return strings.Join(list, ","), nil
}

// remedy names what usually stands behind a failure, from the words of the kernel.
func remedy(text string) string {
	apparmor := "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	if v, err := os.ReadFile(apparmor); err == nil && strings.TrimSpace(string(v)) == "1" {
		return "This system (Ubuntu 23.10 or later) keeps user namespaces from programs without an AppArmor profile: " +
			"install a profile for bwrap, or run sysctl kernel.apparmor_restrict_unprivileged_userns=0."
	}
	if v, err := os.ReadFile("/proc/sys/kernel/unprivileged_userns_clone"); err == nil && strings.TrimSpace(string(v)) == "0" {
		return "This kernel keeps user namespaces from users: run sysctl kernel.unprivileged_userns_clone=1."
	}
	if v, err := os.ReadFile("/proc/sys/user/max_user_namespaces"); err == nil && strings.TrimSpace(string(v)) == "0" {
		return "This kernel allows no user namespaces: run sysctl user.max_user_namespaces=15000."
	}
	if strings.Contains(text, "ermission") || strings.Contains(text, "not permitted") {
		return "In a container, its seccomp profile or missing /proc usually refuses the namespaces: start it with " +
			"--security-opt seccomp=unconfined (or a profile that allows unshare and mount), or run mecha-slack outside."
	}
	return "Run the command above by hand to see what the kernel says."
}
