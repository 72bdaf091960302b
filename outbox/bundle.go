package outbox

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// Bundle is what a publication publishes: the rendered page is what a reviewer
// reads, not the arguments that name it.
type Bundle struct {
	Dir   string `json:"directory"`      // absolute
	Index string `json:"index"`          // absolute; "" where there is none
	Gone  string `json:"gone,omitempty"` // why it cannot be read now; "" where it can
}

// indexNames are what a bundle's first page is called.
var indexNames = [...]string{"index.html", "index.htm"}

// BundleOf finds the bundle of a publication, in the directory in which it was
// drafted: the directory that an argument names, or that of the file it names;
// an argument whose name says that it is a path comes first. ok is false for a
// message. Nothing in it is rendered here.
func BundleOf(d Draft) (b Bundle, ok bool) {
	if d.Kind != Publish {
		return Bundle{}, false
	}
	j, err := jail.OpenReadOnly(d.Workspace)
	if err != nil {
		return Bundle{Dir: drafted(d), Gone: err.Error()}, true
	}
	defer j.Close()
	found := false
	for _, named := range []bool{true, false} {
		walkStrings(d.Args, func(arg []string, s string) {
			if found || s == "" || len(s) > maxPath || pathArg(arg) != named || strings.ContainsAny(s, "\r\n\x00") {
				return
			}
			b, found = bundleAt(j, s)
		})
	}
	if found {
		return b, true
	}
	return Bundle{Dir: drafted(d), Gone: "no file or directory that its arguments name is there"}, true
}

// bundleAt is the bundle that a path names: in the jail, or, absolute, elsewhere.
func bundleAt(j *jail.ReadOnly, p string) (b Bundle, ok bool) {
	fi, err := j.Stat(p)
	if err != nil {
		if !filepath.IsAbs(p) {
			return b, false
		}
		// A server with a root of its own is handed an absolute path.
		out, err := jail.OpenReadOnly(p)
		if err != nil {
			if out, err = jail.OpenReadOnly(filepath.Dir(p)); err != nil {
				return b, false
			}
			if _, err := out.Stat(filepath.Base(p)); err != nil {
				out.Close()
				return b, false
			}
		}
		defer out.Close()
		return Bundle{Dir: out.Path(), Index: indexOf(out, ".")}, true
	}
	rel, err := j.Rel(p)
	if err != nil {
		return b, false
	}
	if !fi.IsDir() {
		rel = path.Dir(rel)
	}
	return Bundle{Dir: path.Join(j.Path(), rel), Index: indexOf(j, rel)}, true
}

func indexOf(j *jail.ReadOnly, rel string) string {
	for _, name := range indexNames {
		if fi, err := j.Stat(path.Join(rel, name)); err == nil && fi.Mode().IsRegular() {
			return path.Join(j.Path(), rel, name)
		}
	}
	return ""
}

// drafted is where a bundle was when it was drafted: its files say where.
func drafted(d Draft) string {
	if len(d.Files) == 0 {
		return d.Workspace
	}
	i := max(0, slices.IndexFunc(d.Files, func(f File) bool { return slices.Contains(indexNames[:], path.Base(f.Path)) }))
	dir := path.Dir(d.Files[i].Path)
	if path.IsAbs(dir) {
		return dir
	}
	return path.Join(d.Workspace, dir)
}

// Packed is a bundle to look at: its first page, and everything as a zip archive.
type Packed struct {
	Index   []byte // nil: there is none
	Archive []byte // nil: the index is all there is
}

// Pack reads the files of a publication that lie in its directory, at most most
// bytes of them. One that is not as it was drafted is an error that names it:
// nobody shall look at one thing and approve another.
func Pack(d Draft, b Bundle, most int64) (p Packed, err error) {
	j, err := jail.OpenReadOnly(d.Workspace)
	if err != nil {
		return p, err
	}
	defer j.Close()
	var buf bytes.Buffer
	z := zip.NewWriter(&buf)
	total := int64(0)
	for _, f := range d.Files {
		if total += f.Bytes; total > most {
			return Packed{}, fmt.Errorf("it holds more than %d bytes", most)
		}
		data, err := read(j, f)
		if err != nil {
			return Packed{}, err
		}
		abs := f.Path
		if !path.IsAbs(abs) {
			abs = path.Join(j.Path(), f.Path)
		}
		if abs == b.Index {
			p.Index = data
		}
		name, inside := strings.CutPrefix(abs, b.Dir+"/")
		if !inside {
			name = path.Base(abs)
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
		if err == nil {
			_, err = w.Write(data)
		}
		if err != nil {
			return Packed{}, fmt.Errorf("cannot pack %s: %w", f.Path, err)
		}
	}
	if err := z.Close(); err != nil {
		return Packed{}, fmt.Errorf("cannot pack it: %w", err)
	}
	if len(d.Files) > 1 || p.Index == nil {
		p.Archive = buf.Bytes()
	}
	return p, nil
}

// read answers a file's bytes, if they are those that were hashed.
func read(j *jail.ReadOnly, f File) ([]byte, error) {
	in, err := j.Open(f.Path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, f.Bytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", f.Path, err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != f.SHA256 {
		return nil, fmt.Errorf("%s has changed since it was drafted", f.Path)
	}
	return data, nil
}
