package tools

import (
	"fmt"
	"strings"
)

// Trace says where each destination first appeared (DESIGN.md §5). The owner's
// words win whenever they come; otherwise the earliest words count, so that
// what a stranger wrote does not become private by being noted down. untrusted
// tells that third-party text is in the conversation or the batch: then what
// appears nowhere is suspect too.
func Trace(dests []Destination, words []Words, untrusted bool) []Destination {
	if len(dests) == 0 {
		return nil
	}
	out := make([]Destination, len(dests))
	for i, d := range dests {
		out[i] = trace(d, words, untrusted)
	}
	return out
}

func trace(d Destination, words []Words, untrusted bool) Destination {
	m := matcherOf(d)
	d.Origin = FromNowhere
	hint := -1 // a stranger's words that name the same host
	for i, w := range words {
		if d.Origin != FromNowhere && w.Origin != FromOwner {
			continue
		}
		if m.in(w.Text) {
			d.Origin, d.Call, d.Tool = w.Origin, w.Call, w.Tool
			if w.Origin == FromOwner {
				break
			}
		} else if hint < 0 && w.Origin == FromThirdParty && m.near != nil && m.near(w.Text) {
			hint = i
		}
	}
	if d.Origin == FromNowhere && hint >= 0 {
		d.Origin, d.Call, d.Tool = FromThirdParty, words[hint].Call, words[hint].Tool
	}
	d.Suspect = d.Origin == FromThirdParty || d.Origin == FromNowhere && untrusted
	return d
}

// NeedsPerson tells whether a person must see a call because of where it goes,
// and why, for the card. Trace comes first.
func NeedsPerson(dests []Destination) (why string, yes bool) {
	const most = 3
	var parts []string
	n := 0
	for _, d := range dests {
		if !d.Suspect {
			continue
		}
		if n++; n <= most {
			parts = append(parts, line(d.Value, 120)+" "+d.whence())
		}
	}
	if n > most {
		parts = append(parts, fmt.Sprintf("and %d more", n-most))
	}
	return strings.Join(parts, "; "), n > 0
}

func (d Destination) whence() string {
	switch {
	case d.Origin != FromThirdParty:
		return "appears nowhere in what you wrote, while a stranger's text is in this conversation"
	case d.Tool != "":
		return "first appeared in the result of " + line(d.Tool, 64) + ", not in anything you wrote"
	default:
		return "first appeared in a stranger's text, not in anything you wrote"
	}
}

// Red tells whether a draft or a card is red: a suspect destination that is
// not merely an id.
func Red(dests []Destination) bool {
	for _, d := range dests {
		if d.Suspect && d.Kind != ToID {
			return true
		}
	}
	return false
}
