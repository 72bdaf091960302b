package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// fsEdit replaces one passage of a file. Zero or several matches are refused:
// silently editing the wrong line is worse than a retry.
type fsEdit struct{ locks *workspaceLocks }

// editMost bounds the files that are edited, since they are held whole.
const editMost = 16 << 20

//go:embed text/fs_edit.md
var fsEditText string

func (*fsEdit) Name() string               { return "fs_edit" }
func (*fsEdit) Description() string        { return describe(fsEditText) }
func (*fsEdit) ReadOnly() bool             { return false }
func (*fsEdit) Capabilities() Capabilities { return Capabilities{Destructive: true} }
func (*fsEdit) Contained() bool            { return true }
func (*fsEdit) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File to edit, relative to the workspace"},` +
		`"old":{"type":"string","minLength":1,"description":"The passage to replace, exactly as it stands in the file; it must appear once"},` +
		`"new":{"type":"string","description":"What to put in its place"}` +
		`},"required":["path","old","new"],"additionalProperties":false}`)
}

func (e *fsEdit) Call(_ context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct{ Path, Old, New string }
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	defer e.locks.lock(env)()
	f, err := env.Workspace.Open(args.Path)
	if err != nil {
		return Fail(err.Error()), nil
	}
	data, err := io.ReadAll(io.LimitReader(f, editMost+1))
	_ = f.Close()
	switch {
	case err != nil:
		return Fail(fmt.Sprintf("cannot read %s: %v", line(args.Path, 200), err)), nil
	case len(data) > editMost:
		return Fail(fmt.Sprintf("%s is larger than %d bytes, too large to edit this way", line(args.Path, 200), editMost)), nil
	}
	edited, at, err := replaceOne(string(data), args.Old, args.New)
	if err != nil {
		return Fail(fmt.Sprintf("%s; %s is unchanged", err, line(args.Path, 200))), nil
	}
	if err := env.Workspace.WriteFile(args.Path, []byte(edited)); err != nil {
		return Fail(err.Error()), nil
	}
	return Output{Content: fmt.Sprintf("edited %s at line %d", line(args.Path, 300), at), What: args.Path}, nil
}

// replaceOne replaces the one place where old stands, and says on which line.
func replaceOne(text, old, with string) (edited string, at int, err error) {
	if old == "" {
		return "", 0, fmt.Errorf("`old` is empty")
	}
	if old == with {
		return "", 0, fmt.Errorf("`old` and `new` are the same")
	}
	switch n := countAll(text, old); {
	case n == 0 && strings.Contains(text, "\r\n") && !strings.Contains(old, "\r") && countAll(text, strings.ReplaceAll(old, "\n", "\r\n")) > 0:
		return "", 0, fmt.Errorf("`old` does not appear: the file's lines end with \\r\\n; write them so")
	case n == 0:
		return "", 0, fmt.Errorf("`old` does not appear; read the file again and copy the passage exactly")
	case n > 1:
		return "", 0, fmt.Errorf("`old` appears %d times; include more surrounding context to make it unique", n)
	}
	i := strings.Index(text, old)
	return text[:i] + with + text[i+len(old):], strings.Count(text[:i], "\n") + 1, nil
}

// countAll counts overlapping places too: "aa" stands twice in "aaa", and
// either could be meant.
func countAll(text, old string) int {
	if old == "" {
		return len(text) + 1
	}
	n := 0
	for {
		i := strings.Index(text, old)
		if i < 0 {
			return n
		}
		n++
		text = text[i+1:]
	}
}
