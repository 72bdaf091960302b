package bot

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

// kindDraft is the kind of the tokens of a draft's card; their ref is the draft.
const kindDraft = "draft"

// Verbs of a draft's card, besides approve, reject and read.
const (
	verbEdit       = "edit"
	verbLook       = "look"
	verbSend       = "send" // Send anyway
	verbCancel     = "cancel"
	verbArrived    = "arrived"
	verbNotArrived = "not_arrived"
)

// draftView is what a draft's card and modals are made of.
type draftView struct {
	outbox.Draft
	Answers outbox.Source      // the message that it answers, in a third party's words
	Bundle  outbox.Bundle      // of a publication
	Edits   []outbox.Change    // the difference that people made
	Paused  bool               // releases are frozen
	Behind  []threads.CallLine // running calls that it waits for
	Lead    string             // above an approver's copy: whose it is
	Now     time.Time
}

// draftCard is a draft in whatever state it is. Everything that would be sent
// stands on it; where that does not fit, it is attached whole and approved only
// from the modal that shows all of it.
func draftCard(d draftView, token string) Rendering {
	card := blockkit.Card{Text: draftText(d), Head: draftHead(d), Body: fieldBlocks(draftArgs(d.Args, d.FilledDefaults))}
	card.Body = append(card.Body, fileBlocks(d, 16)...)
	row := &buttons{kind: kindDraft, token: token}
	card.Foot = draftFoot(d, row, false, false)
	blocks, tooLong := card.Blocks()
	r := Rendering{Text: card.Text, Blocks: blocks, Final: !d.Waiting()}
	switch {
	case tooLong && d.State == outbox.Pending:
		row = &buttons{kind: kindDraft, token: token}
		card.Foot = draftFoot(d, row, true, false)
		r.Blocks, _ = card.Blocks()
		r.Attach = []Attachment{{Name: d.ID + ".txt", Title: "The whole draft, digest " + d.Digest, Data: []byte(draftFile(d))}}
	case !tooLong && d.Waiting():
		r.Blocks, row = withSource(d, card, token)
	}
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindDraft, Ref: d.ID, Revision: d.Revision, Digest: d.Seal(), Choices: row.verbs}}
	}
	return r
}

// A quote on a card is short, so that on a phone the buttons below it are not
// screens away; the window that Read all or Look closer opens has all of it.
const (
	quoteUnits = 500
	quoteLines = 12
)

// withSource puts the beginning of the message being answered below the draft,
// and offers Read all where that is not everything.
func withSource(d draftView, card blockkit.Card, token string) (blockkit.Blocks, *buttons) {
	body := card.Body
	for _, max := range []int{quoteUnits, 200, 0} {
		source, whole := sourceBlocks(d.Answers, max)
		row := &buttons{kind: kindDraft, token: token}
		card.Body = append(append([]blockkit.Block{}, body...), source...)
		card.Foot = draftFoot(d, row, false, !whole)
		if blocks, cut := card.Blocks(); !cut || max == 0 {
			return blocks, row
		}
	}
	return nil, nil
}

func draftText(d draftView) string {
	return fmt.Sprintf("%s: %s", draftHeadline(d), blockkit.OneLine(draftTitle(d.Draft), 250))
}

func draftHeadline(d draftView) string {
	switch d.State {
	case outbox.Pending:
		if d.SecondLook() {
			return "⚠ Read this one twice"
		}
		if d.Kind == outbox.Publish {
			return "✉ Ready for you to publish"
		}
		return "✉ Draft for you to send"
	case outbox.Approved:
		return "✓ Approved, not sent yet"
	case outbox.Releasing:
		return "▸ Sending"
	case outbox.Uncertain:
		return "? I can't tell whether this was sent"
	case outbox.Released:
		if d.Kind == outbox.Publish {
			return "✓ Published"
		}
		return "✓ Sent"
	case outbox.Rejected:
		return "✕ Rejected"
	case outbox.Superseded:
		return "✕ Replaced by a newer draft"
	case outbox.Expired:
		return "✕ Expired, not sent"
	}
	return "✉ Draft"
}

// draftHead says how it stands, and which draft it is.
func draftHead(d draftView) []blockkit.Block {
	facts := []string{inCode(d.ID), inCode(d.Tool), day(d.Created)}
	if d.Edited && d.State == outbox.Pending {
		facts = append(facts, fmt.Sprintf("edited, revision %d", d.Revision))
	}
	if d.Stale && d.State == outbox.Pending {
		facts = append(facts, "⚠ stale: it has waited since "+day(d.Created))
	}
	if d.Supersedes != "" {
		facts = append(facts, "replaces "+inCode(d.Supersedes))
	}
	if d.SupersededBy != "" {
		facts = append(facts, "replaced by "+inCode(d.SupersededBy))
	}
	head := []blockkit.Block{para("%s", draftStatus(d)), small("%s", strings.Join(facts, " · "))}
	if d.Lead != "" {
		head = append(head, small("%s", d.Lead))
	}
	switch d.State {
	case outbox.Uncertain:
		head = append(head, uncertainBlocks(d)...)
	case outbox.Pending:
		head = append(head, suspectLines(d.Destinations)...)
	}
	return head
}

// draftStatus is the first line.
func draftStatus(d draftView) string {
	headline := draftHeadline(d)
	mark, words, _ := strings.Cut(headline, " ")
	bold := mark + " *" + words + "*"
	switch d.State {
	case outbox.Approved:
		s := fmt.Sprintf("✓ *Approved* by %s; ", approvers(d.Draft))
		switch {
		case d.Paused:
			return s + "it waits, because everything is paused"
		case d.due().After(d.Now):
			return s + "it goes out at " + day(d.due())
		case len(d.Behind) > 0:
			return s + "it waits for " + behindWords(d.Behind) + ", still running in its conversation: its files have to stay as you saw them"
		}
		return s + "it goes out now"
	case outbox.Releasing:
		if n := len(d.Attempts); n > 0 {
			return bold + ", since " + clockSecs(d.Attempts[n-1].Started)
		}
	case outbox.Released:
		return bold + releasedWords(d)
	case outbox.Rejected:
		s := bold + " by " + who(d.ResolvedBy)
		if d.Resolved != nil {
			s += ", " + clock(*d.Resolved)
		}
		if d.Reason != "" {
			s += ": " + quoted(d.Reason, 500)
		}
		return s
	case outbox.Superseded, outbox.Expired:
		if d.Resolved != nil {
			return bold + ", " + day(*d.Resolved)
		}
	}
	return bold
}

// releasedWords are "09:15, approved by @alice (edited: 1 line)", or who
// established that it arrived.
func releasedWords(d draftView) string {
	s := ""
	if d.Resolved != nil {
		s = " " + clock(*d.Resolved)
	}
	if n := len(d.Reconciliations); n > 0 && d.Reconciliations[n-1].Outcome == "delivered" {
		r := d.Reconciliations[n-1]
		s += fmt.Sprintf(": it arrived, as %s saw (%s)", who(r.By), quoted(r.Evidence, 300))
	} else {
		s += ", approved by " + approvers(d.Draft)
	}
	if d.Edited {
		s += fmt.Sprintf(" (edited: %s)", plural(max(1, outbox.EditedLines(d.Edits)), "line"))
	}
	return s
}

// behindWords name the calls that a release waits for.
func behindWords(calls []threads.CallLine) string {
	var list []string
	for _, c := range calls {
		s := inCode(c.Tool)
		if args := callArgs(c.Tool, json.RawMessage(c.Args)); len(args) > 0 {
			s += " " + quoted(args[0].Text, 80)
		}
		list = append(list, s)
	}
	return strings.Join(each(list, func(s string) string { return s }), ", ")
}

func approvers(d outbox.Draft) string {
	if len(d.Approvals) == 0 {
		return who(d.ResolvedBy)
	}
	names := make([]string, 0, len(d.Approvals))
	for _, a := range d.Approvals {
		names = append(names, who(a.By))
	}
	return strings.Join(names, ", ")
}

// due is when an approved draft goes out; zero: now.
func (d draftView) due() (t time.Time) {
	for _, at := range []*time.Time{d.HoldUntil, d.NotBefore} {
		if at != nil && at.After(t) {
			t = *at
		}
	}
	return t
}

// suspectLines name the destinations that only a stranger named.
func suspectLines(list []tools.Destination) []blockkit.Block {
	return destinationLines(suspects(list))
}

// maxSuspects stand one by one beside the buttons of a modal.
const maxSuspects = maxDestinations

func suspects(list []tools.Destination) (bad []tools.Destination) {
	for _, d := range list {
		if isSuspect(d) {
			bad = append(bad, d)
		}
	}
	return bad
}

func isSuspect(d tools.Destination) bool { return d.Suspect && d.Kind != tools.ToID }

// uncertainBlocks say what is not known, and what would tell.
func uncertainBlocks(d draftView) []blockkit.Block {
	var blocks []blockkit.Block
	at, why := "", ""
	if n := len(d.Attempts); n > 0 {
		a := d.Attempts[n-1]
		at, why = ", at "+clockSecs(a.Started), a.Error
	}
	blocks = append(blocks, para("No answer that I can trust came after I handed it over%s. I will not try again by myself.", at))
	if why != "" {
		blocks = append(blocks, blockkit.RichSection(blockkit.Run{Text: "What I heard: "}, blockkit.Run{Text: blockkit.OneLine(why, 500)}))
	}
	where := []blockkit.Run{{Text: "Look where it would have arrived (your Sent folder, the calendar) for these recipients and this text, or for the key "}, {Text: blockkit.OneLine(d.IdempotencyKey, 200), Code: true}}
	if id := d.MessageID(); id != "" {
		where = []blockkit.Run{{Text: "Check your Sent folder for Message-ID "}, {Text: "<" + blockkit.OneLine(id, 200) + ">", Code: true}}
	}
	blocks = append(blocks, blockkit.RichSection(where...))
	if p := d.Proposal; p != nil {
		blocks = append(blocks, blockkit.RichSection(blockkit.Run{Text: "I looked there: "}, blockkit.Run{Text: blockkit.OneLine(p.Evidence, 500)}, blockkit.Run{Text: " (" + p.Words() + ")", Bold: true}))
	}
	return blocks
}

// draftFoot holds the warnings, what else there is to know before deciding, and
// the buttons. It is kept whole whatever the draft's length.
func draftFoot(d draftView, row *buttons, tooLong, moreSource bool) []blockkit.Block {
	var foot []blockkit.Block
	if d.State == outbox.Pending {
		foot = append(foot, draftWarnings(d)...)
	}
	if d.Waiting() || d.State == outbox.Released {
		foot = append(foot, editBlocks(d.Edits, 700)...)
	}
	switch d.State {
	case outbox.Pending:
		if d.NeedsApprovals > 1 {
			foot = append(foot, small("%s", approvalCount(d.Draft)))
		}
		switch {
		case tooLong:
			foot = append(foot, small("This is not all of it. The rest is attached; *Read all* shows everything, and Approve is there."))
			row.add("Read all", verbRead, blockkit.Primary)
		case d.SecondLook():
			row.add("Look closer", verbLook, blockkit.Neutral)
		default:
			row.add("Approve", verbApprove, blockkit.Primary)
		}
		if d.Kind != outbox.Publish {
			row.add("Edit", verbEdit, blockkit.Neutral)
		}
		row.add("Reject…", verbReject, blockkit.Neutral)
		if moreSource && !tooLong && !d.SecondLook() {
			row.add("Read all", verbRead, blockkit.Neutral)
		}
	case outbox.Approved:
		if d.Paused || d.due().After(d.Now) || len(d.Behind) > 0 {
			row.add("Cancel", verbCancel, blockkit.Neutral)
		}
	case outbox.Uncertain:
		row.add("It arrived…", verbArrived, blockkit.Neutral).add("It did not…", verbNotArrived, blockkit.Neutral)
	}
	return append(foot, row.block())
}

func approvalCount(d outbox.Draft) string {
	s := fmt.Sprintf("%d of %d approvals", len(d.Approvals), d.NeedsApprovals)
	if len(d.Approvals) > 0 {
		s += ": " + approvers(d)
	}
	return s
}

// draftWarnings are what makes a draft one to read twice: tainted, red and a
// failed attempt are different, and each is told.
func draftWarnings(d draftView) []blockkit.Block {
	var list []blockkit.Block
	if d.Bundle.Gone != "" {
		list = append(list, blockkit.RichSection(blockkit.Run{Text: "⚠ What this would publish is gone: ", Bold: true}, blockkit.Run{Text: blockkit.OneLine(d.Bundle.Gone, 300) + ". Bring it back, or reject this draft."}))
	}
	if d.LastError != "" {
		list = append(list, blockkit.RichSection(blockkit.Run{Text: "✕ The last attempt failed: ", Bold: true}, blockkit.Run{Text: blockkit.OneLine(d.LastError, 700)}))
	}
	if d.Tainted {
		list = append(list, blockkit.RichSection(blockkit.Run{Text: "⚠ ", Bold: true}, blockkit.Run{Text: taintWarning(d.Taint)}))
	}
	return list
}

// taintWarning is the seed's, with the two calls named.
func taintWarning(t tools.Taint) string {
	return fmt.Sprintf("this draft was written in a conversation that held private data%s AND third-party content%s. If anything in these arguments was not yours, an attacker may have put it there",
		evidence(t, tools.Private), evidence(t, tools.Untrusted))
}

func evidence(t tools.Taint, leg tools.Leg) string {
	m, ok := t.First(leg)
	if !ok {
		return ""
	}
	return " (" + blockkit.OneLine(strings.TrimSpace(m.Tool+" "+m.What), 120) + ")"
}

// sourceBlocks are the message being answered, labelled for what it is. No
// source and a pruned conversation are different.
func sourceBlocks(s outbox.Source, max int) (blocks []blockkit.Block, whole bool) {
	switch s.Status {
	case "found":
	case "pruned":
		return []blockkit.Block{smallPlain("What this answers is not kept any more: its conversation was cleaned up. Look there before you approve.")}, true
	default:
		return []blockkit.Block{smallPlain("This answers nothing that was read in its conversation (no source was found).")}, true
	}
	via := blockkit.OneLine(s.Tool, 80)
	if s.Arg != "" {
		via += ", " + blockkit.OneLine(s.Arg, 60)
	}
	blocks = []blockkit.Block{smallPlain("answers, in their words (" + via + "), not part of your draft:")}
	shown, _ := blockkit.Visible(s.Text, padding)
	shown = blockkit.DefuseMarks(strings.TrimSpace(shown))
	begin := beginning(shown, max)
	if begin == shown {
		for _, part := range blockkit.SplitVerbatim(shown, blockkit.MaxText) {
			blocks = append(blocks, blockkit.Quote(part))
		}
		return blocks, true
	}
	if max < 40 {
		return append(blocks, smallPlain("(too long for this card)")), false
	}
	return append(blocks, blockkit.Quote(blankLines.ReplaceAllString(strings.TrimSpace(begin), "\n")+"…"), smallPlain(fmt.Sprintf("the beginning: %d of %d characters", width(begin), width(shown)))), false
}

// beginning is s as far as a quote of at most limit characters goes; a short one
// is short in lines as well.
func beginning(s string, limit int) string {
	if width(s) > limit {
		s = blockkit.SplitVerbatim(s, max(limit-1, 1))[0]
	}
	if limit > quoteUnits {
		return s
	}
	at := 0
	for lines := 0; lines < quoteLines; {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return s
		}
		if strings.TrimSpace(s[at:at+i]) != "" { // the card leaves blank lines out
			lines++
		}
		at += i + 1
	}
	return s[:at]
}

var blankLines = regexp.MustCompile(`\n\s*\n`)
