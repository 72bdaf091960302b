package offline

import (
	"fmt"
	"strconv"
	"strings"
)

// draftMail, replyMail, checkMail and findMail are the wishes about mail.
type draftMail struct {
	to, cc   []string
	name     string // who it is for, when no address was given
	subject  string
	topic    string
	saying   string
	verbatim bool     // saying is the body, to the letter
	files    []string // what was read before and belongs in it
	attach   []string
}

var topicPronoun = rx(`(?i)^(?:it|this|that|them)$`)

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
	if isPronoun(topic) || topicPronoun.MatchString(topic) || topic == "" && g.saying == "" && len(g.files) > 0 {
		topic = topicOf(g.files)
	}
	subject := g.subject
	if subject == "" {
		subject = asSubject(topic, g.saying)
	}
	body := g.saying
	if !g.verbatim {
		body = letter(greeting(name, g.to[0]), topic, g.saying, material, p.c.owner)
	}
	args := map[string]any{"to": g.to, "subject": subject, "body": body}
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

var draftID = rx("`([\\w-]{6,})`|\\b(\\d{8}-[0-9a-z]+)\\b")

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
	if g.path == theFile {
		return "What shall I send? Say the name of the file.", true
	}
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
	subject := g.topic
	body := greeting("", g.to[0]) + "\n\n" + content + "\n\n" + signature(p.c.owner)
	return p.send("mail_send", map[string]any{"to": g.to, "subject": subject, "body": body},
		fmt.Sprintf("a mail to %s with %s", strings.Join(g.to, ", "), g.topic))
}

type checkMail struct{}

// listTotal is how many there are; the list may show fewer.
var listTotal = rx(`^(\d+) mails?\b`)

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
	total := len(mails)
	if m := listTotal.FindStringSubmatch(s.result); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			total = max(n, total)
		}
	}
	fmt.Fprintf(&b, "You have %s, newest first:\n", counted(total, "mail", "mails"))
	for i, m := range mails {
		if i == 12 {
			fmt.Fprintf(&b, "- … and %d older ones\n", total-i)
			break
		}
		fmt.Fprintf(&b, "- **%s**, from %s: %s\n", m.subject, m.from, short(m.begins, 90))
	}
	b.WriteString("Say “read the mail from …” or “reply to …” and I go on from there.")
	return b.String(), true
}

// findMail looks a mail up and reads its thread. Without a who it is the
// newest one.
type findMail struct{ who string }

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

// forwardMail finds a mail, reads it and sends its words on.
type forwardMail struct {
	who string
	to  []string
}

func (g forwardMail) play(p *play) (string, bool) {
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
		return trouble(s, "read the mail to forward"), true
	}
	last := lastMessage(s.result)
	body := fmt.Sprintf("%s\n\n%s wrote:\n\n%s\n\n%s", greeting("", g.to[0]), found.from, strings.TrimSpace(last.body), signature(p.c.owner))
	subject := "Fwd: " + found.subject
	return p.send("mail_send", map[string]any{"to": g.to, "subject": subject, "body": body},
		fmt.Sprintf("a mail to %s (“%s”)", strings.Join(g.to, ", "), subject))
}

// replyMail finds a mail, reads its thread and answers it.
type replyMail struct {
	who    string
	topic  string
	saying string
	all    bool
	files  []string
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
		return letter(hello, "", g.saying, "", p.c.owner)
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
