package bot

import (
	"context"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// kindLetter is the kind of the tokens of such a card.
const kindLetter = "letter"

// maxLetterShown is how much of a message stands on its card; a longer one is
// attached whole.
const maxLetterShown = 6000

// letterCard is a message of another agent that waits to be let in.
func letterCard(l threads.Letter, from threads.Thread, token string) Rendering {
	title := blockkit.OneLine(orWord(from.Title, "another thread"), 80)
	card := blockkit.Card{Text: "◌ A message of another of your agents: " + title}
	r := Rendering{Text: card.Text, Final: l.State != "held"}
	switch l.State {
	case "accepted":
		card.Head = []blockkit.Block{para("✓ *Let in* by %s, %s: a message from “%s”, read at the next message here", who(l.By), day(l.Decided), quoted(title, 80))}
	case "read":
		card.Head = []blockkit.Block{para("✓ *Read here*: a message from “%s”", quoted(title, 80))}
	case "rejected":
		card.Head = []blockkit.Block{para("✕ *Rejected* by %s, %s: a message from “%s”", who(l.By), day(l.Decided), quoted(title, 80))}
	default:
		card.Head = []blockkit.Block{para("◌ *Let this in?* Your agent in “%s” wrote to this conversation. Nothing here has read it", quoted(title, 80))}
		row := &buttons{kind: kindLetter, token: token}
		row.add("Accept", verbAccept, blockkit.Neutral).add("Reject", verbReject, blockkit.Neutral)
		foot := "Once let in it is an agent's words, not yours: it can neither approve nor instruct"
		if brings := brings(l); brings != "" {
			foot = "⚠ It brings along what its conversation holds: " + brings + ". " + foot
		}
		card.Foot = []blockkit.Block{row.block(), smallPlain(foot)}
		r.Tokens = []threads.Token{{Token: token, Kind: kindLetter, Ref: l.ID, Choices: row.verbs}}
	}
	box, whole := blockkit.Verbatim(l.Text, maxLetterShown)
	card.Body = box
	if !whole {
		r.Attach = []Attachment{{Name: "message.txt", Title: "The whole message", Data: []byte(l.Text)}}
	}
	r.Blocks, _ = card.Blocks()
	return r
}

func brings(l threads.Letter) string {
	var legs []string
	if l.Taint.Private {
		legs = append(legs, "private data")
	}
	if l.Taint.Untrusted {
		legs = append(legs, "a third party's text")
	}
	return strings.Join(legs, " and ")
}

// renderLetter reads a message between agents for its card.
func (b *Bot) renderLetter(ctx context.Context, id, token string) (Rendering, error) {
	l, err := b.Threads.Letter(ctx, id)
	if err != nil {
		return Rendering{}, err
	}
	from, err := b.Threads.Thread(ctx, l.Sender)
	if err != nil {
		return Rendering{}, err
	}
	return letterCard(l, from, token), nil
}

// letter decides such a card: an owner's, for their own agents.
func (d desk) letter(ctx context.Context, p presser, k threads.Token, verb string) {
	l, err := d.threads.Letter(ctx, k.Ref)
	switch {
	case err != nil:
		d.failed(ctx, p, err)
		return
	case p.role != Owner || l.Team != p.Team || l.Owner != p.User:
		d.refuse(ctx, p, "message", k.Ref, verb, "not theirs", "Only the owner of this conversation lets a message in.")
		return
	}
	l, fresh, err := d.threads.DecideLetter(ctx, p.who(), k.Ref, verb == verbAccept)
	if err != nil {
		d.failed(ctx, p, err)
		return
	}
	d.redraw(ctx, threads.PostLetter, k.Ref)
	if !fresh {
		d.slack.tell(ctx, p.Press, "Already decided: the message is "+l.State+".")
	}
}
