package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// execCommand is the hidden subcommand under which our own program confines itself and becomes the command.
const execCommand = "sandbox-exec"

// guardVar marks the helper. A program that does not call MaybeExec ends up in its own main with it set, and Select
// refuses there: otherwise it would start itself again and again.
const guardVar = "MECHA_SANDBOX_EXEC"

// landlocked confines the files a command can reach with the kernel's Landlock. TCP is closed too where the kernel can,
// UDP is not (kernels below ABI 10) and neither are other programs' sockets in the file system (D-Bus, docker), so the
// network counts as on, and this is the weaker wall of the two.
type landlocked struct {
	cfg    Config
	hidden []string
	self   string
}

func selectLandlock(ctx context.Context, cfg Config, hidden []string) (Backend, error) {
	if os.Getenv(guardVar) != "" {
		return nil, errors.New("this program does not call sandbox.MaybeExec at the start of main, so landlock cannot be used")
	}
	if cfg.MemoryMB > 0 || cfg.CPUs > 0 {
		return nil, errors.New("memory_mb and cpus need kind = \"bwrap\" or \"docker\"")
	}
	b := &landlocked{cfg: cfg, self: "/proc/self/exe"}
	var err error
	if b.hidden, err = settle(hidden); err != nil {
		return nil, err
	}
	for _, p := range append(append([]string{}, cfg.Readable...), cfg.Writable...) {
		if err := opens(p, b.hidden); err != nil {
			return nil, err
		}
	}
	if err := prove(ctx, b, b.hidden); err != nil {
		return nil, fmt.Errorf("%w: %w. Landlock needs Linux 5.13 or later with lsm=landlock", ErrUnavailable, err)
	}
	return b, nil
}

func (*landlocked) Name() string     { return Landlock }
func (*landlocked) NetworkOff() bool { return false }
func (*landlocked) Describe() string {
	return "landlock: files outside of the workspace and the system are closed; the network (UDP) and other programs' sockets (D-Bus, docker) stay open on most kernels, so sending counts as possible"
}

// confinement is what the helper is told, in its first argument.
type confinement struct {
	ReadOnly []string `json:"read_only"`
	Writable []string `json:"writable"`
	Network  bool     `json:"network"`
	Tmp      string   `json:"tmp"`
}

func (b *landlocked) Command(cmd Cmd) (child.Spec, error) {
	cwd, err := cmd.check(b.hidden)
	if err != nil {
		return child.Spec{}, err
	}
	// There are no mounts, so /tmp is everyone's and stays closed: temporary files go into the workspace.
	tmp := filepath.Join(cmd.Dir, ".tmp")
	c := confinement{
		ReadOnly: append(append([]string{}, b.cfg.Readable...), cmd.ReadOnly...),
		Writable: append(append([]string{cmd.Dir}, b.cfg.Writable...), cmd.Writable...),
		Network:  cmd.Network, Tmp: tmp,
	}
	spec, err := json.Marshal(c)
	if err != nil {
		return child.Spec{}, fmt.Errorf("sandbox: %w", err)
	}
	args := append([]string{execCommand, string(spec)}, cmd.Argv...)
	env := append(confinedEnv(b.cfg, cmd, tmp), guardVar+"=1")
	return child.Spec{Path: b.self, Args: args, Dir: cwd, Env: env}, nil
}

// MaybeExec makes this process the confined command if it was started as the sandbox's helper, and otherwise returns at
// once. It must be the first thing in main (and in TestMain of tests that use landlock): Landlock binds a whole process
// for good, so our own program starts itself once more for each command, under the hidden subcommand sandbox-exec.
func MaybeExec() {
	if len(os.Args) < 4 || os.Args[1] != execCommand || os.Getenv(guardVar) == "" {
		return
	}
	err := confine(os.Args[2], os.Args[3:])
	fmt.Fprintln(os.Stderr, "sandbox-exec: nothing was executed:", err)
	os.Exit(126)
}

// confine returns only with an error.
func confine(spec string, argv []string) error {
	var c confinement
	if err := json.Unmarshal([]byte(spec), &c); err != nil {
		return err
	}
	if err := os.MkdirAll(c.Tmp, 0o700); err != nil {
		return err
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return err
	}
	// All of /proc, since a rule for /proc/self would name this process and not its children. What is private in it
	// (environ, fd, root, mem) asks for the right to trace, which Landlock keeps inside the confined domain.
	system := []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32", "/proc"}
	files := []string{"/dev/zero", "/dev/random", "/dev/urandom"}
	for _, name := range append(append([]string{}, etc...), etcNetwork...) {
		files = append(files, "/etc/"+name)
	}
	rules := []landlock.Rule{landlock.RWFiles("/dev/null").IgnoreIfMissing()}
	for _, p := range append(append(system, files...), c.ReadOnly...) {
		rules = append(rules, access(p, landlock.RODirs, landlock.ROFiles))
	}
	for _, p := range c.Writable {
		rules = append(rules, access(p, func(ps ...string) landlock.FSRule { return landlock.RWDirs(ps...).WithRefer() }, landlock.RWFiles))
	}
	// BestEffort, since a kernel without the newest rights still closes files; whether it does is what the preflight
	// proves. Without a kernel that knows Landlock at all it would do nothing, and the preflight fails.
	ll := landlock.V11.BestEffort()
	if c.Network {
		err = errors.Join(ll.RestrictPaths(rules...), ll.RestrictScoped())
	} else {
		err = ll.Restrict(rules...)
	}
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	env := make([]string, 0, len(os.Environ()))
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, guardVar+"=") {
			env = append(env, kv)
		}
	}
	return fmt.Errorf("%s: %w", path, syscall.Exec(path, argv, env))
}

// dropCapabilities takes root's powers from this thread and from what it will execute. Landlock leaves them, and with
// CAP_PERFMON a confined root could read any process's environment and memory map. It locks the thread: capabilities
// belong to one, and the one that executes is the one that counts.
func dropCapabilities() error {
	runtime.LockOSThread()
	for c := range uintptr(64) {
		// EINVAL: no such capability here. EPERM: not root, so there is nothing to drop.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL && err != unix.EPERM {
			return err
		}
	}
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// access makes the rule for a path that may be a directory, a file or missing.
func access(p string, dirs, files func(...string) landlock.FSRule) landlock.Rule {
	if fi, err := os.Stat(p); err == nil && !fi.IsDir() {
		return files(p).IgnoreIfMissing()
	}
	return dirs(p).IgnoreIfMissing()
}
