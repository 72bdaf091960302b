package bot

import (
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// noteCard is a line of ours, in mrkdwn: whoever writes it escapes what others
// wrote.
func noteCard(body json.RawMessage) (Rendering, error) {
	var b struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return Rendering{}, fmt.Errorf("cannot read a note: %w", err)
	}
	card := blockkit.Card{Text: b.Text}
	for _, part := range blockkit.SplitVerbatim(b.Text, blockkit.MaxSection) {
		card.Body = append(card.Body, blockkit.Section(blockkit.Mrkdwn(part)))
	}
	r := Rendering{Final: true}
	r.Blocks, _ = card.Blocks()
	r.Text, _ = blockkit.Fit(orWord(b.Text, blockkit.Empty), blockkit.MaxUpdateText)
	return r, nil
}

// lateCard is a message that was found too late to be answered unasked.
func lateCard(l threads.Late, token string) Rendering {
	card := blockkit.Card{Text: "◌ A message that I was not there for"}
	row := &buttons{kind: kindLate, token: token}
	switch l.State {
	case "late":
		card.Head = []blockkit.Block{para("◌ %s wrote this while I was away, %s. It is old by now, so I ask first.", who(l.User), day(l.Received))}
		card.Foot = []blockkit.Block{row.add("Answer", verbAnswer, blockkit.Primary).block()}
	case "withdrawn":
		card.Head = []blockkit.Block{para("✕ *Withdrawn*: the message was deleted")}
	default:
		card.Head = []blockkit.Block{para("✓ *Taken up*: a message of %s, %s", who(l.User), day(l.Received))}
	}
	if l.Text != "" {
		card.Body = []blockkit.Block{blockkit.Quote(blockkit.OneLine(l.Text, 500))}
	}
	r := Rendering{Text: card.Text, Final: l.State != "late"}
	r.Blocks, _ = card.Blocks()
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindLate, Ref: fmt.Sprint(l.ID), Choices: row.verbs}}
	}
	return r
}
