package mcp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

// environment is what a server sees: it begins with nothing. child.Env adds what most runtimes cannot start without,
// the absolute directories of PATH, and MECHA_CHILD. An explicit entry of env wins over everything but that mark.
func (s *server) environment(workspace string) map[string]string {
	set := map[string]string{"MECHA_WORKSPACE": workspace}
	if s.deps.Timezone != "" {
		set["MECHA_TZ"] = s.deps.Timezone
	}
	for _, name := range s.cfg.EnvPassthrough {
		if v, ok := s.deps.Env(name); ok {
			set[name] = v
		}
	}
	for name, v := range s.cfg.Env {
		set[name] = v
	}
	return set
}

// spawn says how to start the server in a directory.
func (s *server) spawn(dir string) (child.Spec, error) {
	command := s.cfg.Command
	if strings.ContainsRune(command, filepath.Separator) {
		// Relative to where we stand, not to where the child will: a workspace must not decide what is run.
		abs, err := filepath.Abs(command)
		if err != nil {
			return child.Spec{}, err
		}
		command = abs
	}
	set := s.environment(dir)
	if !s.cfg.Sandbox {
		return child.Spec{Path: command, Args: s.cfg.Args, Dir: dir, Env: child.Env(nil, nil, set), Grace: s.deps.Grace}, nil
	}
	cmd := sandbox.Cmd{Argv: append([]string{command}, s.cfg.Args...), Dir: dir, Network: s.deps.Network}
	if s.cfg.Network != nil {
		cmd.Network = *s.cfg.Network
	}
	for name, v := range set {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	slices.Sort(cmd.Env)
	spec, err := s.deps.Sandbox.Command(cmd)
	spec.Grace = s.deps.Grace
	return spec, err
}

// check finds what would be wrong at every start of the server, before the first.
func (s *server) check() error {
	var errs []error
	if s.cfg.Sandbox && (s.deps.Sandbox == nil || s.deps.Sandbox.Name() == sandbox.None) {
		errs = append(errs, fmt.Errorf("MCP server `%s` is configured with `sandbox = true`, but no sandbox backend is set. "+
			"Set [sandbox] kind = \"bwrap\" or \"docker\", or drop `sandbox = true` to accept that it runs unconfined", s.cfg.Name))
	}
	for name, v := range s.environment("") {
		if s.holdsOwn(v) {
			errs = append(errs, fmt.Errorf("MCP server `%s` would be handed our own Slack token in %s: whoever has it can "+
				"speak and approve as the bot. Give the server a token of its own", s.cfg.Name, name))
		}
	}
	for _, a := range s.cfg.Args {
		if s.holdsOwn(a) {
			errs = append(errs, fmt.Errorf("MCP server `%s` would be handed our own Slack token in its args; give it one of its own", s.cfg.Name))
		}
	}
	for header, name := range s.cfg.HeadersEnv {
		if v, _ := s.deps.Env(name); s.holdsOwn(v) {
			errs = append(errs, fmt.Errorf("MCP server `%s` would be sent our own Slack token in the header %s; give it one of its own", s.cfg.Name, header))
		}
	}
	for _, name := range slices.Concat(s.cfg.EnvPassthrough, values(s.cfg.HeadersEnv)) {
		if _, ok := s.deps.Env(name); !ok {
			s.warn(fmt.Sprintf("the variable %s that it is to be given is not set", name))
		}
	}
	return errors.Join(errs...)
}

func (s *server) holdsOwn(v string) bool {
	return slices.ContainsFunc(s.deps.Own, func(t string) bool { return len(t) >= 8 && strings.Contains(v, t) })
}

func values(m map[string]string) []string {
	var out []string
	for _, v := range m {
		out = append(out, v)
	}
	slices.Sort(out)
	return out
}

// directory is where a process stands: the workspace of its thread, the fixed directory of a shared server, or an empty
// one, which cleanup removes.
func (s *server) directory(workspace string) (dir string, cleanup func(), err error) {
	if workspace != "" {
		return workspace, func() {}, nil
	}
	if home := s.home(); home != "" {
		if err := os.MkdirAll(home, 0o700); err != nil {
			return "", nil, fmt.Errorf("its directory cannot be made: %w", err)
		}
		return home, func() {}, nil
	}
	dir, err = os.MkdirTemp(s.deps.Scratch, "mecha-mcp-")
	if err != nil {
		return "", nil, fmt.Errorf("an empty directory to start it in cannot be made: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", nil, err
	}
	return dir, func() { _ = os.RemoveAll(dir) }, nil
}

// home is the fixed directory of a shared server; empty for any other.
func (s *server) home() string {
	if s.cfg.Shared() && s.cfg.URL == "" && s.deps.Home != nil {
		return s.deps.Home(s.cfg.Name)
	}
	return ""
}
