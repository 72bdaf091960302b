package bot

import (
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// reading is something to be read whole in a modal, and decided at its end.
type reading struct {
	Title  string
	Head   []blockkit.Block // on every page: what it is
	Blocks []blockkit.Block // all of it
	Foot   []blockkit.Block // on the last page: what to know before deciding
}

// A page of a modal: a few screens of a phone.
const (
	pageUnits  = 9000
	pageBlocks = 40
)

// pages deals the blocks out; at least one page.
func (r reading) pages() [][]blockkit.Block {
	var pages [][]blockkit.Block
	var page []blockkit.Block
	n := 0
	for _, b := range r.Blocks {
		size := len(blockkit.BlocksJSON([]blockkit.Block{b}))
		if len(page) > 0 && (n+size > pageUnits || len(page) >= pageBlocks) {
			pages, page, n = append(pages, page), nil, 0
		}
		page, n = append(page, b), n+size
	}
	return append(pages, page)
}

// Verbs of turning pages.
const (
	verbNext = "next"
	verbBack = "back"
	verbGo   = "later" // Later: the next of a review
)

// view is one page of a reading. The buttons that decide stand on the last
// one: who gets there has had everything before their eyes.
func (r reading) view(page int, k threads.Token, decide func(row *buttons, last bool)) (view []byte, token threads.Token) {
	pages := r.pages()
	page = min(max(page, 0), len(pages)-1)
	last := page == len(pages)-1
	m := blockkit.ModalView{Title: r.Title, Close: "Close", CallbackID: "read", PrivateMetadata: k.Token, Head: r.Head, Body: pages[page]}
	row := &buttons{kind: k.Kind, token: k.Token}
	if len(pages) > 1 {
		m.Head = append(append([]blockkit.Block{}, r.Head...), small("page %d of %d", page+1, len(pages)))
		if page > 0 {
			row.add("Back", verbBack, blockkit.Neutral)
		}
		if !last {
			row.add("Next page", verbNext, blockkit.Primary)
		}
	}
	decide(row, last)
	if last {
		m.Foot = append(m.Foot, r.Foot...)
	}
	m.Foot = append(m.Foot, row.block())
	k.Choices = append(append([]string{}, row.verbs...), k.Choices...)
	k.Choices = append(k.Choices, fmt.Sprintf("page=%d", page))
	j, _ := m.JSON()
	return j, k
}

// pageOf is the page that a token's view shows.
func pageOf(k threads.Token) (page int) {
	for _, c := range k.Choices {
		if n, ok := strings.CutPrefix(c, "page="); ok {
			fmt.Sscanf(n, "%d", &page)
		}
	}
	return page
}

// callReading is a call's whole input.
func callReading(a threads.Approval) reading {
	r := reading{Title: "The whole input", Head: approvalHead(a), Blocks: inputBlocks(callArgs(a.Tool, a.Args))}
	if a.Scope != "" && !a.Forced {
		r.Foot = append(r.Foot, small("Allow for this run: %s, until this run ends", grantWords(a)))
	}
	return r
}

// draftReading is everything of a draft: its arguments, its files with their
// whole hashes, every destination with its origin, what it answers, and what
// people changed.
func draftReading(d draftView) reading {
	r := reading{Title: "The whole draft", Head: []blockkit.Block{para("%s", draftStatus(d)), small("%s · %s · revision %d · digest %s", inCode(d.ID), inCode(d.Tool), d.Revision, inCode(d.Digest))}}
	r.Blocks = append(r.Blocks, fieldBlocks(draftArgs(d.Args, d.FilledDefaults))...)
	r.Blocks = append(r.Blocks, fileBlocks(d, 64)...)
	suspect := suspects(d.Destinations)
	for _, to := range d.Destinations {
		// Those that only a stranger named stand at the end, before the buttons.
		if len(suspect) > maxSuspects || !isSuspect(to) {
			r.Blocks = append(r.Blocks, destinationLine(to))
		}
	}
	source, _ := sourceBlocks(d.Answers, unlimited)
	r.Blocks = append(r.Blocks, source...)
	r.Blocks = append(r.Blocks, editBlocks(d.Edits, unlimited)...)
	for _, a := range d.Attempts {
		line := fmt.Sprintf("attempt at %s: %s", clockSecs(a.Started), orWord(a.Outcome, "under way"))
		if a.Error != "" {
			line += ": " + quoted(a.Error, 500)
		}
		r.Blocks = append(r.Blocks, small("%s", line))
	}
	if d.State == outbox.Uncertain {
		r.Blocks = append(r.Blocks, uncertainBlocks(d)...)
	}
	if len(suspect) > maxSuspects {
		r.Foot = append(r.Foot, small("⚠ %d destinations above are marked: only a third party named them", len(suspect)))
	} else {
		r.Foot = destinationLines(suspect)
	}
	r.Foot = append(r.Foot, draftWarnings(d)...)
	if d.NeedsApprovals > 1 {
		r.Foot = append(r.Foot, small("%s", approvalCount(d.Draft)))
	}
	return r
}

// callDecisions are the buttons of a call's modal.
func callDecisions(a threads.Approval, review bool) func(*buttons, bool) {
	return func(row *buttons, last bool) {
		if a.State == "pending" {
			if last {
				row.add("Approve", verbApprove, blockkit.Primary)
				if a.Scope != "" && !a.Forced {
					row.add("Allow for this run", verbApproveRun, blockkit.Neutral)
				}
			}
			row.add("Reject…", verbReject, blockkit.Neutral)
		}
		if review {
			row.add("Later", verbGo, blockkit.Neutral)
		}
	}
}

// draftDecisions are the buttons of a draft's modal. Send anyway is the second
// press: of a draft that is tainted, red, or failed before.
func draftDecisions(d outbox.Draft, review bool) func(*buttons, bool) {
	return func(row *buttons, last bool) {
		switch d.State {
		case outbox.Pending:
			if last && d.SecondLook() {
				row.add("Send anyway", verbSend, blockkit.Danger)
			} else if last {
				row.add("Approve", verbApprove, blockkit.Primary)
			}
			if d.Kind != outbox.Publish {
				row.add("Edit", verbEdit, blockkit.Neutral)
			}
			row.add("Reject…", verbReject, blockkit.Neutral)
		case outbox.Uncertain:
			row.add("It arrived…", verbArrived, blockkit.Neutral).add("It did not…", verbNotArrived, blockkit.Neutral)
		}
		if review {
			row.add("Later", verbGo, blockkit.Neutral)
		}
	}
}

// triggerReading is a proposed trigger, whole.
func triggerReading(t triggerView) reading {
	return reading{Title: "A proposed trigger", Head: triggerHead(t), Blocks: triggerPrompt(t), Foot: triggerWarnings(t.Trigger)}
}

// triggerDecisions are the buttons of a trigger's modal.
func triggerDecisions(t triggerView, review bool) func(*buttons, bool) {
	return func(row *buttons, last bool) {
		if last {
			triggerButtons(t.Trigger, row)
		}
		if review {
			row.add("Later", verbGo, blockkit.Neutral)
		}
	}
}
