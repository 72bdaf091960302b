package demomail

import (
	"net/mail"
	"slices"
	"strings"
)

// query is what mail_list searches for: every term must be found. A term is
// a word or a "quoted phrase", with from:, to:, subject: or body: in front
// where it should be looked for in one place only. in:sent searches what went
// out instead of what came in, in:all both. key: finds what was sent with an
// idempotency key, so that a lost answer can be looked up.
type query struct {
	terms []term
	in    string
}

type term struct{ field, text string }

func parseQuery(s string) query {
	q := query{in: "inbox"}
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimSpace(s) {
		var t term
		for _, field := range []string{"from", "to", "subject", "body", "key", "in"} {
			if n := len(field) + 1; len(s) > n && strings.EqualFold(s[:n], field+":") {
				t.field, s = field, s[n:]
				break
			}
		}
		if rest, ok := strings.CutPrefix(s, `"`); ok {
			t.text, s, _ = strings.Cut(rest, `"`)
		} else if at := strings.IndexAny(s, " \t\r\n"); at >= 0 {
			t.text, s = s[:at], s[at:]
		} else {
			t.text, s = s, ""
		}
		t.text = strings.ToLower(strings.TrimSpace(t.text))
		switch {
		case t.text == "":
		case t.field == "in":
			q.in = t.text
		default:
			q.terms = append(q.terms, t)
		}
	}
	return q
}

func (q query) matches(m *Message) bool {
	if (q.in == "inbox" && m.Sent) || (q.in == "sent" && !m.Sent) {
		return false
	}
	for _, t := range q.terms {
		if !strings.Contains(strings.ToLower(searchable(m, t.field)), t.text) {
			return false
		}
	}
	return true
}

// byKey tells whether a delivery is looked up.
func (q query) byKey() bool {
	return slices.ContainsFunc(q.terms, func(t term) bool { return t.field == "key" })
}

func searchable(m *Message, field string) string {
	switch field {
	case "from":
		return show(m.From)
	case "to":
		return show(m.To) + "\n" + show(m.Cc)
	case "subject":
		return m.Subject
	case "body":
		return m.Body
	case "key":
		if m.Sent {
			return m.Key
		}
		return ""
	}
	return strings.Join([]string{show(m.From), show(m.To), show(m.Cc), m.Subject, m.Body}, "\n")
}

// show writes addresses as people read them; quoting only where it matters.
func show(list []*mail.Address) string {
	out := make([]string, 0, len(list))
	for _, a := range list {
		switch {
		case a.Address == "":
			out = append(out, oneLine(a.Name))
		case a.Name == "":
			out = append(out, oneLine(a.Address))
		default:
			name := oneLine(a.Name)
			if strings.ContainsAny(name, `<>@",`) { // a name that poses as an address stays a name
				name = `"` + strings.ReplaceAll(name, `"`, `'`) + `"`
			}
			out = append(out, name+" <"+oneLine(a.Address)+">")
		}
	}
	return strings.Join(out, ", ")
}

// bare lists the addresses alone, in lower case.
func bare(list []*mail.Address) []string {
	out := make([]string, 0, len(list))
	for _, a := range list {
		if a.Address != "" {
			out = append(out, strings.ToLower(a.Address))
		}
	}
	return out
}
