package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"sync"
)

// fsWrite writes a whole file of the workspace, or nothing.
type fsWrite struct{ locks *workspaceLocks }

//go:embed text/fs_write.md
var fsWriteText string

func (*fsWrite) Name() string               { return "fs_write" }
func (*fsWrite) Description() string        { return describe(fsWriteText) }
func (*fsWrite) ReadOnly() bool             { return false }
func (*fsWrite) Capabilities() Capabilities { return Capabilities{Destructive: true} }

func (*fsWrite) Contained() bool { return true }
func (*fsWrite) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File to write, relative to the workspace"},` +
		`"content":{"type":"string","description":"The whole content of the file"}` +
		`},"required":["path","content"],"additionalProperties":false}`)
}

func (w *fsWrite) Call(_ context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct{ Path, Content string }
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	defer w.locks.lock(env)()
	was := "a new file"
	if fi, err := env.Workspace.Stat(args.Path); err == nil {
		was = fmt.Sprintf("it had %d", fi.Size())
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Fail(err.Error()), nil
	}
	if err := env.Workspace.WriteFile(args.Path, []byte(args.Content)); err != nil {
		return Fail(err.Error()), nil
	}
	return Output{Content: fmt.Sprintf("wrote %d bytes to %s (%s)", len(args.Content), line(args.Path, 300), was), What: args.Path}, nil
}

// workspaceLocks keep two calls of one turn from editing one file at once, each
// from what it read before the other wrote. They are shared by all threads;
// two workspaces that meet on one lock merely wait.
type workspaceLocks struct {
	seed maphash.Seed
	mu   [64]sync.Mutex
}

func newWorkspaceLocks() *workspaceLocks { return &workspaceLocks{seed: maphash.MakeSeed()} }

// lock takes the lock of a whole workspace: two paths may be one file.
func (l *workspaceLocks) lock(env *Env) (unlock func()) {
	m := &l.mu[maphash.String(l.seed, env.Workspace.Path())%uint64(len(l.mu))]
	m.Lock()
	return m.Unlock
}
