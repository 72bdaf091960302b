package child

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// markVar tells a program that it is a child of ours: deciding commands refuse under it, and KillIdent knows its own.
const markVar = "MECHA_CHILD"

// defaultPath is used where our own PATH names no absolute directory.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// base is what most runtimes cannot start without.
var base = [...]string{"PATH", "HOME", "LANG", "LC_ALL", "TZ"}

// Env makes a child's environment from nothing: the base (PATH, HOME, LANG, LC_ALL, TZ), the names in allow and
// passthrough as far as they are set here, then set, which wins. PATH keeps its absolute directories only, since a
// relative one is looked up wherever the child happens to stand. MECHA_CHILD=1 is always there and cannot be unset.
// The result is sorted.
func Env(allow, passthrough []string, set map[string]string) []string {
	env := map[string]string{}
	for _, names := range [][]string{base[:], allow, passthrough} {
		for _, name := range names {
			if v, ok := os.LookupEnv(name); ok && validName(name) {
				env[name] = v
			}
		}
	}
	for name, v := range set {
		if validName(name) && !strings.ContainsRune(v, 0) {
			env[name] = v
		}
	}
	env["PATH"] = absoluteDirs(env["PATH"])
	env[markVar] = "1"
	out := make([]string, 0, len(env))
	for name, v := range env {
		out = append(out, name+"="+v)
	}
	slices.Sort(out)
	return out
}

func validName(name string) bool { return name != "" && !strings.ContainsAny(name, "=\x00") }

func absoluteDirs(path string) string {
	var dirs []string
	for _, d := range filepath.SplitList(path) {
		if filepath.IsAbs(d) {
			dirs = append(dirs, d)
		}
	}
	if len(dirs) == 0 {
		return defaultPath
	}
	return strings.Join(dirs, string(filepath.ListSeparator))
}

// lookPath finds the program in the PATH that the child will have, not in ours: the two differ, and a name must mean
// one thing.
func lookPath(name string, env []string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("starting a child: no program is named")
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	path := defaultPath
	for _, kv := range env { // the last one wins, as it does for exec
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = absoluteDirs(v)
		}
	}
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, name)
		if fi, err := os.Stat(p); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", fmt.Errorf("starting %s: no such program in PATH=%s: %w", name, path, os.ErrNotExist)
}
