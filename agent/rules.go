package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// RuleConfig is one [[rule]]: what may be done without a card, must be seen by
// a person, or must not be done.
type RuleConfig struct {
	Tool          string      `toml:"tool"`    // exact
	Pattern       RulePattern `toml:"pattern"` // the first words; empty: every call of the tool
	Decision      string      `toml:"decision"`
	Match         []string    `toml:"match"`     // examples that must match, checked at load
	NotMatch      []string    `toml:"not_match"` // and that must not
	Justification string      `toml:"justification"`
}

// RulePattern is a prefix in words; each element is a word or a list of
// alternatives: ["git", ["push", "fetch"]].
type RulePattern [][]string

// UnmarshalTOML reads words and lists of words.
func (p *RulePattern) UnmarshalTOML(v any) error {
	list, ok := v.([]any)
	if !ok {
		return errors.New("pattern is a list of words")
	}
	for _, e := range list {
		switch e := e.(type) {
		case string:
			*p = append(*p, []string{e})
		case []any:
			var alternatives []string
			for _, a := range e {
				s, ok := a.(string)
				if !ok {
					return errors.New("pattern: an alternative is a word")
				}
				alternatives = append(alternatives, s)
			}
			*p = append(*p, alternatives)
		default:
			return errors.New("pattern: each element is a word or a list of words")
		}
	}
	return nil
}

// ruleset is Rules over a configuration.
type ruleset struct {
	rules  []RuleConfig
	strict bool
}

// NewRules checks the rules, their examples included, and makes Rules of them.
// strictInlineEval ([approval] strict_inline_eval) makes interpreters that are
// handed code, and programs that run other programs, at least a prompt.
func NewRules(rules []RuleConfig, strictInlineEval bool) (Rules, error) {
	var errs []error
	for i, r := range rules {
		bad := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("[[rule]] %d (%s): %s", i+1, r.Tool, fmt.Sprintf(format, args...)))
		}
		switch r.Decision {
		case RuleAllow, RulePrompt, RuleForbid:
		default:
			bad("decision is allow, prompt or forbid, not %q", r.Decision)
			continue
		}
		if r.Tool == "" {
			bad("tool is missing")
		}
		for _, alternatives := range r.Pattern {
			if len(alternatives) == 0 || slices.Contains(alternatives, "") {
				bad("pattern has an empty word")
			}
		}
		if len(r.Match) == 0 && (len(r.Pattern) > 0 || r.Decision == RuleAllow) {
			bad("match is missing: give at least one call that this rule is meant for")
		}
		for _, example := range r.Match {
			if !r.covers(example) {
				bad("its example %q does not match", example)
			}
		}
		for _, example := range r.NotMatch {
			if r.covers(example) {
				bad("%q in not_match does match", example)
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &ruleset{slices.Clone(rules), strictInlineEval}, nil
}

// CheckRouted refuses rules that could never speak: a routed call is drafted,
// and whoever wrote `allow` or `prompt` for it believes something else.
func CheckRouted(rules []RuleConfig, routed func(tool string) bool) error {
	var errs []error
	for i, r := range rules {
		if r.Decision != RuleForbid && routed(r.Tool) {
			errs = append(errs, fmt.Errorf("[[rule]] %d: %s is routed through the outbox, where nothing is executed; only forbid has a meaning for it", i+1, r.Tool))
		}
	}
	return errors.Join(errs...)
}

// covers tells whether an example, as it would stand in the argument, falls
// under the rule's own decision.
func (r RuleConfig) covers(example string) bool {
	one := &ruleset{rules: []RuleConfig{r}}
	return one.judge(r.Tool, example).Decision == r.Decision
}

// Judge answers the most restrictive decision.
func (s *ruleset) Judge(tool string, args json.RawMessage) RuleVerdict {
	var a struct {
		Command *string `json:"command"`
	}
	if json.Unmarshal(args, &a) == nil && a.Command != nil {
		return s.judge(tool, *a.Command)
	}
	v := RuleVerdict{}
	words := strings.Fields(firstText(args))
	for _, r := range s.rules {
		if r.Tool == tool && r.matches(words, false) {
			v = stricter(v, RuleVerdict{r.Decision, r.why()})
		}
	}
	return v
}

// judge looks at a command segment by segment. Allow needs all of it: every
// segment covered, and a splitter that is certain of what it read.
func (s *ruleset) judge(tool, command string) RuleVerdict {
	split := splitCommand(command)
	var verdict RuleVerdict
	allowed := split.certain && len(split.segments) > 0
	var allowWhy string
	for _, words := range split.segments {
		var seg RuleVerdict
		for _, r := range s.rules {
			if r.Tool == tool && r.matches(words, r.Decision != RuleAllow) {
				seg = stricter(seg, RuleVerdict{r.Decision, r.why()})
			}
		}
		if s.strict {
			if why := inlineEval(words); why != "" {
				seg = stricter(seg, RuleVerdict{RulePrompt, why})
			}
		}
		if seg.Decision == RuleAllow {
			allowWhy = seg.Why
			continue
		}
		allowed = false
		verdict = stricter(verdict, seg)
	}
	if !split.certain {
		// What it could not read for certain is searched for the words.
		for _, r := range s.rules {
			if r.Tool == tool && r.Decision != RuleAllow && r.mentioned(split.raw) {
				verdict = stricter(verdict, RuleVerdict{r.Decision, r.why()})
			}
		}
	}
	if allowed {
		return RuleVerdict{RuleAllow, allowWhy}
	}
	return verdict
}

func (r RuleConfig) why() string {
	if r.Justification != "" {
		return r.Justification
	}
	var b strings.Builder
	for i, a := range r.Pattern {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Join(a, "|"))
	}
	return b.String()
}

// matches compares the first words. byBase also takes a program by its path's
// last part: /usr/bin/git is git for a rule that narrows, and ./git is not git
// for one that allows.
func (r RuleConfig) matches(words []string, byBase bool) bool {
	if len(words) < len(r.Pattern) {
		return false
	}
	for i, alternatives := range r.Pattern {
		w := words[i]
		if slices.Contains(alternatives, w) {
			continue
		}
		if !(byBase && i == 0 && slices.Contains(alternatives, path.Base(w))) {
			return false
		}
	}
	return true
}

// mentioned tells that each of the pattern's words stands somewhere in text.
func (r RuleConfig) mentioned(text string) bool {
	words := strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n;|&()<>`$\"'{},=/\\", c) })
	for _, alternatives := range r.Pattern {
		if !slices.ContainsFunc(alternatives, func(a string) bool { return slices.Contains(words, a) }) {
			return false
		}
	}
	return true
}

var strictness = map[string]int{"": 0, RuleAllow: 1, RulePrompt: 2, RuleForbid: 3}

func stricter(a, b RuleVerdict) RuleVerdict {
	if strictness[b.Decision] > strictness[a.Decision] {
		return b
	}
	return a
}

// firstText is the argument that says what a call is about, whole.
func firstText(args json.RawMessage) string {
	var m map[string]any
	if json.Unmarshal(args, &m) != nil {
		return ""
	}
	for _, k := range headlineKeys {
		if s := scalar(m[k]); s != "" {
			return s
		}
	}
	return ""
}
