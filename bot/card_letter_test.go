package bot

import (
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestALetterIsLetInByItsOwner(t *testing.T) {
	b := newBench(t)
	b.exec(`INSERT INTO threads (key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, kind, state, mode, workspace, created, updated) VALUES ('T1/D1/2.0', 'T1', 'D1', '2.0', 'D1', '2.0', 'UALICE', 'the other', 'chat', 'done', 'ask', 'w', 1, 1)`)
	l, err := b.threads.SendLetter(t.Context(), "T1/D1/2.0", "r1", "T1/D1/1.0", "tell <bob>", tools.Taint{}.With(tools.Mark{Leg: tools.Untrusted, Call: "c"}))
	if err != nil {
		t.Fatal(err)
	}
	from, err := b.threads.Thread(t.Context(), l.Sender)
	if err != nil {
		t.Fatal(err)
	}
	r := letterCard(l, from, b.mint())
	if body := string(r.Blocks.JSON()); !strings.Contains(body, "a third party's text") || !strings.Contains(body, "the other") {
		t.Errorf("the card: %s", body)
	}
	p := b.put(threads.PostLetter, l.ID, r)
	b.press(b.on(p, "UBOB", "Accept"))
	if l, err = b.threads.Letter(t.Context(), l.ID); err != nil || l.State != "held" || b.acted("UBOB", "accept", "refused") != 1 {
		t.Errorf("an approver let it in: %+v, %v", l, err)
	}
	b.press(b.on(p, "UALICE", "Accept"))
	if l, err = b.threads.Letter(t.Context(), l.ID); err != nil || l.State != "accepted" || l.By != "UALICE" {
		t.Errorf("%+v, %v", l, err)
	}
	b.press(b.on(p, "UALICE", "Reject"))
	if !strings.Contains(b.screen.said(), "Already decided: the message is accepted") {
		t.Errorf("a second press heard %q", b.screen.said())
	}
	for _, state := range []string{"accepted", "read", "rejected"} {
		l.State = state
		if r := letterCard(l, from, "t"); !r.Final || len(r.Tokens) != 0 {
			t.Errorf("%s: %+v", state, r)
		}
	}
}
