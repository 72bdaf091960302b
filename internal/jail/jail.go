// Package jail is a directory that paths cannot lead out of.
//
// It owns one open directory, held by os.Root, and every way in which a path that a model or a stranger wrote touches
// the disk. It promises that what is opened, listed, hashed or written lies inside, also while someone swaps a
// directory for a symbolic link: nothing is checked first and opened by name later, each step is taken from an open
// directory. It refuses devices, FIFOs and sockets without hanging on them, and writes that another name of the same
// file (a hard link) would share.
//
// Two things follow from os.Root and are said in the errors: absolute symbolic links are refused even when they point
// inside, and a hard link that already lies inside can be read. It must never know who asks or why, and it never opens
// anything by its full name.
//
//	j, err := jail.Open(workspace)
//	f, err := j.Open("notes/today.md")    // *jail.Error says what is wrong in words
//	err = j.WriteFile("notes/new.md", b)  // whole or not at all
package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ReadOnly is a jail whose methods only read. It is what a spill directory is opened as.
type ReadOnly struct {
	root  *os.Root
	path  string // absolute, links resolved when it was opened
	alias string // absolute, as it was named
}

// Jail is a directory that may also be written.
type Jail struct{ ReadOnly }

// Open opens the directory, which must exist. The handle stays on this very directory, whatever becomes of its name.
func Open(dir string) (*Jail, error) {
	r, err := OpenReadOnly(dir)
	if err != nil {
		return nil, err
	}
	return &Jail{*r}, nil
}

// OpenReadOnly is Open for a directory that is only read.
func OpenReadOnly(dir string) (*ReadOnly, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening jail %s: %w", dir, err)
	}
	path, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("opening jail %s: %w", dir, err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("opening jail %s: %w", dir, err)
	}
	return &ReadOnly{root: root, path: path, alias: abs}, nil
}

// Close lets go of the directory. Files that were opened stay open.
func (j *ReadOnly) Close() error { return j.root.Close() }

// Path is the directory's absolute name, without symbolic links.
func (j *ReadOnly) Path() string { return j.path }

// FS is the jail as a file system, for libraries that want one.
func (j *ReadOnly) FS() fs.FS { return j.root.FS() }

// Rel turns a path that someone wrote, relative or absolute, into one relative to the jail, without looking at the
// disk. The empty path is ".". An absolute path must lie inside. A leading ".." may go out and come back in; a later
// one is kept, since only the disk knows where the name before it leads, and every method judges it there.
func (j *ReadOnly) Rel(p string) (string, error) {
	if strings.IndexByte(p, 0) >= 0 {
		return "", refuse("path", p, NulByte, "")
	}
	if len(p) > maxPath {
		return "", refuse("path", p[:maxShown]+"…", TooLong, "")
	}
	parts := split(p)
	if filepath.IsAbs(p) {
		rest, ok := under(parts, j.path)
		if !ok {
			rest, ok = under(parts, j.alias)
		}
		if !ok {
			return "", refuse("path", p, Outside, "the workspace is "+j.path)
		}
		parts = rest
	}
	for len(parts) > 0 && parts[0] == ".." {
		up := 1
		for up < len(parts) && parts[up] == ".." {
			up++
		}
		// The jail's own path has no links in it, so these may be resolved by their names.
		above := split(j.path)
		above = above[:max(0, len(above)-up)]
		rest, ok := under(append(above, parts[up:]...), j.path)
		if !ok {
			return "", refuse("path", p, Outside, "the workspace is "+j.path)
		}
		parts = rest
	}
	if len(parts) == 0 {
		return ".", nil
	}
	return strings.Join(parts, "/"), nil
}

// under strips dir from the front of an absolute path's parts.
func under(parts []string, dir string) (rest []string, ok bool) {
	d := split(dir)
	if len(parts) < len(d) {
		// Shorter, but it may still lead inside: "/ws/.." does not, and nothing else shorter can.
		return nil, false
	}
	for i := range d {
		if parts[i] != d[i] {
			return nil, false
		}
	}
	return parts[len(d):], true
}

// split cuts a path into its components, without the empty ones and the ".".
func split(p string) []string {
	var out []string
	for c := range strings.SplitSeq(p, "/") {
		if c != "" && c != "." {
			out = append(out, c)
		}
	}
	return out
}

// CheckWorkspace refuses a workspace from which the home (and so the record and the credentials) could be read: the
// home itself, a directory that contains it, "/", and the user's own home directory or one above it. Links are
// resolved first. A path that does not exist yet is judged by what exists of it.
func CheckWorkspace(workspace, home string) error {
	ws, err := real(workspace)
	if err != nil {
		return fmt.Errorf("checking workspace %s: %w", workspace, err)
	}
	if ws == "/" {
		return fmt.Errorf("workspace %s is the whole file system: choose a directory of its own", workspace)
	}
	places := []struct{ what, path string }{{"mecha's home", home}}
	if user, err := os.UserHomeDir(); err == nil && user != "" {
		places = append(places, struct{ what, path string }{"your home directory", user})
	}
	for _, p := range places {
		dir, err := real(p.path)
		if err != nil {
			return fmt.Errorf("checking workspace %s against %s: %w", workspace, p.path, err)
		}
		if ws == dir {
			return fmt.Errorf("workspace %s is %s (%s): choose a directory of its own", workspace, p.what, dir)
		}
		if strings.HasPrefix(dir, ws+"/") {
			return fmt.Errorf("workspace %s contains %s (%s): choose a directory that does not", workspace, p.what, dir)
		}
	}
	return nil
}

// real resolves the links of what exists of a path and appends the rest.
func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for dir := abs; ; dir = filepath.Dir(dir) {
		got, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(got, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if fi, lerr := os.Lstat(dir); lerr == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link to something that does not exist", dir)
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// Sub opens a directory of the jail as a jail of its own, and makes it where it is missing. Links within it are judged
// by its own walls: a narrower jail is no way around a wider one.
func (j *Jail) Sub(p string) (*Jail, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, err
	}
	if err := j.MkdirAll(rel); err != nil {
		return nil, err
	}
	root, err := j.root.OpenRoot(rel)
	if err != nil {
		return nil, j.explain("open", p, rel, err)
	}
	// Its name, for the processes that are started there: only if it leads to the very directory that is held.
	path, err := filepath.EvalSymlinks(filepath.Join(j.path, rel))
	if err == nil {
		var held, named os.FileInfo
		if held, err = root.Stat("."); err == nil {
			if named, err = os.Stat(path); err == nil && !os.SameFile(held, named) {
				err = errors.New("another directory has taken its name")
			}
		}
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("opening jail %s: %w", p, err)
	}
	return &Jail{ReadOnly{root: root, path: path, alias: path}}, nil
}
