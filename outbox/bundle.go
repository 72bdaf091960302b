package outbox

import (
	"path"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// Bundle is what a publication publishes: the rendered page is what a reviewer
// reads, not the arguments that name it.
type Bundle struct {
	Dir   string // absolute
	Index string // absolute; "" where there is none
	Gone  string // why it cannot be read now; "" where it can
}

// BundleOf finds the bundle of a publication, in the directory in which it was
// drafted: the directory that an argument names, or that of the file it names.
// ok is false for a message. Nothing in it is rendered here.
func BundleOf(d Draft) (b Bundle, ok bool) {
	if d.Kind != Publish {
		return Bundle{}, false
	}
	b.Dir = d.Workspace
	j, err := jail.OpenReadOnly(d.Workspace)
	if err != nil {
		b.Gone = err.Error()
		return b, true
	}
	defer j.Close()
	found := false
	walkStrings(d.Args, func(_ []string, s string) {
		if found || s == "" || strings.ContainsAny(s, "\r\n") {
			return
		}
		fi, err := j.Stat(s)
		if err != nil {
			return
		}
		rel, err := j.Rel(s)
		if err != nil {
			return
		}
		if found = true; !fi.IsDir() {
			rel = path.Dir(rel)
		}
		b.Dir = path.Join(d.Workspace, rel)
		for _, name := range []string{"index.html", "index.htm"} {
			if fi, err := j.Stat(path.Join(rel, name)); err == nil && fi.Mode().IsRegular() {
				b.Index = path.Join(b.Dir, name)
				break
			}
		}
	})
	if found {
		return b, true
	}
	// It was there when it was drafted: the files say where.
	if i := slices.IndexFunc(d.Files, func(f File) bool { return path.Base(f.Path) == "index.html" }); i >= 0 {
		b.Dir = path.Join(d.Workspace, path.Dir(d.Files[i].Path))
	} else if len(d.Files) > 0 {
		b.Dir = path.Join(d.Workspace, path.Dir(d.Files[0].Path))
	}
	b.Gone = "no file or directory that its arguments name is there"
	return b, true
}
