package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxPath  = 4096 // what the kernel takes
	maxShown = 200
	maxLinks = 40 // as many as the kernel follows
)

// Reason says in one word why a path was refused.
type Reason string

// The reasons.
const (
	Outside      Reason = "outside"       // it leads out of the jail
	AbsoluteLink Reason = "absolute_link" // it goes through an absolute symbolic link
	Dangling     Reason = "dangling"      // a link on the way leads to nothing
	LinkLoop     Reason = "link_loop"
	NulByte      Reason = "nul_byte"
	TooLong      Reason = "too_long"
	Missing      Reason = "missing"
	Exists       Reason = "exists"
	IsDir        Reason = "is_dir"
	NotDir       Reason = "not_dir"
	NotRegular   Reason = "not_regular" // a device, a FIFO or a socket
	HardLink     Reason = "hard_link"   // writing it would write another name's file
	NotEmpty     Reason = "not_empty"
	Permission   Reason = "permission"
	DiskFull     Reason = "disk_full"
	TooMany      Reason = "too_many" // a walk's limit was reached
	Other        Reason = "other"
)

// Error is every error of a jail's methods. Its text is meant for the model that wrote the path: what is wrong and
// what can be done.
type Error struct {
	Op     string // read, list, stat, write, create, mkdir, remove, hash, walk, path
	Path   string // as it was asked for
	Reason Reason
	Detail string // in words; may be empty
	Err    error  // what the system said; may be nil
}

func (e *Error) Error() string {
	s := "cannot " + verbs[e.Op] + " " + shown(e.Path) + ": " + words[e.Reason]
	if e.Reason == Other && e.Err != nil {
		s += e.Err.Error()
	}
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	return s
}

// Unwrap returns what the system said, so that errors.Is(err, fs.ErrNotExist) works.
func (e *Error) Unwrap() error { return e.Err }

var verbs = map[string]string{
	"path": "use", "read": "read", "list": "list", "stat": "look at", "write": "write", "create": "create",
	"mkdir": "make directory", "remove": "remove", "hash": "hash", "walk": "walk",
}

var words = map[Reason]string{
	Outside:      "it leads out of the workspace, which is all that can be reached",
	AbsoluteLink: "it goes through an absolute symbolic link; those are refused even when they point inside the workspace: use the path that the link stands for, or a relative link",
	Dangling:     "it goes through a symbolic link that leads to nothing",
	LinkLoop:     "its symbolic links lead in a circle",
	NulByte:      "a path cannot hold a NUL byte",
	TooLong:      "the path is too long",
	Missing:      "no such file or directory",
	Exists:       "it exists already",
	IsDir:        "it is a directory",
	NotDir:       "a part of the path is a file, not a directory",
	NotRegular:   "it is a device, a FIFO or a socket, not a file",
	HardLink:     "the file has another name (a hard link), and writing would change that one too: write to a new name, or remove it first",
	NotEmpty:     "the directory is not empty",
	Permission:   "permission denied",
	DiskFull:     "no space is left on the disk, so nothing was changed",
	TooMany:      "there are too many entries",
	Other:        "",
}

func shown(p string) string {
	if len(p) > maxShown {
		p = strings.ToValidUTF8(p[:maxShown], "") + "…"
	}
	return fmt.Sprintf("%q", p)
}

func refuse(op, p string, why Reason, detail string) *Error {
	return &Error{Op: op, Path: p, Reason: why, Detail: detail, Err: sentinel(why)}
}

func sentinel(why Reason) error {
	switch why {
	case Missing, Dangling:
		return fs.ErrNotExist
	case Exists:
		return fs.ErrExist
	case Permission, Outside, AbsoluteLink:
		return fs.ErrPermission
	default:
		return nil
	}
}

// ReasonOf returns the reason of err, or "" where it is not one of ours.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// escapes reports whether os.Root refused. Its error is not exported; a test holds this to the running Go version.
func escapes(err error) bool {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err != nil && err.Error() == "path escapes from parent"
}

// isNotDir recognises what os.OpenRoot says of a file; it is no errno. A test holds this to the running Go version.
func isNotDir(err error) bool {
	var pe *fs.PathError
	return errors.As(err, &pe) && pe.Err.Error() == "not a directory"
}

// explain turns an error of os.Root into ours. asked is the path as written, rel what was opened. It looks at the disk
// again only to find words: the refusal itself has already happened.
func (j *ReadOnly) explain(op, asked, rel string, err error) error {
	if err == nil {
		return nil
	}
	var done *Error
	if errors.As(err, &done) {
		return err
	}
	e := &Error{Op: op, Path: asked, Reason: Other, Err: err}
	switch {
	case escapes(err):
		e.Reason, e.Detail = j.whichWayOut(rel)
		e.Err = fs.ErrPermission
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = Missing
		if link, target, ok := j.firstLink(rel, func(at string) bool { _, err := j.root.Stat(at); return err != nil }); ok {
			e.Reason, e.Detail = Dangling, fmt.Sprintf("%q is a link to %q", link, target)
		}
	case errors.Is(err, syscall.ELOOP):
		e.Reason = LinkLoop
	case errors.Is(err, syscall.EISDIR):
		e.Reason = IsDir
	case errors.Is(err, syscall.ENOTDIR), isNotDir(err):
		e.Reason = NotDir
	case errors.Is(err, syscall.ENOTEMPTY):
		e.Reason = NotEmpty
	case errors.Is(err, syscall.ENXIO):
		e.Reason = NotRegular // a socket, or a FIFO that nobody reads
	case errors.Is(err, syscall.ENAMETOOLONG):
		e.Reason = TooLong
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Reason = DiskFull
	case errors.Is(err, fs.ErrExist):
		e.Reason = Exists
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Reason = Permission
	}
	return e
}

// whichWayOut names the link through which a path left.
func (j *ReadOnly) whichWayOut(rel string) (Reason, string) {
	link, target, ok := j.firstLink(rel, func(at string) bool { _, err := j.root.Stat(at); return escapes(err) })
	if !ok {
		return Outside, ""
	}
	if !path.IsAbs(target) {
		return Outside, fmt.Sprintf("%q is a link to %q", link, target)
	}
	detail := fmt.Sprintf("%q is a link to %q", link, target)
	if in, err := filepath.Rel(j.path, target); err == nil && filepath.IsLocal(in) {
		detail += fmt.Sprintf("; use %q", in)
	}
	return AbsoluteLink, detail
}

// firstLink finds the first symbolic link along rel for which bad holds, following links to links.
func (j *ReadOnly) firstLink(rel string, bad func(at string) bool) (link, target string, ok bool) {
	at := ""
	for _, c := range split(rel) {
		at += "/" + c // not cleaned: ".." after a link is the disk's to judge
		l := at[1:]
		for range maxLinks {
			fi, err := j.root.Lstat(l)
			if err != nil || fi.Mode()&fs.ModeSymlink == 0 || !bad(l) {
				break
			}
			t, err := j.root.Readlink(l)
			if err != nil {
				break
			}
			link, target, ok = l, t, true
			if path.IsAbs(t) {
				return link, target, true
			}
			l = strings.TrimPrefix(dirOf(l)+"/"+t, "./")
		}
		if ok {
			return link, target, true
		}
	}
	return "", "", false
}

// dirOf is the part before the last slash, uncleaned.
func dirOf(rel string) string {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i]
	}
	return "."
}
