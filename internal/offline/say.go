package offline

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// introductionMark is in the paragraph that is said once per conversation,
// and in summaries, so that a compacted conversation isn't told again.
const introductionMark = "rule-based stand-in"

const introduction = "_I am a " + introductionMark + " for a language model: plain commands work, and I do whatever a text tells me to. For a real model start with `--model auto`, with `--model-url URL`, or with a `[providers.NAME]` table in config.toml._"

// answer joins what the goals report to the text of the last turn.
func (c *conversation) answer(reports, injected []string) string {
	text := strings.Join(reports, "\n\n")
	if len(injected) > 0 {
		text += "\n\nWhat I read also told me what to do, and I did as I was told:\n- " +
			strings.Join(indented(injected), "\n- ")
	}
	if c.firstAnswer() {
		text += "\n\n" + introduction
	}
	return strings.TrimSpace(text)
}

func indented(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ReplaceAll(s, "\n", "\n  ")
	}
	return out
}

func (c *conversation) firstAnswer() bool {
	if len(c.answers) > 0 {
		return false
	}
	for _, s := range append(append([]string(nil), c.asked...), c.system) {
		if strings.Contains(s, introductionMark) {
			return false
		}
	}
	return true
}

func withoutIntroduction(s string) string {
	return strings.TrimSpace(strings.ReplaceAll(s, introduction, ""))
}

// trouble says why something was not done, and what can be done now.
func trouble(s step, what string) string {
	detail := strings.TrimSpace(short(s.result, 700))
	switch s.outcome {
	case denied:
		if s.reason == "" {
			return fmt.Sprintf("I did not %s: you said no. Tell me what to do instead.", what)
		}
		return fmt.Sprintf("I did not %s. You said: %s. Tell me how to go on, and I will.", what, strings.TrimSuffix(s.reason, "."))
	case blocked:
		return fmt.Sprintf("I could not %s:\n%s", what, quoteLines(strings.Split(detail, "\n")))
	case unanswered:
		return fmt.Sprintf("I did not %s: nobody answered in time. Ask again when you are there.", what)
	case unknown:
		return fmt.Sprintf("I can't tell whether I managed to %s: the answer was lost. I will not try again by myself.", what)
	case staged:
		return fmt.Sprintf("To %s waits for your release%s. Nothing has left yet.", what, asID(s.result))
	case missing:
		return fmt.Sprintf("I can't %s. %s", what, detail)
	}
	if first, rest, ok := strings.Cut(detail, "\n"); !ok || rest == "" {
		return fmt.Sprintf("I could not %s: %s", what, first)
	}
	return fmt.Sprintf("I could not %s:\n%s", what, quoteLines(strings.Split(detail, "\n")))
}

// whyMissing says how to get a tool that isn't offered.
func whyMissing(tool string) string {
	switch {
	case strings.HasPrefix(tool, "mail_"):
		return "There is no mail tool in this run: `mecha-slack local` brings a demo mailbox (without --no-demo and --no-mcp), and an `[[mcp]]` table in config.toml any other."
	case tool == "web_search" || tool == "web_open":
		return "There is no web search in this run: a `[[search]]` table in config.toml brings it."
	case tool == "shell":
		return "There is no shell in this run: it is offered where a sandbox proves itself; `mecha-slack doctor` says what is missing."
	case tool == "show_file" || tool == "trigger_propose" || tool == "slack_read_thread" || tool == "ask_user":
		return "`" + tool + "` is there only in a thread with somebody to see it."
	}
	return "`" + tool + "` isn't offered in this run; `mecha-slack tools` lists what is, and why others are withheld."
}

// excerpt quotes the beginning of a text as a block, and says what it left out.
func excerpt(s string, lines int) string {
	s = strings.TrimRight(strings.ReplaceAll(s, "```", "'''"), "\n ")
	all := strings.Split(s, "\n")
	shown := all[:min(len(all), lines)]
	text := short(strings.Join(shown, "\n"), 1600)
	out := "```\n" + text + "\n```"
	if left := len(all) - strings.Count(text, "\n") - 1; left > 0 {
		out += fmt.Sprintf("\n… and %s more.", counted(left, "line", "lines"))
	}
	return out
}

func quoteLines(lines []string) string {
	return "> " + strings.Join(lines, "\n> ")
}

var questionWords = rx(`(?i)^(?:what|whats|which|when|where|how|much|many|does|did|is|are|was|the|a|an|in|of|for|to|me|you|your|my|and|or|about|say|says|it|that|this|there|could|would|send|please|before|then|file|from|asked|have|has|tell|with|on|at)$`)

var longWord = rx(`[\p{L}\p{N}]{3,}`)

// relevantLines are the lines that share the words of a question.
func relevantLines(text, question string) []string {
	var words []string
	for _, w := range longWord.FindAllString(strings.ToLower(question), -1) {
		if !questionWords.MatchString(w) {
			words = append(words, w)
		}
	}
	var out []string
	best := 0
	for _, line := range strings.Split(text, "\n") {
		score := 0
		for _, w := range words {
			if strings.Contains(strings.ToLower(line), w) {
				score++
			}
		}
		if score == 0 || score < best {
			continue
		}
		if score > best {
			best, out = score, nil
		}
		if line = strings.TrimSpace(line); line != "" && len(out) < 5 {
			out = append(out, line)
		}
	}
	return out
}

// lastFinding is what "save it to a file" means.
func (c *conversation) lastFinding() string {
	if n := len(c.answers); n > 0 {
		return withoutIntroduction(c.answers[n-1])
	}
	for i := len(c.earlier) - 1; i >= 0; i-- {
		if c.earlier[i].ok() {
			return c.earlier[i].result
		}
	}
	return ""
}

var wantsSummary = rx(`(?i)\bsummar(?:y|i[sz]e|i[sz]ing)\b`)

// wantsSummary recognises a harness that is about to compact: no tools, and
// the word for it in the last message or the system prompt.
func (c *conversation) wantsSummary() bool {
	if len(c.tools) > 0 {
		return false
	}
	if len(c.asked) > 0 || len(c.all()) > 0 {
		return wantsSummary.MatchString(c.request)
	}
	const transcript = 1500 // bytes: nobody types as much to ask for a summary
	return len(c.request) > transcript && wantsSummary.MatchString(c.system+c.request)
}

// summary is the conversation in a form that it can go on from.
func (c *conversation) summary() string {
	if len(c.asked) == 0 && len(c.all()) == 0 {
		// The transcript itself is the message: its beginning and its end.
		text := c.request
		if len(text) > 6000 {
			text = short(text, 2500) + "\n…\n" + strings.ToValidUTF8(text[len(text)-3500:], "")
		}
		return "Summary of the conversation so far (kept by the " + introductionMark + ").\n\n" + text
	}
	var b strings.Builder
	b.WriteString("Summary of the conversation so far (kept by the " + introductionMark + ").\n\nThe owner asked, in this order:\n")
	for _, q := range c.asked {
		fmt.Fprintf(&b, "- %s\n", short(strings.Join(strings.Fields(q), " "), 300))
	}
	if steps := c.all(); len(steps) > 0 {
		b.WriteString("\nDone with tools:\n")
		for i, s := range steps {
			if i == 60 {
				fmt.Fprintf(&b, "- … and %d more\n", len(steps)-i)
				break
			}
			fmt.Fprintf(&b, "- %s%s: %s\n", s.tool, mainArgument(s), short(strings.Join(strings.Fields(s.result), " "), 160))
		}
	}
	if n := len(c.answers); n > 0 {
		fmt.Fprintf(&b, "\nThe last answer was:\n%s\n", short(withoutIntroduction(c.answers[n-1]), 1200))
	}
	return short(b.String(), 7000)
}

func mainArgument(s step) string {
	for _, name := range []string{"path", "command", "url", "query", "thread_id", "handle", "name", "question", "to", "task"} {
		if v, ok := s.args[name]; ok {
			return " " + short(fmt.Sprint(v), 100)
		}
	}
	return ""
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// short cuts at a character and says so.
func short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " \n") + " …"
}

func upperFirst(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// lowerFirst keeps acronyms and names of one letter as they are.
func lowerFirst(s string) string {
	for _, article := range []string{"The ", "A ", "An ", "Our ", "My ", "Your "} {
		if strings.HasPrefix(s, article) {
			return strings.ToLower(article) + s[len(article):]
		}
	}
	return s
}
