package bot

import (
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// maxEditBlock is how much of a difference one paragraph holds: it may not be cut
// in the middle by Slack's limit.
const maxEditBlock = blockkit.MaxText - 200

// editBlocks show what people changed: what went is struck out, what came is
// bold. Only we can style rich text, so no text of a draft can pass for a change.
// Of more than max characters the beginning is shown, and said to be that.
func editBlocks(changes []outbox.Change, max int) []blockkit.Block {
	if len(changes) == 0 {
		return nil
	}
	var blocks []blockkit.Block
	var runs []blockkit.Run
	size, total := 0, 0
	whole := true
	flush := func() {
		if len(runs) > 0 {
			blocks = append(blocks, blockkit.RichSection(runs...))
		}
		runs, size = nil, 0
	}
	add := func(r blockkit.Run) {
		for _, part := range blockkit.SplitVerbatim(r.Text, maxEditBlock) {
			if !whole {
				return
			}
			n := width(part)
			if left := max - total; n > left {
				whole = false
				if left < 2 {
					return
				}
				part = blockkit.SplitVerbatim(part, left-1)[0] + "…"
				n = left
			}
			if size+n > maxEditBlock {
				flush()
			}
			r.Text = part
			runs, size, total = append(runs, r), size+n, total+n
		}
	}
	for _, c := range changes {
		flush()
		add(blockkit.Run{Text: blockkit.OneLine(c.Arg, 80), Bold: true})
		for _, l := range c.Lines {
			for i, p := range l {
				shown, _ := blockkit.Visible(p.Text, padding)
				if i == 0 {
					shown = "\n" + blockkit.DefuseMarks(shown)
				}
				add(blockkit.Run{Text: shown, Strike: p.Kind == outbox.Out, Bold: p.Kind == outbox.In})
			}
		}
	}
	flush()
	label := "What people changed: struck out was drafted, bold is new"
	if !whole {
		label += " (the beginning)"
	}
	return append([]blockkit.Block{smallPlain(label)}, blocks...)
}
