package bot

import (
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/outbox"
)

// TestSettleWalksFromHome: Settle goes through the unknown outcomes one by one;
// a form over one of them leads on to the next. An approver settles what they
// decide.
func TestSettleWalksFromHome(t *testing.T) {
	for _, user := range []string{"UALICE", "UBOB"} {
		b := newBench(t)
		one, two := b.stage(mail, nil), b.stage(strings.Replace(mail, "budget", "review", 1), nil)
		b.exec(`UPDATE drafts SET state = 'uncertain' WHERE id IN (?, ?)`, one, two)
		b.home(t.Context(), "T1", user)
		action, token := button(b.screen.homes[user], "Settle")
		b.press(Press{Kind: "block_actions", Team: "T1", User: user, TriggerID: "tr", ActionID: action, Value: token, ViewID: "VHOME"})
		for i, id := range []string{one, two} {
			if s := b.shown(); !strings.Contains(s, id) || !strings.Contains(s, "tell whether this was sent") {
				t.Fatalf("%s, %d: the walk shows %q", user, i, s)
			}
			b.press(b.in(user, "It arrived…"))
			if ack := b.submit(user, map[string]string{"evidence": "in the Sent folder"}); ack != "{}" {
				t.Fatalf("%s: %s", user, ack)
			}
			if got := b.state(id); got != outbox.Released {
				t.Errorf("%s: the draft is %s", user, got)
			}
		}
		if s := b.shown(); !strings.Contains(s, "all for now") {
			t.Errorf("%s: the walk ends with %q", user, s)
		}
	}
}
