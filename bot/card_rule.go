package bot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// PostRules is a card of writing rules that were proposed together; RulesRef is
// its ref. The command that learned them leaves it for the bot.
const PostRules threads.PostKind = "rules"

// RulesRef names the rules that were proposed in one go: by when.
func RulesRef(created time.Time) string { return strconv.FormatInt(created.UnixMilli(), 10) }

// kindRule is the kind of the tokens of such a card. A verb of it names a rule:
// accept.12.
const kindRule = "rule"

// maxRuleCard is how many rules one card has room for.
const maxRuleCard = 12

// rulesCard offers each rule by itself: there is no way to accept several at
// once here, so that each is read.
func rulesCard(ref string, rules []outbox.Rule, token string) Rendering {
	open := 0
	for _, r := range rules {
		if r.State == outbox.RuleProposed {
			open++
		}
	}
	headline := "✓ *Writing rules*: all decided"
	if open > 0 {
		headline = fmt.Sprintf("◌ *%s, if you want %s*", plural(open, "writing rule"), map[bool]string{true: "it", false: "them"}[open == 1])
	}
	card := blockkit.Card{
		Text: "Writing rules, learned from what you changed before it went out",
		Head: []blockkit.Block{para("%s", headline), small("Learned from what you changed before it went out. What you accept is in every later prompt.")},
	}
	var verbs []string
	for _, r := range rules[:min(len(rules), maxRuleCard)] {
		card.Body = append(card.Body, blockkit.Quote(blockkit.OneLine(r.Text, 400)), small("%s", ruleFacts(r)))
		if r.State != outbox.RuleProposed {
			continue
		}
		row := &buttons{kind: kindRule, token: token}
		accept, id := blockkit.Primary, "."+strconv.FormatInt(r.ID, 10)
		var ask *blockkit.Confirm
		if r.Origin != outbox.OriginClean {
			accept = blockkit.Neutral
			ask = &blockkit.Confirm{Title: "Read it twice", Text: "A third party's text was in a conversation that this was learned from. Is it how you want drafts written?", Confirm: "Accept", Deny: "Back"}
		}
		row.ask("Accept", verbAccept+id, accept, ask)
		row.ask("Reject…", verbDecline+id, blockkit.Neutral, &blockkit.Confirm{Title: "Reject this rule?", Text: "It is not proposed again.", Confirm: "Reject", Deny: "Back"})
		card.Body = append(card.Body, row.block())
		verbs = append(verbs, row.verbs...)
	}
	if more := len(rules) - maxRuleCard; more > 0 {
		card.Foot = append(card.Foot, small("%d more: `mecha-slack rules` lists them.", more))
	}
	blocks, _ := card.Blocks()
	r := Rendering{Text: card.Text, Blocks: blocks, Final: open == 0}
	if len(verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindRule, Ref: ref, Choices: verbs}}
	}
	return r
}

func ruleFacts(r outbox.Rule) string {
	s := "from " + plural(len(r.Evidence), "draft")
	if len(r.Evidence) > 0 {
		s += ", such as " + inCode(r.Evidence[0])
	}
	if r.Origin != outbox.OriginClean {
		s += " · ⚠ learned beside a third party's text: read it twice"
	}
	switch r.State {
	case outbox.RuleAccepted:
		return "✓ *Accepted* by " + who(r.By) + " · " + s
	case outbox.RuleDeclined:
		return "✕ *Rejected* by " + who(r.By) + " · " + s
	case outbox.RuleRetired:
		return "✕ *Retired* by " + who(r.By) + " · " + s
	}
	return s
}

// rulesOf are the rules of a card, in their order.
func (d desk) rulesOf(ctx context.Context, ref string) (list []outbox.Rule, err error) {
	all, err := d.outbox.WritingRules(ctx)
	for _, r := range all {
		if RulesRef(r.Created) == ref {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b outbox.Rule) int { return cmp.Compare(a.ID, b.ID) })
	return list, err
}

// rule answers a press about a writing rule: an owner's alone.
func (d desk) rule(ctx context.Context, p presser, k threads.Token, verb string) {
	what, number, _ := strings.Cut(verb, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	switch {
	case p.role != Owner:
		d.refuse(ctx, p, "rule", number, what, "not theirs", "Only an owner decides about writing rules.")
		return
	case err != nil:
		d.failed(ctx, p, err)
		return
	case what == verbAccept:
		err = d.outbox.Accept(ctx, p.User, "slack", id)
	default:
		err = d.outbox.Decline(ctx, p.User, "slack", id)
	}
	var no *outbox.RuleError
	switch {
	case errors.As(err, &no):
		d.slack.tell(ctx, p.Press, "Nothing was changed: "+quoted(no.Why, 300)+".")
	case err != nil:
		d.failed(ctx, p, err)
		return
	}
	d.redraw(ctx, PostRules, k.Ref)
}
