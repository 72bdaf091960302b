package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// check judges a command's paths and returns where it starts. Every path must be absolute, must exist, and must not
// open one of the hidden places: those may contain a workspace, never the other way round.
func (c Cmd) check(hidden []string) (cwd string, err error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", errors.New("sandbox: there is no command to run")
	}
	for _, p := range append([]string{c.Dir}, append(c.ReadOnly, c.Writable...)...) {
		if err := opens(p, hidden); err != nil {
			return "", err
		}
	}
	if c.Cwd == "" {
		return c.Dir, nil
	}
	if c.Cwd != c.Dir && !strings.HasPrefix(c.Cwd, strings.TrimSuffix(c.Dir, "/")+"/") {
		return "", fmt.Errorf("sandbox: %s lies outside of the workspace %s", c.Cwd, c.Dir)
	}
	return c.Cwd, nil
}

// opens refuses a path whose mount would show a hidden place.
func opens(p string, hidden []string) error {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p {
		return fmt.Errorf("sandbox: %q is not a plain absolute path", p)
	}
	if p == "/" {
		return errors.New("sandbox: the whole file system cannot be a part of the sandbox")
	}
	real, err := filepath.EvalSymlinks(p)
	if err != nil {
		return fmt.Errorf("sandbox: %s cannot be mounted: %w", p, err)
	}
	for _, h := range hidden {
		if inside(h, p) || inside(h, real) {
			return fmt.Errorf("sandbox: %s would show %s, which must stay hidden", p, h)
		}
	}
	return nil
}

// inside reports whether p is dir or lies below it.
func inside(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// settle makes paths absolute and resolves their links as far as they exist.
func settle(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, fmt.Errorf("sandbox: %s: %w", p, err)
		}
		if real, err := filepath.EvalSymlinks(abs); err == nil {
			abs = real
		}
		out = append(out, abs)
	}
	return out, nil
}
