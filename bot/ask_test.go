package bot

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/threads"
)

// acted is how often an act with this outcome stands on the record.
func (b *bench) acted(user, verb, outcome string) (n int) {
	b.t.Helper()
	err := b.db.Read(b.t.Context(), func(tx *record.Tx) error {
		return tx.Row(`SELECT count(*) FROM actions WHERE user = ? AND verb = ? AND outcome LIKE ?`, []any{user, verb, outcome + "%"}, &n)
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return n
}

// shown is what a person reads in the view in front.
func (b *bench) shown() string {
	b.t.Helper()
	var v struct{ Blocks json.RawMessage }
	if err := json.Unmarshal(b.screen.views[b.screen.top()], &v); err != nil {
		b.t.Fatal(err)
	}
	return shownText(v.Blocks)
}

// began is what a desk asked to begin.
type began struct {
	ref, text string
	about     *chosen
}

func (b *bench) beginnings() *[]began {
	var list []began
	b.desk.begin = func(_ context.Context, _ Press, ref, text string, c *chosen) (string, string, error) {
		list = append(list, began{ref, text, c})
		return "our DM", "T1/D1/2.0", nil
	}
	b.desk.name = func(_ context.Context, user string) string { return map[string]string{"UMALLORY": "mallory"}[user] }
	return &list
}

func TestAskAboutAMessage(t *testing.T) {
	b := newBench(t)
	list := b.beginnings()
	press := Press{
		Kind: "message_action", Team: "T1", User: "UALICE", TriggerID: "tr", Callback: shortcutAsk, Channel: "C1",
		Message: json.RawMessage(`{"user":"UMALLORY","text":"send it to &lt;me&gt;, <@UALICE>","attachments":[{"title":"shared","text":"more &amp; more"}],"files":[{"id":"F1","name":"a.txt","size":3,"url_private":"https://x"}]}`),
	}
	b.desk.shortcut(t.Context(), press)
	shown := b.shown()
	for _, want := range []string{"UMALLORY", "send it to <me>, <@UALICE>", "more & more", "a.txt"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the form does not show %q: %q", want, shown)
		}
	}
	if ack := b.submit("UALICE", map[string]string{"ask": "  "}); !strings.Contains(ack, "errors") {
		t.Errorf("nothing was asked, and it began: %s", ack)
	}
	// A form is its opener's: nobody else's submission counts.
	if ack := b.submit("UBOB", map[string]string{"ask": "go"}); !strings.Contains(ack, "not valid") || len(*list) > 0 {
		t.Errorf("somebody else's submission began %v: %s", *list, ack)
	}
	ack := b.submit("UALICE", map[string]string{"ask": "what do they want?"})
	if !strings.Contains(ack, "our DM") || len(*list) != 1 {
		t.Fatalf("it began %v: %s", *list, ack)
	}
	got := (*list)[0]
	if got.text != "what do they want?" || got.about == nil || got.about.Name != "mallory" || got.about.User != "UMALLORY" ||
		got.about.Text != "send it to <me>, <@UALICE>\nshared\nmore & more" || len(got.about.Files) != 1 || got.about.Files[0].URL != "https://x" {
		t.Errorf("it began with %+v", got)
	}
	// The same form again is the same session.
	b.submit("UALICE", map[string]string{"ask": "what do they want?"})
	if (*list)[1].ref != got.ref {
		t.Errorf("the same form has two refs: %q and %q", got.ref, (*list)[1].ref)
	}
	if b.acted("UALICE", "new", "done") != 2 {
		t.Error("no row tells that a session was begun")
	}
}

func TestShortcutsAreAnOwners(t *testing.T) {
	b := newBench(t)
	list := b.beginnings()
	for _, user := range []string{"UBOB", "UMALLORY"} {
		b.desk.shortcut(t.Context(), Press{Kind: "shortcut", Team: "T1", User: user, Callback: shortcutNew})
		if len(b.screen.stack) > 0 || !strings.Contains(b.screen.said(), "not yours") || b.acted(user, "ask", "refused") != 1 {
			t.Errorf("%s: views %v, told %q", user, b.screen.stack, b.screen.said())
		}
	}
	b.desk.shortcut(t.Context(), Press{Kind: "shortcut", Team: "T1", User: "UALICE", Callback: "song"})
	if len(b.screen.stack) > 0 {
		t.Error("an unknown shortcut opened something")
	}
	b.desk.shortcut(t.Context(), Press{Kind: "shortcut", Team: "T1", User: "UALICE", Callback: shortcutNew, TriggerID: "tr"})
	b.submit("UALICE", map[string]string{"ask": "hello"})
	if len(*list) != 1 || (*list)[0].about != nil {
		t.Errorf("it began %v", *list)
	}
	// Where Slack lets no thread be opened the words stay in the form.
	b.desk.begin = func(context.Context, Press, string, string, *chosen) (string, string, error) {
		return "", "", errors.New("is_archived")
	}
	b.desk.shortcut(t.Context(), Press{Kind: "shortcut", Team: "T1", User: "UALICE", Callback: shortcutNew, TriggerID: "tr"})
	if ack := b.submit("UALICE", map[string]string{"ask": "hello"}); !strings.Contains(ack, `"errors"`) || !strings.Contains(ack, "is_archived") {
		t.Errorf("a session that could not begin says %s", ack)
	}
}

func TestReadChosen(t *testing.T) {
	for _, c := range []struct{ raw, name, text string }{
		{`{"user":"U1","text":"hi <https://a.example|there>"}`, "U1", "hi there (https://a.example)"},
		{`{"bot_id":"B1","username":"deploys","text":"","blocks":[{"type":"section","text":{"type":"mrkdwn","text":"one &amp; two"}},{"type":"rich_text","elements":[{"type":"rich_text_section","elements":[{"type":"text","text":"three"}]}]}]}`, "deploys", "one & two\nthree"},
		{`{"bot_profile":{"name":"ci"},"text":"red"}`, "ci", "red"},
		{`{}`, "an app", ""},
	} {
		got, err := readChosen(json.RawMessage(c.raw), "C1")
		if err != nil || got.Name != c.name || got.Text != c.text {
			t.Errorf("%s reads as %+v, %v", c.raw, got, err)
		}
	}
	if _, err := readChosen(json.RawMessage(`[`), "C1"); err == nil {
		t.Error("what is no message was read as one")
	}
}

func TestAskFormHoldsAtAnySize(t *testing.T) {
	k := threads.Token{Token: "t"}
	for _, text := range []string{"", "a", strings.Repeat("long \u202e line <!channel> & ", 2000)} {
		c := chosen{User: "U123", Text: text}
		for i := range 3 {
			c.Files = append(c.Files, threads.InFile{Name: strings.Repeat("n", 200*i)})
		}
		for _, e := range blockkit.ValidateView(askView("Ask about this", &c, k)) {
			t.Errorf("Slack would refuse the form: %v", e)
		}
	}
}

// order is /mecha TEXT at a desk.
func (b *bench) ordered(user, text string) bool {
	b.t.Helper()
	r, err := b.screen.role(b.t.Context(), "T1", user)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.desk.order(b.t.Context(), Press{Kind: "slash_command", Team: "T1", User: user, TriggerID: "tr", Channel: "C1", Text: text}, r)
}

func TestOrders(t *testing.T) {
	b := newBench(t)
	list := b.beginnings()
	for _, text := range []string{"", "goals x", "newest", "outboxes"} {
		if b.ordered("UALICE", text) {
			t.Errorf("%q is taken for an order", text)
		}
	}
	b.ordered("UALICE", "new\nlook at &lt;this&gt;")
	if len(*list) != 1 || (*list)[0].text != "look at <this>" || !strings.Contains(b.screen.said(), "our DM") {
		t.Errorf("new began %v and said %q", *list, b.screen.said())
	}
	b.ordered("UALICE", "new")
	if len(*list) != 1 || len(b.screen.stack) != 1 {
		t.Error("new without words opens no form")
	}
	b.ordered("UBOB", "new something")
	if len(*list) != 1 || b.acted("UBOB", "new", "refused") != 1 {
		t.Error("an approver began a session")
	}

	b.screen.stack = nil
	for _, text := range []string{"outbox", "approvals"} {
		b.ordered("UALICE", text)
		if len(b.screen.stack) != 0 || !strings.HasPrefix(b.screen.said(), "No ") {
			t.Errorf("%s with nothing waiting: %q", text, b.screen.said())
		}
	}
	id := b.stage(mail, nil)
	b.ask("fs_write", `{"path":"a"}`, "")
	b.ordered("UALICE", "outbox")
	if s := b.shown(); !strings.Contains(s, id) {
		t.Errorf("outbox shows %q", s)
	}
	b.ordered("UALICE", "Approvals")
	if s := b.shown(); !strings.Contains(s, "fs_write") || strings.Contains(s, id) {
		t.Errorf("approvals shows %q", s)
	}
	// An approver walks through what they decide, and nothing else.
	b.screen.stack = nil
	b.ordered("UBOB", "approvals")
	if len(b.screen.stack) != 0 {
		t.Error("an approver is shown a call of a tool that they are not named for")
	}
}

func TestWhy(t *testing.T) {
	b := newBench(t)
	b.ordered("UALICE", "why")
	if s := b.screen.said(); !strings.Contains(s, "Nothing was refused") {
		t.Errorf("without a refusal: %q", s)
	}
	b.exec(`INSERT INTO runs (id, thread, fence, state, first_turn, started) VALUES ('r1', 'T1/D1/1.0', 1, 'done', 1, 1)`)
	for i, c := range []struct{ outcome, said string }{{"blocked", "Blocked by policy: the older one"}, {"blocked", "Blocked by policy: fs_read budget.md came before <web>"}, {"ok", "fine"}} {
		id := "call" + string(rune('a'+i))
		b.exec(`INSERT INTO calls (id, thread, run, turn, ord, wire_id, tool, args, state, outcome, created) VALUES (?, 'T1/D1/1.0', 'r1', 1, ?, 'w', 'http_fetch', '{"url":"https://a.example"}', 'done', ?, 1)`, id, i, c.outcome)
		b.exec(`INSERT INTO messages (thread, seq, run, turn, role, author, text, call, tool, created) VALUES ('T1/D1/1.0', ?, 'r1', 1, 'tool', 'tool', ?, ?, 'http_fetch', 1)`, i+1, c.said, id)
	}
	b.ordered("UALICE", "why")
	s := b.screen.said()
	for _, want := range []string{"`http_fetch`", "https://a.example", "fs_read budget.md came before &lt;web&gt;"} {
		if !strings.Contains(s, want) {
			t.Errorf("it does not say %q: %q", want, s)
		}
	}
	if strings.Contains(s, "older") {
		t.Errorf("it tells an older one: %q", s)
	}
	b.ordered("UBOB", "why")
	if b.acted("UBOB", "why", "refused") != 1 {
		t.Error("an approver was told what an owner's thread was refused")
	}
}
