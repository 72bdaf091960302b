package outbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNoProse: a draft has no text that a person would write; its arguments are
// edited as JSON.
var ErrNoProse = errors.New("this draft holds no prose to edit; use --json, which opens all its arguments")

// proseArgs are the arguments that hold what somebody wrote.
var proseArgs = [...]string{"body", "text", "message", "content", "html", "description", "notes", "comment"}

// Prose is a draft's text as it stands in an editor: what would be sent, a
// marker, and below it what it is about and answers. The marker has to be there
// still when it comes back, so that no quoted word is ever sent.
type Prose struct {
	draft  Draft
	member member
	text   string
}

// ProseOf finds a draft's prose; ErrNoProse where there is none.
func ProseOf(d Draft) (Prose, error) {
	list, err := members(d.Args)
	if err != nil {
		return Prose{}, err
	}
	best, rank := -1, len(proseArgs)
	for i, m := range list {
		if at := slices.Index(proseArgs[:], m.key); at >= 0 && at < rank && m.raw[0] == '"' {
			best, rank = i, at
		}
	}
	if best < 0 {
		return Prose{}, ErrNoProse
	}
	p := Prose{draft: d, member: list[best]}
	if err := json.Unmarshal(p.member.raw, &p.text); err != nil {
		return Prose{}, fmt.Errorf("cannot read `%s`: %w", p.member.key, err)
	}
	if strings.Contains(p.text, p.marker()) {
		return Prose{}, fmt.Errorf("its `%s` holds the very line that the editor needs as a marker; use --json", p.member.key)
	}
	return p, nil
}

func (p Prose) marker() string {
	return "─── " + p.draft.ID + ": keep this line; nothing below it is sent ───"
}

// Format is what the editor opens. below is shown under the marker.
func (p Prose) Format(below string) string {
	return p.text + "\n" + p.marker() + "\n" + below
}

// Parse takes what the editor left and answers the arguments with the new
// text. Every other byte of them stays; the same text gives the same bytes. A
// missing marker is an error: nobody can tell where the quotation begins.
func (p Prose) Parse(edited string) (json.RawMessage, error) {
	if n := strings.Count(edited, p.marker()); n != 1 {
		return nil, fmt.Errorf("the marker line stands there %d times instead of once, so that nobody can tell your text from what is quoted below it; nothing was changed", n)
	}
	text, _, _ := strings.Cut(edited, p.marker())
	text = strings.TrimSuffix(text, "\n")
	if strings.HasSuffix(text, "\r") && !strings.HasSuffix(p.text, "\r") {
		text = strings.TrimSuffix(text, "\r")
	}
	if text == p.text {
		return p.draft.Args, nil
	}
	return slices.Concat(p.draft.Args[:p.member.from], encoded(text), p.draft.Args[p.member.to:]), nil
}

func encoded(s string) json.RawMessage { return json.RawMessage(text(s)) }

// FormatJSON is a draft's arguments as indented JSON.
func FormatJSON(d Draft) (string, error) {
	var b bytes.Buffer
	if err := json.Indent(&b, d.Args, "", "  "); err != nil {
		return "", fmt.Errorf("the arguments are no JSON: %w", err)
	}
	return b.String() + "\n", nil
}

// ParseJSON takes what the editor left. The same text gives the same bytes; a
// text that is no JSON object is an error, and changes nothing.
func ParseJSON(d Draft, edited string) (json.RawMessage, error) {
	if was, err := FormatJSON(d); err == nil && was == edited {
		return d.Args, nil
	}
	if _, err := members(json.RawMessage(edited)); err != nil {
		return nil, fmt.Errorf("%w; nothing was changed", err)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(edited)); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON: %w; nothing was changed", err)
	}
	return b.Bytes(), nil
}
