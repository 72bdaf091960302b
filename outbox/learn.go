package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

const (
	// A habit shows in several messages, to several people: never a rule from
	// one recipient.
	minDrafts     = 2
	minRecipients = 2
	// Most lessons that are looked at, newest first.
	maxLessons = 500
	// A rule about words quotes at most that much.
	maxPhraseWords = 12
	maxPhraseChars = 120
	maxRuleText    = 300
	// Most rules that are taken from one answer of a learner.
	maxSuggestions = 10
)

// Lesson is one reflection with the texts it was mined from.
type Lesson struct {
	Draft      string
	Origin     string
	Edited     bool
	Before     string // what the agent wrote
	After      string // what was sent
	Recipients []string
}

// Changed is the difference between what was drafted and what was sent, as Diff
// writes it.
func (l Lesson) Changed() string {
	var b strings.Builder
	for _, line := range changedLines(l.Before, l.After) {
		b.WriteString(line.String() + "\n")
	}
	return b.String()
}

// Study is what a learner learns from.
type Study struct {
	Edited []Lesson // newest first
	Kept   []Lesson // sent as drafted: what nobody had to change is evidence too
	Rules  []string // known already: accepted, waiting or refused
}

// Suggestion is a rule that a learner would make, and the drafts that it saw it in.
type Suggestion struct {
	Text     string // a sentence in the imperative
	Evidence []string
}

// Learner consolidates lessons into writing rules; a model is one. What it
// answers is checked and proposed, never accepted: a rule that rests on a single
// message or a single recipient is dropped, whatever it says.
type Learner func(ctx context.Context, s Study) ([]Suggestion, error)

// Learn proposes writing rules from what was mined: what people took out, put in
// or replaced in several messages to several people, and, with a learner, what
// it makes of the edits. Releases that nobody changed count against: words that
// went out unchanged more often than not are left alone. What rests on
// conversations with a stranger's text, or was made beside it, is proposed as
// untrusted. It answers the rules that are new; where the learner failed, those
// that were found without it, beside its error.
func (o *Outbox) Learn(ctx context.Context, learner Learner) ([]Rule, error) {
	edited, err := o.lessons(ctx, true)
	if err != nil {
		return nil, err
	}
	kept, err := o.lessons(ctx, false)
	if err != nil {
		return nil, err
	}
	known, err := o.WritingRules(ctx)
	if err != nil {
		return nil, err
	}
	all := Study{Edited: edited, Kept: kept}
	for _, r := range known {
		all.Rules = append(all.Rules, r.Text)
	}
	clean := all.only(OriginClean)
	found := append(habits(clean.Edited, kept, OriginClean), habits(edited, kept, OriginUntrusted)...)
	var failed error
	if learner != nil {
		var rules []Rule
		rules, failed = suggested(ctx, learner, clean, OriginClean)
		if failed == nil && len(clean.Edited)+len(clean.Kept) < len(edited)+len(kept) {
			var more []Rule
			more, failed = suggested(ctx, learner, all, OriginUntrusted)
			rules = append(rules, more...)
		}
		found = append(found, rules...)
	}
	fresh, err := o.propose(ctx, unknown(found, all.Rules), recipientsOf(append(slices.Clone(edited), kept...)))
	return fresh, errors.Join(err, failed)
}

// only narrows a study to what came from where.
func (s Study) only(origin string) Study {
	pick := func(list []Lesson) (some []Lesson) {
		for _, l := range list {
			if l.Origin == origin {
				some = append(some, l)
			}
		}
		return some
	}
	return Study{Edited: pick(s.Edited), Kept: pick(s.Kept), Rules: s.Rules}
}

// suggested asks a learner, and keeps what rests on enough.
func suggested(ctx context.Context, learner Learner, s Study, origin string) (rules []Rule, err error) {
	if len(s.Edited) < minDrafts || len(recipientsOf(s.Edited)) < minRecipients {
		return nil, nil
	}
	list, err := learner(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("cannot make rules of %d edits: %w", len(s.Edited), err)
	}
	lessons := map[string]Lesson{}
	for _, l := range append(slices.Clone(s.Kept), s.Edited...) {
		lessons[l.Draft] = l
	}
	for _, g := range list {
		var seen []Lesson
		edits := 0
		for _, id := range slices.Compact(slices.Sorted(slices.Values(g.Evidence))) {
			if l, ok := lessons[id]; ok {
				seen = append(seen, l)
				edits += map[bool]int{true: 1}[l.Edited]
			}
		}
		if edits == 0 || len(seen) < minDrafts || len(recipientsOf(seen)) < minRecipients {
			continue
		}
		rules = append(rules, Rule{Text: strings.TrimSpace(g.Text), Origin: origin, Evidence: draftsOf(seen)})
		if len(rules) == maxSuggestions {
			break
		}
	}
	return rules, nil
}

// unknown leaves out what is proposed twice, or was decided before in other
// spelling. A clean one comes first.
func unknown(found []Rule, known []string) (list []Rule) {
	seen := map[string]bool{}
	for _, s := range known {
		seen[plain(s)] = true
	}
	for _, r := range found {
		if k := plain(r.Text); !seen[k] {
			seen[k] = true
			list = append(list, r)
		}
	}
	return list
}

// propose keeps the rules that are new and may be rules.
func (o *Outbox) propose(ctx context.Context, found []Rule, people map[string]bool) (fresh []Rule, err error) {
	err = o.db.Write(ctx, func(tx *record.Tx) error {
		fresh = []Rule{}
		for _, r := range found {
			if !mayBeRule(r.Text, people) {
				continue
			}
			n, err := tx.Exec(qRuleInsert, r.Text, r.Origin, text(r.Evidence), tx.NowMS())
			if err != nil {
				return err
			}
			if n > 0 {
				r.State, r.Created = RuleProposed, tx.Now()
				fresh = append(fresh, r)
			}
		}
		all, err := record.Collect(tx, scanRule, qRulesOf, RuleProposed)
		for i := range fresh {
			if at := slices.IndexFunc(all, func(r Rule) bool { return r.Text == fresh[i].Text }); at >= 0 {
				fresh[i] = all[at]
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot keep the proposed rules: %w", err)
	}
	return fresh, nil
}

// mayBeRule: one visible line of bounded length that names no recipient and no address.
func mayBeRule(s string, people map[string]bool) bool {
	if s == "" || utf8.RuneCountInString(s) > maxRuleText || strings.ContainsFunc(s, unseen) || strings.Contains(s, "@") || strings.Contains(s, "://") {
		return false
	}
	low := strings.ToLower(s)
	for who := range people {
		if strings.Contains(low, who) {
			return false
		}
	}
	return true
}

func unseen(r rune) bool { return !unicode.IsPrint(r) }

func (o *Outbox) lessons(ctx context.Context, edited bool) (list []Lesson, err error) {
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (l Lesson, err error) {
			var before, after, dests string
			if err = r.Scan(&l.Draft, &l.Origin, &l.Edited, &before, &after, &dests); err != nil {
				return l, err
			}
			l.Before, l.After = written(json.RawMessage(before)), written(json.RawMessage(after))
			var to []tools.Destination
			if err := parse(l.Draft, "destinations", dests, &to); err != nil {
				return l, err
			}
			l.Recipients = slices.Sorted(maps.Keys(recipients(to)))
			if len(l.Recipients) == 0 {
				l.Recipients = []string{about(json.RawMessage(after))}
			}
			return l, nil
		}, qLessons, edited, maxLessons)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read what was mined: %w", err)
	}
	return list, nil
}

// written is the prose of a message's arguments: what a voice could be in.
func written(args json.RawMessage) string {
	list, err := members(args)
	if err != nil {
		return ""
	}
	var parts []string
	for _, m := range list {
		var s string
		if slices.Contains(proseArgs[:], m.key) && json.Unmarshal(m.raw, &s) == nil {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}

// about stands for the recipient of a message whose arguments name none: a
// reply goes to a thread.
func about(args json.RawMessage) string {
	var m map[string]json.RawMessage
	_ = json.Unmarshal(args, &m) // what does not parse is about nothing
	for _, k := range append(slices.Clone(targets), subjects...) {
		if len(m[k]) > 0 {
			return k + ":" + string(m[k])
		}
	}
	return "?"
}

func recipientsOf(list []Lesson) map[string]bool {
	who := map[string]bool{}
	for _, l := range list {
		for _, r := range l.Recipients {
			who[r] = true
		}
	}
	return who
}

func draftsOf(list []Lesson) []string {
	ids := make([]string, 0, len(list))
	for _, l := range list {
		ids = append(ids, l.Draft)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// swap is a run of words that a person replaced with another; either may be empty.
type swap struct{ out, in string }

// habits are the swaps and cuts that recur.
func habits(edited, kept []Lesson, origin string) (rules []Rule) {
	by := map[swap][]Lesson{}
	shown := map[swap]swap{} // as first written, for the rule's words
	var cut []Lesson
	for _, l := range edited {
		if b, a := len(strings.Fields(l.Before)), len(strings.Fields(l.After)); b >= 20 && 10*a <= 7*b {
			cut = append(cut, l)
		}
		seen := map[swap]bool{}
		for _, s := range swaps(l.Before, l.After) {
			k := swap{plain(s.out), plain(s.in)}
			if seen[k] || k.out == k.in {
				continue
			}
			seen[k] = true
			by[k] = append(by[k], l)
			if _, ok := shown[k]; !ok {
				shown[k] = s
			}
		}
	}
	for k, list := range by {
		if len(list) < minDrafts || len(recipientsOf(list)) < minRecipients || k.out != "" && holding(kept, k.out) >= len(list) {
			continue
		}
		rules = append(rules, Rule{Text: sentence(shown[k]), Origin: origin, Evidence: draftsOf(list)})
	}
	// Most of what was changed was made much shorter.
	if len(cut) > minDrafts && 2*len(cut) > len(edited) && len(recipientsOf(cut)) >= minRecipients {
		rules = append(rules, Rule{Text: "Keep messages short: say it in about two thirds of the words that come first.", Origin: origin, Evidence: draftsOf(cut)})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		if n := len(b.Evidence) - len(a.Evidence); n != 0 {
			return n
		}
		return strings.Compare(a.Text, b.Text)
	})
	return rules
}

// holding counts the messages that went out unchanged with these words in them.
func holding(kept []Lesson, words string) (n int) {
	for _, l := range kept {
		if strings.Contains(" "+plain(l.After)+" ", " "+words+" ") {
			n++
		}
	}
	return n
}

func sentence(s swap) string {
	switch {
	case s.out == "":
		return fmt.Sprintf("Add %q where it fits.", s.in)
	case s.in == "":
		return fmt.Sprintf("Leave out %q.", s.out)
	}
	return fmt.Sprintf("Write %q rather than %q.", s.in, s.out)
}

// swaps are the runs of words that differ, of those that could be a habit:
// short, and without figures or addresses, which belong to one message.
func swaps(before, after string) (list []swap) {
	lines := func(s string) string { return strings.Join(strings.Fields(s), "\n") + "\n" }
	x, y := lines(before), lines(after)
	u, err := udiff.ToUnifiedDiff("", "", x, udiff.Strings(x, y), 0)
	if err != nil {
		return nil
	}
	for _, h := range u.Hunks {
		var out, in []string
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Delete:
				out = append(out, strings.TrimSpace(l.Content))
			case udiff.Insert:
				in = append(in, strings.TrimSpace(l.Content))
			}
		}
		for len(out) > 0 && len(in) > 0 && out[0] == in[0] {
			out, in = out[1:], in[1:]
		}
		for len(out) > 0 && len(in) > 0 && out[len(out)-1] == in[len(in)-1] {
			out, in = out[:len(out)-1], in[:len(in)-1]
		}
		s := swap{strings.Join(out, " "), strings.Join(in, " ")}
		if phrase(s.out) && phrase(s.in) && len(s.out)+len(s.in) > 0 {
			list = append(list, s)
		}
	}
	return list
}

func phrase(s string) bool {
	return len(strings.Fields(s)) <= maxPhraseWords && len(s) <= maxPhraseChars && !strings.ContainsAny(s, "@0123456789\"`<>") && !strings.Contains(s, "://")
}

// plain is a phrase as it is compared: case and punctuation are no habit.
func plain(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '\'' }), " ")
}
