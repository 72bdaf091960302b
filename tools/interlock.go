package tools

import (
	"fmt"
	"strings"
)

// VerdictKind is what the interlock says of a call.
type VerdictKind string

const (
	Pass     VerdictKind = "pass"
	Refuse   VerdictKind = "refuse"
	Escalate VerdictKind = "escalate" // a person must see this very call
)

// Cause is why the interlock did not let a call pass. The two have different
// remedies: one that does not help teaches people to loosen the wrong setting.
type Cause string

const (
	Injection Cause = "injection" // a stranger's text may have chosen where private data goes
	Leak      Cause = "leak"      // private data may go anywhere at all ([security] block_sends_after_private)
)

// Verdict is the interlock's answer.
type Verdict struct {
	Kind  VerdictKind
	Cause Cause // of Refuse and Escalate
	// Text is our own words, in which anything foreign is bounded and quoted:
	// for Refuse what the model gets behind the loop's prefix, for Escalate what
	// the card says forced it. It begins in the middle of a line ("this
	// conversation holds …") and may have a second line with what works.
	Text string
}

// Pending is another call of the same assistant turn. Its declared legs count
// as if it had run: a read and a send that are asked for together must not both
// see a clean slate.
type Pending struct {
	Call string
	Tool string
	What string // its headline: a path, a query, a subject
	Caps Capabilities
}

// Ways are the ways out that exist in this run, for the refusal to name. One
// that does not exist is not named.
type Ways struct {
	WebOpen  bool   // web_open is offered: a result is picked, no URL is written
	Outbox   bool   // sends like this one can be staged as drafts
	Delegate string // a subagent that is callable from here and cannot send where it likes
	Remedy   string // the tool's own ("configure a blind [[search]] backend")
}

// Interlock judges one call of a batch against what the conversation holds
// and against the declared legs of every other call in the batch. The call's
// own legs do not count: its answer cannot have chosen its destination.
func Interlock(s Security, conversation Taint, others []Pending, c Capabilities, ways Ways) Verdict {
	if c.Egress == None {
		return Verdict{Kind: Pass}
	}
	private := holds(Private, conversation, others)
	trifecta := s.Trifecta
	if trifecta == "" {
		trifecta = TrifectaBlock
	}
	injection := c.Egress == Chosen && private && trifecta != TrifectaAllow && holds(Untrusted, conversation, others)
	leak := s.BlockSendsAfterPrivate && private

	var v Verdict
	switch {
	case injection:
		v.Cause = Injection
		v.Text = fmt.Sprintf("this conversation holds private data%s and third-party text%s, so I may not contact an address of my own choosing",
			evidence(Private, conversation, others), evidence(Untrusted, conversation, others))
	case leak:
		v.Cause = Leak
		v.Text = fmt.Sprintf("this conversation holds private data%s, and the setting block_sends_after_private keeps anything from being sent after that, wherever it goes", evidence(Private, conversation, others))
	default:
		return Verdict{Kind: Pass}
	}
	if trifecta == TrifectaAsk {
		v.Kind = Escalate
		if injection {
			v.Text = fmt.Sprintf("this conversation holds private data%s and third-party text%s: what this call sends may have been chosen by someone else",
				evidence(Private, conversation, others), evidence(Untrusted, conversation, others))
		}
		return v
	}
	v.Kind = Refuse
	if out := waysOut(v.Cause, leak, ways); out != "" {
		v.Text += ".\n" + out
	} else {
		v.Text += "."
	}
	return v
}

// holds tells that a leg is set: by the conversation, or by what another call
// of the batch declares.
func holds(leg Leg, conversation Taint, others []Pending) bool {
	if leg == Private && conversation.Private || leg == Untrusted && conversation.Untrusted {
		return true
	}
	if _, marked := conversation.First(leg); marked {
		return true
	}
	for _, p := range others {
		if p.brings(leg) {
			return true
		}
	}
	return false
}

func (p Pending) brings(leg Leg) bool {
	return leg == Private && p.Caps.PrivateData || leg == Untrusted && p.Caps.UntrustedInput
}

// evidence names the first thing that brought a leg that is held, in
// parentheses: what already happened before what is only asked for.
func evidence(leg Leg, conversation Taint, others []Pending) string {
	if m, ok := conversation.First(leg); ok {
		text := strings.TrimSpace(line(m.Tool, 64) + " " + quoted(m.What))
		if m.Tool == "" && m.Call == "" { // a file or a quotation that a message brought along
			text = strings.TrimSpace("came with your message " + quoted(m.What))
		}
		if m.Turn > 0 {
			text += fmt.Sprintf(", turn %d", m.Turn)
		}
		return " (" + text + ")"
	}
	if leg == Private && conversation.Private || leg == Untrusted && conversation.Untrusted {
		return "" // nothing is known of what it was
	}
	for _, p := range others {
		if p.brings(leg) {
			return " (" + strings.TrimSpace(line(p.Tool, 64)+" "+quoted(p.What)) + ", asked for in this same turn)"
		}
	}
	return ""
}

// quoted shows a source. It may be a stranger's subject line: bounded, on one
// line, and in quotes unless it is a plain name.
func quoted(what string) string {
	s := line(what, 60)
	if s == "" || !strings.ContainsAny(s, " \"“”") {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, "'") + `"`
}

// waysOut says what works now.
func waysOut(cause Cause, leak bool, w Ways) string {
	var out []string
	if cause == Injection && !leak && w.WebOpen {
		out = append(out, "web_open on a search result")
	}
	if w.Remedy != "" {
		out = append(out, line(w.Remedy, 200))
	}
	if w.Delegate != "" && !leak {
		out = append(out, "handing the task to "+line(w.Delegate, 64))
	}
	if cause == Injection {
		out = append(out, "a fresh thread that touches only one of the two")
	} else {
		out = append(out, "a fresh thread that sends before it reads anything private")
	}
	if w.Outbox {
		out = append(out, "a draft for the owner to release")
	}
	out = append(out, "telling the owner here what you found")
	if cause == Injection && !leak {
		out = append(out, "where the configuration says trifecta = \"ask\", a card that shows all of it")
	}
	return "What works: " + strings.Join(out, " · ")
}
