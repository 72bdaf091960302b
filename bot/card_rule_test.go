package bot

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

func TestGoldenRules(t *testing.T) {
	for size, s := range sizes {
		var rules []outbox.Rule
		for i, state := range []outbox.RuleState{outbox.RuleProposed, outbox.RuleAccepted, outbox.RuleDeclined, outbox.RuleRetired, outbox.RuleProposed} {
			rules = append(rules, outbox.Rule{ID: int64(i + 1), Text: s.short, State: state, Origin: []string{"clean", "untrusted"}[i%2], By: "U0ALICE", Evidence: []string{"20261130-a1b2c3d4", "20261130-ffff0000"}})
		}
		golden(t, "rules-"+size, rulesCard("1", rules, "TOKEN"))
	}
	var many []outbox.Rule
	for i := range 40 {
		many = append(many, outbox.Rule{ID: int64(i), Text: strings.Repeat("long ", 60), State: outbox.RuleProposed, Origin: "untrusted"})
	}
	accepted(t, rulesCard("1", many, "TOKEN"))
}

// A proposed rule is accepted by a press of an owner, each by itself; the card
// says what became of it.
func TestRulesAreAcceptedByPress(t *testing.T) {
	b := newBench(t)
	for i, text := range []string{"Be brief.", "Sign with a name."} {
		b.exec(`INSERT INTO writing_rules (id, text, state, origin, created) VALUES (?, ?, 'proposed', ?, 7)`, i+1, text, []string{"clean", "untrusted"}[i])
	}
	b.exec(`INSERT INTO writing_rules (id, text, state, origin, created) VALUES (9, 'Of another day.', 'proposed', 'clean', 8)`)
	ref := RulesRef(time.UnixMilli(7))
	show := func() threads.Post {
		t.Helper()
		rules, err := b.rulesOf(t.Context(), ref)
		if err != nil || len(rules) != 2 {
			t.Fatalf("%+v, %v", rules, err)
		}
		return b.put(PostRules, ref, rulesCard(ref, rules, b.mint()))
	}
	p := show()
	if strings.Contains(string(p.Body), "another day") || !strings.Contains(string(p.Body), "third party") {
		t.Errorf("%s", p.Body)
	}
	press := func(user, verb string) {
		t.Helper()
		_, token := button(p.Body, "Accept")
		b.pressed(t.Context(), Press{Kind: "block_actions", Team: "T1", User: user, ActionID: kindRule + "." + verb, Value: token, Channel: p.Place.Channel, TS: p.TS, ThreadTS: "1.0"})
	}
	rules := func() string {
		got, err := b.outbox.Rules(context.Background())
		return fmt.Sprint(got, err)
	}
	press("UBOB", "accept.1")
	if rules() != "[] <nil>" || !strings.Contains(b.screen.said(), "Only an owner") {
		t.Errorf("%s; %s", rules(), b.screen.said())
	}
	press("UALICE", "accept.9") // not on this card
	if rules() != "[] <nil>" {
		t.Errorf("a forged press counted: %s", rules())
	}
	press("UALICE", "accept.1")
	press("UALICE", "decline.2")
	if rules() != "[Be brief.] <nil>" {
		t.Errorf("%s; %s", rules(), b.screen.said())
	}
	press("UALICE", "accept.2")
	if rules() != "[Be brief.] <nil>" || !strings.Contains(b.screen.said(), "Nothing was changed") {
		t.Errorf("%s; %s", rules(), b.screen.said())
	}
	p = show()
	if action, _ := button(p.Body, "Accept"); action != "" || !strings.Contains(string(p.Body), "all decided") {
		t.Errorf("%s", p.Body)
	}
}
