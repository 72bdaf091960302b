package outbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// What the system prompt has room for.
const (
	maxRules     = 25
	maxRuleChars = 2600
)

// RuleState of a writing rule.
type RuleState string

const (
	RuleProposed RuleState = "proposed"
	RuleAccepted RuleState = "accepted"
	RuleDeclined RuleState = "declined"
	RuleRetired  RuleState = "retired"
)

// Rule is a writing rule: proposed by Learn, and part of every later system
// prompt once a person has accepted it.
type Rule struct {
	ID       int64      `json:"id"`
	Text     string     `json:"text"`
	State    RuleState  `json:"state"`
	Origin   string     `json:"origin"`   // clean, untrusted
	Evidence []string   `json:"evidence"` // drafts
	By       string     `json:"by"`
	Created  time.Time  `json:"created"`
	Decided  *time.Time `json:"decided"`
}

// RuleError says why a decision about a rule was refused.
type RuleError struct{ Why string }

func (e *RuleError) Error() string { return e.Why }

// Rules answers the accepted writing rules, for the system prompt.
func (o *Outbox) Rules(ctx context.Context) ([]string, error) {
	list, err := o.WritingRules(ctx, RuleAccepted)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(list))
	for _, r := range list {
		texts = append(texts, r.Text)
	}
	return texts, nil
}

// WritingRules answers the rules in the given states, or all of them.
func (o *Outbox) WritingRules(ctx context.Context, states ...RuleState) (list []Rule, err error) {
	if len(states) == 0 {
		states = []RuleState{RuleProposed, RuleAccepted, RuleDeclined, RuleRetired}
	}
	err = o.db.Read(ctx, func(tx *record.Tx) error {
		list = []Rule{}
		for _, s := range states {
			some, err := record.Collect(tx, scanRule, qRulesOf, s)
			if err != nil {
				return err
			}
			list = append(list, some...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read the writing rules: %w", err)
	}
	return list, nil
}

func scanRule(r record.Scanner) (x Rule, err error) {
	var evidence string
	var created int64
	var decided sql.NullInt64
	if err = r.Scan(&x.ID, &x.Text, &x.State, &x.Origin, &evidence, &x.By, &created, &decided); err != nil {
		return x, err
	}
	x.Created, x.Decided = record.Time(created), when(decided)
	if err := json.Unmarshal([]byte(evidence), &x.Evidence); err != nil {
		return x, fmt.Errorf("writing rule %d: its evidence does not parse: %w", x.ID, err)
	}
	return x, nil
}

// Accept puts proposed rules into the system prompt of every later run. Several
// at once must all be clean: what was learned beside a stranger's text is read
// and accepted one by one.
func (o *Outbox) Accept(ctx context.Context, by, surface string, ids ...int64) error {
	return o.ruled(ctx, by, surface, "accept", ids, func(tx *record.Tx, rules []Rule) (RuleState, error) {
		for _, r := range rules {
			switch {
			case r.State != RuleProposed:
				return "", &RuleError{fmt.Sprintf("rule %d is %s; only a proposed one can be accepted", r.ID, r.State)}
			case r.Origin != OriginClean && len(rules) > 1:
				return "", &RuleError{fmt.Sprintf("rule %d was learned in a conversation that held a stranger's text; read it and accept it by itself", r.ID)}
			}
		}
		have, err := record.Collect(tx, scanRule, qRulesOf, RuleAccepted)
		if err != nil {
			return "", err
		}
		chars := 0
		for _, r := range append(have, rules...) {
			chars += utf8.RuneCountInString(r.Text)
		}
		if n := len(have) + len(rules); n > maxRules || chars > maxRuleChars {
			return "", &RuleError{fmt.Sprintf("there would be %d rules of %d characters, and the system prompt has room for %d of %d; retire one first", n, chars, maxRules, maxRuleChars)}
		}
		return RuleAccepted, nil
	})
}

// Decline refuses proposed rules; they are not proposed again.
func (o *Outbox) Decline(ctx context.Context, by, surface string, ids ...int64) error {
	return o.ruled(ctx, by, surface, "decline", ids, only(RuleProposed, RuleDeclined))
}

// Retire takes accepted rules out of the system prompt; they are not proposed again.
func (o *Outbox) Retire(ctx context.Context, by, surface string, ids ...int64) error {
	return o.ruled(ctx, by, surface, "retire", ids, only(RuleAccepted, RuleRetired))
}

func only(from, to RuleState) func(*record.Tx, []Rule) (RuleState, error) {
	return func(_ *record.Tx, rules []Rule) (RuleState, error) {
		for _, r := range rules {
			if r.State != from {
				return "", &RuleError{fmt.Sprintf("rule %d is %s, not %s", r.ID, r.State, from)}
			}
		}
		return to, nil
	}
}

// ruled decides about all of the rules or about none.
func (o *Outbox) ruled(ctx context.Context, by, surface, verb string, ids []int64, judge func(*record.Tx, []Rule) (RuleState, error)) error {
	err := o.db.Write(ctx, func(tx *record.Tx) error {
		var rules []Rule
		for _, id := range ids {
			list, err := record.Collect(tx, scanRule, qRuleGet, id)
			if err != nil {
				return err
			}
			if len(list) == 0 {
				return &RuleError{fmt.Sprintf("there is no writing rule %d", id)}
			}
			rules = append(rules, list...)
		}
		to, err := judge(tx, rules)
		if err != nil {
			return err
		}
		for _, r := range rules {
			if _, err := tx.Exec(qRuleDecide, to, by, tx.NowMS(), r.ID); err != nil {
				return err
			}
			if _, err := tx.Exec(qRuleAction, tx.NowMS(), by, surface, verb, strconv.FormatInt(r.ID, 10)); err != nil {
				return err
			}
		}
		return nil
	})
	var refused *RuleError
	if err != nil && !errors.As(err, &refused) {
		return fmt.Errorf("cannot %s a writing rule: %w", verb, err)
	}
	return err
}
