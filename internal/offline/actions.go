package offline

import (
	"encoding/json"
	"fmt"
	"strings"
)

// runCommand, fetchPage, searchWeb, openThread, useTool and delegate are the
// wishes that reach beyond the thread's files.
type runCommand struct{ command string }

var runVerb = rx(`(?is)^(?:run|execute|exec|führe)(?:\s*:)?\s+(?:the\s+|den\s+)?(?:shell\s+)?(?:command\s*:?|befehl\s*:?)?\s*(.+?)(?:\s+aus)?$`)

func parseShellPrompt(s string, q *quoted, _ *conversation) goal {
	if cmd, ok := strings.CutPrefix(s, "$ "); ok {
		return runCommand{strings.TrimSpace(q.raw(cmd))}
	}
	return nil
}

var (
	moves      = rx(`(?i)^(?:rename|move|mv|benenne)\b`)
	deletes    = rx(`(?i)^(?:delete|remove|rm|lösche?)\b`)
	asksTime   = rx(`(?i)^what(?:'s| is) the (?:time|date)\b|^what time is it|^wie spät`)
	meansTests = rx(`(?i)^(?:the |all |my )?tests?[\s.!?]*$`)
)

func parseRun(s string, q *quoted, _ *conversation) goal {
	m := runVerb.FindStringSubmatch(s)
	if m == nil {
		if asksTime.MatchString(s) {
			return runCommand{"date"}
		}
		if list := files(s, q); moves.MatchString(s) && len(list) == 2 {
			return runCommand{"mv -n -- " + shellWord(list[0]) + " " + shellWord(list[1])}
		} else if deletes.MatchString(s) && len(list) > 0 {
			return runCommand{"rm -- " + shellWord(list[0])}
		}
		return nil
	}
	cmd := strings.TrimSpace(m[1])
	if inner, ok := q.exact(cmd); ok {
		return runCommand{inner}
	}
	if meansTests.MatchString(cmd) {
		return runCommand{"if [ -f go.mod ]; then go test ./...; elif [ -f package.json ]; then npm test; elif [ -f Makefile ]; then make test; else python3 -m pytest -q; fi"}
	}
	return runCommand{trimEnd(q.raw(cmd))}
}

// shellWord quotes a file name only where the shell needs it.
func shellWord(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

var plainWord = rx(`^[\w./-]+$`)

// raw puts quoted pieces back with quotes that a shell understands.
func (q *quoted) raw(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		inner := q.text(m)
		if strings.Contains(inner, `'`) {
			return `"` + inner + `"`
		}
		return `'` + inner + `'`
	})
}

func (g runCommand) play(p *play) (string, bool) {
	s, ok := p.call("shell", map[string]any{"command": g.command})
	if !ok {
		return "", false
	}
	command, note := g.command, ""
	if s.outcome == denied {
		if other := instead(g.command, s.reason); other != "" && other != g.command {
			note = fmt.Sprintf("You said: %s. So I ran `%s` instead.\n", s.reason, other)
			command = other
			if s, ok = p.call("shell", map[string]any{"command": other}); !ok {
				return "", false
			}
		}
	}
	if s.outcome == failed {
		return fmt.Sprintf("%s`%s` failed:\n%s", note, short(command, 120), excerpt(s.result, 14)), true
	}
	if !s.ok() {
		return trouble(s, "run `"+short(command, 120)+"`"), true
	}
	if strings.TrimSpace(s.result) == "" || strings.HasPrefix(s.result, "(no output)") {
		return fmt.Sprintf("%s`%s` ran and printed nothing.", note, short(command, 120)), true
	}
	return fmt.Sprintf("%s`%s` printed:\n%s", note, short(command, 120), excerpt(s.result, 20)), true
}

var (
	backticked = rx("`([^`]+)`")
	meansVenv  = rx(`(?i)\bvenv\b|virtual ?env`)
	useInstead = rx(`(?i)^(?:use|run|try)\s+(\S+(?: \S+){0,6}) instead`)
)

// instead reads a reason for a denial as a better command, where it is one.
func instead(command, reason string) string {
	if m := backticked.FindStringSubmatch(reason); m != nil {
		return m[1]
	}
	if meansVenv.MatchString(reason) && !strings.Contains(command, ".venv") {
		return ". .venv/bin/activate && " + command
	}
	if m := useInstead.FindStringSubmatch(reason); m != nil {
		return m[1]
	}
	return ""
}

type fetchPage struct{ url string }

var permalink = rx(`/archives/([A-Z0-9]+)/p(\d{10})(\d{6})(?:\?\S*?thread_ts=(\d+\.\d+))?`)

var (
	bareHost  = rx(`(?i)^(?:fetch|download|visit|browse|open|go to|hole?|lade)\s+(?:the page\s+|die seite\s+)?((?:[a-z0-9-]+\.)+(?:com|org|net|edu|gov|io|dev|info|de|at|ch|eu|uk|fr)(?:/\S*)?)[\s.?!]*$`)
	fetchVerb = rx(`(?i)^(?:https?:|fetch|get|open|read|load|download|visit|browse|look at|check|summari[sz]e|show|see|go to|what|hole?|lade|lies|öffne|rufe?|curl|call|click|confirm)`)
)

func parseURL(s string, q *quoted, _ *conversation) goal {
	s = q.text(s)
	urls := urlToken.FindAllString(s, -1)
	if len(urls) == 0 {
		m := bareHost.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		urls = []string{"https://" + strings.TrimRight(m[1], ".,;")}
	}
	if m := permalink.FindStringSubmatch(urls[0]); m != nil {
		ts := m[2] + "." + m[3]
		if m[4] != "" {
			ts = m[4]
		}
		return openThread{m[1], ts}
	}
	if !fetchVerb.MatchString(s) {
		return nil
	}
	return group(urls, func(u string) goal { return fetchPage{u} })
}

func (g fetchPage) play(p *play) (string, bool) {
	s, ok := p.call("http_fetch", map[string]any{"url": g.url})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "fetch "+g.url), true
	}
	return fmt.Sprintf("%s says:\n%s", g.url, excerpt(s.result, 12)), true
}

type openThread struct{ channel, ts string }

func (g openThread) play(p *play) (string, bool) {
	s, ok := p.call("slack_read_thread", map[string]any{"channel": g.channel, "thread_ts": g.ts})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "read that Slack thread"), true
	}
	return "That thread says:\n" + excerpt(s.result, 14), true
}

type searchWeb struct {
	query string
	open  bool // and read the first result
}

var (
	webAtEnd   = rx(`(?i)\s+(?:on|in) the (?:web|internet)$`)
	searchVerb = rx(`(?is)^(search|google|look up|research|find out|web search|suche?|recherchiere?|find)\s*:?\s+(?:(?:the |on the |in the |im )?(?:web|internet|net|online|netz)\b\s*)?(?:(?:for|about|on|nach|zu|up)\b)?\s*(.+)$`)
	meansWeb   = rx(`(?i)\b(?:web|online|internet)\b`)
)

func parseSearch(s string, q *quoted, _ *conversation) goal {
	m := searchVerb.FindStringSubmatch(s)
	if m == nil || strings.EqualFold(m[1], "find") && !meansWeb.MatchString(s) {
		return nil
	}
	query := trimEnd(q.text(m[2]))
	query = webAtEnd.ReplaceAllString(query, "")
	verb := strings.ToLower(m[1])
	return searchWeb{query: query, open: verb == "research" || verb == "find out" || strings.HasPrefix(verb, "recherch")}
}

var handle = rx(`(?im)(?:handle["']?\s*[:=]\s*["']?|\[)([A-Za-z0-9][\w.-]{0,60})["'\]]?`)

func (g searchWeb) play(p *play) (string, bool) {
	s, ok := p.call("web_search", map[string]any{"query": g.query})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, fmt.Sprintf("search the web for %q", g.query)), true
	}
	report := fmt.Sprintf("For %q the search found:\n%s", g.query, excerpt(s.result, 16))
	if m := handle.FindStringSubmatch(s.result); g.open && m != nil && p.c.tool("web_open") != "" {
		page, ok := p.call("web_open", map[string]any{"handle": m[1]})
		if !ok {
			return "", false
		}
		if !page.ok() {
			return report + "\n\n" + trouble(page, "open the first result"), true
		}
		report += "\n\nThe first result says:\n" + excerpt(page.result, 12)
	}
	return report, true
}

// useTool calls any offered tool by its name: the way to try a server of
// one's own.
type useTool struct {
	name string
	args map[string]any
	raw  json.RawMessage // as it was given; nil: args
}

// again is what the harness says for the owner who asks for a call that went
// unanswered.
var again = rx("(?s)ask me again for `?([\\w-]+)`? with exactly these arguments: (\\{.*\\})\\s*$")

func parseAgain(text string) goal {
	m := again.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	g := useTool{name: m[1], raw: json.RawMessage(m[2])}
	if json.Unmarshal(g.raw, &g.args) != nil {
		return nil
	}
	return g
}

var toolUse = rx(`(?is)^(?:call|use|invoke)\s+(?:the\s+)?(?:tool\s+)?(\S+?)(?:\s+tool)?(?:\s+with|\s+on|\s+for|:)?(?:\s+(.*))?$`)

func parseToolUse(s string, q *quoted, c *conversation) goal {
	m := toolUse.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	name := c.tool(q.text(strings.TrimRight(m[1], ".,:")))
	if name == "" {
		return nil
	}
	given := strings.TrimSpace(q.original(m[2]))
	args := map[string]any{}
	if strings.HasPrefix(given, "{") {
		if json.Unmarshal([]byte(given), &args) != nil {
			return nil
		}
	} else if given != "" {
		// Plain words fit a foreign tool that takes one text. What is built in
		// has words of its own: "use the shell to …" is no command line.
		prop := onlyString(c.schemaOf(name))
		if prop == "" || !strings.Contains(name, "__") {
			return nil
		}
		args[prop] = q.text(m[2])
	}
	return useTool{name: name, args: args}
}

// original puts quoted pieces back with double quotes: JSON as it was typed.
func (q *quoted) original(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		inner := q.text(m)
		if strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return inner
		}
		return `"` + inner + `"`
	})
}

// onlyString is the first required property of a schema, or its only one, if
// it is a string.
func onlyString(schema string) string {
	var sc struct {
		Properties map[string]struct {
			Type string `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	if json.Unmarshal([]byte(schema), &sc) != nil {
		return ""
	}
	names := sc.Required
	if len(names) == 0 {
		names = sortedKeys(sc.Properties)
	}
	if len(names) > 0 && sc.Properties[names[0]].Type == "string" {
		return names[0]
	}
	return ""
}

func (g useTool) play(p *play) (string, bool) {
	raw := g.raw
	if raw == nil {
		var err error
		if raw, err = marshal(g.args); err != nil {
			return "I could not write these arguments: " + err.Error(), true
		}
	}
	s, ok := p.callExactly(g.name, g.args, raw)
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "use `"+g.name+"`"), true
	}
	return fmt.Sprintf("`%s` answered:\n%s", g.name, excerpt(s.result, 16)), true
}

// delegate hands a task to a subagent: a tool that takes a task.
type delegate struct{ tool, task string }

var delegateVerb = rx(`(?is)^(?:delegate|hand over|research|have (?:the )?(\w+) (?:agent|helper|subagent)|ask (?:the )?(\w+) (?:agent|helper|subagent) to|let (?:the )?(\w+) (?:agent|helper|subagent))\s*:?\s*(.+)$`)

func parseDelegate(s string, q *quoted, c *conversation) goal {
	m := delegateVerb.FindStringSubmatch(s)
	if m == nil {
		return nil
	}
	wanted := strings.ToLower(m[1] + m[2] + m[3])
	for _, t := range c.tools {
		if onlyString(string(t.Function.Parameters)) != "task" {
			continue
		}
		if wanted == "" || strings.Contains(strings.ToLower(t.Function.Name), wanted) {
			return delegate{t.Function.Name, trimEnd(q.text(m[4]))}
		}
	}
	if strings.HasPrefix(strings.ToLower(s), "research") {
		return nil // a search will do
	}
	return delegate{"", trimEnd(q.text(m[4]))}
}

func (g delegate) play(p *play) (string, bool) {
	if g.tool == "" {
		return "There is nobody to delegate to: a `[[subagent]]` table in config.toml makes one.", true
	}
	s, ok := p.call(g.tool, map[string]any{"task": g.task})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "delegate to `"+g.tool+"`"), true
	}
	return fmt.Sprintf("`%s` came back with:\n%s", g.tool, excerpt(s.result, 16)), true
}
