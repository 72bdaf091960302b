package offline

import (
	"fmt"
	"strings"
)

// askOwner, planWork, recallPast, control, smallTalk and fallback are the
// wishes about the conversation itself.
type askOwner struct {
	question string
	options  []string
}

var askMe = rx(`(?is)^(?:ask me|frage? mich|question me)\b\s*(?:a question)?\s*(.*)$`)

var optionBreak = rx(`(?i)\s*,\s*(?:or|and|oder)?\s*|\s+(?:or|oder|and)\s+|\s*/\s*`)

func parseAsk(s string, q *quoted, _ *conversation) goal {
	m := askMe.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	rest := strings.Trim(q.text(m[1]), " .!?:")
	g := askOwner{}
	if head, list, ok := cutOptions(rest); ok {
		rest = head
		for _, o := range optionBreak.Split(list, -1) {
			if o = strings.Trim(o, " .?!"); o != "" && len(g.options) < 4 {
				g.options = append(g.options, o)
			}
		}
	}
	switch low := strings.ToLower(rest); {
	case low == "" || low == "something" || low == "anything" || low == "etwas":
		g.question, g.options = "What shall I do next?", []string{"List the files here", "Look into my mail", "Make a plan"}
	case strings.HasPrefix(low, "whether ") || strings.HasPrefix(low, "if ") || strings.HasPrefix(low, "ob "):
		_, what, _ := strings.Cut(rest, " ")
		g.question = asQuestion(what)
		if m := eitherOr.FindStringSubmatch(what); m != nil && len(g.options) < 2 {
			g.options = []string{m[1], m[2]}
		}
		if after, ok := strings.CutPrefix(what, "I "); ok {
			g.question = asQuestion("do you " + after)
		}
	default:
		g.question = asQuestion(strings.TrimPrefix(strings.TrimPrefix(rest, "about "), "something about "))
	}
	if len(g.options) < 2 {
		g.options = []string{"Yes", "No"}
	}
	return g
}

var (
	optionsAfter  = rx(`(?is)^(.*?)\s*,?\s+(?:with (?:the )?(?:options|choices)|options|from|between|out of)\s+(.*(?:,| or | and | oder ).*)$`)
	optionsInline = rx(`(?is)^(which\s+\w+.*?),\s*(.*\s(?:or|oder)\s.*)$`)
)

// cutOptions splits "which colour I like: red, green or blue".
func cutOptions(s string) (head, list string, ok bool) {
	if head, list, ok = strings.Cut(s, ":"); ok {
		return head, list, true
	}
	if m := optionsAfter.FindStringSubmatch(s); m != nil {
		return m[1], m[2], true
	}
	if m := optionsInline.FindStringSubmatch(s); m != nil {
		return m[1], m[2], true
	}
	return s, "", false
}

var eitherOr = rx(`(?i)\b(?:want|like|prefer|take|choose|need|use)\s+(?:the\s+|a\s+)?([\w -]{1,30}?)\s+or\s+(?:the\s+|a\s+)?([\w -]{1,30}?)[\s.?!]*$`)

var ownWish = rx(`\b(which|what|where|when|how|who)(\s+\w+)?\s+(?:I|i) (want|like|prefer|need|mean|think|use|choose|would like)\b`)

var firstPerson = rx(`(?i)\b(?:I|me|my)\b`)

// asQuestion turns "which colour I prefer" to "Which colour do you prefer?".
func asQuestion(s string) string {
	s = strings.Trim(s, " .?!")
	s = ownWish.
		ReplaceAllString(s, "$1$2 do you $3")
	s = firstPerson.ReplaceAllStringFunc(s, func(w string) string {
		if strings.EqualFold(w, "my") {
			return "your"
		}
		return "you"
	})
	return upperFirst(s) + "?"
}

func (g askOwner) play(p *play) (string, bool) {
	s, ok := p.call("ask_user", map[string]any{"question": g.question, "options": g.options})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "ask you"), true
	}
	return "You answered: " + short(strings.TrimSpace(s.result), 300), true
}

type planWork struct{ topic string }

var planVerb = rx(`(?is)^(?:(?:make|create|write|draw up|draft|prepare|give|set up|mach\w*|erstelle?|entwirf)\s+(?:me\s+)?(?:a|an|the|einen|eine)?\s*(?:\w+\s+)?(?:plan|to-?do(?:[- ]list)?|checklist|list of steps|schritte)|plan|break down|plane)\s*(?:out)?\s*(?:for|of|to|about|on|für|zu|zum|zur|:)?\s*(.*)$`)

func parsePlan(s string, q *quoted, _ *conversation) goal {
	m := planVerb.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	topic := trimEnd(q.text(m[1]))
	if topic == "" {
		topic = "what we want to do"
	}
	return planWork{topic}
}

func (g planWork) play(p *play) (string, bool) {
	steps := planSteps(g.topic)
	schema := p.c.schemaOf(p.c.tool("todo"))
	first := "pending"
	if strings.Contains(schema, "in_progress") {
		first = "in_progress"
	}
	var items []map[string]any
	for i, content := range steps {
		status := "pending"
		if i == 0 {
			status = first
		}
		items = append(items, map[string]any{"content": content, "status": status})
	}
	s, ok := p.call("todo", map[string]any{"items": items})
	if !ok {
		return "", false
	}
	if !s.ok() && s.outcome != missing {
		return trouble(s, "note the plan"), true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "A plan for %s:\n", g.topic)
	for i, content := range steps {
		fmt.Fprintf(&b, "%d. %s\n", i+1, content)
	}
	b.WriteString("Tell me which step to begin with, or what to change.")
	return b.String(), true
}

var stepBreak = rx(`\s*[,;]\s*(?:and\s+)?|\s+and then\s+|\s+then\s+`)

func planSteps(topic string) []string {
	parts := stepBreak.Split(topic, -1)
	if len(parts) >= 3 {
		var steps []string
		for _, s := range parts[:min(len(parts), 5)] {
			if s = strings.TrimSpace(s); s != "" {
				steps = append(steps, upperFirst(strings.TrimPrefix(s, "and ")))
			}
		}
		return steps
	}
	name := topic
	if !article.MatchString(topic) {
		name = "“" + topic + "”"
	}
	return []string{
		"Collect what is already known about " + name,
		"Write down what should be true at the end, and by when",
		"Do the smallest useful piece of " + name,
		"Check the result with the people concerned",
	}
}

// recallPast answers from the conversation: with the recall tool for
// something particular, from the last answer for "what did you just find".
type recallPast struct {
	query      string
	everything bool
}

var (
	justFound = rx(`(?i)^(?:what (?:did|have) you (?:just |last )?(?:find|found|say|said|do|done|do(?:ne)? just now)|what was (?:that|your last answer|the last thing you (?:found|said|did))|what have you found|repeat that|say that again|was hast du (?:gerade |eben )?(?:gefunden|gesagt|gemacht))\b[^.]{0,30}$`)
	recallFor = rx(`(?i)^(?:do you remember|recall|remember when|what do you (?:remember|know) about|what did (?:i|we|you) (?:just )?(?:say|tell you|ask|write|find|decide|talk about)(?: about| on)?|remind me (?:what|of)(?: i said about| we said about)?|look back for|erinnerst du dich an)\s*(.*)$`)
)

var (
	meansAbout = rx(`(?i)\babout\b`)
	recallLead = rx(`(?i)^(?:(?:what\s+)?(?:(?:i|we|you) (?:said|wrote|found|asked)(?: about)?|about|the|my|our)\s+)+`)
)

func parseRecall(s string, q *quoted, _ *conversation) goal {
	t := trimEnd(q.text(s))
	if justFound.MatchString(t) && !meansAbout.MatchString(t) {
		return recallPast{}
	}
	if m := recallFor.FindStringSubmatch(t); m != nil {
		query := recallLead.ReplaceAllString(strings.TrimSpace(m[1]), "")
		return recallPast{query: query}
	}
	return nil
}

var noMatch = rx(`(?i)^\W*no(?:thing)? match`)

func (g recallPast) play(p *play) (string, bool) {
	if g.everything {
		return p.c.summary(), true
	}
	if g.query == "" {
		if n := len(p.c.answers); n > 0 {
			return "Just now I told you:\n\n" + short(withoutIntroduction(p.c.answers[n-1]), 2000), true
		}
		return "Nothing yet: this is the beginning of our conversation.", true
	}
	if p.c.tool("recall") != "" {
		s, ok := p.call("recall", map[string]any{"query": g.query})
		if !ok {
			return "", false
		}
		if s.ok() && strings.TrimSpace(s.result) != "" && !noMatch.MatchString(s.result) {
			return fmt.Sprintf("About “%s” this conversation has:\n%s", g.query, excerpt(s.result, 14)), true
		}
	}
	var hits []string
	for _, text := range append(append([]string(nil), p.c.asked...), p.c.answers...) {
		if lines := relevantLines(withoutIntroduction(text), g.query); len(lines) > 0 {
			hits = append(hits, lines...)
		}
	}
	if len(hits) == 0 {
		return fmt.Sprintf("I find nothing about “%s” in this conversation.", g.query), true
	}
	return fmt.Sprintf("About “%s” this conversation has:\n%s", g.query, quoteLines(hits[:min(len(hits), 8)])), true
}

// control is a tool that is about the conversation and takes no arguments.
type control struct{ tool, said string }

var (
	asksStory   = rx(`^(?:summari[sz]e|sum up|recap)(?: (?:the|this|our) (?:conversation|discussion|thread|chat))?(?: so far)?$|^what (?:did|have) we (?:talk|talked|discuss|discussed|do|done)(?: about)?(?: so far)?$`)
	asksCompact = rx(`^(?:compact|compress|shorten)(?: (?:the|this|our) (?:conversation|context|history|thread))?$`)
	asksGoal    = rx(`^(?:what(?:'s| is| are)? (?:our|the|my) (?:current |confirmed )?goal|show (?:me )?the goal|goal)\b`)
)

func parseControl(s string, _ *quoted, _ *conversation) goal {
	switch t := strings.ToLower(trimEnd(s)); {
	case asksCompact.MatchString(t):
		return control{"compact", "I will go on from a summary of this conversation."}
	case asksStory.MatchString(t):
		return recallPast{everything: true}
	case asksGoal.MatchString(t):
		return control{"goal_context", ""}
	}
	return nil
}

func (g control) play(p *play) (string, bool) {
	s, ok := p.call(g.tool, map[string]any{})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "use `"+g.tool+"`"), true
	}
	if g.said != "" {
		return g.said, true
	}
	return excerpt(s.result, 14), true
}

type smallTalk struct{ kind string }

var (
	asksHelp = rx(`^(?:help|help me|\?|hilfe|what can i (?:say|do|ask)|what can you do|what do you do|what are you able to do|how do(?:es)? (?:this|you|i) (?:work|use you)|who are you|what are you|was kannst du)(?: (?:for me|here))?$`)
	greets   = rx(`^(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening|day)|guten (?:morgen|tag|abend)|moin|servus)(?: (?:there|you|bot|all))?$`)
	thanks   = rx(`^(?:thanks?|thank you|thx|cheers|danke|great|perfect|nice|cool|ok|okay|good|well done|super|bye|goodbye|tschüss?)(?: (?:a lot|so much|you|very much|bot|job|work|schön|sehr))*$`)
)

func parseSmallTalk(s string, _ *quoted, _ *conversation) goal {
	t := strings.ToLower(strings.Trim(s, " .!?,"))
	switch {
	case asksHelp.MatchString(t), t == "":
		return smallTalk{"help"}
	case greets.MatchString(t):
		return smallTalk{"hello"}
	case thanks.MatchString(t):
		return smallTalk{"thanks"}
	}
	return nil
}

func (g smallTalk) play(p *play) (string, bool) {
	switch g.kind {
	case "hello":
		return "Hello" + comma(p.c.owner) + ". What shall I do? “help” lists what I understand.", true
	case "thanks":
		return "You are welcome" + comma(p.c.owner) + ".", true
	}
	return helpText(p.c), true
}

func comma(name string) string {
	if name == "" {
		return ""
	}
	return ", " + upperFirst(name)
}

var keepInMind = rx(`(?is)^(?:please )?(?:remember|note|keep in mind|merk dir),?\s*(?:that|dass|:)?\s+(.+)$`)

// fallback is for what the grammar doesn't know.
type fallback struct{ text string }

func (g fallback) play(p *play) (string, bool) {
	if m := keepInMind.FindStringSubmatch(g.text); m != nil {
		return "I keep it in this conversation: " + sentence(m[1]), true
	}
	if questionStart.MatchString(g.text) { // perhaps it was said before
		for _, text := range append(append([]string(nil), p.c.asked...), p.c.answers...) {
			if lines := relevantLines(withoutIntroduction(text), g.text); len(lines) > 0 {
				return "In this conversation I find:\n" + quoteLines(lines), true
			}
		}
	}
	return fmt.Sprintf("I don't understand “%s”: I know plain commands only.\n\n%s", short(strings.Join(strings.Fields(g.text), " "), 120), helpText(p.c)), true
}

// helpText lists what works here: only what the offered tools can do.
func helpText(c *conversation) string {
	var b strings.Builder
	b.WriteString("You can say, in your own words:\n")
	for _, h := range []struct{ tool, say string }{
		{"fs_list", "what files are here?"},
		{"fs_read", "read budget.md"},
		{"fs_write", "write notes.md with …"},
		{"fs_edit", "replace 2025 with 2026 in notes.md"},
		{"show_file", "show notes.md"},
		{"shell", "run `wc -l notes.md`, or `$ wc -l notes.md`"},
		{"mail_list", "what's in my mail? · find the mail from the dean and draft a reply"},
		{"mail_send", "draft a mail to dean@example.edu about the budget"},
		{"http_fetch", "fetch https://example.org/"},
		{"web_search", "search the web for …"},
		{"todo", "make a plan for the move"},
		{"trigger_propose", "every weekday at 7 summarise my mail"},
		{"ask_user", "ask me which colour I prefer: red, green or blue"},
		{"recall", "what did you just find? · what did I say about …"},
	} {
		if c.tool(h.tool) != "" {
			b.WriteString("- " + h.say + "\n")
		}
	}
	b.WriteString("Several at once work too: “read budget.md and draft a mail to dean@example.edu about it”.")
	return b.String()
}
