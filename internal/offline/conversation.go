package offline

import (
	"encoding/json"
	"html"
	"strings"
)

// conversation is a request as the rules see it: what was asked last, what has
// been done about it, and what may be done.
type conversation struct {
	request string   // what the owner wants now, without its wrapping
	brought []string // files that came with it
	owner   string   // who is asking, if the messages tell
	asked   []string // the user messages before the last
	answers []string // final answers before the last user message
	steps   []step   // calls made for the request, with results
	earlier []step   // calls of earlier requests
	system  string
	tools   []Tool
}

// step is a call that was made and what came of it.
type step struct {
	tool    string
	args    map[string]any
	result  string
	outcome outcome
	reason  string // of a denial
}

func (s step) arg(name string) string {
	v, _ := s.args[name].(string)
	return v
}

func (s step) ok() bool { return s.outcome == done }

type outcome int

const (
	done       outcome = iota
	failed             // it ran, or tried to, and said why not
	staged             // drafted, waiting for the owner's release
	denied             // a person said no
	blocked            // the harness said no
	unanswered         // nobody said anything
	unknown            // it may or may not have happened
	missing            // the tool isn't offered
)

func readConversation(req Request) *conversation {
	c := &conversation{tools: req.Tools}
	for _, m := range req.Messages {
		if m.Role == "system" || m.Role == "developer" {
			c.system += m.Content.Text + "\n"
		}
	}
	last := c.beginning(req.Messages)
	byID := map[string]string{}
	for _, m := range req.Messages {
		if m.Role == "tool" {
			byID[m.ToolCallID] = m.Content.Text
		}
	}
	for i, m := range req.Messages {
		switch {
		case m.Role == "user":
			text, who := unwrap(m.Content.Text)
			if who != "" {
				c.owner = who
			}
			switch {
			case i < last:
				c.asked = append(c.asked, text)
			case i == last:
				c.request = c.bringing(text)
			default: // said while the run goes on: an answer, one more wish, or both
				if text = c.heard(text); isCommand(text) {
					c.request += "\n" + c.bringing(text)
				}
			}
		case m.Role == "assistant":
			if len(m.ToolCalls) == 0 && i < last {
				c.answers = append(c.answers, m.Content.Text)
			}
			for _, call := range m.ToolCalls {
				s := readStep(call, byID[call.ID])
				if i > last {
					c.steps = append(c.steps, s)
				} else {
					c.earlier = append(c.earlier, s)
				}
			}
		}
	}
	if c.owner == "" {
		if m := ownerInSystem.FindStringSubmatch(c.system); m != nil {
			c.owner = m[1]
		}
	}
	return c
}

// beginning is where the current request began: at the last user message, or
// before it where that one came in the middle of a run, as steering or as a
// word of the harness.
func (c *conversation) beginning(messages []Message) int {
	last := -1
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role != "user" {
			continue
		}
		last = i
		if i == 0 || messages[i-1].Role != "tool" || wantsSummary.MatchString(messages[i].Content.Text) {
			break
		}
	}
	return last
}

var (
	parked   = rx(`^Your question was put to the owner`)
	answerTo = rx(`(?s)^You asked: .*?\nMy answer: (.*)$`)
)

// heard takes a message as the answer to the question that the run parked with,
// if it did, and gives it without the question that it repeats. A run that is
// taken up again sees it behind that call's result.
func (c *conversation) heard(text string) string {
	if m := answerTo.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	if n := len(c.steps); n > 0 && c.steps[n-1].tool == "ask_user" && parked.MatchString(c.steps[n-1].result) && text != "" {
		c.steps[n-1].result = text
	}
	return text
}

// isCommand tells a steering wish from a word of the harness.
func isCommand(text string) bool {
	goals := parseGoals(text, &conversation{})
	_, nothing := goals[0].(fallback)
	return !nothing
}

var attachment = rx(`(?m)^\[attached: (?:\./)?([^,\n]+),[^\n]*\]$`)

// bringing notes the files that came with a message and takes their lines out.
func (c *conversation) bringing(text string) string {
	for _, m := range attachment.FindAllStringSubmatch(text, -1) {
		c.brought = append(c.brought, m[1])
	}
	return strings.TrimSpace(attachment.ReplaceAllString(text, ""))
}

var ownerInSystem = rx(`(?i)\b(?:owner|user)(?:'s name)?(?: is|:)\s+@?([A-Z][a-zA-Z]+|[a-z]+)\b`)

func readStep(call ToolCall, result string) step {
	s := step{tool: call.Function.Name, result: stripWrapper(result)}
	if json.Unmarshal([]byte(call.Function.Arguments), &s.args) != nil {
		s.args = map[string]any{}
	}
	s.outcome, s.reason = classify(s.result)
	return s
}

// The harness's words for what became of a call. Only the beginning of a
// result counts: what a tool returned may say anything further down.
var (
	saysStaged     = rx(`(?i)^\W*(?:[\w ]+: *)?drafted,? (?:but )?not sent`)
	saysDenied     = rx(`(?is)^\W*(?:error: *)?(?:[\w-]+ )?(?:was )?(?:denied|declined|rejected|(?:the )?(?:user|owner|person|human|approver|@\w+)\W+(?:has |have )?(?:said no|denied|declined|rejected|refused))(?:[^:\n]{0,120})?(?:: *(.*))?$`)
	saysBlocked    = rx("(?i)^\\W*(?:error: *)?(?:[`\\w-]+ (?:\\S+ )?)?(?:is |was |call )?(?:refused|blocked|not allowed|forbidden|needs approval)\\b")
	saysUnanswered = rx(`(?i)^\W*(?:[\w -]{1,60}[:.] *)?(?:unanswered|no answer|nobody answered)\b`)
	saysUnknown    = rx(`(?i)^.{0,80}outcome (?:is )?unknown`)
	saysFailed     = rx(`(?i)^\W*(?:error\b|dial |[^\n]{0,80}connection refused|failed\b|cannot |can't |could not |couldn't |mcp call failed|no such file|exit status [1-9]|\[?exit(?:ed with)?(?: code| status)? [1-9]|tool error|invalid |unknown tool|mail_\w+: |nothing was executed|the file was not shown|ended by signal|running the command:|timed out|interrupted: |\x60\w+\x60 (?:does not appear|appears \d|and \x60))`)
)

func classify(result string) (outcome, string) {
	head := result[:min(len(result), 400)]
	switch {
	case saysStaged.MatchString(head):
		return staged, ""
	case saysUnknown.MatchString(head):
		return unknown, ""
	case saysUnanswered.MatchString(head):
		return unanswered, ""
	}
	first, _, _ := strings.Cut(head, "\n")
	if m := saysDenied.FindStringSubmatch(first); m != nil {
		return denied, strings.Trim(strings.TrimSpace(m[1]), `"“”`)
	}
	switch {
	case saysBlocked.MatchString(first):
		return blocked, ""
	case saysFailed.MatchString(first):
		return failed, ""
	}
	return done, ""
}

// stripWrapper takes off the tags that a harness puts around what came from
// outside: the rules read the words, like a model that ignores the marking.
func stripWrapper(s string) string {
	s = strings.TrimSpace(s)
	if standsForNothing.MatchString(s) {
		return ""
	}
	for range 3 {
		m := wrapped.FindStringSubmatch(s)
		if m == nil || m[1] != m[3] {
			return s
		}
		s = strings.TrimSpace(m[2])
	}
	return s
}

// standsForNothing: some servers refuse an empty result, so it comes in words.
var standsForNothing = rx(`^\((?:[\w ./-]{1,80} is )?empty\)$`)

var wrapped = rx(`(?s)^<([a-zA-Z][\w-]*)(?:\s[^>]*)?>(.*)</([a-zA-Z][\w-]*)>$`)

// tool is the full name of an offered tool: the name itself, or the one tool
// of any server with that name. Empty: not offered.
func (c *conversation) tool(name string) string {
	for _, t := range c.tools {
		if t.Function.Name == name {
			return name
		}
	}
	for _, t := range c.tools {
		if strings.HasSuffix(t.Function.Name, "__"+name) || strings.HasSuffix(t.Function.Name, "_"+name) {
			return t.Function.Name
		}
	}
	return ""
}

func (c *conversation) schemaOf(name string) string {
	for _, t := range c.tools {
		if t.Function.Name == name {
			return string(t.Function.Parameters)
		}
	}
	return ""
}

// all is every step of the conversation, oldest first.
func (c *conversation) all() []step {
	return append(append([]step(nil), c.earlier...), c.steps...)
}

// unwrap takes a user message out of what the harness puts around it, and
// says who wrote it where that is marked.
func unwrap(text string) (string, string) {
	text = blocks.ReplaceAllString(text, "")
	text = clockNote.ReplaceAllString(text, "")
	text = news.ReplaceAllString(text, "")
	text = mention.ReplaceAllString(text, "")
	text = slackLink.ReplaceAllStringFunc(text, func(s string) string {
		m := slackLink.FindStringSubmatch(s)
		return strings.TrimPrefix(m[1], "mailto:")
	})
	text = html.UnescapeString(slackChannel.ReplaceAllString(text, "#$1"))
	who := ""
	lines := strings.Split(text, "\n")
	kept := lines[:0]
	for _, line := range lines {
		if m := speaker.FindStringSubmatch(line); m != nil && (who == "" || who == m[1]) {
			if strings.TrimSpace(m[2]) == "" {
				continue // a bracketed note alone on its line
			}
			who, line = m[1], m[2]
		}
		kept = append(kept, line)
	}
	if strings.ContainsAny(who, " ,") || strings.EqualFold(who, "owner") || strings.EqualFold(who, "user") {
		who, _, _ = strings.Cut(strings.TrimPrefix(strings.TrimPrefix(who, "owner "), "user "), ",")
		who, _, _ = strings.Cut(who, " ")
	}
	return strings.TrimSpace(atBot.ReplaceAllString(strings.Join(kept, "\n"), "")), who
}

var (
	// news is what the harness tells of drafts, a paragraph of its own.
	clockNote    = rx(`(?m)^\[Clock: [^\n]*\]$`)
	news         = rx(`(?ms)^\[(?:outbox|note|harness|system)\] .*?(?:\n\s*\n|\z)`)
	blocks       = rx(`(?is)<(?:context|note|notes|harness|system-reminder|workspace|environment)\b[^>]*>.*?</(?:context|note|notes|harness|system-reminder|workspace|environment)>`)
	mention      = rx(`<@[UWB][A-Z0-9]+(?:\|[^>]*)?>[,:]?\s*`)
	slackLink    = rx(`<((?:https?://|mailto:)[^|>\s]+)(?:\|[^>]*)?>`)
	slackChannel = rx(`<#[CG][A-Z0-9]+\|([^>]*)>`)
	speaker      = rx(`^\s*\[@?([A-Za-z][\w ,:@.-]{0,60})\]\s*(.*)$`)
	atBot        = rx(`^@[\w.-]+[,:]?\s+`)
)
