package bot

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// buttons is a row in the making. All of them carry one token; its row lists
// the verbs that this rendering offers, and no other is taken from it.
type buttons struct {
	kind  string // of the token: draft, call, …; an action id is kind.verb
	token string
	verbs []string
	row   []blockkit.Element
}

func (b *buttons) add(label, verb string, style blockkit.Style) *buttons {
	return b.ask(label, verb, style, nil)
}

// ask is add with a question between the press and its effect.
func (b *buttons) ask(label, verb string, style blockkit.Style, c *blockkit.Confirm) *buttons {
	b.verbs = append(b.verbs, verb)
	b.row = append(b.row, blockkit.Button(label, b.kind+"."+verb, b.token, style, c))
	return b
}

func (b *buttons) block() blockkit.Block { return blockkit.Actions(b.row...) }

// width is the length of s in UTF-16 units, as blockkit counts.
func width(s string) (n int) {
	for _, r := range s {
		n++
		if r >= 0x10000 {
			n++
		}
	}
	return n
}

// plural is "1 draft", "2 drafts".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func orWord(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

var slackUser = regexp.MustCompile(`^[UW][A-Z0-9]{2,20}$`)

// who names the person who decided, in mrkdwn.
func who(by string) string {
	switch {
	case slackUser.MatchString(by):
		return "<@" + by + ">"
	case strings.HasPrefix(by, "local:"):
		return "the terminal"
	case by == "":
		return "somebody"
	}
	return blockkit.Escape(blockkit.OneLine(by, 60))
}

// clock and day are instants in the zone of whoever reads, in mrkdwn.
func clock(t time.Time) string { return dateToken(t, "{time}", "15:04 MST") }

func clockSecs(t time.Time) string { return dateToken(t, "{time_secs}", "15:04:05 MST") }

func day(t time.Time) string {
	return dateToken(t, "{date_short_pretty} {time}", "2006-01-02 15:04 MST")
}

func dateToken(t time.Time, format, fallback string) string {
	return fmt.Sprintf("<!date^%d^%s|%s>", t.Unix(), format, t.UTC().Format(fallback))
}

// age is how long something waits, in one unit.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// para and small are a paragraph and small print of our own words.
func para(format string, a ...any) blockkit.Block {
	return blockkit.Section(blockkit.Mrkdwn(fmt.Sprintf(format, a...)))
}

func small(format string, a ...any) blockkit.Block {
	return blockkit.Context(blockkit.Mrkdwn(fmt.Sprintf(format, a...)))
}

// smallPlain is small print that holds others' words.
func smallPlain(s string) blockkit.Block { return blockkit.Context(blockkit.Plain(s)) }

// quoted is text of a person, a model or a tool on one line of mrkdwn.
func quoted(s string, max int) string {
	return blockkit.Escape(strings.ReplaceAll(blockkit.OneLine(s, max), "`", "ˋ"))
}

// inCode is a name in fixed width, in mrkdwn.
func inCode(s string) string { return "`" + quoted(s, 120) + "`" }
