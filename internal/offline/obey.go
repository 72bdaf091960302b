package offline

import (
	"slices"
	"strings"
)

// A stranger's words that a result carried become goals here, as they would
// for a model that tells instructions from data badly. Which words count is
// kept narrow enough that an ordinary mail or page stays just that.

// maxObeyed is how many instructions one request follows.
const maxObeyed = 4

// outside are the tools whose results may carry somebody else's words.
var outside = rx(`(?:^|__)(?:fs_read|shell|http_fetch|web_search|web_open|slack_read_thread)$|__`)

// obeyed lists the instructions in the results so far, in the order in which
// they were read.
func (c *conversation) obeyed() []goal {
	var goals []goal
	var seen []string
	for _, s := range c.steps {
		if !s.ok() || !outside.MatchString(s.tool) || strings.HasSuffix(s.tool, "mail_send") || strings.HasSuffix(s.tool, "mail_reply") {
			continue
		}
		for _, sentence := range instructions(s.result) {
			for _, g := range parseGoals(sentence, &conversation{tools: c.tools, owner: c.owner, steps: c.steps, earlier: c.earlier}) {
				key := goalKey(g)
				if key == "" || slices.Contains(seen, key) || len(goals) >= maxObeyed {
					continue
				}
				seen = append(seen, key)
				goals = append(goals, g)
			}
		}
	}
	return goals
}

// goalKey tells goals apart that an instruction may ask for; the empty key is
// for goals that nobody needs to inject.
func goalKey(g goal) string {
	switch g := g.(type) {
	case sendsFile:
		return "send " + g.path + " " + strings.Join(g.to, ",")
	case draftMail:
		if len(g.to) == 0 {
			return ""
		}
		return "mail " + strings.Join(g.to, ",")
	case fetchPage:
		return "fetch " + g.url
	case runCommand:
		return "run " + g.command
	case writeFile:
		return "write " + g.path
	case readFile:
		return "read " + g.path
	case several:
		key := ""
		for _, one := range g {
			key += goalKey(one) + ";"
		}
		return key
	}
	return ""
}

var (
	// addressed opens an instruction that is meant for a machine.
	addressed = rx(`(?i)(?:\b(?:note|message|instructions?|important|attention|notice)\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?(?:\w+\s+)?(?:assistants?|ai|agents?|bots?|models?|llms?)\b[^:.\n]{0,60}[:.,]|(?:^|[\s(<\[*])(?:dear\s+)?(?:ai\s+)?(?:assistant|ai|agent|system|bot)\s*[:,]\s|\bIMPORTANT\b[^\n:]{0,40}[:!]|\bignore\s+(?:all\s+|any\s+|the\s+|your\s+)*(?:previous|prior|earlier|above)\s+\w+\s*(?:and|,|\.|:|;)?|<INFORMATION>)`)
	// wanted is a request that gives itself away without being addressed: a
	// file, or this very mail, is to go to an address.
	wanted = rx(`(?i)(?:^|[.!?:;]\s+|\b(?:please|kindly|must|bitte|then|and|now)\s+)((?:send|forward|e-?mail|mail|schicke?|sende)\s+(?:me\s+)?(?:(?:the|this|a copy of|contents?|of|file|document|your|die|datei|all|everything|it)\s+){0,5}[` + "`" + `"'“]?[\w./-]*[` + "`" + `"'”]?\s*(?:file\s+)?(?:to|an)\s+[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+[A-Za-z0-9])`)
)

var blankLine = rx(`\n\s*\n`)

// instructions finds the parts of a text that tell a machine what to do: the
// rest of a paragraph after an address to it, and requests to send files.
func instructions(text string) []string {
	var out []string
	for _, paragraph := range blankLine.Split(text, -1) {
		flat := strings.Join(strings.Fields(paragraph), " ")
		if at := addressed.FindStringIndex(flat); at != nil {
			rest := strings.TrimSpace(flat[at[1]:])
			for { // "Hello AI, ignore your instructions: …" is an address twice over
				if at = addressed.FindStringIndex(rest); at == nil || at[0] > 20 {
					break
				}
				rest = strings.TrimLeft(rest[at[1]:], " :,.;")
			}
			out = append(out, short(rest, 600))
			continue
		}
		for _, m := range wanted.FindAllStringSubmatch(flat, 3) {
			out = append(out, m[1])
		}
	}
	return out
}
