package sandbox

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// DefaultImage is used where [sandbox] image is empty. An image needs bash.
const DefaultImage = "debian:stable-slim"

// ownerLabel marks our containers with the process that started them, so that the next one can remove what a killed
// one left.
const ownerLabel = "mecha-slack.owner"

const dockerTimeout = 20 * time.Second

// docker confines with a container for each command. A container is not a child of ours: it outlives a client that is
// killed, so a Command's OnExit removes it then, and selecting the backend removes those of owners that are gone.
type docker struct {
	cfg    Config
	hidden []string
	path   string
}

func selectDocker(ctx context.Context, cfg Config, hidden []string) (Backend, error) {
	path, err := exec.LookPath("docker")
	if err != nil {
		return nil, fmt.Errorf("%w: docker is not installed", ErrUnavailable)
	}
	d := &docker{cfg: cfg, path: path}
	if d.cfg.Image == "" {
		d.cfg.Image = DefaultImage
	}
	if d.hidden, err = settle(hidden); err != nil {
		return nil, err
	}
	for _, p := range append(append([]string{}, cfg.Readable...), cfg.Writable...) {
		if err := errors.Join(opens(p, d.hidden), mountable(p)); err != nil {
			return nil, err
		}
	}
	if err := d.sweep(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w. Is the daemon running, and may you use it?", ErrUnavailable, err)
	}
	if err := prove(ctx, d, d.hidden); err != nil {
		return nil, fmt.Errorf("%w: %w. If the image is missing: docker pull %s", ErrUnavailable, err, d.cfg.Image)
	}
	return d, nil
}

func (*docker) Name() string       { return Docker }
func (d *docker) NetworkOff() bool { return !d.cfg.Network }
func (d *docker) Describe() string {
	s := "docker (" + d.cfg.Image + "): the workspace and the image, "
	if d.cfg.Network {
		return s + "with network"
	}
	return s + "no network"
}

// Command builds a docker run. The client keeps our own HOME: with the workspace's it would take its configuration,
// and the programs named there, from files that the confined command may write.
func (d *docker) Command(cmd Cmd) (child.Spec, error) {
	cwd, err := cmd.check(d.hidden)
	if err != nil {
		return child.Spec{}, err
	}
	owner, err := json.Marshal(child.Self())
	if err != nil {
		return child.Spec{}, fmt.Errorf("sandbox: %w", err)
	}
	name := "mecha-" + strings.ToLower(rand.Text())
	a := []string{
		"run", "--rm", "--interactive", "--init", "--pull", "never", "--name", name, "--label", ownerLabel + "=" + string(owner),
		"--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--hostname", "sandbox",
		"--pids-limit", strconv.Itoa(maxProcesses), "--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()),
		"--tmpfs", fmt.Sprintf("/tmp:rw,exec,size=%d,mode=1777", tmpSize),
	}
	if !cmd.Network {
		a = append(a, "--network", "none")
	}
	if d.cfg.MemoryMB > 0 {
		m := strconv.Itoa(d.cfg.MemoryMB) + "m"
		a = append(a, "--memory", m, "--memory-swap", m)
	}
	if d.cfg.CPUs > 0 {
		a = append(a, "--cpus", strconv.Itoa(d.cfg.CPUs))
	}
	mounts := []struct {
		paths  []string
		suffix string
	}{
		{append(append([]string{}, d.cfg.Writable...), cmd.Writable...), ""},
		{[]string{cmd.Dir}, ""},
		{append(append([]string{}, d.cfg.Readable...), cmd.ReadOnly...), ",readonly"},
	}
	for _, m := range mounts {
		for _, p := range m.paths {
			if err := mountable(p); err != nil {
				return child.Spec{}, err
			}
			a = append(a, "--mount", "type=bind,src="+p+",dst="+p+m.suffix)
		}
	}
	a = append(a, "--workdir", cwd)
	// Fixed values may be seen in a process list; the others travel by name, from the client's environment.
	inside := confinedEnv(d.cfg, cmd, "/tmp")
	set := map[string]string{}
	for _, kv := range inside {
		k, v, _ := strings.Cut(kv, "=")
		if slices.Contains([]string{"HOME", "PATH", "TMPDIR", "MECHA_WORKSPACE", "MECHA_CHILD"}, k) {
			a = append(a, "--env", kv)
			continue
		}
		a = append(a, "--env", k)
		set[k] = v
	}
	a = append(append(a, "--entrypoint", cmd.Argv[0], d.cfg.Image), cmd.Argv[1:]...)
	return child.Spec{
		Path: d.path, Args: a, Dir: "/", Env: child.Env(nil, clientVars, set),
		OnExit: func(e child.Exit) {
			if e.Signal != 0 { // the client was killed and could not end what it had started
				ctx, cancel := context.WithTimeout(context.Background(), dockerTimeout)
				defer cancel()
				_, _ = d.client(ctx, "rm", "--force", name) // what stays is swept by the next start
			}
		},
	}, nil
}

// clientVars say to the client where its daemon is.
var clientVars = []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY", "XDG_RUNTIME_DIR"}

// client runs a docker command of ours to its end.
func (d *docker) client(ctx context.Context, args ...string) (string, error) {
	res, err := child.Run(ctx, child.Spec{Path: d.path, Args: args, Dir: "/", Env: child.Env(nil, clientVars, nil)})
	if err == nil && res.ExitCode != 0 {
		err = fmt.Errorf("docker %s: %s", args[0], firstLine(string(res.Stderr)))
	}
	return string(res.Stdout), err
}

// sweep removes containers whose owner is gone. It also shows whether the daemon answers.
func (d *docker) sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, dockerTimeout, errors.New("docker does not answer"))
	defer cancel()
	out, err := d.client(ctx, "ps", "--all", "--filter", "label="+ownerLabel, "--format", `{{.ID}} {{.Label "`+ownerLabel+`"}}`)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		id, label, _ := strings.Cut(strings.TrimSpace(line), " ")
		var owner child.Ident
		if json.Unmarshal([]byte(label), &owner) != nil || owner.Alive() {
			continue
		}
		if _, err := d.client(ctx, "rm", "--force", id); err != nil {
			return err
		}
	}
	return nil
}

// mountable refuses paths that docker's own syntax would read as something else.
func mountable(p string) error {
	if strings.ContainsAny(p, ",\"\r\n") {
		return fmt.Errorf("sandbox: %q cannot be mounted by docker (comma, quote or line break in its name)", p)
	}
	return nil
}
