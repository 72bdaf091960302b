package offline

import (
	"fmt"
	"slices"
	"strings"
)

// listFiles, readFile, writeFile, editFile and showFile are the wishes about
// the thread's own directory.
type listFiles struct {
	path string
	look string // for one name; empty: all
}

var (
	listVerb = rx(`(?i)^(?:list|ls|dir|show|see|what|what's|whats|which|are there|is there|do you have|do we have|any|tell|give|zeig\w*|liste\w*|welche|was|gibt)\b`)
	listNoun = rx(`(?i)\b(?:files?|folders?|director(?:y|ies)|workspace|dateien|datei|ordner|verzeichnis|ls)\b`)
	inFolder = rx(`(?i)\b(?:in|under|inside|of|im|in)\s+(?:the\s+|den\s+)?(?:(?:folder|directory|ordner)\s+)?([\w.-]+(?:/[\w.-]*)*)(?:\s+(?:folder|directory|ordner))?\s*$`)
	here     = rx(`(?i)^(?:here|this|it|there|my|the|your|hier|folder|directory|workspace|files?|diesem)$`)
)

var (
	lsAlone    = rx(`(?i)^ls(\s+[\w./-]+)?$`)
	notFolders = rx(`(?i)\b(?:mails?|inbox|contents? of (?:the )?file)\b`)
)

var (
	listAll  = rx(`(?i)^(?:what(?:'s| is|s)? (?:in )?here|what have we (?:got )?here|list (?:everything|all)(?: here)?|files?|list|was ist hier)$`)
	contents = rx(`(?i)^(?:list|show(?: me)?|what(?:'s| is| are)?) (?:the )?(?:contents? of|in) (?:the )?(?:(?:folder|directory) )?([\w-]+(?:/[\w-]+)*)/?(?: (?:folder|directory))?$`)
	isThere  = rx(`(?i)^(?:is there|do you (?:have|see)|do we have|gibt es)\b`)
)

func parseList(s string, q *quoted, _ *conversation) goal {
	t := trimEnd(q.text(s))
	if listAll.MatchString(t) {
		return listFiles{path: "."}
	}
	if list := files(s, q); len(list) == 1 && isThere.MatchString(t) {
		return listFiles{path: ".", look: list[0]}
	}
	if m := contents.FindStringSubmatch(t); m != nil && !aboutMail.MatchString(t) && !here.MatchString(m[1]) {
		return listFiles{path: m[1]}
	}
	if lsAlone.MatchString(t) {
		return listFiles{path: orDot(strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(t, "ls"), "LS")))}
	}
	if !listVerb.MatchString(t) || !listNoun.MatchString(t) || len(files(s, q)) > 0 && !strings.Contains(t, "/") {
		return nil
	}
	if notFolders.MatchString(t) {
		return nil
	}
	path := "."
	if m := inFolder.FindStringSubmatch(t); m != nil && !here.MatchString(m[1]) {
		path = strings.TrimSuffix(m[1], "/")
	}
	return listFiles{path: path}
}

func orDot(s string) string {
	if s == "" {
		return "."
	}
	return s
}

func (g listFiles) play(p *play) (string, bool) {
	s, ok := p.call("fs_list", map[string]any{"path": g.path})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "list "+where(g.path)), true
	}
	var names []string
	for _, line := range strings.Split(s.result, "\n") {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "- "))
		if line != "" && !strings.HasPrefix(line, "(") && !strings.HasPrefix(line, "[") && !strings.Contains(strings.ToLower(line), "empty") {
			names = append(names, line)
		}
	}
	if g.look != "" {
		if slices.Contains(names, g.look) {
			return "Yes, `" + g.look + "` is here.", true
		}
		return fmt.Sprintf("No, there is no `%s` in %s.", g.look, where(g.path)), true
	}
	if len(names) == 0 {
		return strings.ToUpper(where(g.path)[:1]) + where(g.path)[1:] + " is empty. Say “write notes.md with …” and I will put something there.", true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s:\n", counted(len(names), "entry", "entries"), where(g.path))
	for i, n := range names {
		if i == 40 {
			fmt.Fprintf(&b, "- … and %d more\n", len(names)-i)
			break
		}
		fmt.Fprintf(&b, "- `%s`\n", n)
	}
	return strings.TrimRight(b.String(), "\n"), true
}

func where(path string) string {
	if path == "." {
		return "this thread's folder"
	}
	return "`" + path + "`"
}

type readFile struct {
	path string
	ask  string // what is wanted from it; empty: all of it
}

var readVerb = rx(`(?i)^(?:read|open|cat|print|display|show me|look at|look into|check|view|have a look at|tell me what(?:'s| is)?(?: in)?|give me|can i see|may i see|let me see|i want to see|summari[sz]e|sum up|what(?:'s| is| does| are|s)|how (?:much|many)|which|when|where|who|lies|lese|zeig mir|öffne|was steht in|fasse)\b`)

var questionStart = rx(`(?i)^(?:what|how|which|when|where|who)`)

func parseRead(s string, q *quoted, c *conversation) goal {
	m := readVerb.FindString(s)
	if m == "" {
		return nil
	}
	list := files(s, q)
	if len(list) == 0 {
		rest := s[len(m):]
		if known := c.knownFile(rest); known != "" {
			list = []string{known}
		} else if isPronoun(rest) {
			list = []string{theFile}
		}
	}
	if len(list) == 0 {
		return nil
	}
	ask := ""
	if questionStart.MatchString(s) {
		ask = trimEnd(q.text(s))
	}
	return group(list, func(f string) goal { return readFile{path: f, ask: ask} })
}

// group makes one goal of several of a kind.
func group(names []string, each func(string) goal) goal {
	if len(names) == 1 {
		return each(names[0])
	}
	var g several
	seen := map[string]bool{}
	for _, n := range names {
		if !seen[n] {
			seen[n] = true
			g = append(g, each(n))
		}
	}
	return g
}

// several plays its goals side by side where they are all reads.
type several []goal

func (g several) play(p *play) (string, bool) {
	var reports []string
	settled := true
	for _, one := range g {
		report, done := one.play(p)
		if !done && !onlyReads(p.pending) {
			return "", false
		}
		settled = settled && done
		reports = append(reports, report)
	}
	return strings.Join(reports, "\n\n"), settled
}

func (g readFile) play(p *play) (string, bool) {
	if g.path == theFile {
		return "Which file do you mean? Say its name.", true
	}
	s, ok := p.call("fs_read", map[string]any{"path": g.path})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "read `"+g.path+"`"), true
	}
	if g.ask != "" {
		if lines := relevantLines(s.result, g.ask); len(lines) > 0 {
			return fmt.Sprintf("`%s` says:\n%s", g.path, quoteLines(lines)), true
		}
	}
	if strings.TrimSpace(s.result) == "" {
		return "`" + g.path + "` is empty.", true
	}
	return fmt.Sprintf("`%s`, %s:\n%s", g.path, counted(len(strings.Split(strings.TrimRight(s.result, "\n"), "\n")), "line", "lines"), excerpt(s.result, 14)), true
}

// theFile stands for "it" until it is known which file that is.
const theFile = "\x00it"

var pronoun = rx(`(?i)^\s*(?:it|this|that|that file|the file|this file|(?:the |this |my )?(?:attachment|attached file|attached document|document|upload)s?|that one|es|sie)(?:\s+again)?[\s.?!]*$`)

func isPronoun(s string) bool {
	return pronoun.MatchString(s)
}

type showFile struct{ path string }

var (
	showVerb = rx(`(?i)^(?:show(?: a preview of)?|show_file|preview|share|upload|post|zeig)\s+`)
	showMe   = rx(`(?i)^show me\s`)
)

func parseShow(s string, q *quoted, c *conversation) goal {
	m := showVerb.FindString(s)
	if m == "" || showMe.MatchString(s) && !strings.Contains(strings.ToLower(s), "preview") {
		return nil
	}
	list := files(s, q)
	if len(list) == 0 {
		if f := c.knownFile(s[len(m):]); f != "" {
			list = []string{f}
		} else if isPronoun(s[len(m):]) {
			list = []string{theFile}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return group(list, func(f string) goal { return showFile{path: f} })
}

func (g showFile) play(p *play) (string, bool) {
	if g.path == theFile {
		return "Which file do you mean? Say its name.", true
	}
	if p.c.tool("show_file") == "" && p.c.tool("fs_read") != "" {
		return readFile{path: g.path}.play(p)
	}
	s, ok := p.call("show_file", map[string]any{"path": g.path})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "show `"+g.path+"`"), true
	}
	return "Here is `" + g.path + "`, above in this thread.", true
}

type writeFile struct {
	path, content string
	appending     bool
}

// aLine is what comes before the words themselves: add a line "bye".
var aLine = rx(`(?i)^(?:a |an |the |another )?(?:new )?(?:line|text|word|item|entry|words)s?\s*(?:saying|with|that says|:)?\s+`)

var (
	writeNamed = rx(`(?is)^(?:write|create|make|save|add|put|store|schreib\w*|erstelle?|speicher\w*|leg\w*)\s+(?:me\s+)?(?:(?:a|an|the|another|new|empty|text|eine|die|neue|leere)\s+)*(?:file|datei|note|document)?\s*(?:called|named|namens)?\s*(FILE)\s*(?:an\b)?\s*(?:,?\s*(?:with:?|containing|that says|that contains|saying|mit|which says|and write|and put)\s+|:\s*|\n)?(?:(?:the |this |dem )?(?:following )?(?:text|contents?|line|words|inhalt)\s*:?\s*|the following:\s*)?(.*)$`)
	writeThere = rx(`(?is)^(?:write|save|put|store|note|make|schreib\w*)\s+(?:down\s+)?(?:the following(?: text)?|this|(?:a|the|my)(?: short| quick)? (?:note|text|line|file))\s+(?:to|into|in|as|at)\s+(?:the file\s+)?(FILE)\s*(?:saying(?: that)?|that says|with(?: the text)?|:)\s*(.+)$`)
	writeInto  = rx(`(?is)^(write|save|put|store|append|add|note|schreib\w*|speicher\w*|füge?)\s+(.+?)\s+(?:to|into|in|as|unter|at the end of|an)\s+(?:(?:a|an|the|new|file|die|eine|datei|end of)\s+)*(FILE)\s*(?:hinzu|an|ein)?[\s.]*$`)
)

func parseWrite(s string, q *quoted, c *conversation) goal {
	for _, f := range rawFiles(s, q) {
		named := strings.Replace(s, f, "FILE", 1)
		path := strings.TrimPrefix(q.text(f), "./")
		if m := writeThere.FindStringSubmatch(named); m != nil {
			content, exact := q.exact(m[2])
			if !exact {
				content = q.text(strings.TrimSpace(m[2]))
			}
			return writeFile{path: path, content: lineEnd(content, exact)}
		}
		if m := writeInto.FindStringSubmatch(named); m != nil && !strings.Contains(m[2], "FILE") {
			content, exact := q.exact(aLine.ReplaceAllString(m[2], ""))
			if !exact {
				content = q.text(aLine.ReplaceAllString(m[2], ""))
			}
			what := strings.ToLower(m[1])
			if content == "it" || content == "that" || content == "this" {
				content = c.lastFinding()
			}
			appending := what == "append" || what == "add" || strings.HasPrefix(what, "füg")
			return writeFile{path: path, content: lineEnd(content, exact && !appending), appending: appending}
		}
		if m := writeNamed.FindStringSubmatch(named); m != nil {
			content, exact := q.exact(m[2])
			if !exact {
				content = q.text(strings.TrimSpace(m[2]))
			}
			return writeFile{path: path, content: lineEnd(content, exact)}
		}
	}
	return nil
}

var fileOrQuote = rx(placeholder.source + "|" + fileToken.source)

// rawFiles finds file names as they stand in the masked clause, the first
// ones first.
func rawFiles(s string, q *quoted) []string {
	var out []string
	for _, at := range fileOrQuote.FindAllString(s, -1) {
		if inner := q.text(at); fileToken.FindString(inner) == inner {
			out = append(out, at)
		}
	}
	return out
}

// lineEnd gives typed text the line end that a file should have; what was
// quoted is taken exactly.
func lineEnd(s string, exact bool) string {
	if exact || s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// isPart is a result that a reader or the harness cut.
var isPart = rx(`\[(?:lines? \d[^\]]*more follows|truncated by the harness)`)

func (g writeFile) play(p *play) (string, bool) {
	content := g.content
	if g.appending {
		before, ok := p.call("fs_read", map[string]any{"path": g.path})
		if !ok {
			return "", false
		}
		if before.ok() && isPart.MatchString(before.result) {
			return "I did not add to `" + g.path + "`: it is too long for me to read whole, and I would lose the rest. Try `$ echo … >> " + g.path + "`.", true
		}
		if before.ok() && before.result != "" {
			content = lineEnd(before.result, false) + content
		}
	}
	s, ok := p.call("fs_write", map[string]any{"path": g.path, "content": content})
	if !ok {
		return "", false
	}
	path := g.path
	if s.outcome == denied {
		if other := fileToken.FindString(s.reason); other != "" && other != g.path {
			path = other
			if s, ok = p.call("fs_write", map[string]any{"path": other, "content": content}); !ok {
				return "", false
			}
		}
	}
	if !s.ok() {
		return trouble(s, "write `"+path+"`"), true
	}
	return fmt.Sprintf("I wrote `%s`, %s.", path, counted(len(content), "byte", "bytes")), true
}

type editFile struct{ path, old, new string }

var (
	editInFile   = rx(`(?is)^(?:replace|change|swap|correct|fix(?: the typo)?|ersetze?|ändere?)\s+(.+?)\s+(?:with|by|to|into|for|durch|zu|in)\s+(.+?)\s+(?:in|inside|of)\s+(?:the file\s+|der datei\s+)?(FILE)[\s.]*$`)
	editFileIn   = rx(`(?is)^(?:in|edit|change|update|modify|bearbeite)\s+(?:the file\s+)?(FILE)\s*[,:]?\s*(?:and|so that|by|to)?\s*(?:replac\w+|chang\w+|swap\w*|ersetz\w*|ändere)?\s+(.+?)\s+(?:with|by|to|into|becomes|durch|zu)\s+(.+?)[\s.]*$`)
	editWithRead = rx(`(?is)^(?:replace|change)\s+(.+?)\s+(?:with|by|to|into)\s+(.+?)[\s.]*$`)
)

func parseEdit(s string, q *quoted, c *conversation) goal {
	part := func(s string) string {
		s = aLine.ReplaceAllString(strings.TrimSpace(s), "")
		if inner, ok := q.exact(s); ok {
			return inner
		}
		return q.text(strings.TrimSpace(s))
	}
	for _, f := range rawFiles(s, q) {
		at := strings.LastIndex(s, f)
		named := s[:at] + "FILE" + s[at+len(f):]
		path := q.text(f)
		if m := editInFile.FindStringSubmatch(named); m != nil {
			return editFile{path, part(m[1]), part(m[2])}
		}
		if m := editFileIn.FindStringSubmatch(named); m != nil {
			return editFile{path, part(m[2]), part(m[3])}
		}
	}
	if m := editWithRead.FindStringSubmatch(s); m != nil && c.lastFile() != "" {
		return editFile{c.lastFile(), part(m[1]), part(m[2])}
	}
	return nil
}

func (g editFile) play(p *play) (string, bool) {
	s, ok := p.call("fs_edit", map[string]any{"path": g.path, "old": g.old, "new": g.new})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, fmt.Sprintf("replace %q in `%s`", short(g.old, 60), g.path)), true
	}
	return fmt.Sprintf("In `%s` it now says %q instead of %q.", g.path, short(g.new, 80), short(g.old, 80)), true
}
