// Package sandbox confines the commands that a model asked for, and proves that it does.
//
// It owns the ways of confinement (bwrap, landlock, none), the environment that a confined command gets, and the
// preflight: before a backend is offered it has run a real command, with the arguments of production, that could not
// read a planted file and, where the network is off, could not reach a listener of ours over TCP, UDP or an abstract
// socket. A control run outside the sandbox shows that the same command would have succeeded.
//
// It promises that a configured sandbox which does not work is an error and never a silent downgrade, and that
// NetworkOff is true only where it was proven. It starts no command itself but the preflight's: a Backend turns a Cmd
// into a child.Spec. It must never know which tool asks.
//
//	b, withheld, err := sandbox.Select(ctx, cfg, []string{home})
//	spec, err := b.Command(sandbox.Cmd{Argv: []string{"bash", "-c", command}, Dir: workspace})
//	res, err := child.Run(ctx, spec)
//
// A program that offers kind = "landlock" calls MaybeExec first thing in main.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// The kinds of Config.Kind.
const (
	Auto     = "auto" // bwrap if it proves itself, else nothing
	None     = "none" // unconfined, in so many words
	Bwrap    = "bwrap"
	Landlock = "landlock"
	Docker   = "docker"
)

// Config is the [sandbox] table.
type Config struct {
	Kind     string   `toml:"kind"`      // auto if empty
	Network  bool     `toml:"network"`   // true leaves the network on
	Readable []string `toml:"readable"`  // more paths to read; absolute
	Writable []string `toml:"writable"`  // more paths to write; absolute
	Env      []string `toml:"env"`       // names of variables that are passed on
	Image    string   `toml:"image"`     // docker
	MemoryMB int      `toml:"memory_mb"` // address space of each process; 0: no limit
	CPUs     int      `toml:"cpus"`      // 0: all
}

// Check says what is wrong with the table itself, by key, without trying anything.
func (c Config) Check() error {
	if !slices.Contains([]string{"", Auto, None, Bwrap, Landlock, Docker}, c.Kind) {
		return fmt.Errorf("[sandbox] kind = %q: must be auto, none, bwrap, landlock or docker", c.Kind)
	}
	for key, paths := range map[string][]string{"readable": c.Readable, "writable": c.Writable} {
		for _, p := range paths {
			if !strings.HasPrefix(p, "/") {
				return fmt.Errorf("[sandbox] %s = %q: must be an absolute path", key, p)
			}
		}
	}
	if c.MemoryMB < 0 || c.CPUs < 0 {
		return errors.New("[sandbox] memory_mb and cpus cannot be negative")
	}
	return nil
}

// Cmd is a command to confine.
type Cmd struct {
	Argv     []string
	Dir      string   // the workspace: absolute, writable, HOME
	Cwd      string   // where the command starts, inside Dir; Dir if empty
	ReadOnly []string // more paths to read, at their own places (the spill directory)
	Writable []string // more paths to write
	Network  bool     // false: without network where the backend can do that
	Env      []string // more "NAME=value"; HOME, PATH and MECHA_CHILD are the sandbox's own
}

// Backend is one way of running commands.
type Backend interface {
	// Name is the kind: none, bwrap, landlock, docker.
	Name() string
	// Command says how to start cmd confined. It starts nothing. The caller adds input, output and grace.
	Command(cmd Cmd) (child.Spec, error)
	// NetworkOff reports whether a Cmd without Network was proven to have no way out.
	NetworkOff() bool
	// Describe is one line for people: what it does and which variant worked.
	Describe() string
}

// ErrUnavailable is wrapped by the errors of a backend that does not work on this machine. The text holds the remedy.
var ErrUnavailable = errors.New("the sandbox does not work here")

// Select returns the backend that cfg asks for, proven. hidden are paths that no confined command may read, such as
// mecha's home. With kind auto and no working sandbox it returns no backend, and in withheld why and what helps: what
// needs one is then not offered. A kind that is written out and does not work is an error.
//
// A proof is remembered for the life of the process: the same question to the same kernel has the same answer.
func Select(ctx context.Context, cfg Config, hidden []string) (b Backend, withheld string, err error) {
	if err := cfg.Check(); err != nil {
		return nil, "", err
	}
	switch cfg.Kind {
	case None:
		return unconfined{cfg}, "", nil
	case Bwrap:
		b, err = proven(ctx, cfg, hidden, selectBwrap)
	case Landlock:
		b, err = proven(ctx, cfg, hidden, selectLandlock)
	case Docker:
		b, err = proven(ctx, cfg, hidden, selectDocker)
	default:
		b, err = proven(ctx, cfg, hidden, selectBwrap)
		if errors.Is(err, ErrUnavailable) {
			why := strings.TrimPrefix(err.Error(), ErrUnavailable.Error()+": ")
			return nil, strings.TrimSuffix(why, ".") + ". " +
				`To run commands unconfined, as you and with your files and network, write [sandbox] kind = "none".`, nil
		}
	}
	if err != nil {
		return nil, "", fmt.Errorf("[sandbox] kind = %q: %w", cmpOr(cfg.Kind, Auto), err)
	}
	return b, "", nil
}

func cmpOr(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
