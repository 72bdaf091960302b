package jail

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"syscall"
)

const (
	newFile = 0o644
	newDir  = 0o755
)

// WriteFile writes a whole file or leaves everything as it was: the bytes go to a new file beside it, are synced, and
// take the name in one step. Parents are made. An existing file keeps its mode; a relative link is followed to the
// file inside that it stands for; dangling links, directories, anything that is not a regular file, and a file with
// a second name are refused.
func (j *Jail) WriteFile(p string, data []byte) error {
	rel, err := j.Rel(p)
	if err != nil {
		return withOp(err, "write")
	}
	return j.explain("write", p, rel, j.replace(p, rel, data))
}

func (j *Jail) replace(asked, rel string, data []byte) error {
	rel, mode, err := j.target(asked, rel)
	if err != nil {
		return err
	}
	dir, base := dirOf(rel), path.Base(rel)
	if base == ".." || base == "." {
		return refuse("write", asked, IsDir, "")
	}
	if err := j.parents(dir); err != nil {
		return err
	}
	// From here on the directory is held open: whatever its name comes to mean, the file goes into this one.
	d, err := j.root.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	tmp := ".mecha-" + rand.Text() + ".tmp"
	if err := fill(d, tmp, data, mode); err != nil {
		_ = d.Remove(tmp)
		return err
	}
	if err := d.Rename(tmp, base); err != nil {
		_ = d.Remove(tmp)
		return err
	}
	return syncDir(d)
}

// target follows the links of the last element to the name that will be replaced, and judges what is there now. The
// judgement may be overtaken; it decides what is said, not what is reached: a rename never follows a link, and the
// old file's bytes are never touched.
func (j *Jail) target(asked, rel string) (string, fs.FileMode, error) {
	for range maxLinks {
		fi, err := j.root.Lstat(rel)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			return rel, newFile, nil // MkdirAll says what is wrong with the parents, if anything is
		case err != nil:
			return "", 0, err
		case fi.Mode()&fs.ModeSymlink == 0:
			if err := regular("write", asked, fi); err != nil {
				return "", 0, err
			}
			if st, ok := fi.Sys().(*syscall.Stat_t); ok && st.Nlink > 1 {
				return "", 0, refuse("write", asked, HardLink, "")
			}
			return rel, fi.Mode().Perm(), nil
		}
		if _, err := j.root.Stat(rel); err != nil {
			return "", 0, err // dangling, leading out, or in a circle: explain finds the words
		}
		to, err := j.root.Readlink(rel)
		if err != nil {
			return "", 0, err
		}
		rel = dirOf(rel) + "/" + to
	}
	return "", 0, refuse("write", asked, LinkLoop, "")
}

// parents makes the directories above a file. A link to a directory inside is one.
func (j *Jail) parents(dir string) error {
	if dir == "." {
		return nil
	}
	err := j.root.MkdirAll(dir, newDir)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	fi, err := j.root.Stat(dir)
	if err == nil && !fi.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

func fill(d *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := d.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFile)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Close()
		return err
	}
	if mode != newFile {
		if err := f.Chmod(mode); err != nil {
			_ = f.Close()
			return err
		}
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

func syncDir(d *os.Root) error {
	f, err := d.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot
		return err
	}
	return nil
}

// Create makes a new file and opens it for reading and writing; parents are made. What exists, a dangling link
// included, is refused. The bytes are the caller's to sync.
func (j *Jail) Create(p string, perm fs.FileMode) (*os.File, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, withOp(err, "create")
	}
	if err := j.parents(dirOf(rel)); err != nil {
		return nil, j.explain("create", p, rel, err)
	}
	f, err := j.root.OpenFile(rel, os.O_RDWR|os.O_CREATE|os.O_EXCL, perm.Perm())
	if err != nil {
		return nil, j.explain("create", p, rel, err)
	}
	return f, nil
}

// MkdirAll makes a directory and its parents. One that exists is fine.
func (j *Jail) MkdirAll(p string) error {
	rel, err := j.Rel(p)
	if err != nil {
		return withOp(err, "mkdir")
	}
	err = j.root.MkdirAll(rel, newDir)
	if errors.Is(err, fs.ErrExist) {
		if fi, serr := j.root.Stat(rel); serr == nil && fi.IsDir() {
			return nil
		}
	}
	return j.explain("mkdir", p, rel, err)
}

// Remove removes a file, a link (not what it leads to) or an empty directory.
func (j *Jail) Remove(p string) error {
	rel, err := j.Rel(p)
	if err != nil {
		return withOp(err, "remove")
	}
	return j.explain("remove", p, rel, j.root.Remove(rel))
}
