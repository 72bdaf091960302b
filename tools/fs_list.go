package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// fsList lists one directory of the workspace.
type fsList struct{}

// listMost bounds the entries of one answer.
const listMost = 2_000

//go:embed text/fs_list.md
var fsListText string

func (fsList) Name() string               { return "fs_list" }
func (fsList) Description() string        { return describe(fsListText) }
func (fsList) ReadOnly() bool             { return true }
func (fsList) Repeatable() bool           { return true }
func (fsList) Capabilities() Capabilities { return Capabilities{PrivateData: true} }
func (fsList) tellsProvenance()           {}
func (fsList) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","default":".","description":"Directory to list, relative to the workspace"}` +
		`},"additionalProperties":false}`)
}

func (fsList) Call(_ context.Context, in json.RawMessage, env *Env) (Output, error) {
	args := struct{ Path string }{"."}
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	entries, from, err := readDir(env, args.Path)
	if err != nil {
		out := Fail(err.Error())
		if jail.ReasonOf(err) == jail.NotDir {
			out.Content += "; fs_read reads a file"
		}
		return out, nil
	}
	if len(entries) == 0 {
		return Output{Content: "(the directory is empty)", What: args.Path}, nil
	}
	var b strings.Builder
	for i, e := range entries {
		if i == listMost {
			fmt.Fprintf(&b, "(and %d more)\n", len(entries)-listMost)
			break
		}
		b.WriteString(listed(e.Name()))
		if isDir(env, args.Path, e) {
			b.WriteByte('/')
		}
		b.WriteByte('\n')
	}
	out := Output{Content: strings.TrimSuffix(b.String(), "\n"), What: args.Path}
	from.mark(&out) // a name is its author's words too
	return out, nil
}

// readDir lists a directory and says whose words its names are.
func readDir(env *Env, dir string) ([]fs.DirEntry, Provenance, error) {
	entries, err := env.Workspace.ReadDir(dir)
	if err != nil {
		return nil, Ours, err
	}
	f, err := env.Workspace.OpenDir(dir)
	if err != nil {
		return nil, Ours, err
	}
	defer f.Close()
	return entries, provenanceOf(&env.Workspace.ReadOnly, f, dir), nil
}

// isDir follows a link that stays inside, so that what can be listed looks it.
func isDir(env *Env, dir string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	fi, err := env.Workspace.Stat(path.Join(dir, e.Name()))
	return err == nil && fi.IsDir()
}

// listed shows a name as it is, or quoted where it would not be one line.
func listed(name string) string {
	if line(name, len(name)+1) == name {
		return name
	}
	return string(quoteJSON(toText([]byte(name))))
}
