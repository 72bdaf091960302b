package outbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Page writes drafts as plain text, for a terminal or an editor: the whole of
// what would be sent, with what a reader would not see spelled out.
type Page struct {
	Now time.Time
	// Visible spells out hidden characters of a foreign text and tells how many
	// there were.
	Visible func(s string) (shown string, hidden int)
	// ToolWidth is how many columns Line keeps for a tool's name.
	ToolWidth int
}

// Show is a draft to decide by: every argument whole, where it would run, how it
// came about, what people changed, the message that it answers, and the warnings
// last, where a prompt follows.
func (p Page) Show(d Draft, src Source) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s   %s · %s · %s\n", headline(d), d.ID, d.Tool, p.age(d.Created))
	if d.State != Pending {
		fmt.Fprintf(&b, "  %s\n", p.line(d.Became()))
	}
	b.WriteString(p.arguments(d))
	b.WriteString(p.facts(d))
	b.WriteString(p.Changed(d))
	b.WriteString(p.Answered(src))
	b.WriteString(p.Warnings(d))
	return b.String()
}

// Changed is what people changed in a draft; "" where nobody did.
func (p Page) Changed(d Draft) string {
	if !d.Edited {
		return ""
	}
	return "\nwhat people changed (- drafted, + now; within a line [-drafted-]{+now+}):\n" + gutter(p.visible(Diff(d)))
}

func headline(d Draft) string {
	switch d.State {
	case Pending:
		if d.SecondLook() {
			return "⚠ Read this one twice"
		}
		if d.Kind == Publish {
			return "✉ Ready for you to publish"
		}
		return "✉ Draft for you to send"
	case Approved:
		return "✓ Approved, not sent yet"
	case Releasing:
		return "▸ Sending"
	case Uncertain:
		return "? I can't tell whether this was sent"
	case Released:
		if d.Kind == Publish {
			return "✓ Published"
		}
		return "✓ Sent"
	case Superseded:
		return "✕ Replaced by a newer draft"
	case Expired:
		return "✕ Expired, not sent"
	}
	return "✕ Rejected"
}

// letter are the arguments that a reader of mail looks for first.
var letter = [...]string{"to", "cc", "bcc", "subject"}

// arguments shows every argument: short ones beside their names, long ones and
// those of several lines in a box.
func (p Page) arguments(d Draft) string {
	list, err := members(d.Args)
	if err != nil {
		return boxed(p.visible(string(d.Args)))
	}
	slices.SortStableFunc(list, func(a, b member) int { return place(a.key) - place(b.key) })
	var short, long strings.Builder
	for _, m := range list {
		text, hidden := p.Visible(readable(m.raw))
		note := ""
		if slices.Contains(d.FilledDefaults, m.key) {
			note = "   (the tool's default)"
		}
		if hidden > 0 {
			note += fmt.Sprintf("   (%d hidden character(s) shown as ‹…›)", hidden)
		}
		if !strings.ContainsAny(text, "\r\n") && len(text) <= 200 && m.key != "body" {
			fmt.Fprintf(&short, "  %-10s %s%s\n", p.line(m.key), text, note)
			continue
		}
		fmt.Fprintf(&long, "  %s%s\n%s", p.line(m.key), note, boxed(text))
	}
	return short.String() + long.String()
}

func place(key string) int {
	if i := slices.Index(letter[:], key); i >= 0 {
		return i
	}
	return len(letter)
}

// facts are how the draft came about and where it would run.
func (p Page) facts(d Draft) string {
	var b strings.Builder
	if bundle, ok := BundleOf(d); ok {
		fmt.Fprintf(&b, "  directory  %s\n", p.line(bundle.Dir))
		fmt.Fprintf(&b, "  index      %s\n", p.line(cmp.Or(bundle.Index, "(none)")))
	}
	for _, f := range d.Files {
		fmt.Fprintf(&b, "  file       %s   %d bytes   sha256 %s\n", p.line(f.Path), f.Bytes, f.SHA256)
	}
	for _, t := range d.Destinations {
		if !t.Suspect {
			fmt.Fprintf(&b, "  goes to    %s   %s\n", p.line(t.Value), origin(t))
		}
	}
	fmt.Fprintf(&b, "  drafted    %s in %s, run %s\n", d.Created.Format("Mon 2 Jan 15:04"), p.line(d.Thread), p.line(d.Run))
	fmt.Fprintf(&b, "  workspace  %s\n", p.line(d.Workspace))
	fmt.Fprintf(&b, "  revision   %d   digest %s\n", d.Revision, d.Digest)
	switch {
	case d.Taint.Private && !d.Tainted:
		fmt.Fprintf(&b, "  context    private data%s\n", p.evidence(d.Taint, tools.Private))
	case d.Taint.Untrusted && !d.Tainted:
		fmt.Fprintf(&b, "  context    third-party content%s\n", p.evidence(d.Taint, tools.Untrusted))
	}
	if d.Supersedes != "" {
		fmt.Fprintf(&b, "  replaces   %s\n", d.Supersedes)
	}
	if d.SupersededBy != "" {
		fmt.Fprintf(&b, "  replaced   by %s\n", d.SupersededBy)
	}
	for _, a := range d.Approvals {
		fmt.Fprintf(&b, "  approved   by %s, %s (%d of %d)\n", p.line(a.By), a.At.Format("2006-01-02 15:04"), len(d.Approvals), d.NeedsApprovals)
	}
	if at := goesOut(d); !at.IsZero() && d.State == Approved {
		fmt.Fprintf(&b, "  goes out   %s\n", at.Format("Mon 2 Jan 15:04 MST"))
	}
	for _, a := range d.Attempts {
		outcome := a.Outcome
		if outcome == "" {
			outcome = "under way"
		}
		fmt.Fprintf(&b, "  attempt    %s   %s   %s\n", a.Started.Format("2006-01-02 15:04:05"), outcome, p.line(a.Error))
	}
	for _, r := range d.Reconciliations {
		fmt.Fprintf(&b, "  settled    %s as %s by %s: %s\n", r.At.Format("2006-01-02 15:04"), r.Outcome, p.line(r.By), p.line(r.Evidence))
	}
	return b.String()
}

// goesOut is when an approved draft goes out; zero: now.
func goesOut(d Draft) (t time.Time) {
	for _, at := range []*time.Time{d.HoldUntil, d.NotBefore} {
		if at != nil && at.After(t) {
			t = *at
		}
	}
	return t
}

// Answered is the message that a draft answers, labelled for what it is. No
// source and a pruned conversation are different.
func (p Page) Answered(s Source) string {
	switch s.Status {
	case "found":
		arg := ""
		if s.Arg != "" {
			arg = " (" + p.line(s.Arg) + ")"
		}
		return fmt.Sprintf("\nreplying to — third-party content via %s%s,\nnot part of your draft:\n%s", p.line(s.Tool), arg, gutter(p.visible(strings.TrimSpace(s.Text))))
	case "none":
		return "\nreplying to — nothing that was read in its conversation (no source was found).\n"
	case "pruned":
		return "\nreplying to — not kept any more: the conversation that drafted this was cleaned up. Look there before you decide.\n"
	}
	return ""
}

// Warnings are what makes a draft one to read twice; tainted, red and a failed
// attempt are different, and each is told.
func (p Page) Warnings(d Draft) string {
	if d.State == Uncertain {
		return p.unknown(d)
	}
	if d.State != Pending {
		return ""
	}
	var b strings.Builder
	if d.LastError != "" {
		fmt.Fprintf(&b, "\n✕ the last attempt failed: %s\n", p.line(d.LastError))
	}
	if bundle, ok := BundleOf(d); ok && bundle.Gone != "" {
		fmt.Fprintf(&b, "\n⚠ what this would publish is gone: %s.\n  Bring it back, or reject this draft\n", p.line(bundle.Gone))
	}
	if d.Red {
		for _, t := range d.Destinations {
			if t.Suspect && t.Kind != tools.ToID {
				fmt.Fprintf(&b, "\n⚠ %s: %s\n", p.line(t.Value), origin(t))
			}
		}
	}
	if d.Tainted {
		fmt.Fprintf(&b, "\n⚠ this draft was written in a conversation that held private data%s AND\n  third-party content%s. If anything in these arguments was not yours, an\n  attacker may have put it there\n", p.evidence(d.Taint, tools.Private), p.evidence(d.Taint, tools.Untrusted))
	}
	if d.Stale {
		fmt.Fprintf(&b, "\n⚠ stale: it has waited for %s\n", strings.TrimSuffix(p.age(d.Created), " ago"))
	}
	return b.String()
}

// unknown says what is not known, and what would tell.
func (p Page) unknown(d Draft) string {
	var b strings.Builder
	b.WriteString("\nNo answer that I can trust came after it was handed over. It is never tried again by itself.\n")
	if id := d.MessageID(); id != "" {
		fmt.Fprintf(&b, "Check your Sent folder for Message-ID <%s>.\n", p.line(id))
	} else {
		fmt.Fprintf(&b, "Look where it would have arrived for this text, or for the key %s.\n", p.line(d.IdempotencyKey))
	}
	if q := d.Proposal; q != nil {
		fmt.Fprintf(&b, "I looked there: %s (%s)\n", p.line(q.Evidence), q.Words())
	}
	fmt.Fprintf(&b, "Then say what you found:\n  mecha-slack outbox reconcile %s --outcome delivered|not-delivered --evidence TEXT\n", d.ID)
	return b.String()
}

// origin says where a destination first appeared.
func origin(t tools.Destination) string {
	via := ""
	if t.Tool != "" {
		via = " (" + t.Tool + ")"
	}
	switch t.Origin {
	case tools.FromOwner:
		return "you named it"
	case tools.FromPrivate:
		return "from your own data" + via
	case tools.FromConfig:
		return "from the configuration"
	case tools.FromThirdParty:
		return "first appeared in a third party's text" + via + ", not in anything you wrote"
	}
	if t.Suspect {
		return "appears nowhere in this conversation, which holds a third party's text"
	}
	return "appears nowhere in this conversation: the agent chose it"
}

// Line is a draft in a list.
func (p Page) Line(d Draft) string {
	s := fmt.Sprintf("%s  %-9s  %-8s  %-*s  %s", d.ID, d.State, strings.TrimSuffix(p.age(d.Created), " ago"), p.ToolWidth, d.Tool, p.line(d.Summary))
	for _, m := range []struct {
		set  bool
		mark string
	}{{d.Tainted, "⚠ tainted"}, {d.Red, "⚠ red"}, {d.Stale, "⚠ stale"}, {d.LastError != "" && d.State == Pending, "✕ failed before"}, {d.Edited, "(edited)"}} {
		if m.set {
			s += "  " + m.mark
		}
	}
	if d.State == Approved {
		if at := goesOut(d); !at.IsZero() {
			s += "  goes out " + at.Format("Mon 2 Jan 15:04")
		}
	}
	if d.State == Pending && len(d.Approvals) > 0 {
		s += fmt.Sprintf("  %d of %d approvals", len(d.Approvals), d.NeedsApprovals)
	}
	return s
}

func (p Page) evidence(t tools.Taint, leg tools.Leg) string {
	m, ok := t.First(leg)
	if !ok {
		return ""
	}
	return " (" + p.line(strings.TrimSpace(m.Tool+" "+m.What)) + ")"
}

func (p Page) visible(s string) string {
	shown, _ := p.Visible(s)
	return shown
}

// line makes foreign text one line, so that it can start none of ours.
func (p Page) line(s string) string {
	return strings.NewReplacer("\r\n", " ⏎ ", "\n", " ⏎ ", "\t", " ").Replace(p.visible(strings.TrimSpace(s)))
}

func (p Page) age(t time.Time) string {
	switch d := p.Now.Sub(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days ago", int(d.Hours()/24))
	}
}

// boxed sets a long argument apart, line by line: none of its lines can pass for
// one of ours.
func boxed(s string) string {
	var b strings.Builder
	b.WriteString("  ┌──────────────────────────────\n")
	for line := range strings.Lines(s) {
		b.WriteString("  │ " + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString("  └──────────────────────────────\n")
	return b.String()
}

// gutter sets every line of others' words apart from ours.
func gutter(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  ┊ " + strings.TrimRight(line, "\r\n") + "\n")
	}
	return b.String()
}

// member is one member of an object, in the order and with the bytes that it
// has there.
type member struct {
	key      string
	raw      json.RawMessage
	from, to int // of raw within the object's text
}

func members(object json.RawMessage) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON: %w", err)
	} else if t != json.Delim('{') {
		return nil, fmt.Errorf("the arguments are no JSON object")
	}
	var list []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("the arguments are no JSON: %w", err)
		}
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("the arguments are no JSON: %w", err)
		}
		end := int(dec.InputOffset())
		list = append(list, member{key.(string), v, end - len(v), end})
	}
	_, err := dec.Token()
	return list, err
}

// readable is a value as a person reads it: text without its quotes, a list of
// simple texts side by side, anything else as indented JSON.
func readable(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return s
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && raw[0] == '[' && !slices.ContainsFunc(list, func(s string) bool { return s == "" || strings.ContainsAny(s, ",\r\n") }) {
		if len(list) == 0 {
			return "(none)"
		}
		return strings.Join(list, ", ")
	}
	var b bytes.Buffer
	if raw[0] != '{' && raw[0] != '[' || json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}
