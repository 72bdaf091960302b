package jail

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// readFlags open without waiting (a FIFO without a writer would block for ever) and without gaining a terminal.
const readFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// Open opens a regular file for reading. Directories, devices, FIFOs and sockets are refused; what was opened is what
// is judged.
func (j *ReadOnly) Open(p string) (*os.File, error) { return j.open("read", p) }

func (j *ReadOnly) open(op, p string) (*os.File, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, withOp(err, op)
	}
	f, err := j.root.OpenFile(rel, readFlags, 0)
	if err != nil {
		return nil, j.explain(op, p, rel, err)
	}
	fi, err := f.Stat()
	if err == nil {
		err = regular(op, p, fi)
	}
	if err != nil {
		_ = f.Close()
		return nil, j.explain(op, p, rel, err)
	}
	return f, nil
}

func regular(op, p string, fi fs.FileInfo) error {
	switch {
	case fi.Mode().IsRegular():
		return nil
	case fi.IsDir():
		return refuse(op, p, IsDir, "")
	default:
		return refuse(op, p, NotRegular, "")
	}
}

// OpenDir opens a directory for reading its entries.
func (j *ReadOnly) OpenDir(p string) (*os.File, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, withOp(err, "list")
	}
	f, err := j.root.OpenFile(rel, readFlags|syscall.O_DIRECTORY, 0)
	if err != nil {
		return nil, j.explain("list", p, rel, err)
	}
	return f, nil
}

// ReadDir lists a directory, sorted by name.
func (j *ReadOnly) ReadDir(p string) ([]fs.DirEntry, error) {
	f, err := j.OpenDir(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	if err != nil {
		return nil, j.explain("list", p, ".", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat looks at what p leads to, links followed.
func (j *ReadOnly) Stat(p string) (fs.FileInfo, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, withOp(err, "stat")
	}
	fi, err := j.root.Stat(rel)
	return fi, j.explain("stat", p, rel, err)
}

// Lstat looks at p itself, which may be a link.
func (j *ReadOnly) Lstat(p string) (fs.FileInfo, error) {
	rel, err := j.Rel(p)
	if err != nil {
		return nil, withOp(err, "stat")
	}
	fi, err := j.root.Lstat(rel)
	return fi, j.explain("stat", p, rel, err)
}

// Hash reads a regular file through and returns its SHA-256 and its size, of the very bytes that were read.
func (j *ReadOnly) Hash(p string) (sum [sha256.Size]byte, size int64, err error) {
	f, err := j.open("hash", p)
	if err != nil {
		return sum, 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	if err != nil {
		return sum, size, &Error{Op: "hash", Path: p, Reason: Other, Err: err}
	}
	h.Sum(sum[:0])
	return sum, size, nil
}

// Walk calls fn for everything below p, parents before children, by name, links not followed, with paths relative to
// the jail. It stops with TooMany after limit entries, with the context, or with fn's first error; fs.SkipDir skips a
// directory and fs.SkipAll ends the walk without an error. A directory that vanished meanwhile is passed over.
func (j *ReadOnly) Walk(ctx context.Context, p string, limit int, fn func(rel string, d fs.DirEntry) error) error {
	rel, err := j.Rel(p)
	if err != nil {
		return withOp(err, "walk")
	}
	left := limit
	err = j.walk(ctx, p, rel, &left, fn)
	if err == fs.SkipAll {
		return nil
	}
	return err
}

func (j *ReadOnly) walk(ctx context.Context, asked, rel string, left *int, fn func(string, fs.DirEntry) error) error {
	entries, err := j.ReadDir(rel)
	if err != nil {
		return withOp(err, "walk")
	}
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if *left <= 0 {
			return refuse("walk", asked, TooMany, "name a directory further down")
		}
		*left--
		at := d.Name()
		if rel != "." {
			at = rel + "/" + d.Name()
		}
		switch err := fn(at, d); {
		case err == fs.SkipDir:
			continue
		case err != nil:
			return err
		}
		if !d.IsDir() {
			continue
		}
		if err := j.walk(ctx, asked, at, left, fn); err != nil && ReasonOf(err) != Missing {
			return err
		}
	}
	return nil
}

// withOp names the operation in an error that Rel made.
func withOp(err error, op string) error {
	if e, ok := err.(*Error); ok {
		c := *e
		c.Op = op
		return &c
	}
	return fmt.Errorf("%s: %w", op, err)
}

// Named is an open file or directory.
type Named interface{ Fd() uintptr }

// NameOf is the path, relative to the jail, under which an open file really lies, all links resolved. ok is false where
// the system cannot say, or the file has left the jail since.
func (j *ReadOnly) NameOf(f Named) (rel string, ok bool) {
	real, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
	if err != nil {
		return "", false
	}
	parts, ok := under(split(real), j.path)
	if !ok {
		return "", false
	}
	if len(parts) == 0 {
		return ".", true
	}
	return strings.Join(parts, "/"), true
}
