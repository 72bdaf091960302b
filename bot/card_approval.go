package bot

import (
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// kindCall is the kind of the tokens of a call's card; their ref is the call.
const kindCall = "call"

// Verbs of a call's card.
const (
	verbApprove    = "approve"
	verbApproveRun = "approve_run"
	verbReject     = "reject"
	verbRead       = "read"
	verbAgain      = "again"
)

// approvalCard is a call that asks a person, in whatever state it is. The whole
// input stands on it; where that does not fit it is attached, and yes is said
// only in the modal that shows all of it.
func approvalCard(a threads.Approval, token string) Rendering { return callCard(a, "", token) }

// callCard is approvalCard, or, with a line above it, the copy of an approver
// who decides this call and nothing beyond it.
func callCard(a threads.Approval, lead, token string) Rendering {
	if lead != "" {
		a.Scope = "" // no "Allow for this run": it is an owner's
	}
	card := blockkit.Card{
		Text: fmt.Sprintf("%s: %s", approvalHeadline(a), blockkit.OneLine(inputLine(a), 300)),
		Head: approvalHead(a),
		Body: inputBlocks(callArgs(a.Tool, a.Args)),
	}
	row := &buttons{kind: kindCall, token: token}
	if lead != "" {
		card.Head = append(card.Head, small("%s", lead))
	}
	if lead == "" || a.State == "pending" { // to ask again is an owner's
		card.Foot = approvalFoot(a, row, false)
	}
	blocks, cut := card.Blocks()
	r := Rendering{Text: card.Text, Blocks: blocks, Final: a.State != "pending" && a.State != "unanswered"}
	if cut && a.State == "pending" {
		row = &buttons{kind: kindCall, token: token}
		card.Foot = approvalFoot(a, row, true)
		r.Blocks, _ = card.Blocks()
		r.Attach = []Attachment{{
			Name:  a.Tool + "-input.txt",
			Title: "The whole input, sha256 " + a.Digest,
			Data:  []byte(approvalText(a)),
		}}
	}
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindCall, Ref: a.Call, Digest: a.Digest, Choices: row.verbs}}
	}
	return r
}

func approvalHeadline(a threads.Approval) string {
	switch a.State {
	case "approved":
		return "✓ Approved"
	case "denied":
		return "✕ Rejected"
	case "unanswered":
		return "◌ No answer"
	case "void":
		return "✕ Withdrawn"
	}
	return "◌ May I run this?"
}

// approvalHead says what it is: the question or its answer, the tool, where it
// would run, and whom it could reach.
func approvalHead(a threads.Approval) []blockkit.Block {
	head := []blockkit.Block{para("%s", approvalStatus(a))}
	head = append(head, small("%s", strings.Join(approvalFacts(a), " · ")))
	if a.Forced && a.Why != "" {
		head = append(head, warning(a.Why))
	}
	if list := destinationLines(a.Facts.Destinations); len(list) > 0 {
		head = append(head, list...)
	}
	return head
}

// approvalStatus is the first line: the question, or its answer.
func approvalStatus(a threads.Approval) string {
	switch a.State {
	case "approved":
		return fmt.Sprintf("✓ *Approved* by %s, %s", who(a.By), clock(a.Decided))
	case "denied":
		line := fmt.Sprintf("✕ *Rejected* by %s, %s", who(a.By), clock(a.Decided))
		if a.Reason != "" {
			line += ": " + quoted(a.Reason, 500)
		}
		return line
	case "unanswered":
		return fmt.Sprintf("◌ *No answer* by %s; I went on without it", clock(a.Decided))
	case "void":
		return fmt.Sprintf("✕ *Withdrawn*: %s. It was not run", quoted(orWord(a.Reason, "its run has ended"), 300))
	}
	return "◌ *May I run this?*"
}

// warning is a line that must be read, holding others' words.
func warning(s string) blockkit.Block {
	return blockkit.RichSection(blockkit.Run{Text: "⚠ ", Bold: true}, blockkit.Run{Text: blockkit.OneLine(s, 900)})
}

func approvalFacts(a threads.Approval) []string {
	facts := []string{inCode(a.Tool)}
	if a.Facts.Server != "" {
		facts = append(facts, "on the server "+inCode(a.Facts.Server))
	} else {
		facts = append(facts, "in this thread's folder")
	}
	c := a.Facts.Capabilities
	switch {
	case c.Egress == tools.Chosen:
		facts = append(facts, "can reach any address")
	case c.Egress == tools.Blind:
		facts = append(facts, "reaches only what is configured")
	default:
		facts = append(facts, "no network")
	}
	if c.Destructive {
		facts = append(facts, "may overwrite or delete")
	}
	if c.PrivateData {
		facts = append(facts, "reads private data")
	}
	if c.UntrustedInput {
		facts = append(facts, "brings in others' text")
	}
	return facts
}

// How many destinations a card names one by one.
const maxDestinations = 8

// destinationLines say of each destination where it first appeared.
func destinationLines(list []tools.Destination) []blockkit.Block {
	var blocks []blockkit.Block
	for i, d := range list {
		if i == maxDestinations && len(list) > maxDestinations+1 {
			blocks = append(blocks, small("… and %d more; all of them stand in the input", len(list)-i))
			break
		}
		blocks = append(blocks, destinationLine(d))
	}
	return blocks
}

func destinationLine(d tools.Destination) blockkit.Block {
	value := blockkit.Run{Text: blockkit.OneLine(d.Value, 300), Code: true}
	if d.Suspect {
		return blockkit.RichSection(blockkit.Run{Text: "⚠ ", Bold: true}, value, blockkit.Run{Text: "  " + originWords(d)})
	}
	return blockkit.RichSection(blockkit.Run{Text: "→ "}, value, blockkit.Run{Text: "  " + originWords(d)})
}

// originWords say where a destination first appeared.
func originWords(d tools.Destination) string {
	kind := destinationWord(d.Kind)
	via := ""
	if d.Tool != "" {
		via = " (" + blockkit.OneLine(d.Tool, 80) + ")"
	}
	switch d.Origin {
	case tools.FromOwner:
		return "you named it"
	case tools.FromPrivate:
		return "from your own data" + via
	case tools.FromConfig:
		return "from the configuration"
	case tools.FromThirdParty:
		return "this " + kind + " first appeared in a third party's text" + via + ", not in anything you wrote"
	}
	if d.Suspect {
		return "this " + kind + " appears nowhere in this conversation, which holds a third party's text"
	}
	return "this " + kind + " appears nowhere in this conversation: I chose it"
}

func destinationWord(k tools.DestinationKind) string {
	switch k {
	case tools.ToURL, tools.ToAddress:
		return "address"
	case tools.ToChannel:
		return "channel"
	case tools.ToAccount:
		return "account"
	case tools.ToPath:
		return "path outside the folder"
	case tools.ToID:
		return "id"
	}
	return "destination"
}

// approvalFoot is what can be done.
func approvalFoot(a threads.Approval, row *buttons, tooLong bool) []blockkit.Block {
	switch {
	case a.State == "unanswered":
		row.add("Ask again", verbAgain, blockkit.Neutral)
		return []blockkit.Block{row.block()}
	case a.State != "pending":
		return nil
	case tooLong:
		row.add("Read all", verbRead, blockkit.Primary).add("Reject…", verbReject, blockkit.Neutral)
		return []blockkit.Block{small("This is not all of it. The rest is attached; *Read all* shows everything, and Approve is there."), row.block()}
	}
	row.add("Approve", verbApprove, blockkit.Primary)
	var foot []blockkit.Block
	if a.Scope != "" && !a.Forced {
		row.add("Allow for this run", verbApproveRun, blockkit.Neutral)
		foot = append(foot, small("Allow for this run: %s, until this run ends", grantWords(a)))
	}
	row.add("Reject…", verbReject, blockkit.Neutral)
	return append([]blockkit.Block{row.block()}, foot...)
}

// grantWords say what "Allow for this run" covers.
func grantWords(a threads.Approval) string {
	if a.Facts.GrantScope != "" {
		if a.Tool == "shell" {
			return "this exact command"
		}
		return "exactly this call"
	}
	return "this tool, whatever its input"
}

// inputLine is what a call is about, in a few words.
func inputLine(a threads.Approval) string {
	args := callArgs(a.Tool, a.Args)
	if len(args) == 0 {
		return a.Tool
	}
	return a.Tool + " " + args[0].Text
}

// approvalText is everything, as a file.
func approvalText(a threads.Approval) string {
	return fmt.Sprintf("tool: %s\nsha256 of tool and input: %s\n\n%s", a.Tool, a.Digest, argsText(callArgs(a.Tool, a.Args)))
}
