package tools

import (
	"path"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// Inbox is the directory of a workspace that holds what messages brought along.
// The owner did not write it: whatever the tool that reads it declares, its
// content is a stranger's.
const Inbox = "inbox"

// Provenance is whose words a result holds, as far as reading it back needs it.
type Provenance int

const (
	Ours     Provenance = iota // this machine's
	External                   // came from outside
	Stranger                   // came from outside, and a stranger can write to it
)

// ProvenanceOf tells it of a finished call.
func ProvenanceOf(c Capabilities, out Output) Provenance {
	switch {
	case out.External && (c.UntrustedInput || out.Stranger):
		return Stranger
	case out.External:
		return External
	}
	return Ours
}

func (p Provenance) suffix() string {
	return [...]string{"", ".external", ".stranger"}[p]
}

// mark puts it on what was read back.
func (p Provenance) mark(out *Output) {
	out.External = out.External || p != Ours
	out.Stranger = out.Stranger || p == Stranger
}

// provenanceOf a file or directory of the workspace, by the name under which it
// really lies: a link to the inbox is the inbox.
func provenanceOf(j *jail.ReadOnly, f jail.Named, asked string) Provenance {
	rel, ok := j.NameOf(f)
	if !ok { // the system does not say: by the name that was asked for
		var err error
		if rel, err = j.Rel(asked); err != nil {
			return Stranger
		}
	}
	if inInbox(rel) {
		return Stranger
	}
	return Ours
}

// provenanceOfSpilled reads it off the name that Put gave.
func provenanceOfSpilled(name string) Provenance {
	for _, p := range []Provenance{External, Stranger} {
		if strings.HasSuffix(name, p.suffix()+".txt") {
			return p
		}
	}
	return Ours
}

func inInbox(rel string) bool {
	rel = path.Clean(rel)
	return rel == Inbox || strings.HasPrefix(rel, Inbox+"/")
}

// ReadsInbox tells whether a call names something in the inbox: in an argument
// that is a path, or inside a command. It is for tools that return private data
// and know nothing of the inbox (a server's converter, a command): without it
// they would make the owner's own data of an attached file.
func ReadsInbox(t Tool, args map[string]any, env *Env) bool {
	if _, itself := t.(interface{ tellsProvenance() }); itself || !t.Capabilities().PrivateData || env.Workspace == nil {
		return false
	}
	var hints Hints
	if a, ok := t.(Addressed); ok {
		hints = a.Hints()
	}
	for name, v := range args {
		if named := namesInbox(v, env, slices.Contains(hints.Mentions, name)); named {
			_, err := env.Workspace.Lstat(Inbox)
			return err == nil
		}
	}
	return false
}

func namesInbox(v any, env *Env, freeText bool) bool {
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, Inbox) {
			return false
		}
		if freeText {
			return mentionsInbox(v)
		}
		// A bare "inbox" is a mail folder more often than ours, and a path has a
		// separator and is there.
		rel, err := env.Workspace.Rel(v)
		if err != nil || !strings.Contains(v, "/") || !inInbox(rel) {
			return false
		}
		_, err = env.Workspace.Lstat(rel)
		return err == nil
	case []any:
		return slices.ContainsFunc(v, func(one any) bool { return namesInbox(one, env, freeText) })
	case map[string]any:
		for _, one := range v {
			if namesInbox(one, env, freeText) {
				return true
			}
		}
	}
	return false
}

// mentionsInbox finds the directory's name in a command as a word of its own or a
// part of a path: cat ./inbox/x, cd inbox, "$PWD/inbox".
func mentionsInbox(command string) bool {
	for at := 0; ; {
		i := strings.Index(command[at:], Inbox)
		if i < 0 {
			return false
		}
		start, end := at+i, at+i+len(Inbox)
		if (start == 0 || !partOfName(command[start-1])) && (end == len(command) || !partOfName(command[end])) {
			return true
		}
		at = end
	}
}

func partOfName(c byte) bool { return isASCIIWord(c) || c == '-' || c == '_' || c == '.' || c >= 0x80 }
