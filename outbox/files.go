package outbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/tools"
)

const (
	// maxFiles bounds what one draft sends along or publishes: a directory that
	// holds more cannot be read by the person who approves it.
	maxFiles = 2000
	// maxPath is the longest path that a system takes.
	maxPath = 4096
)

// pathArgs are argument names that say that their value is a file.
var pathArgs = map[string]bool{
	"attachment": true, "attachments": true, "file": true, "files": true, "filename": true, "path": true, "paths": true,
	"file_path": true, "filepath": true, "file_paths": true, "image": true, "images": true, "document": true, "documents": true, "bundle": true,
}

// pathArg tells whether an argument's name says that its value is a file.
func pathArg(path []string) bool {
	return pathArgs[strings.ToLower(path[len(path)-1])] || pathArgs[strings.ToLower(path[0])]
}

// nameLike is a line that ends as a file's name does, or has a separator in it.
var nameLike = regexp.MustCompile(`^[^\r\n]*(/[^\r\n]*|\.[0-9A-Za-z]{1,8})$`)

// namedFiles are the arguments that hold paths by a policy or by the tool's hints.
func (o *Outbox) namedFiles(tool string, t tools.Tool) []string {
	named := o.cfg.policy(tool).Files
	if h, ok := t.(tools.Addressed); ok {
		named = append(slices.Clone(named), h.Hints().Files...)
	}
	return named
}

// WaitsForCalls tells whether a draft goes out only while no call of its
// conversation runs: a call could change a file that it names.
func (o *Outbox) WaitsForCalls(d Draft) bool { return o.Floor != nil && o.mayNameFiles(d) }

// mayNameFiles tells whether an argument of a draft is a file, or could become
// one. An address ends as a file's name does, and is none.
func (o *Outbox) mayNameFiles(d Draft) bool {
	if len(d.Files) > 0 || d.Kind == Publish {
		return true
	}
	named := o.namedFiles(d.Tool, o.Surface.Find(d.Tool))
	may := false
	walkStrings(d.Args, func(path []string, s string) {
		address := slices.ContainsFunc(d.Destinations, func(t tools.Destination) bool { return t.Kind == tools.ToAddress && t.Value == s })
		_, uri := fileURI(s)
		may = may || uri || s != "" && !strings.Contains(s, "://") &&
			(slices.Contains(named, path[0]) || pathArg(path) || len(s) <= maxPath && !address && nameLike.MatchString(s))
	})
	return may
}

// fileURI is the path that a file: URI names. Tools that take paths often take
// these too, and what they read has to be what was approved.
func fileURI(s string) (path string, ok bool) {
	if len(s) < len("file:") || !strings.EqualFold(s[:len("file:")], "file:") {
		return "", false
	}
	u, err := url.Parse(s)
	if err != nil || u.Path == "" || u.Host != "" && u.Host != "localhost" {
		return "", false
	}
	return u.Path, true
}

// hashing collects the files of one draft.
type hashing struct {
	j       *jail.ReadOnly
	publish bool
	outside bool // absolute paths outside of the jail are hashed where they are
	files   []File
	seen    map[string]bool
}

// hash answers each file that the arguments name, with its size and hash: the
// arguments that the tool's hints or a policy name, which must be there; else
// any string that a name, a separator or an extension makes look like a path,
// where it resolves in the directory of the draft. A directory counts with all
// that is in it. It answers the same for the same arguments and files, so that
// what came to exist is noticed as well as what changed.
func (o *Outbox) files(ctx context.Context, t tools.Tool, args json.RawMessage, j *jail.Jail) ([]File, error) {
	if j == nil {
		return []File{}, nil
	}
	named := o.namedFiles(t.Name(), t)
	h := &hashing{j: &j.ReadOnly, publish: o.kind(t.Name()) == Publish, files: []File{}, seen: map[string]bool{}}
	// A server with a directory of its own is handed what lies in the
	// conversation's directory by absolute path.
	if home, ok := t.(tools.Homed); ok && home.Home() != "" {
		h.outside = true
	}
	var err error
	walkStrings(args, func(path []string, s string) {
		if err == nil {
			err = h.value(ctx, path, s, slices.Contains(named, path[0]))
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return h.files, err
}

// value hashes one string of the arguments, if it names a file. must: the tool
// takes a path there, so that a missing file is the caller's mistake.
func (h *hashing) value(ctx context.Context, path []string, s string, must bool) error {
	file, uri := fileURI(s)
	if uri {
		s = file
	}
	if s == "" || h.seen[s] || strings.Contains(s, "://") || strings.HasPrefix(s, "data:") {
		return nil
	}
	// In a list of objects ({"name", "content"}) only some leaves are paths.
	must = must && len(path) == 1
	likely := uri || must || h.publish || pathArg(path) || strings.ContainsAny(s, "/.")
	if !likely || len(s) > maxPath {
		if must {
			return fmt.Errorf("`%s` holds a path of %d bytes, which no system takes", path[0], len(s))
		}
		return nil
	}
	h.seen[s] = true
	sum, size, err := h.j.Hash(s)
	switch {
	case err == nil:
		return h.add(s, size, sum)
	case jail.ReasonOf(err) == jail.IsDir && (must || h.publish || pathArgs[strings.ToLower(path[0])]):
		return h.dir(ctx, s)
	case h.outside && filepath.IsAbs(s):
		return h.elsewhere(ctx, s, path[0], must)
	case must:
		return fmt.Errorf("`%s`: %w", path[0], err)
	}
	return nil
}

func (h *hashing) add(path string, size int64, sum [32]byte) error {
	if len(h.files) == maxFiles {
		return fmt.Errorf("the arguments name more than %d files, which nobody can read before they go out; pack them into one, or name fewer", maxFiles)
	}
	h.files = append(h.files, File{Path: path, Bytes: size, SHA256: hex.EncodeToString(sum[:])})
	return nil
}

// dir hashes every regular file below a directory of the jail.
func (h *hashing) dir(ctx context.Context, dir string) error {
	return h.j.Walk(ctx, dir, 4*maxFiles, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() {
			return nil
		}
		if h.seen[rel] {
			return nil
		}
		h.seen[rel] = true
		sum, size, err := h.j.Hash(rel)
		if err != nil {
			return fmt.Errorf("cannot read %s, which would go out with %s: %w", rel, dir, err)
		}
		return h.add(rel, size, sum)
	})
}

// elsewhere hashes a file outside of the draft's directory. Its path is a
// destination of its own, shown and traced like the others.
func (h *hashing) elsewhere(ctx context.Context, path, arg string, must bool) error {
	dir, err := jail.OpenReadOnly(filepath.Dir(path))
	if err == nil {
		defer dir.Close()
		sum, size, e := dir.Hash(filepath.Base(path))
		if e == nil {
			return h.add(path, size, sum)
		}
		err = e
	}
	switch {
	case jail.ReasonOf(err) == jail.IsDir && (must || h.publish || pathArgs[strings.ToLower(arg)]):
		return h.dirElsewhere(ctx, path)
	case must:
		return fmt.Errorf("`%s`: %w", arg, err)
	}
	return nil
}

// dirElsewhere is dir for a directory outside of the draft's: what a publication
// of a server with a root of its own publishes.
func (h *hashing) dirElsewhere(ctx context.Context, path string) error {
	j, err := jail.OpenReadOnly(path)
	if err != nil {
		return fmt.Errorf("cannot read %s, which would go out: %w", path, err)
	}
	defer j.Close()
	in := &hashing{j: j, files: h.files, seen: map[string]bool{}}
	from := len(in.files)
	err = in.dir(ctx, ".")
	for i := from; i < len(in.files); i++ {
		in.files[i].Path = filepath.Join(path, in.files[i].Path)
	}
	h.files = in.files
	return err
}

// walkStrings visits each string of a JSON object with the names that lead to it.
func walkStrings(args json.RawMessage, fn func(path []string, s string)) {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return
	}
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		switch v := v.(type) {
		case string:
			if len(path) > 0 {
				fn(path, v)
			}
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(append(slices.Clone(path), k), v[k])
			}
		}
	}
	walk(nil, v)
}

// sameFiles says which file is not as it was when the draft was read.
func sameFiles(was, now []File) error {
	have := make(map[string]File, len(now))
	for _, f := range now {
		have[f.Path] = f
	}
	for _, f := range was {
		g, ok := have[f.Path]
		switch {
		case !ok:
			return fmt.Errorf("the file %s, which this draft sends, is gone", f.Path)
		case g != f:
			return fmt.Errorf("the file %s has changed since this draft was read (%d bytes then, %d now)", f.Path, f.Bytes, g.Bytes)
		}
		delete(have, f.Path)
	}
	for _, f := range now {
		if _, is := have[f.Path]; is {
			return fmt.Errorf("a file %s has come to exist that was not there when this draft was read, and would be sent with it", f.Path)
		}
	}
	return nil
}
