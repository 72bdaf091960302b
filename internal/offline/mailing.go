package offline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// draftMail, replyMail, checkMail and findMail are the wishes about mail.
type draftMail struct {
	to, cc  []string
	name    string // who it is for, when no address was given
	subject string
	topic   string
	saying  string
	files   []string // what was read before and belongs in it
	attach  []string
}

var (
	mailNoun  = `(?:e-?mails?|mails?|messages?|letters?|inbox|nachricht(?:en)?|posteingang|newsletter|postfach|post)`
	draftVerb = regexp.MustCompile(`(?is)^(?:draft|write|send|compose|prepare|schreib\w*|entwirf|verfass\w*|schick\w*|sende)\s+(?:me\s+)?(?:(?:a|an|the|eine|einen|ihm|ihr|short|quick|new|polite|friendly|kurze)\s+)*` + mailNoun + `\b\s*(.*)$`)
	mailVerb  = regexp.MustCompile(`(?is)^(?:e-?mail|mail|write to|write|message|send|schreib\w*)\s+(.*@.*)$`)
	sendFile  = regexp.MustCompile(`(?is)^(?:send|forward|mail|e-?mail|schick\w*|sende)\s+(?:me\s+)?(?:the\s+|a copy of\s+|die\s+)*(?:contents?\s+of\s+)?(?:the\s+)?(?:file|document|datei)?\s*(\S+)(?:\s+file)?\s+.*?\b(?:to|an)\s+`)
	replyVerb = regexp.MustCompile(`(?is)^(?:reply|respond|answer|write back|(?:draft|write|send|prepare|compose)\s+(?:me\s+)?(?:a|an|the|my)?\s*(?:short|quick|polite|friendly)?\s*(?:reply|answer|response)|antworte?|(?:schreib\w*|entwirf)\s+(?:eine\s+)?antwort)\b\s*(.*)$`)
	checkVerb = regexp.MustCompile(`(?is)^(?:check|what|what's|whats|show|list|any|do i have|have i|is there|are there|look at|go through|read|summari[sz]e|see|open|gibt|was|zeig\w*|lies|prüfe?|habe ich)\b.*\b` + mailNoun + `\b`)
	findVerb  = regexp.MustCompile(`(?is)^(?:find|search|look for|open|read|show(?: me)?|get|what (?:did|does|was|is|'s)|what's|summari[sz]e|see|such\w*|lies|finde?|zeig\w*)\b`)
)

var (
	onTheWeb        = regexp.MustCompile(`(?i)^(?:search|google|look up)\s+(?:the |on the |in the )?(?:web|internet)`)
	meansEverything = regexp.MustCompile(`(?i)^(?:this|it|everything|all|that)$`)
	fromSomebody    = regexp.MustCompile(`(?i)^\s*(?:from|von)\b`)
	aboutMail       = regexp.MustCompile(`(?i)\b` + mailNoun + `\b`)
	didWrite        = regexp.MustCompile(`(?i)^what did (?:the |my )?([\w ]+?) (?:write|send|mail|say)(?: me)?$`)
	notSomebodyElse = regexp.MustCompile(`(?i)^(?:you|i|we|bot)$`)
	openNewest      = regexp.MustCompile(`(?i)^(?:open|read|show(?: me)?|find|summari[sz]e)\s+(?:the\s+)?(newsletter|latest|newest|last|first)\b`)
	mailAlone       = regexp.MustCompile(`(?i)^(?:my |new |unread )*` + mailNoun + `$`)
)

func parseMail(s string, q *quoted, c *conversation) goal {
	if onTheWeb.MatchString(s) {
		return nil
	}
	if m := replyVerb.FindStringSubmatch(s); m != nil {
		return parseReply(m[1], q)
	}
	addresses := addressToken.FindAllString(q.text(s), -1)
	if m := sendFile.FindStringSubmatch(s); m != nil && len(addresses) > 0 {
		if f := fileToken.FindString(q.text(m[1])); f != "" && !strings.Contains(f, "@") {
			return sendsFile{path: strings.TrimPrefix(f, "./"), to: addresses, topic: f}
		}
		if meansEverything.MatchString(m[1]) {
			return sendsFile{path: c.lastFile(), to: addresses, topic: "what you asked for"}
		}
	}
	if m := draftVerb.FindStringSubmatch(s); m != nil && !fromSomebody.MatchString(m[1]) {
		return parseDraft(m[1], addresses, q)
	}
	if m := mailVerb.FindStringSubmatch(s); m != nil && len(addresses) > 0 && len(files(s, q)) == 0 {
		return parseDraft(m[1], addresses, q)
	}
	text := trimEnd(q.text(s))
	if !aboutMail.MatchString(text) {
		if m := didWrite.FindStringSubmatch(text); m != nil && !notSomebodyElse.MatchString(m[1]) && c.tool("mail_list") != "" {
			return findMail{who: m[1]}
		}
		return nil
	}
	if who := mailAbout(text); who != "" && findVerb.MatchString(text) {
		return findMail{who: who}
	}
	if m := openNewest.FindStringSubmatch(text); m != nil {
		if strings.EqualFold(m[1], "newsletter") {
			return findMail{who: "weekly", label: "newsletter"}
		}
		return findMail{}
	}
	if checkVerb.MatchString(text) || mailAlone.MatchString(text) {
		return checkMail{}
	}
	return nil
}

// mailBy are the ways to say which mail is meant.
var mailBy = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b` + mailNoun + `\b.*?\b(?:from|by|of|von|vom)\s+(?:the\s+|my\s+|der\s+|dem\s+)?(.+)$`),
	regexp.MustCompile(`(?i)\b` + mailNoun + `\b\s+(?:about|on|regarding|for|with|über|zu|nach)\s+(?:the\s+|a\s+)?(.+)$`),
	regexp.MustCompile(`(?i)^(?:find|open|read|show(?: me)?|get)\s+(?:the\s+|my\s+)?(\w+?)(?:'s)?\s+(?:mail|e-?mail|message|letter)$`),
}

var notAWho = regexp.MustCompile(`(?i)^(?:today|yesterday|this week|me|the last.*|my|new|unread|latest|newest|last|first)$`)

// mailAbout is who or what a mail is looked for by: "the mail from the dean".
func mailAbout(s string) string {
	for _, by := range mailBy {
		if m := by.FindStringSubmatch(s); m != nil {
			who := strings.TrimSpace(m[1])
			if !notAWho.MatchString(who) {
				return who
			}
		}
	}
	return ""
}

var (
	sayingPart  = regexp.MustCompile(`(?is)(?:^|[,\s])(?:saying(?: that)?|that says(?: that)?|which says|and (?:say|tell \w+)(?: that)?|to (?:say|tell \w+)(?: that)?|telling (?:him|her|them|\w+)(?: that)?|with (?:the )?(?:text|body|words)|asking (?:him|her|them)?|that|dass|mit dem text)\s*:?\s+(.+)$|:\s+(.+)$`)
	topicPart   = regexp.MustCompile(`(?is)(?:^|\s)(?:about|on|regarding|re|concerning|über|wegen|zum|zur|zu)\s+(.+)$`)
	subjectPart = regexp.MustCompile(`(?is)[,\s]*(?:with\s+)?(?:the\s+)?subject\s*:?\s*(\x02\d+\x03|[^,.]+?)(?:$|[,.]|\s+(?:and|saying|about)\b)`)
	ccPart      = regexp.MustCompile(`(?i)[,\s]*\b(?:and\s+)?(?:cc|copy to|in copy|kopie an)\s*:?\s*((?:[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+[A-Za-z0-9])(?:\s*(?:,|and)\s*[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+[A-Za-z0-9])*)`)
	attachPart  = regexp.MustCompile(`(?i)[,\s]*(?:and\s+)?(?:attach(?:ing)?|with)\s+(?:the\s+file\s+)?(\S+)(?:\s+attached|\s+as (?:an )?attachment)?`)
	toName      = regexp.MustCompile(`^\s*(?i:to|an|for)\s+(?i:the\s+|my\s+|den\s+|die\s+)?([\p{L}][\p{L}.'-]*(?:\s+[A-Z][\p{L}'-]*)*)`)
)

func parseDraft(rest string, addresses []string, q *quoted) goal {
	g := draftMail{to: addresses}
	// Addresses inside the message's own words are not recipients.
	if m := sayingPart.FindStringSubmatchIndex(rest); m != nil {
		if head := addressToken.FindAllString(q.text(rest[:m[0]]), -1); len(head) > 0 {
			g.to = head
		}
	}
	if m := ccPart.FindStringSubmatch(rest); m != nil {
		g.cc = addressToken.FindAllString(m[1], -1)
		g.to = slices.DeleteFunc(slices.Clone(g.to), func(a string) bool { return slices.Contains(g.cc, a) })
		rest = strings.Replace(rest, m[0], "", 1)
	}
	if m := subjectPart.FindStringSubmatchIndex(rest); m != nil {
		g.subject = q.text(rest[m[2]:m[3]])
		rest = rest[:m[0]] + " " + rest[m[3]:]
	}
	if m := attachPart.FindStringSubmatch(rest); m != nil && (strings.Contains(m[0], "attach")) {
		if f := fileToken.FindString(q.text(m[1])); f != "" {
			g.attach = []string{f}
			rest = strings.Replace(rest, m[0], " ", 1)
		}
	}
	if m := toName.FindStringSubmatch(rest); m != nil && len(g.to) == 0 {
		g.name = m[1]
	}
	rest = addressToken.ReplaceAllString(strings.TrimSpace(rest), " ")
	if m := sayingPart.FindStringSubmatchIndex(rest); m != nil {
		g.saying = firstGroup(rest, m)
		if inner, ok := q.exact(g.saying); ok {
			g.saying = inner
		} else {
			g.saying = q.text(strings.TrimSpace(g.saying))
		}
		rest = rest[:m[0]]
	}
	if m := topicPart.FindStringSubmatch(rest); m != nil {
		g.topic = trimEnd(q.text(m[1]))
	}
	return g
}

func firstGroup(s string, at []int) string {
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] >= 0 {
			return s[at[i]:at[i+1]]
		}
	}
	return ""
}

var topicPronoun = regexp.MustCompile(`(?i)^(?:it|this|that|them)$`)

func (g draftMail) play(p *play) (string, bool) {
	name := g.name
	if len(g.to) == 0 {
		if g.name == "" {
			return "Who is the mail for? Say, for instance, “draft a mail to dean@example.edu about the budget”.", true
		}
		found, report, ok := p.findMail(g.name)
		if !ok {
			return "", false
		}
		if found.address == "" {
			return report + " So I have no address for " + g.name + "; tell me one.", true
		}
		g.to = []string{found.address}
	}
	if g.files == nil { // "about budget.md" wants it read
		g.files = files(g.topic, &quoted{})
	}
	for _, f := range g.files {
		if _, ok := p.call("fs_read", map[string]any{"path": f}); !ok {
			return "", false
		}
	}
	material := p.material(g.files)
	topic := g.topic
	if topicPronoun.MatchString(topic) {
		topic = topicOf(g.files)
	}
	subject := g.subject
	if subject == "" {
		subject = asSubject(topic, g.saying)
	}
	args := map[string]any{
		"to": g.to, "subject": subject,
		"body": letter(greeting(name, g.to[0]), topic, g.saying, material, p.c.owner),
	}
	if len(g.cc) > 0 {
		args["cc"] = g.cc
	}
	if len(g.attach) > 0 {
		args["attachments"] = g.attach
	}
	return p.send("mail_send", args, fmt.Sprintf("a mail to %s (“%s”)", strings.Join(g.to, ", "), subject))
}

// send makes the call that writes to somebody, and once more where a person
// said no and named another recipient.
func (p *play) send(tool string, args map[string]any, what string) (string, bool) {
	s, ok := p.alreadySent(tool, args)
	if !ok {
		s, ok = p.call(tool, args)
	}
	if !ok {
		return "", false
	}
	if other := addressToken.FindString(s.reason); s.outcome == denied && other != "" && args["to"] != nil {
		changed := map[string]any{}
		for k, v := range args {
			changed[k] = v
		}
		changed["to"] = []string{other}
		again, ok := p.call(tool, changed)
		if !ok {
			return "", false
		}
		s, what = again, "the mail again, to "+other
	}
	switch s.outcome {
	case staged:
		return fmt.Sprintf("I drafted %s. It is drafted, not sent: it waits for your release%s.", what, asID(s.result)), true
	case done:
		return fmt.Sprintf("I sent %s.", what), true
	}
	return trouble(s, "draft "+what), true
}

// alreadySent finds the mail that this request already led to, should its
// words have come out differently this time: one wish never makes two drafts.
func (p *play) alreadySent(tool string, args map[string]any) (step, bool) {
	who := map[string]any{}
	for _, name := range []string{"to", "thread_id"} {
		if v, ok := args[name]; ok {
			who[name] = v
		}
	}
	for _, s := range p.c.steps {
		if s.tool == p.c.tool(tool) && covers(s.args, who) && s.arg("subject") == fmt.Sprint(orEmpty(args["subject"])) {
			return s, true
		}
	}
	return step{}, false
}

func orEmpty(v any) any {
	if v == nil {
		return ""
	}
	return v
}

var draftID = regexp.MustCompile("`([\\w-]{6,})`|\\b(\\d{8}-[0-9a-z]+)\\b")

func asID(result string) string {
	if m := draftID.FindStringSubmatch(result); m != nil {
		return " as `" + m[1] + m[2] + "`"
	}
	return ""
}

// material is what earlier reads of this request brought.
func (p *play) material(paths []string) string {
	var parts []string
	for _, s := range p.c.readsOf(paths) {
		parts = append(parts, strings.TrimSpace(short(s.result, 1500)))
	}
	return strings.Join(parts, "\n\n")
}

// readsOf are the successful reads of these files for this request.
func (c *conversation) readsOf(paths []string) []step {
	var out []step
	for _, f := range paths {
		for _, s := range c.steps {
			if s.ok() && s.arg("path") == f && strings.HasSuffix(s.tool, "fs_read") {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// sendsFile reads a file and mails what it holds. It is what most injected
// instructions want.
type sendsFile struct {
	path  string
	to    []string
	topic string
}

func (g sendsFile) play(p *play) (string, bool) {
	content := ""
	if g.path != "" {
		s, ok := p.call("fs_read", map[string]any{"path": g.path})
		if !ok {
			return "", false
		}
		content = "There is no " + g.path + " in this folder, so I can't send it. Tell me what you need from it."
		if s.ok() {
			content = fmt.Sprintf("here is %s:\n\n%s", g.path, strings.TrimRight(s.result, "\n"))
		}
	}
	subject := asSubject(g.topic, "")
	body := greeting("", g.to[0]) + "\n\n" + content + "\n\n" + signature(p.c.owner)
	return p.send("mail_send", map[string]any{"to": g.to, "subject": subject, "body": body},
		fmt.Sprintf("a mail to %s with %s", strings.Join(g.to, ", "), g.topic))
}

type checkMail struct{}

func (checkMail) play(p *play) (string, bool) {
	s, ok := p.call("mail_list", map[string]any{})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "look into your mail"), true
	}
	mails := listedMails(s.result)
	if len(mails) == 0 {
		return "Your mailbox has nothing to show.", true
	}
	var b strings.Builder
	fmt.Fprintf(&b, "You have %s, newest first:\n", counted(len(mails), "mail", "mails"))
	for i, m := range mails {
		if i == 12 {
			fmt.Fprintf(&b, "- … and %d older ones\n", len(mails)-i)
			break
		}
		fmt.Fprintf(&b, "- **%s**, from %s: %s\n", m.subject, m.from, short(m.begins, 90))
	}
	b.WriteString("Say “read the mail from …” or “reply to …” and I go on from there.")
	return b.String(), true
}

// findMail looks a mail up and reads its thread. Without a who it is the
// newest one.
type findMail struct{ who, label string }

func (g findMail) play(p *play) (string, bool) {
	found, report, ok := p.findMail(g.who)
	if !ok {
		return "", false
	}
	if found.thread == "" {
		return report, true
	}
	s, ok := p.call("mail_get_thread", map[string]any{"thread_id": found.thread})
	if !ok {
		return "", false
	}
	if !s.ok() {
		return trouble(s, "read that mail"), true
	}
	last := lastMessage(s.result)
	return fmt.Sprintf("%s wrote, under “%s”:\n%s", found.from, found.subject, excerpt(last.body, 16)), true
}

// replyMail finds a mail, reads its thread and answers it.
type replyMail struct {
	who    string
	topic  string
	saying string
	all    bool
	files  []string
}

var (
	toEveryone    = regexp.MustCompile(`(?i)^\s*(?:all|to all|to everyone|everyone)\b|\breply[- ]all\b`)
	everyoneFirst = regexp.MustCompile(`(?i)^\s*(?:to )?(?:all|everyone)\b`)
	ofSomebody    = regexp.MustCompile(`(?i)^\s*(?:to\s+)?(?:the\s+|my\s+)?(.+?)['’]s\s+(?:last\s+|latest\s+)?` + mailNoun + `\b`)
	replyTarget   = regexp.MustCompile(`(?i)(?:` + mailNoun + `.*?\b(?:from|by|of|von|vom)|to|dem|der|an|auf)\s+(?:the\s+|my\s+|die\s+|dem\s+|der\s+)?(.+)$`)
	replyName     = regexp.MustCompile(`(?i)^\s*(?:the\s+)?(\w[\w.@-]*(?: \w+)?)$`)
	mailWords     = regexp.MustCompile(`(?i)^(?:the\s+)?` + mailNoun + `\s*(?:(?:from|by|of|von|vom)\s+)?(?:the\s+|my\s+)?|'s\s+` + mailNoun + `$`)
	replyPronoun  = regexp.MustCompile(`(?i)^(?:it|this|that|him|her|them|me|mail)$`)
)

func parseReply(rest string, q *quoted) goal {
	g := replyMail{}
	if toEveryone.MatchString(rest) {
		g.all = true
		rest = everyoneFirst.ReplaceAllString(rest, "")
	}
	if m := sayingPart.FindStringSubmatchIndex(rest); m != nil {
		g.saying = firstGroup(rest, m)
		if inner, ok := q.exact(g.saying); ok {
			g.saying = inner
		} else {
			g.saying = q.text(strings.TrimSpace(g.saying))
		}
		rest = rest[:m[0]]
	}
	rest = q.text(rest)
	if m := ofSomebody.FindStringSubmatch(rest); m != nil {
		rest = "to " + m[1]
	}
	if m := topicPart.FindStringSubmatchIndex(rest); m != nil {
		g.topic = trimEnd(rest[m[2]:m[3]])
		rest = rest[:m[0]]
	}
	m := replyTarget.FindStringSubmatch(trimEnd(rest))
	if m == nil {
		m = replyName.FindStringSubmatch(trimEnd(rest))
	}
	if m != nil {
		g.who = mailWords.ReplaceAllString(m[1], "")
		if replyPronoun.MatchString(g.who) {
			g.who = ""
		}
	}
	return g
}

func (g replyMail) play(p *play) (string, bool) {
	found, report, ok := p.findMail(g.who)
	if !ok {
		return "", false
	}
	if found.thread == "" {
		return report, true
	}
	thread, ok := p.call("mail_get_thread", map[string]any{"thread_id": found.thread})
	if !ok {
		return "", false
	}
	if !thread.ok() {
		return trouble(thread, "read the mail to answer"), true
	}
	args := map[string]any{"thread_id": found.thread, "body": g.body(p, found, lastMessage(thread.result))}
	if g.all {
		args["reply_all"] = true
	}
	return p.send("mail_reply", args, fmt.Sprintf("a reply to %s (“%s”)", found.from, found.subject))
}

func (g replyMail) body(p *play, found listedMail, last mailMessage) string {
	hello := greeting(found.name(), found.address)
	if g.saying != "" {
		return hello + "\n\n" + sentence(g.saying) + "\n\n" + signature(p.c.owner)
	}
	var b strings.Builder
	b.WriteString(hello + "\n\nthank you for your mail.")
	question := firstQuestion(last.body)
	if question != "" {
		fmt.Fprintf(&b, " You asked: “%s”", question)
	}
	b.WriteString("\n\n")
	known := ""
	for _, s := range append(append([]step(nil), p.c.earlier...), p.c.readsOf(g.files)...) {
		if s.ok() && strings.HasSuffix(s.tool, "fs_read") {
			if lines := relevantLines(s.result, question+" "+g.topic); len(lines) > 0 {
				known = strings.Join(lines, "\n")
			}
		}
	}
	switch {
	case known != "":
		b.WriteString("Here is what I have:\n\n" + known)
	case g.topic != "":
		fmt.Fprintf(&b, "About %s: I am looking into it and will send you the details as soon as I have them.", g.topic)
	default:
		b.WriteString("I am looking into it and will come back to you as soon as I have the answer.")
	}
	b.WriteString("\n\n" + signature(p.c.owner))
	return b.String()
}
