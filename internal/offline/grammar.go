package offline

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// parseGoals reads what was asked for. Sentences and clauses are taken apart
// only where what follows is a command by itself, so that "write a.md with
// milk and eggs" stays one wish.
func parseGoals(text string, c *conversation) []goal {
	if strings.TrimSpace(text) == "" && len(c.brought) > 0 { // a file without a word
		return []goal{group(c.brought, func(f string) goal { return readFile{path: f} })}
	}
	if g := parseAgain(text); g != nil {
		return []goal{g}
	}
	q := &quoted{}
	masked := q.mask(text)
	var goals []goal
	for _, clause := range splitClauses(masked, q, c, maxClauses) {
		if g := parseClause(clause, q, c); g != nil {
			goals = linked(goals, g, c)
		}
	}
	if len(goals) == 0 {
		return []goal{fallback{text: text}}
	}
	if len(goals) > 1 { // "hi, what files are here?" is about the files
		kept := goals[:0]
		for _, g := range goals {
			if _, small := g.(smallTalk); !small {
				kept = append(kept, g)
			}
		}
		if len(kept) > 0 {
			goals = kept
		}
	}
	return goals
}

// linked adds a goal after those that it may refer to: "find the mail from
// the dean and draft a reply" is one chain, "read a.md and mail it" another.
func linked(goals []goal, g goal, c *conversation) []goal {
	last := c.lastFile()
	if n := len(c.brought); n > 0 {
		last = c.brought[n-1]
	}
	if read := filesOf(goals); len(read) > 0 {
		last = read[len(read)-1]
	}
	switch g := g.(type) {
	case readFile:
		if g.path == theFile && last != "" {
			g.path = last
		}
		return append(goals, g)
	case showFile:
		if g.path == theFile && last != "" {
			g.path = last
		}
		return append(goals, g)
	case replyMail:
		if len(goals) == 0 {
			return append(goals, g)
		}
		if found, ok := goals[len(goals)-1].(findMail); ok && g.who == "" {
			g.who = found.who
			return append(goals[:len(goals)-1], g)
		}
		for _, earlier := range goals {
			if found, ok := earlier.(findMail); ok && g.who == "" {
				g.who = found.who
			}
		}
		g.files = filesOf(goals)
		return append(goals, g)
	case sendsFile:
		if g.path == theFile && last != "" {
			g.path, g.topic = last, last
		}
		return append(goals, g)
	case draftMail:
		g.files = filesOf(goals)
		if len(g.files) == 0 && isPronoun(g.topic) && last != "" {
			g.files = []string{last}
		}
		return append(goals, g)
	}
	return append(goals, g)
}

func filesOf(goals []goal) []string {
	var files []string
	for _, g := range goals {
		switch g := g.(type) {
		case readFile:
			files = append(files, g.path)
		case writeFile:
			files = append(files, g.path)
		case several:
			files = append(files, filesOf(g)...)
		}
	}
	return files
}

var connector = rx(`(?i)[,;]?\s+(?:&|and then|then|and also|and|after that|afterwards|und dann|danach|dann|und)\s+|[,;]\s+(?:then\s+)?|[.!?]\s+|\s*\n+\s*`)
var thenOnly = rx(`(?i)[,;.]?\s+(?:and then|then|after that|und dann|danach)\s+|\s*\n+\s*`)

func splitClauses(s string, q *quoted, c *conversation, left int) []string {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "$ ") {
		first, rest, more := strings.Cut(s, "\n")
		if !more {
			return []string{first}
		}
		return append([]string{first}, splitClauses(rest, q, c, left-1)...)
	}
	if left <= 1 {
		return []string{s}
	}
	if when.MatchString(s) && parseSchedule(trimFiller(s), q, c) != nil {
		return []string{s} // the whole of it is what becomes due
	}
	cut := connector
	if runStart.MatchString(trimFiller(s)) {
		cut = thenOnly // a shell line has its own "and" and ";"
	}
	for _, at := range cut.FindAllStringIndex(s, maxConnectors) {
		head, rest := s[:at[0]], s[at[1]:]
		if strings.TrimSpace(head) == "" || !commandStart.MatchString(rest[:min(len(rest), 80)]) {
			continue
		}
		g := parseClause(beginning(rest), q, c)
		if next := cut.FindStringIndex(rest); g == nil && next != nil {
			g = parseClause(beginning(rest[:next[0]]), q, c) // what follows it confused the matter
		}
		if g == nil {
			continue
		}
		if _, small := g.(smallTalk); small && contentful.MatchString(head) {
			continue // "… saying thanks" is part of what is said
		}
		return append([]string{head}, splitClauses(rest, q, c, left-1)...)
	}
	return []string{s}
}

// A pasted page has connectors by the thousand; commands have a few.
const (
	maxConnectors = 60 // looked at for each clause
	maxClauses    = 16
)

// beginning is as much of a clause as it takes to see that it is a command.
func beginning(s string) string {
	const enough = 400
	if len(s) <= enough {
		return s
	}
	n := enough
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

var (
	// commandStart is cheap, and every command passes it.
	commandStart = rx(`(?i)^(?:(?:please|pls|kindly|hey|hi|hello|hallo|ok|okay|so|now|also|then|and|first|next|bitte|mal|could you|can you|would you|will you|can we|i want you to|i'd like you to|i would like you to|i need you to|i want to|i'd like to|i would like to|i need to|you should|you must|let's|let us|go ahead and|just|quickly|kannst du|könntest du|würdest du|und|dann)\b[,!:]?\s+)*(?:https?:|\$ |list|ls|dir|show|see|what|which|how|when|where|who|are there|is there|do you|do we|any|tell|give|read|open|cat|print|display|look|check|view|have|summari[sz]e|sum up|write|create|make|save|add|put|store|append|note|inform|notify|rename|move|mv|delete|remove|rm|lösche?|correct|fix|benenne|files|replace|change|swap|edit|update|modify|in |run|execute|exec|start|fetch|get|load|download|visit|browse|go to|curl|search|google|research|find|web search|plan|draw up|break down|draft|send|compose|prepare|e-?mail|mail|forward|message|my |new |unread|inbox|reply|respond|answer|ask|every|each|daily|hourly|on |remind|schedule|recall|remember|repeat|say that|compact|compress|shorten|goal|use|call|invoke|click|confirm|delegate|hand over|let |preview|share|upload|post|set up|help|thanks?|thank you|hi|hello|zeig|liste|welche|was|gibt|lies|lese|öffne|fasse|schreib|erstelle|speicher|leg|füge|ersetze|ändere|bearbeite|führe|hole?|lade|rufe?|suche?|recherchiere?|finde?|mach|entwirf|plane|verfass|schick|sende|antworte?|prüfe?|habe ich|frage?|jede|alle|täglich|erinner)`)

	contentful = rx(`(?i)\b(with|saying|containing|that says|mit|about)\b`)
	runStart   = rx(`(?i)^(?:run|execute|exec|start|führe)\s`)
	filler     = rx(`(?i)^(?:(?:please|pls|kindly|hey|hi|hello|hallo|ok|okay|so|now|also|then|and|first|next|bitte|mal|could you|can you|would you|will you|can we|i want you to|i'd like you to|i would like you to|i need you to|i want to|i'd like to|i would like to|i need to|you should|you must|let's|let us|go ahead and|just|quickly|kannst du|könntest du|würdest du|und|dann)\b[,!:]?\s+)+`)
	politeEnd  = rx(`(?i)[,\s]*(?:please|for me|thanks|thank you|bitte|danke)?[\s.!?]*$`)
)

func trimFiller(s string) string { return filler.ReplaceAllString(strings.TrimSpace(s), "") }
func trimEnd(s string) string    { return strings.TrimSpace(politeEnd.ReplaceAllString(s, "")) }

// parseClause reads one clause; nil means that it is no command.
func parseClause(clause string, q *quoted, c *conversation) goal {
	s := trimFiller(clause)
	if s == "" {
		s = strings.TrimSpace(clause)
	}
	for _, parse := range []func(string, *quoted, *conversation) goal{
		parseShellPrompt, parseSchedule, parseAsk, parseToolUse, parseMail, parseURL,
		parseEdit, parseWrite, parseRun, parseRecall, parsePlan, parseDelegate, parseSearch,
		parseList, parseShow, parseRead, parseControl, parseSmallTalk,
	} {
		if g := parse(s, q, c); g != nil {
			return g
		}
	}
	return nil
}

// quoted keeps quoted text out of the grammar's way: each piece becomes a
// placeholder, and comes back exact.
type quoted struct{ pieces []string }

var quotes = rx("(?s)```[a-zA-Z0-9]*\\n?(.*?)```|`([^`\\n]+)`|\"([^\"]*)\"|“([^”]*)”|„([^“”]*)[“”]|«([^»]*)»|(?:^|[\\s(:])'([^'\\n]+)'(?:$|[\\s).,;:!?])")

func (q *quoted) mask(s string) string {
	s = strings.NewReplacer("\x02", "", "\x03", "").Replace(s)
	return quotes.ReplaceAllStringFunc(s, func(m string) string {
		groups := quotes.FindStringSubmatch(m)
		inner := ""
		for _, g := range groups[1:] {
			if g != "" {
				inner = g
			}
		}
		before, after := "", ""
		if groups[7] != "" { // 'single quotes' took a neighbour along on each side
			at := strings.IndexByte(m, '\'')
			end := strings.LastIndexByte(m, '\'')
			before, after = m[:at], m[end+1:]
		}
		q.pieces = append(q.pieces, inner)
		return fmt.Sprintf("%s\x02%d\x03%s", before, len(q.pieces)-1, after)
	})
}

var placeholder = rx(`\x02(\d+)\x03`)

// text puts quoted pieces back, without their quotes.
func (q *quoted) text(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		var n int
		if _, err := fmt.Sscanf(strings.Trim(m, "\x02\x03"), "%d", &n); err != nil || n >= len(q.pieces) {
			return m
		}
		return q.pieces[n]
	})
}

// exact is the quoted piece if s is one and nothing else.
func (q *quoted) exact(s string) (string, bool) {
	s = strings.TrimRight(strings.TrimSpace(s), ".!,;")
	if placeholder.FindString(s) == s && s != "" {
		return q.text(s), true
	}
	return "", false
}

var (
	fileToken    = rx(`(?:[\w.-]+/)*[\w.-]*[\w-]\.[A-Za-z][A-Za-z0-9]{0,7}\b|\b(?:Makefile|README|LICENSE|Dockerfile|CHANGELOG)\b|(?:[\w.-]+/)+[\w.-]+`)
	addressToken = rx(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`)
	urlToken     = rx(`https?://[^\s<>"'\x02\x03]*[^\s<>"'\x02\x03.,;:!?)\]]`)
)

// files finds the file names in a clause; quoted ones count too.
func files(s string, q *quoted) []string {
	s = urlToken.ReplaceAllString(addressToken.ReplaceAllString(q.text(s), " "), " ")
	var out []string
	for _, f := range fileToken.FindAllString(s, -1) {
		out = append(out, strings.TrimPrefix(f, "./"))
	}
	return out
}

// knownFile finds a file of this conversation by a name without its ending:
// "read the budget" after budget.md was seen.
func (c *conversation) knownFile(s string) string {
	words := strings.Fields(strings.ToLower(trimEnd(s)))
	if len(words) == 0 {
		return ""
	}
	all := c.earlier // not of this request: its meaning must not change while it is carried out
	for i := len(all) - 1; i >= 0; i-- {
		var names []string
		if path := all[i].arg("path"); path != "" {
			names = append(names, path)
		}
		if strings.HasSuffix(all[i].tool, "fs_list") {
			names = append(names, strings.Fields(all[i].result)...)
		}
		for _, name := range names {
			base := strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
			stem, _, ok := strings.Cut(base, ".")
			for _, w := range words {
				if ok && (w == stem || w == base) {
					return name
				}
			}
		}
	}
	return ""
}

// lastFile is what "it" means: the last file of earlier requests.
func (c *conversation) lastFile() string {
	all := c.earlier
	for i := len(all) - 1; i >= 0; i-- {
		if path := all[i].arg("path"); path != "" && !strings.HasSuffix(all[i].tool, "fs_list") {
			return path
		}
	}
	return ""
}
