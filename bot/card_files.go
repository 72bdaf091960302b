package bot

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// maxBundle is how much of a publication goes up beside its card.
const maxBundle = 8 << 20

// fileBlocks list the files that go along, and of a publication where it lies;
// hash is how much of each hash is shown.
func fileBlocks(d draftView, hash int) []blockkit.Block {
	var blocks []blockkit.Block
	if d.Kind == outbox.Publish {
		index := []blockkit.Run{{Text: "\nIndex   ", Bold: true}, {Text: "(none)"}}
		if d.Bundle.Index != "" {
			index[1] = blockkit.Run{Text: blockkit.OneLine(d.Bundle.Index, 500), Code: true}
		}
		blocks = append(blocks, blockkit.RichSection(append([]blockkit.Run{{Text: "Directory   ", Bold: true}, {Text: blockkit.OneLine(d.Bundle.Dir, 500), Code: true}}, index...)...))
	}
	if len(d.Files) == 0 {
		return blocks
	}
	var lines []string
	for _, f := range d.Files {
		sum := f.SHA256
		if len(sum) > hash {
			sum = sum[:hash] + "…"
		}
		lines = append(lines, fmt.Sprintf("%s  %d bytes  sha256 %s", blockkit.OneLine(f.Path, 300), f.Bytes, sum))
	}
	box, _ := blockkit.Verbatim(strings.Join(lines, "\n"), unlimited)
	blocks = append(blocks, blockkit.RichSection(blockkit.Run{Text: plural(len(d.Files), "file"), Bold: true}, blockkit.Run{Text: "   sent only if unchanged"}))
	return append(blocks, box...)
}

// bundleFiles are a publication's first page and the whole of it, to be looked
// at beside the card: nothing of it is rendered here. Only what lies in the
// conversation's own directory goes up; a server's root is its owner's.
func (d desk) bundleFiles(ctx context.Context, v draftView) (list []Attachment, err error) {
	th, err := d.threads.Thread(ctx, v.Thread)
	if err != nil || v.Bundle.Gone != "" || th.Workspace != v.Workspace || v.Bundle.Dir != v.Workspace && !strings.HasPrefix(v.Bundle.Dir, v.Workspace+"/") {
		return nil, err
	}
	p, err := outbox.Pack(v.Draft, v.Bundle, maxBundle)
	if err != nil {
		return nil, fmt.Errorf("cannot attach the publication %s: %w", v.ID, err)
	}
	title := path.Base(v.Bundle.Dir)
	if p.Index != nil {
		list = append(list, Attachment{Name: path.Base(v.Bundle.Index), Title: title + ": its first page, as it would be published", Data: p.Index})
	}
	if p.Archive != nil {
		list = append(list, Attachment{Name: v.ID + ".zip", Title: title + ": all of it", Data: p.Archive})
	}
	return list, nil
}

// draftFile is everything, as a file.
func draftFile(d draftView) string {
	var b strings.Builder
	fmt.Fprintf(&b, "draft: %s, revision %d\ntool: %s\ndigest: %s\n\n%s", d.ID, d.Revision, d.Tool, d.Digest, argsText(draftArgs(d.Args, d.FilledDefaults)))
	for _, f := range d.Files {
		fmt.Fprintf(&b, "file: %s  %d bytes  sha256 %s\n", blockkit.OneLine(f.Path, 300), f.Bytes, f.SHA256)
	}
	return b.String()
}
