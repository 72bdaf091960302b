package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"path"
)

// showFile puts a file of the workspace into the bound thread. It has no
// destination argument: where it goes is not the model's to say. The upload is
// the Sink's, before the result is journaled.
type showFile struct{ most int64 }

// showMost is the largest file that is shown where nothing is configured.
const showMost = 25 << 20

//go:embed text/show_file.md
var showFileText string

func (*showFile) Name() string               { return "show_file" }
func (*showFile) Description() string        { return describe(showFileText) }
func (*showFile) ReadOnly() bool             { return true }
func (*showFile) Capabilities() Capabilities { return Capabilities{PrivateData: true} }
func (*showFile) tellsProvenance()           {}
func (*showFile) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File to show, relative to the workspace"},` +
		`"title":{"type":"string","maxLength":200,"description":"A title for it; the name if absent"}` +
		`},"required":["path"],"additionalProperties":false}`)
}

func (s *showFile) Call(_ context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct{ Path, Title string }
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	f, err := env.Workspace.Open(args.Path)
	if err != nil {
		return Fail(err.Error()), nil
	}
	defer f.Close()
	fi, err := f.Stat()
	most := s.most
	if most <= 0 {
		most = showMost
	}
	switch {
	case err != nil:
		return Fail(fmt.Sprintf("cannot look at %s: %v", line(args.Path, 200), err)), nil
	case fi.Size() == 0:
		return Fail(line(args.Path, 200) + " is empty, so there is nothing to show"), nil
	case fi.Size() > most:
		return Fail(fmt.Sprintf("%s has %d bytes; at most %d are shown", line(args.Path, 200), fi.Size(), most)), nil
	}
	rel, err := env.Workspace.Rel(args.Path)
	if err != nil {
		return Fail(err.Error()), nil
	}
	name := line(path.Base(rel), 200)
	return Output{
		Content: fmt.Sprintf("shown in the thread: %s (%d bytes)", line(args.Path, 200), fi.Size()),
		What:    args.Path,
		Files:   []File{{Name: name, Path: rel, Title: line(args.Title, 200)}},
	}, nil
}
