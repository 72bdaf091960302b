package localslack

import (
	"encoding/json"
	"regexp"
	"strings"
)

// What Slack's own clients make of the text that a person types: names become
// mentions, addresses become links, the three special characters are escaped;
// and the rich_text block beside it.

var (
	codePattern  = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	tokenPattern = regexp.MustCompile(`<(?:@[UW][A-Z0-9]+|#C[A-Z0-9]+|!(?:here|channel|everyone))(?:\|[^<>]*)?>`)
	typedPattern = regexp.MustCompile(`https?://[^\s<>|"` + "`" + `]+|[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}|[@#][A-Za-z0-9][A-Za-z0-9._-]*`)
	partPattern  = regexp.MustCompile(`<([^<>]*)>`)
	escaper      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	unescaper    = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
)

// typedText is typed as Slack's client would send it. Tokens such as <@U…>
// that are already there stay: a client inserts them when a name is picked.
// Inside code nothing is linked. The caller holds the store's lock.
func (s *store) typedText(typed string) string {
	var b strings.Builder
	for typed != "" {
		at := codePattern.FindStringIndex(typed)
		if at == nil {
			break
		}
		b.WriteString(s.prose(typed[:at[0]]))
		b.WriteString(escaper.Replace(typed[at[0]:at[1]]))
		typed = typed[at[1]:]
	}
	b.WriteString(s.prose(typed))
	return b.String()
}

// prose is typedText outside code.
func (s *store) prose(typed string) string {
	var b strings.Builder
	for typed != "" {
		at := tokenPattern.FindStringIndex(typed)
		if at == nil {
			b.WriteString(s.linkify(typed))
			break
		}
		b.WriteString(s.linkify(typed[:at[0]]))
		b.WriteString(typed[at[0]:at[1]])
		typed = typed[at[1]:]
	}
	return b.String()
}

func (s *store) linkify(text string) string {
	var b strings.Builder
	for text != "" {
		at := typedPattern.FindStringIndex(text)
		if at == nil {
			break
		}
		b.WriteString(escaper.Replace(text[:at[0]]))
		word := text[at[0]:at[1]]
		trimmed := strings.TrimRight(word, ".,;:!?)]}'\"")
		b.WriteString(s.typedWord(trimmed, at[0] == 0 || !wordByte(text[at[0]-1])))
		b.WriteString(escaper.Replace(word[len(trimmed):]))
		text = text[at[1]:]
	}
	b.WriteString(escaper.Replace(text))
	return b.String()
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func (s *store) typedWord(word string, free bool) string {
	switch {
	case strings.HasPrefix(word, "http://"), strings.HasPrefix(word, "https://"):
		return "<" + strings.NewReplacer("&", "&amp;").Replace(word) + ">"
	case free && strings.HasPrefix(word, "@"):
		if u := s.userByName(word[1:]); u != nil {
			return "<@" + u.ID + ">"
		}
		switch word {
		case "@here", "@channel", "@everyone":
			return "<!" + word[1:] + ">"
		}
	case free && strings.HasPrefix(word, "#"):
		for _, id := range s.order {
			if c := s.channels[id]; c.public() && c.Name == word[1:] {
				return "<#" + c.ID + "|" + c.Name + ">"
			}
		}
	case strings.Index(word, "@") > 0:
		return "<mailto:" + word + "|" + word + ">"
	}
	return escaper.Replace(word)
}

// richText is the block that Slack's clients send along with a person's text.
func richText(text string) json.RawMessage {
	elements := []any{}
	add := func(kind string, fields map[string]any) {
		fields["type"] = kind
		elements = append(elements, fields)
	}
	plain := func(s string) {
		if s != "" {
			add("text", map[string]any{"text": unescaper.Replace(s)})
		}
	}
	for rest := text; ; {
		at := partPattern.FindStringSubmatchIndex(rest)
		if at == nil {
			plain(rest)
			break
		}
		plain(rest[:at[0]])
		inner, label, labelled := strings.Cut(rest[at[2]:at[3]], "|")
		switch {
		case strings.HasPrefix(inner, "@"):
			add("user", map[string]any{"user_id": inner[1:]})
		case strings.HasPrefix(inner, "#"):
			add("channel", map[string]any{"channel_id": inner[1:]})
		case inner == "!here", inner == "!channel", inner == "!everyone":
			add("broadcast", map[string]any{"range": inner[1:]})
		case labelled:
			add("link", map[string]any{"url": unescaper.Replace(inner), "text": unescaper.Replace(label)})
		case inner != "":
			add("link", map[string]any{"url": unescaper.Replace(inner)})
		}
		rest = rest[at[1]:]
	}
	return encode([]any{map[string]any{"type": "rich_text", "block_id": newID("", 5),
		"elements": []any{map[string]any{"type": "rich_text_section", "elements": elements}}}})
}
