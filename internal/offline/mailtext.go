package offline

import (
	"fmt"
	"net/mail"
	"strings"
)

// listedMail is one entry of what mail_list answered.
type listedMail struct {
	thread, from, address, subject, begins string
}

func (m listedMail) name() string {
	if a, err := mail.ParseAddress(m.from); err == nil {
		return a.Name
	}
	return ""
}

var threadIDText = rx(`"?thread_id"?\s*[:=]\s*"?([^\s",}]+)`)

// listedMails reads a list of mails in whatever layout has a thread_id before
// each, as lines or as JSON.
func listedMails(s string) []listedMail {
	at := threadIDText.FindAllStringSubmatchIndex(s, -1)
	var out []listedMail
	for i, m := range at {
		end := len(s)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		block := s[m[1]:end]
		e := listedMail{
			thread: s[m[2]:m[3]], from: field(block, "from"), subject: field(block, "subject"),
			begins: field(block, "begins"),
		}
		if e.begins == "" {
			e.begins = field(block, "snippet")
		}
		if found := addressToken.FindAllString(e.from, -1); len(found) > 0 {
			e.address = found[len(found)-1] // the one in the angle brackets
		}
		out = append(out, e)
	}
	return out
}

func field(block, name string) string {
	m := rx(`(?im)^\W*` + name + `"?\s*[:=]\s*"?(.*?)"?,?\s*$`).FindStringSubmatch(block)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1])
}

// findMail lists the mails for a name or a subject and picks the best; ok is
// false while the list has yet to come.
func (p *play) findMail(who string) (listedMail, string, bool) {
	who = strings.TrimSpace(trimEnd(who))
	args := map[string]any{}
	if who != "" {
		args["query"] = who
	}
	s, ok := p.call("mail_list", args)
	if !ok {
		return listedMail{}, "", false
	}
	if !s.ok() {
		return listedMail{}, trouble(s, "look into your mail"), true
	}
	mails := listedMails(s.result)
	if len(mails) == 0 {
		if who == "" {
			return listedMail{}, "Your mailbox has nothing to show.", true
		}
		return listedMail{}, fmt.Sprintf("I find no mail for “%s”.", who), true
	}
	best, bestScore := mails[0], -1
	for _, m := range mails {
		score := 0
		for _, w := range strings.Fields(strings.ToLower(who)) {
			if strings.Contains(strings.ToLower(m.from), w) {
				score += 2
			}
			if strings.Contains(strings.ToLower(m.subject), w) {
				score++
			}
			if local, _, _ := strings.Cut(strings.ToLower(m.address), "@"); local == w {
				score += 2
			}
		}
		if score > bestScore {
			best, bestScore = m, score
		}
	}
	return best, "", true
}

// mailMessage is one message of a thread.
type mailMessage struct{ from, body string }

// lastMessage is the newest message of a thread in the layout of mail
// headers, a blank line and the text; anything else is all text.
func lastMessage(s string) mailMessage {
	at := strings.LastIndex(s, "\nFrom: ")
	if at < 0 {
		return mailMessage{body: s}
	}
	head, body, ok := strings.Cut(s[at+1:], "\n\n")
	if !ok {
		return mailMessage{body: s}
	}
	return mailMessage{from: field(head, "from"), body: strings.TrimSpace(body)}
}

var questionSentence = rx(`[A-ZÄÖÜ][^.!?]*\?`)

func firstQuestion(body string) string {
	flat := strings.Join(strings.Fields(body), " ")
	return short(questionSentence.FindString(flat), 200)
}

// letter writes the body of a new mail.
func letter(hello, topic, saying, material, owner string) string {
	var b strings.Builder
	if !opensLetter.MatchString(saying) { // whoever dictated a greeting gets that one
		b.WriteString(hello + "\n\n")
	}
	switch {
	case saying != "":
		b.WriteString(sentence(saying))
	case topic != "" && material != "":
		fmt.Fprintf(&b, "I am writing about %s.", lowerFirst(topic))
	case topic != "":
		fmt.Fprintf(&b, "I am writing about %s. I would be glad to go through it with you; please tell me what you need from me.", lowerFirst(topic))
	case material != "":
		b.WriteString("I am sending you this for your information.")
	default:
		b.WriteString("I wanted to get in touch. Please let me know when you have a moment.")
	}
	if material != "" {
		b.WriteString(" Here is what I have:\n\n" + material)
	}
	if closesLetter.MatchString(saying) {
		return b.String()
	}
	b.WriteString("\n\n" + signature(owner))
	return b.String()
}

var (
	opensLetter  = rx(`(?i)^(?:dear|hi|hello|hallo|liebe[rs]?|sehr geehrte[rs]?|good (?:morning|afternoon|evening))\b`)
	closesLetter = rx(`(?is)\b(?:regards|best|cheers|sincerely|yours|grüße|grüßen|gruß),?\s+\p{Lu}?\p{L}*\s*$|\bregards\s*$`)
)

func signature(owner string) string {
	if owner == "" {
		return "Kind regards"
	}
	return "Kind regards\n" + upperFirst(owner)
}

// shared mailboxes are not greeted by name.
var impersonal = rx(`(?i)^(?:info|team|all|office|billing|support|hello|contact|admin|news|list|finance|accounts?|sales|everyone|staff|group|.*\d.*)$`)

var nameParts = rx(`[._+-]`)

func greeting(name, address string) string {
	if first, _, _ := strings.Cut(strings.TrimSpace(name), " "); first != "" && !strings.Contains(first, "@") && !impersonal.MatchString(first) {
		return "Dear " + upperFirst(first) + ","
	}
	local, _, _ := strings.Cut(address, "@")
	first := nameParts.Split(local, 2)[0]
	if len(first) < 2 || impersonal.MatchString(first) {
		return "Hello,"
	}
	return "Dear " + upperFirst(first) + ","
}

var article = rx(`(?i)^(?:the|a|an|our|my|das|die|der)\s+`)

func asSubject(topic, saying string) string {
	s := article.ReplaceAllString(strings.TrimSpace(topic), "")
	if s == "" {
		words := strings.Fields(saying)
		s = strings.Trim(strings.Join(words[:min(len(words), 7)], " "), ".,;:")
	}
	if s == "" {
		s = "A short note"
	}
	s = strings.Join(strings.Fields(s), " ")
	return upperFirst(short(s, 100))
}

func topicOf(paths []string) string {
	if len(paths) == 0 {
		return "what we discussed"
	}
	base := paths[0][strings.LastIndexByte(paths[0], '/')+1:]
	stem, _, _ := strings.Cut(base, ".")
	return "the " + strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(stem))
}

func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || strings.Contains(s, "\n") || closesLetter.MatchString(s) {
		return upperFirst(s)
	}
	s = upperFirst(s)
	if strings.ContainsAny(s[len(s)-1:], ".!?…\"”)") {
		return s
	}
	return s + "."
}
