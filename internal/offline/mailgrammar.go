package offline

import (
	"slices"
	"strings"
)

var (
	mailNoun  = `(?:e-?mails?|mails?|messages?|letters?|inbox|nachricht(?:en)?|posteingang|newsletter|mailbox|postfach|post)`
	draftVerb = rx(`(?is)^(?:draft|write|send|compose|prepare|schreib\w*|entwirf|verfass\w*|schick\w*|sende)\s+(?:me\s+)?(?:(?:a|an|the|eine|einen|ihm|ihr|short|quick|new|polite|friendly|kurze)\s+)*` + mailNoun + `\b\s*(.*)$`)
	mailVerb  = rx(`(?is)^(?:e-?mail|mail|write to|write|message|send|tell|inform|notify|let|schreib\w*)\s+(.*@.*)$`)
	writeTo   = rx(`(?is)^(?:e-?mail|mail|write to|write a note to|tell|inform|notify)\s+((?:the|my)\s+.*|\p{Lu}.*)$`)
	forwards  = rx(`(?is)^forward\s+(?:me\s+)?(?:the\s+|my\s+)?(.+?)\s+to\s+`)
	sendFile  = rx(`(?is)^(?:send|forward|mail|e-?mail|schick\w*|sende)\s+(?:me\s+)?(?:the\s+|a copy of\s+|die\s+)*(?:contents?\s+of\s+)?(?:the\s+)?(?:file|document|datei)?\s*(\S+)(?:\s+file)?\s+.*?\b(?:to|an)\s+`)
	replyVerb = rx(`(?is)^(?:reply|respond|answer|write back|(?:draft|write|send|prepare|compose)\s+(?:me\s+)?(?:a|an|the|my)?\s*(?:short|quick|polite|friendly)?\s*(?:reply|answer|response)|antworte?|(?:schreib\w*|entwirf)\s+(?:eine\s+)?antwort)\b\s*(.*)$`)
	checkVerb = rx(`(?is)^(?:check|what|what's|whats|show|list|any|do i have|have i|is there|are there|look at|go through|read|summari[sz]e|see|open|gibt|was|zeig\w*|lies|prüfe?|habe ich)\b.*\b` + mailNoun + `\b`)
	findVerb  = rx(`(?is)^(?:find|search|look for|open|read|show(?: me)?|get|what (?:did|does|was|is|'s)|what's|summari[sz]e|see|such\w*|lies|finde?|zeig\w*)\b`)
)

var (
	onTheWeb        = rx(`(?i)^(?:search|google|look up)\s+(?:the |on the |in the )?(?:web|internet)`)
	meansEverything = rx(`(?i)^(?:this|it|everything|all|that)$`)
	fromSomebody    = rx(`(?i)^\s*(?:from|von)\b`)
	whoWrote        = rx(`(?i)^(?:who (?:wrote|mailed|has written)(?: to)?(?: me)?|(?:tell me |show me )?(?:what|which) ` + mailNoun + ` (?:do|did|have) (?:i|you).*|(?:tell me |show me )?(?:what|which) ` + mailNoun + ` (?:i|are|came).*)$`)
	aboutMail       = rx(`(?i)\b` + mailNoun + `\b`)
	didWrite        = rx(`(?i)^what did (?:the |my )?([\w ]+?) (?:write|send|mail|say)(?: me)?$`)
	notSomebodyElse = rx(`(?i)^(?:you|i|we|bot)$`)
	openNewest      = rx(`(?i)^(?:open|read|show(?: me)?|find|summari[sz]e)\s+(?:the\s+)?(newsletter|latest|newest|last|first)\b`)
	mailAlone       = rx(`(?i)^(?:my |new |unread )*` + mailNoun + `$`)
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
			return sendsFile{path: theFile, to: addresses, topic: "what you asked for"}
		}
	}
	if m := forwards.FindStringSubmatch(s); m != nil && len(addresses) > 0 {
		who := mailWords.ReplaceAllString(q.text(m[1]), "")
		if by := mailAbout(q.text(m[1])); by != "" {
			who = by
		}
		return forwardMail{who: seekNewsletter(who, m[1]), to: addresses}
	}
	if m := draftVerb.FindStringSubmatch(s); m != nil && !fromSomebody.MatchString(m[1]) {
		return parseDraft(m[1], addresses, q)
	}
	if m := mailVerb.FindStringSubmatch(s); m != nil && len(addresses) > 0 && len(files(s, q)) == 0 {
		return parseDraft(m[1], addresses, q)
	}
	if m := writeTo.FindStringSubmatch(s); m != nil && len(addresses) == 0 && len(files(s, q)) == 0 && c.tool("mail_list") != "" {
		if g, ok := parseDraft("to "+m[1], nil, q).(draftMail); ok && g.name != "" && g.topic+g.saying != "" && !notSomebodyElse.MatchString(g.name) {
			return g
		}
	}
	text := trimEnd(q.text(s))
	if whoWrote.MatchString(text) {
		return checkMail{}
	}
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
		return findMail{who: seekNewsletter("", m[1])}
	}
	if checkVerb.MatchString(text) || mailAlone.MatchString(text) {
		return checkMail{}
	}
	return nil
}

// mailBy are the ways to say which mail is meant.
var mailBy = []*pattern{
	rx(`(?i)\b` + mailNoun + `\b.*?\b(?:from|by|of|von|vom)\s+(?:the\s+|my\s+|der\s+|dem\s+)?(.+)$`),
	rx(`(?i)\b` + mailNoun + `\b\s+(?:about|on|regarding|for|with|über|zu|nach)\s+(?:the\s+|a\s+)?(.+)$`),
	rx(`(?i)^(?:find|open|read|show(?: me)?|get)\s+(?:the\s+|my\s+)?(\w+?)(?:'s)?\s+(?:mail|e-?mail|message|letter)$`),
}

var notAWho = rx(`(?i)^(?:today|yesterday|this week|me|the last.*|my|new|unread|latest|newest|last|first)$`)

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
	sayingPart  = rx(`(?is)(?:^|[,\s])(?:saying(?: that)?|that says(?: that)?|which says|and (?:say|tell \w+)(?: that)?|to (?:say|tell \w+)(?: that)?|telling (?:him|her|them|\w+)(?: that)?|(?:with|and) (?:the )?(?:exact )?(?:text|body|words)|that|dass|mit dem text)\s*:?\s+(.+)$|:\s+(.+)$`)
	topicPart   = rx(`(?is)(?:^|\s)(?:about|on|regarding|re|concerning|über|wegen|zum|zur|zu)\s+(.+)$`)
	subjectPart = rx(`(?is)[,\s]*(?:with\s+)?(?:the\s+)?subject\s*:?\s*(\x02\d+\x03|[^,.]+?)(?:$|[,.]|\s+(?:and|saying|about)\b)`)
	ccPart      = rx(`(?i)[,\s]*\b(?:and\s+)?(?:cc|copy to|in copy|kopie an)\s*:?\s*((?:[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+[A-Za-z0-9])(?:\s*(?:,|and)\s*[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+[A-Za-z0-9])*)`)
	attachPart  = rx(`(?i)[,\s]*(?:and\s+)?(?:attach(?:ing)?|with)\s+(?:the\s+file\s+)?(\S+)(?:\s+attached|\s+as (?:an )?attachment)?`)
	toName      = rx(`^\s*(?i:to|an|for)\s+(?i:the\s+|my\s+|den\s+|die\s+)?([\p{L}][\p{L}.'-]*(?:\s+[A-Z][\p{L}'-]*)*)`)
)

// seekNewsletter is how a newsletter is found: by the word that most of them
// have in their name.
func seekNewsletter(who, words string) string {
	if strings.Contains(strings.ToLower(words), "newsletter") {
		return "weekly"
	}
	return who
}

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
			// A quoted body or text is the whole mail, to the letter.
			g.saying, g.verbatim = inner, wholeText.MatchString(rest[m[0]:m[1]])
		} else {
			g.saying = q.text(strings.TrimSpace(g.saying))
		}
		rest = rest[:m[0]]
	}
	if m := thankingPart.FindStringSubmatch(rest); m != nil && g.saying == "" {
		what := trimEnd(q.text(m[1]))
		g.saying, g.topic = "Thank you very much for "+what+".", "Thank you for "+what
		return g
	}
	if m := askingPart.FindStringSubmatchIndex(rest); m != nil && g.saying == "" {
		what := trimEnd(q.text(rest[m[4]:m[5]]))
		switch strings.ToLower(rest[m[2]:m[3]]) {
		case "for":
			g.saying, g.topic = "Could you please send me "+what+"?", what
		case "to":
			g.saying, g.topic = "Could you please "+what+"?", what
		default:
			g.saying, g.topic = "Could you tell me whether "+what+"?", what
		}
		return g
	}
	if m := topicPart.FindStringSubmatch(rest); m != nil {
		g.topic = trimEnd(q.text(sentenceEnd.Split(m[1], 2)[0]))
	}
	return g
}

var (
	askingPart   = rx(`(?is)(?:^|\s)(?:asking|and ask|to ask)\s+(?:him\s+|her\s+|them\s+)?(for|to|if|whether)\s+(.+)$`)
	thankingPart = rx(`(?is)(?:^|\s)(?:thanking|and thank|to thank)\s+(?:\w+\s+)?for\s+(.+)$`)
	wholeText    = rx(`(?i)^\W*(?:with|and) (?:the )?(?:exact )?(?:text|body)\b`)
	sentenceEnd  = rx(`[.!?]\s`)
)

func firstGroup(s string, at []int) string {
	for i := 2; i+1 < len(at); i += 2 {
		if at[i] >= 0 {
			return s[at[i]:at[i+1]]
		}
	}
	return ""
}

var (
	toEveryone    = rx(`(?i)^\s*(?:all|to all|to everyone|everyone)\b|\breply[- ]all\b`)
	everyoneFirst = rx(`(?i)^\s*(?:to )?(?:all|everyone)\b`)
	ofSomebody    = rx(`(?i)^\s*(?:to\s+)?(?:the\s+|my\s+)?(.+?)['’]s\s+(?:last\s+|latest\s+)?` + mailNoun + `\b`)
	replyTarget   = rx(`(?i)(?:` + mailNoun + `.*?\b(?:from|by|of|von|vom)|to|dem|der|an|auf)\s+(?:the\s+|my\s+|die\s+|dem\s+|der\s+)?(.+)$`)
	replyName     = rx(`(?i)^\s*(?:the\s+)?(\w[\w.@-]*(?: \w+)?)$`)
	mailWords     = rx(`(?i)^(?:the\s+)?` + mailNoun + `\s*(?:(?:from|by|of|von|vom)\s+)?(?:the\s+|my\s+)?|'s\s+` + mailNoun + `$`)
	replyPronoun  = rx(`(?i)^(?:it|this|that|him|her|them|me|mail)$`)
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
