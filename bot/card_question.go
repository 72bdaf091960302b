package bot

import (
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// kindQuestion is the kind of the tokens of a question's card.
const kindQuestion = "question"

// verbAnswer opens the modal for an answer in one's own words; verbOption with
// a number chooses.
const (
	verbAnswer = "answer"
	verbOption = "option"
)

// Options up to this number and length are buttons; others are a list with
// numbers.
const (
	maxOptionButtons = 10
	maxOptionLabel   = 60
)

func optionValue(i int) string { return fmt.Sprint(i) }

// questionCard is a question of ask_user, open or settled.
func questionCard(q threads.Question, token string) Rendering {
	// The text alone is what a notification and a screen reader have.
	headline := map[string]string{"answered": "✓ Answered: ", "abandoned": "✕ Withdrawn: "}[q.State]
	card := blockkit.Card{Text: or(headline, "◌ I have a question: ") + blockkit.OneLine(q.Text, 300)}
	row := &buttons{kind: kindQuestion, token: token}
	switch q.State {
	case "answered":
		card.Head = []blockkit.Block{para("✓ *Answered* by %s, %s", who(q.By), clock(q.Resolved))}
		card.Foot = []blockkit.Block{blockkit.RichSection(blockkit.Run{Text: blockkit.OneLine(q.Answer, 1500)})}
	case "abandoned":
		card.Head = []blockkit.Block{para("✕ *Withdrawn*: this question needs no answer any more")}
	default:
		card.Head = []blockkit.Block{para("◌ *I have a question*")}
		for i, o := range q.Options {
			if i == maxOptionButtons {
				break
			}
			label := blockkit.OneLine(o, 200)
			if longOptions(q.Options) {
				label = fmt.Sprint(i + 1)
			}
			row.add(label, fmt.Sprint(verbOption, i), blockkit.Neutral)
		}
		row.add("Answer", verbAnswer, blockkit.Neutral)
		card.Foot = []blockkit.Block{row.block(), small("I wait for days if need be; a message in the thread is an answer as well")}
	}
	card.Body = questionBody(q)
	r := Rendering{Text: card.Text, Final: q.State != "open"}
	r.Blocks, _ = card.Blocks()
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindQuestion, Ref: q.ID, Choices: row.verbs}}
	}
	return r
}

func longOptions(options []string) bool {
	for _, o := range options {
		if width(blockkit.OneLine(o, 200)) > maxOptionLabel || o == "" {
			return true
		}
	}
	return false
}

// questionBody is the question in the model's words, and its options where they
// are too long for buttons.
func questionBody(q threads.Question) []blockkit.Block {
	shown, _ := blockkit.Visible(q.Text, padding)
	shown = blockkit.DefuseMarks(shown)
	var blocks []blockkit.Block
	for _, part := range blockkit.SplitVerbatim(shown, blockkit.MaxText) {
		blocks = append(blocks, blockkit.Quote(part))
	}
	if longOptions(q.Options) || len(q.Options) > maxOptionButtons {
		var lines []string
		for i, o := range q.Options {
			lines = append(lines, fmt.Sprintf("%d  %s", i+1, blockkit.OneLine(o, 500)))
		}
		box, _ := blockkit.Verbatim(strings.Join(lines, "\n"), 8000)
		blocks = append(blocks, box...)
	}
	if q.Tainted && q.State == "open" {
		blocks = append(blocks, smallPlain("⚠ asked in a conversation that holds private data or a third party's text: a stranger may have had a hand in the question"))
	}
	return blocks
}
