package bot

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// PostFile is a post that brings a file of this machine; its ref is the path of
// a copy in the home. A command leaves it for the bot (`mecha-slack send`).
const PostFile threads.PostKind = "file"

// fileCard is a file with a line that names it.
func fileCard(path string, most int64) (Rendering, error) {
	name := filepath.Base(path)
	f, err := os.Open(path)
	if err != nil {
		return Rendering{}, fmt.Errorf("cannot read the file to send: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return Rendering{}, fmt.Errorf("cannot read the file to send: %w", err)
	}
	if int64(len(data)) > most {
		return Rendering{}, fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	card := blockkit.Card{Text: "A file from this machine: " + blockkit.OneLine(name, 200), Head: []blockkit.Block{para("A file from this machine: %s", inCode(name))}}
	r := Rendering{Text: card.Text, Final: true, Attach: []Attachment{{Name: name, Title: name, Data: data}}}
	r.Blocks, _ = card.Blocks()
	return r, nil
}
