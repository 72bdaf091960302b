package bot

import (
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// noteBody is what a note's post holds: a text of ours or a part of an answer.
type noteBody struct {
	// Text is a line of ours, in mrkdwn: whoever writes it escapes what others
	// wrote.
	Text string `json:"text,omitempty"`
	// Markdown is a part of an answer that no stream shows, made safe.
	Markdown string `json:"markdown,omitempty"`
	// Thread is the one whose controls stand below the text.
	Thread string `json:"thread,omitempty"`
}

// noteCard is a note; th is the thread whose controls stand below it, or nil.
func noteCard(b noteBody, th *threads.Thread, token string) Rendering {
	card := blockkit.Card{Text: b.Text}
	if b.Markdown != "" {
		card.Text = blockkit.PlainFallback(b.Markdown)
		card.Body = []blockkit.Block{blockkit.Markdown(b.Markdown)}
	} else {
		for _, part := range splitMrkdwn(b.Text, blockkit.MaxSection) {
			card.Body = append(card.Body, blockkit.Section(blockkit.Mrkdwn(part)))
		}
	}
	r := Rendering{Final: th == nil}
	if th != nil {
		row := &buttons{kind: kindThread, token: token}
		if th.State.Live() {
			row.add("Stop", verbStop, blockkit.Neutral)
		}
		modeButtons(row, th.Mode)
		planButton(row, th)
		card.Foot = []blockkit.Block{small("now: %s, mode *%s* (%s)", th.State, th.Mode, modeWords(th.Mode)), row.block()}
		r.Tokens = []threads.Token{{Token: token, Kind: kindThread, Ref: th.Key, Choices: row.verbs}}
	}
	r.Blocks, _ = card.Blocks()
	r.Text, _ = blockkit.Fit(orWord(card.Text, blockkit.Empty), blockkit.MaxUpdateText)
	return r
}

// splitMrkdwn splits mrkdwn into parts of at most max characters, never inside
// an entity (&amp;) or what stands in angle brackets (a mention, a link, a time).
func splitMrkdwn(text string, max int) (parts []string) {
	for width(text) > max {
		head := blockkit.SplitVerbatim(text, max)[0]
		if at := unfinished(head); at > 0 {
			head = head[:at]
		} else if end := strings.IndexByte(text, '>') + 1; at == 0 && end > 0 && width(text[:end]) <= max {
			head = text[:end] // it begins here, and was cut at a space of its own
		}
		parts = append(parts, head)
		text = text[len(head):]
	}
	return append(parts, text)
}

// unfinished is where the entity or bracket begins that the end of s is in, or -1.
func unfinished(s string) int {
	if i := strings.LastIndexByte(s, '<'); i >= 0 && !strings.Contains(s[i:], ">") {
		return i
	}
	if i := strings.LastIndexByte(s, '&'); i >= 0 && len(s)-i < len("&amp;") && !strings.Contains(s[i:], ";") {
		return i
	}
	return -1
}

// modeButtons offer the modes that a thread is not in. A mode is changed by a
// button only, never inferred from words.
func modeButtons(row *buttons, now threads.Mode) {
	for _, m := range []threads.Mode{threads.ModeAsk, threads.ModeAllow, threads.ModeReadOnly} {
		if m == now {
			continue
		}
		var dialog *blockkit.Confirm
		if m == threads.ModeAllow {
			dialog = &blockkit.Confirm{Title: "Ask no more here?", Text: "In the mode allow, calls of this thread run without asking, but for those that always ask. Drafts still wait for you.", Confirm: "Allow", Deny: "Back"}
		}
		row.ask("Mode: "+string(m), verbMode+":"+string(m), blockkit.Neutral, dialog)
	}
}

func modeWords(m threads.Mode) string {
	switch m {
	case threads.ModeAllow:
		return "calls run without asking, but for those that always ask"
	case threads.ModeReadOnly:
		return "nothing is changed"
	}
	return "what changes something asks first"
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
