package bot

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// kindPin is the kind of the tokens of a changed tool's card.
const kindPin = "pin"

// maxPinDiff is how much of a difference a card shows. A longer one is attached
// whole, and is accepted on the machine, where it can be read.
const maxPinDiff = 8000

// pinCard is a tool that its server describes differently than when it was
// pinned: the difference, and the way to accept it.
func pinCard(v pinView, token string) Rendering {
	_, hash, _ := strings.Cut(v.Ref, "@")
	card := blockkit.Card{Text: "⚠ The MCP server " + blockkit.OneLine(v.Server, 60) + " changed its tool " + blockkit.OneLine(v.Tool, 80)}
	r := Rendering{Text: card.Text, Final: true}
	switch {
	case v.Hash == hash:
		card.Head = []blockkit.Block{para("✓ *Accepted* by %s, %s: %s is offered as its server describes it now, from the next run on", who(v.By), day(v.Changed), inCode(v.Tool))}
	case v.NextHash != hash:
		card.Head = []blockkit.Block{para("✕ *Withdrawn*: %s is not described like this any more; a change of it that waits has a card of its own", inCode(v.Tool))}
	default:
		r.Final = false
		diff := udiff.Unified("pinned", "now", shownDef(v.Was), shownDef(v.Now))
		box, whole := blockkit.Verbatim(diff, maxPinDiff)
		card.Head = []blockkit.Block{para("⚠ *The MCP server %s changed its tool %s* since it was first seen. I leave the tool out until somebody has read the change: a description is what I act on, and a server may turn it against you. The words below are the server's.", inCode(v.Server), inCode(v.Tool))}
		card.Body = box
		row := &buttons{kind: kindPin, token: token}
		if whole {
			row.add("Accept", verbAccept, blockkit.Neutral)
			r.Tokens = []threads.Token{{Token: token, Kind: kindPin, Ref: v.Ref, Choices: row.verbs}}
			card.Foot = append(card.Foot, row.block())
		} else {
			r.Attach = []Attachment{{Name: v.Tool + ".diff", Title: "What changed in " + v.Tool, Data: []byte(diff)}}
			card.Foot = append(card.Foot, para("The change is longer than a card: it is attached whole. Accept it on the machine: %s", inCode("mecha-slack mcp accept "+v.Tool)))
		}
		if v.More > 0 {
			card.Foot = append(card.Foot, small("%s of this server changed as well: %s lists all", plural(v.More, "tool"), inCode("mecha-slack mcp list")))
		}
	}
	r.Blocks, _ = card.Blocks()
	return r
}
