package mcp

import (
	"encoding/base64"
	"fmt"
	"path"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Bounds of what one answer may put into a workspace.
const (
	maxKept     = 8
	maxKeptSize = 10 << 20
)

// receivedDir is where in a workspace the pictures, sounds and other bytes of answers are kept. Nothing else is written
// there, so that a server never overwrites a file of the thread's own.
const receivedDir = "received"

// keeper puts what is not text in an answer into the workspace of its call, as files that the other tools can show,
// read or attach: base64 in a transcript is of no use to anybody, and what is only named is lost.
type keeper struct {
	workspace shelf  // nil: there is none, things are named only
	name      string // of the files, without number and extension
	n         int
}

// shelf is what a keeper needs of a workspace.
type shelf interface {
	WriteFile(p string, data []byte) error
}

func newKeeper(env *tools.Env, tool string) *keeper {
	k := &keeper{name: tool + "-" + fileWord(env.Call)}
	if env.Workspace != nil {
		k.workspace = env.Workspace
	}
	return k
}

// keep answers the line that stands for data in the transcript. what names it: the kind of content, or a resource.
func (k *keeper) keep(what, mime, data string) string {
	named := func(format string, a ...any) string {
		size := base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
		return fmt.Sprintf("[%s: %s, %d bytes"+format+"]", append([]any{what, oneLine(mime, 60), size}, a...)...)
	}
	if k == nil || k.workspace == nil {
		return named("")
	}
	if k.n >= maxKept {
		return named("; not kept: an answer may bring at most %d files", maxKept)
	}
	b, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(strings.TrimRight(data, "="))
	}
	switch {
	case err != nil:
		return named("; not kept: it is no base64")
	case len(b) == 0:
		return named("; it is empty")
	case len(b) > maxKeptSize:
		return named("; not kept: more than %d MiB", maxKeptSize>>20)
	}
	k.n++
	file := path.Join(receivedDir, fmt.Sprintf("%s-%d%s", k.name, k.n, extension(mime)))
	if err := k.workspace.WriteFile(file, b); err != nil {
		return named("; it could not be kept: %v", err)
	}
	return fmt.Sprintf("[%s: %s, %d bytes, kept as ./%s; its content is a third party's]", what, oneLine(mime, 60), len(b), file)
}

// extension is one of a few: a server's words never name a file.
func extension(mime string) string {
	kind, _, _ := strings.Cut(strings.ToLower(mime), ";")
	switch strings.TrimSpace(kind) {
	case "image/png":
		return ".png"
	case "image/jpeg", "image/jpg":
		return ".jpg"
	case "image/gif":
		return ".gif"
	case "image/webp":
		return ".webp"
	case "audio/wav", "audio/x-wav", "audio/wave":
		return ".wav"
	case "audio/mpeg", "audio/mp3":
		return ".mp3"
	case "audio/ogg":
		return ".ogg"
	case "application/pdf":
		return ".pdf"
	case "text/plain":
		return ".txt"
	}
	return ".bin"
}

// fileWord makes a call's id fit for a file's name.
func fileWord(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 40)]
}
