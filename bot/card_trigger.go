package bot

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// Verbs of a trigger.
const (
	verbAccept  = "accept"
	verbDecline = "decline"
	verbRun     = "run"
	verbEnable  = "enable"
	verbDisable = "disable"
)

// triggerView is what a trigger's card is made of.
type triggerView struct {
	triggers.Trigger
	Next []time.Time
	Gone bool // deleted, or a proposal that was rejected
}

// triggerCard is a trigger that a conversation proposed: when, in words and as
// the next five times, in its own zone and the reader's, and the whole prompt.
func triggerCard(t triggerView, token string) Rendering {
	row := &buttons{kind: kindTrigger, token: token}
	if t.Gone {
		blocks, _ := blockkit.Card{Head: []blockkit.Block{para("✕ *Not kept*: the trigger %s is gone", inCode(t.Name))}}.Blocks()
		return Rendering{Text: "✕ Trigger " + t.Name + " is gone", Blocks: blocks, Final: true}
	}
	card := blockkit.Card{
		Text: fmt.Sprintf("%s %s: %s", triggerHeadline(t.State), t.Name, scheduleWords(t.Schedule)),
		Head: triggerHead(t),
		Body: triggerPrompt(t),
	}
	card.Foot = append(triggerWarnings(t.Trigger), triggerButtons(t.Trigger, row))
	blocks, cut := card.Blocks()
	if cut && t.State == "proposed" {
		row = &buttons{kind: kindTrigger, token: token}
		row.add("Read all", verbRead, blockkit.Primary).ask("Reject…", verbDecline, blockkit.Neutral, declineDialog(t.Name))
		card.Foot = append(triggerWarnings(t.Trigger), small("This is not all of it. *Read all* shows everything, and Accept is there."), row.block())
		blocks, _ = card.Blocks()
	}
	r := Rendering{Text: card.Text, Blocks: blocks}
	if len(row.verbs) > 0 {
		r.Tokens = []threads.Token{{Token: token, Kind: kindTrigger, Ref: t.Name, Revision: int(t.Version), Choices: row.verbs}}
	}
	return r
}

// triggerPrompt is the whole prompt, as it stands.
func triggerPrompt(t triggerView) []blockkit.Block {
	prompt, _ := blockkit.Visible(t.Prompt, padding)
	box, _ := blockkit.Verbatim(prompt, unlimited)
	return append([]blockkit.Block{smallPlain("what I would be asked each time:")}, box...)
}

func triggerHeadline(state string) string {
	switch state {
	case "proposed":
		return "◌ A trigger, if you want it:"
	case "disabled":
		return "─ Disabled trigger:"
	}
	return "✓ Trigger:"
}

func triggerHead(t triggerView) []blockkit.Block {
	headline := "◌ *A trigger, if you want it*"
	switch t.State {
	case "enabled":
		headline = fmt.Sprintf("✓ *Accepted* by %s, %s", who(t.By), day(t.Updated))
	case "disabled":
		headline = fmt.Sprintf("─ *Disabled* by %s, %s", who(t.By), day(t.Updated))
	}
	where := "in your DM"
	if t.Channel != "" {
		where = "in <#" + quoted(t.Channel, 40) + ">"
		if !slackChannel(t.Channel) {
			where = "in " + inCode(t.Channel)
		}
	}
	facts := []string{inCode(t.Name), quoted(scheduleWords(t.Schedule), 120), "zone " + inCode(t.Zone), where, "mode " + quoted(t.Mode, 20)}
	if len(t.Tools) > 0 {
		facts = append(facts, "with "+quoted(strings.Join(t.Tools, ", "), 300))
	}
	head := []blockkit.Block{para("%s", headline), small("%s", strings.Join(facts, " · "))}
	if len(t.Next) > 0 && t.State != "disabled" {
		var lines []string
		for _, at := range t.Next {
			lines = append(lines, fmt.Sprintf("%s  =  %s for you", at.Format("Mon 2 Jan 2006 15:04 MST"), day(at)))
		}
		head = append(head, para("Next: %s", strings.Join(lines, "\n")))
	}
	return head
}

func slackChannel(id string) bool {
	return len(id) > 3 && strings.ContainsAny(id[:1], "CGD") && strings.ToUpper(id) == id
}

// triggerWarnings tell whose words the prompt may be.
func triggerWarnings(t triggers.Trigger) []blockkit.Block {
	if t.State != "proposed" || !t.Private && !t.Untrusted {
		return nil
	}
	of := func(leg string) string {
		for _, s := range t.Sources {
			if s.Leg == leg {
				return " (" + blockkit.OneLine(strings.TrimSpace(s.Tool+" "+s.What), 120) + ")"
			}
		}
		return ""
	}
	var held []string
	if t.Private {
		held = append(held, "private data"+of("private"))
	}
	if t.Untrusted {
		held = append(held, "third-party content"+of("untrusted"))
	}
	s := "this was proposed in a conversation that held " + strings.Join(held, " AND ")
	if t.Untrusted {
		s += ". If the prompt is not what you asked for, an attacker may have put it there"
	}
	return []blockkit.Block{blockkit.RichSection(blockkit.Run{Text: "⚠ ", Bold: true}, blockkit.Run{Text: s})}
}

// triggerButtons are what can be done with a trigger as it stands.
func triggerButtons(t triggers.Trigger, row *buttons) blockkit.Block {
	switch t.State {
	case "proposed":
		if t.Untrusted {
			row.ask("Accept", verbAccept, blockkit.Neutral, &blockkit.Confirm{Title: "Read it twice", Text: "A third party's text was in the conversation that proposed this. Is the prompt what you want me to be asked each time?", Confirm: "Accept", Deny: "Back"})
		} else {
			row.add("Accept", verbAccept, blockkit.Primary)
		}
		row.ask("Reject…", verbDecline, blockkit.Neutral, declineDialog(t.Name))
	case "enabled":
		row.add("Run", verbRun, blockkit.Neutral).add("Disable", verbDisable, blockkit.Neutral)
	case "disabled":
		row.add("Enable", verbEnable, blockkit.Neutral)
	}
	return row.block()
}

func declineDialog(name string) *blockkit.Confirm {
	return &blockkit.Confirm{Title: "Reject this trigger?", Text: name + " is not kept. I can propose it again.", Confirm: "Reject", Deny: "Back"}
}

var weekdays = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

// scheduleWords say a schedule in words where it has one of the usual shapes;
// others are shown as they are written.
func scheduleWords(s string) string {
	s = strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "@every "):
		return "every " + strings.TrimPrefix(s, "@every ")
	case s == "@hourly":
		return "every hour, on the hour"
	case s == "@daily" || s == "@midnight":
		return "every day at 00:00"
	case s == "@weekly":
		return "every Sunday at 00:00"
	case s == "@monthly":
		return "on day 1 of every month at 00:00"
	}
	f := strings.Fields(s)
	if len(f) != 5 {
		return s
	}
	minute, hour, dom, month, dow := f[0], f[1], f[2], f[3], f[4]
	if n, ok := strings.CutPrefix(minute, "*/"); ok && hour == "*" && dom == "*" && month == "*" && dow == "*" {
		return "every " + n + " minutes"
	}
	m, err := strconv.Atoi(minute)
	if err != nil || month != "*" || dom != "*" && dow != "*" {
		return s
	}
	at := fmt.Sprintf("at minute %d of every hour", m)
	if hour != "*" {
		var times []string
		for h := range strings.SplitSeq(hour, ",") {
			n, err := strconv.Atoi(h)
			if err != nil {
				return s
			}
			times = append(times, fmt.Sprintf("%02d:%02d", n, m))
		}
		at = "at " + strings.Join(times, ", ")
	}
	if dom != "*" {
		if _, err := strconv.Atoi(dom); err != nil {
			return s
		}
		return "on day " + dom + " of every month " + at
	}
	days, ok := dayWords(dow)
	if !ok {
		return s
	}
	if hour == "*" && days == "every day" {
		return at
	}
	return days + " " + at
}

// dayWords read a cron field of weekdays.
func dayWords(dow string) (string, bool) {
	switch strings.ToUpper(dow) {
	case "*", "?":
		return "every day", true
	case "1-5", "MON-FRI":
		return "every weekday", true
	case "0,6", "6,0", "6,7", "SAT,SUN", "SUN,SAT":
		return "every Saturday and Sunday", true
	}
	var names []string
	for part := range strings.SplitSeq(dow, ",") {
		n, err := strconv.Atoi(part)
		if err != nil {
			n = -1
			for i, w := range weekdays {
				if strings.EqualFold(w[:3], part) {
					n = i
				}
			}
		}
		if n == 7 {
			n = 0
		}
		if n < 0 || n > 6 {
			return "", false
		}
		names = append(names, weekdays[n])
	}
	return "every " + strings.Join(names, ", "), true
}
