package bot

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// waiting is what waits for one person, and what the triggers did meanwhile.
type waiting struct {
	Uncertain []outbox.Draft
	Drafts    []outbox.Draft // pending, and approved ones that are held or scheduled
	Calls     []threads.Approval
	Questions []threads.Question
	Forms     []serverAsks // questions of MCP servers, in the middle of a call
	Proposals []triggers.Trigger
	Rules     []outbox.Rule   // proposed writing rules
	Fires     []triggers.Fire // of the night before, newest first
	Now       time.Time
}

// serverAsks is a question of an MCP server, and where its card stands, in mrkdwn.
type serverAsks struct {
	threads.Form
	Card string
}

// things is how many wait for a decision.
func (w waiting) things() int {
	n := len(w.Uncertain) + len(w.Calls) + len(w.Questions) + len(w.Forms) + len(w.Proposals) + len(w.Rules)
	for _, d := range w.Drafts {
		if d.State == outbox.Pending {
			n++
		}
	}
	return n
}

// empty tells that there is nothing to say: nothing waits, and no trigger failed.
func (w waiting) empty() bool {
	return w.things() == 0 && !slices.ContainsFunc(w.Fires, func(f triggers.Fire) bool { return f.Status == "error" })
}

// mark tells one state of what waits from another, ages aside.
func (w waiting) mark() string {
	var b strings.Builder
	for _, d := range append(slices.Clone(w.Uncertain), w.Drafts...) {
		fmt.Fprintf(&b, "%s:%d:%s;", d.ID, d.Version, d.State)
	}
	for _, a := range w.Calls {
		fmt.Fprintf(&b, "%s;", a.Call)
	}
	for _, q := range w.Questions {
		fmt.Fprintf(&b, "%s;", q.ID)
	}
	for _, f := range w.Forms {
		fmt.Fprintf(&b, "%s;", f.ID)
	}
	for _, t := range w.Proposals {
		fmt.Fprintf(&b, "%s:%d;", t.Name, t.Version)
	}
	for _, r := range w.Rules {
		fmt.Fprintf(&b, "%d;", r.ID)
	}
	for _, f := range w.Fires {
		fmt.Fprintf(&b, "%d:%s;", f.ID, f.Status)
	}
	return b.String()
}

// Verbs of what waits; verbAnswer is the third.
const (
	verbSettle = "settle"
	verbReview = "review"
)

// digestView is what the digest's message is made of.
type digestView struct {
	waiting
	Morning bool // by the clock, not typed
	Counts  bool // an untrusted channel: counts only
}

// digestCard is the one message of a day: it is updated as things are settled.
func digestCard(v digestView, ref, token string) Rendering {
	row := &buttons{kind: kindWaits, token: token}
	n := v.things()
	title := "Nothing waits for you."
	switch {
	case n == 1:
		title = "1 thing waits for you."
	case n > 1:
		title = fmt.Sprintf("%d things wait for you.", n)
	case v.Morning:
		title = "All done. Nothing waits for you."
	}
	if v.Morning && n > 0 {
		title = "Good morning. " + title
	}
	card := blockkit.Card{Text: title, Head: []blockkit.Block{para("*%s*", title)}}
	card.Body = waitingBlocks(v.waiting, row, v.Counts)
	if line := overnight(v.Fires, v.Counts); line != "" {
		card.Body = append(card.Body, small("─ overnight: %s", line))
	}
	r := Rendering{Text: title}
	r.Blocks, _ = card.Blocks()
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindWaits, Ref: ref, Choices: row.verbs}}
	}
	return r
}

// waitingBlocks are the lines of what waits, uncertain first, each with the
// button that leads to it.
func waitingBlocks(w waiting, row *buttons, counts bool) []blockkit.Block {
	var blocks []blockkit.Block
	line := func(mark, what string, items []string, label, verb string) {
		s := mark + " *" + what + "*"
		if len(items) > 0 && !counts {
			s += "   " + strings.Join(items, " · ")
		}
		var button blockkit.Element
		if label != "" {
			row.add(label, verb, blockkit.Neutral)
			button = row.row[len(row.row)-1]
			row.row = row.row[:len(row.row)-1]
		}
		blocks = append(blocks, blockkit.SectionWith(blockkit.Mrkdwn(s), button))
	}
	if n := len(w.Uncertain); n > 0 {
		line("?", plural(n, "unknown outcome"), each(w.Uncertain, w.draftLine), "Settle", verbSettle)
	}
	var pending, held []outbox.Draft
	for _, d := range w.Drafts {
		if d.State == outbox.Pending {
			pending = append(pending, d)
		} else {
			held = append(held, d)
		}
	}
	slices.SortStableFunc(pending, func(a, b outbox.Draft) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), a.Created.Compare(b.Created))
	})
	if len(pending) > 0 {
		line("✉", draftCounts(pending), each(pending, w.draftLine), "Review", verbReview)
	}
	label := "Review"
	if len(pending) > 0 {
		label = "" // the same walk, a line above
	}
	if n := len(w.Calls); n > 0 {
		line("◌", plural(n, "call"), each(w.Calls, func(a threads.Approval) string {
			return fmt.Sprintf("%s %s (%s)", inCode(a.Tool), quoted(inputText(a), 60), age(w.Now.Sub(a.Created)))
		}), label, verbReview)
		label = ""
	}
	if n := len(w.Questions); n > 0 {
		line("◌", plural(n, "question"), each(w.Questions, func(q threads.Question) string {
			return fmt.Sprintf("“%s” (%s)", quoted(q.Text, 80), age(w.Now.Sub(q.Created)))
		}), "Answer", verbAnswer)
	}
	if n := len(w.Forms); n > 0 { // each has its buttons on its card
		line("◌", plural(n, "question")+" of MCP servers, in the middle of a call", each(w.Forms, func(f serverAsks) string {
			return fmt.Sprintf("%s: “%s” (%s), on %s", inCode(f.Server), quoted(f.Message, 80), age(w.Now.Sub(f.Created)), f.Card)
		}), "", "")
	}
	if n := len(w.Proposals); n > 0 {
		line("◌", plural(n, "proposed trigger"), each(w.Proposals, func(t triggers.Trigger) string {
			return inCode(t.Name) + " " + quoted(scheduleWords(t.Schedule), 60)
		}), label, verbReview)
	}
	if n := len(w.Rules); n > 0 { // each has its buttons on its card
		line("◌", plural(n, "proposed writing rule")+", on a card in our DM", each(w.Rules, func(r outbox.Rule) string {
			return fmt.Sprintf("“%s”", quoted(r.Text, 80))
		}), "", "")
	}
	if n := len(held); n > 0 {
		line("▸", plural(n, "approved draft"), each(held, w.draftLine), "", "")
	}
	return blocks
}

// Items of a line are named up to this many; the rest is counted.
const maxNamed = 4

func each[T any](list []T, say func(T) string) []string {
	var out []string
	for i, v := range list {
		if i == maxNamed && len(list) > maxNamed+1 {
			return append(out, fmt.Sprintf("and %d more", len(list)-i))
		}
		out = append(out, say(v))
	}
	return out
}

func draftCounts(list []outbox.Draft) string {
	publish := 0
	for _, d := range list {
		if d.Kind == outbox.Publish {
			publish++
		}
	}
	switch {
	case publish == 0:
		return plural(len(list), "draft")
	case publish == len(list):
		return plural(publish, "publication")
	}
	return plural(len(list)-publish, "draft") + ", " + plural(publish, "publication")
}

// draftLine is a draft in a few words: what to whom, its age, its warnings.
func (w waiting) draftLine(d outbox.Draft) string {
	notes := []string{age(w.Now.Sub(d.Created))}
	if d.Tainted || d.Red || d.LastError != "" {
		notes = append(notes, "⚠")
	}
	if d.Stale {
		notes = append(notes, "stale")
	}
	return fmt.Sprintf("%s (%s)", quoted(draftTitle(d), 90), strings.Join(notes, ", "))
}

// draftTitle is what a draft is, in a few words, unescaped.
func draftTitle(d outbox.Draft) string {
	name := d.Tool
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+2:]
	}
	to, subject, text := "", "", ""
	for _, a := range draftArgs(d.Args, nil) {
		if a.Label == "Body" || a.Block && text == "" {
			text = a.Text
		}
		switch a.Label {
		case "To":
			to = a.Text
		case "Subject":
			subject = a.Text
		}
	}
	switch {
	case to != "" && subject != "":
		return fmt.Sprintf("%s to %s “%s”", name, blockkit.OneLine(to, 40), blockkit.OneLine(subject, 40))
	case to != "":
		return fmt.Sprintf("%s to %s", name, blockkit.OneLine(to, 60))
	case subject != "":
		return fmt.Sprintf("%s “%s”", name, blockkit.OneLine(subject, 60))
	case text != "":
		return fmt.Sprintf("%s “%s”", name, blockkit.OneLine(text, 60))
	}
	return name + " " + d.Summary
}

func inputText(a threads.Approval) string {
	if args := callArgs(a.Tool, a.Args); len(args) > 0 {
		return args[0].Text
	}
	return ""
}

// overnight says what the triggers did: each one's newest fire, failed ones first.
func overnight(fires []triggers.Fire, counts bool) string {
	newest := map[string]triggers.Fire{}
	var names []string
	failed, skipped := 0, 0
	for _, f := range fires {
		switch f.Status {
		case "error":
			failed++
		case "skipped":
			skipped++
		}
		if _, ok := newest[f.Trigger]; !ok {
			newest[f.Trigger] = f
			names = append(names, f.Trigger)
		}
	}
	if len(names) == 0 {
		return ""
	}
	if counts {
		return fmt.Sprintf("%s, %d failed, %d skipped", plural(len(fires), "trigger run"), failed, skipped)
	}
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(map[bool]int{true: 0, false: 1}[newest[a].Status == "error"], map[bool]int{true: 0, false: 1}[newest[b].Status == "error"])
	})
	return strings.Join(each(names, func(n string) string { return fireWords(newest[n]) }), " · ")
}

// fireWords are what became of a fire.
func fireWords(f triggers.Fire) string {
	name := quoted(f.Trigger, 64)
	switch f.Status {
	case "error":
		return fmt.Sprintf("✕ %s failed %s: %s", name, clock(f.Started), quoted(f.Reason, 120))
	case "skipped":
		return fmt.Sprintf("%s skipped: %s", name, quoted(f.Reason, 120))
	case "running":
		return fmt.Sprintf("▸ %s runs since %s", name, clock(f.Started))
	}
	said := fmt.Sprintf("%s ran %s (%s)", name, clock(f.Started), plural(f.Calls, "call"))
	if f.Silent {
		said = fmt.Sprintf("%s ran %s and had nothing to say", name, clock(f.Started))
	}
	if f.Reason != "" { // it went well, and not as it should have
		said += ": " + quoted(f.Reason, 120)
	}
	return said
}
