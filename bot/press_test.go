package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// screen is Slack as a desk sees it: it keeps the views that are open and what
// was told.
type screen struct {
	t     *testing.T
	views map[string]json.RawMessage
	stack []string
	told  []string
	homes map[string]json.RawMessage
	fail  error // of opening
	n     int
}

func (s *screen) role(_ context.Context, team, user string) (Role, error) {
	switch {
	case team != "T1":
		return Stranger, nil
	case user == "UALICE":
		return Owner, nil
	case user == "UBOB":
		return Approver, nil
	}
	return Stranger, nil
}

func (s *screen) openView(_ context.Context, _ string, view json.RawMessage) (string, string, error) {
	s.stack = nil
	return s.put(view)
}

func (s *screen) pushView(_ context.Context, _ string, view json.RawMessage) (string, string, error) {
	return s.put(view)
}

func (s *screen) put(view json.RawMessage) (string, string, error) {
	if s.fail != nil {
		return "", "", s.fail
	}
	s.check(view)
	s.n++
	id := fmt.Sprint("V", s.n)
	s.views[id] = view
	s.stack = append(s.stack, id)
	return id, "h", nil
}

func (s *screen) updateView(_ context.Context, id, _ string, view json.RawMessage) error {
	s.check(view)
	s.views[id] = view
	return nil
}

func (s *screen) publishHome(_ context.Context, user string, view json.RawMessage) error {
	s.check(view)
	s.homes[user] = view
	return nil
}

func (s *screen) tell(_ context.Context, _ Press, text string) { s.told = append(s.told, text) }
func (s *screen) kick()                                        {}

func (s *screen) check(view json.RawMessage) {
	for _, e := range blockkit.ValidateView(view) {
		s.t.Errorf("Slack would refuse this view: %v\n%s", e, view)
	}
}

// top is the view in front.
func (s *screen) top() string { return s.stack[len(s.stack)-1] }

// said is the newest thing that was told.
func (s *screen) said() string {
	if len(s.told) == 0 {
		return ""
	}
	return s.told[len(s.told)-1]
}

// mailTool is a routed tool that only its schema matters of.
type mailTool struct{}

func (mailTool) Name() string        { return "mail__mail_send" }
func (mailTool) Description() string { return "sends" }
func (mailTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","required":["to","subject","body"],"properties":{"to":{"type":"array","items":{"type":"string"},"minItems":1},"cc":{"type":"array","items":{"type":"string"}},"subject":{"type":"string","maxLength":60},"body":{"type":"string"},"copies":{"type":"integer"}}}`)
}
func (mailTool) ReadOnly() bool                   { return false }
func (mailTool) Capabilities() tools.Capabilities { return tools.Capabilities{Egress: tools.Chosen} }
func (mailTool) Call(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
	return tools.OK("sent"), nil
}

type mailSurface struct{}

func (mailSurface) Open(context.Context, outbox.Draft) (tools.Tool, *tools.Env, func(), error) {
	return mailTool{}, &tools.Env{}, func() {}, nil
}
func (mailSurface) Find(name string) tools.Tool {
	if name == (mailTool{}).Name() {
		return mailTool{}
	}
	return nil
}

// bench is a desk over a real record.
type bench struct {
	desk
	t      *testing.T
	db     *record.DB
	screen *screen
	dir    string
	posts  map[string]threads.Post
}

func newBench(t *testing.T) *bench {
	t.Helper()
	ctx := t.Context()
	dir := t.TempDir()
	db, err := record.Open(ctx, filepath.Join(dir, "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var n atomic.Int64
	id := func() string { return fmt.Sprintf("id%d", n.Add(1)) }
	quiet := slog.New(slog.DiscardHandler)
	ob := outbox.New(db, outbox.Config{}, outbox.Deps{Surface: mailSurface{}, NewID: func(time.Time) string { return "d" + id() }, Log: quiet})
	th := threads.New(threads.Config{}, threads.Deps{DB: db, Outbox: ob, NewID: id, Log: quiet, Work: dir})
	tr := triggers.New(db, triggers.Config{}, triggers.Deps{Log: quiet})
	s := &screen{t: t, views: map[string]json.RawMessage{}, homes: map[string]json.RawMessage{}}
	b := &bench{t: t, db: db, screen: s, dir: dir, posts: map[string]threads.Post{}}
	b.desk = desk{slack: s, threads: th, outbox: ob, triggers: tr, approvers: map[string][]string{"UBOB": {"mail__mail_send"}}, now: time.Now, newID: id, log: quiet}
	b.desk.home = func(ctx context.Context, team, user string) {
		v, err := b.homeOf(ctx, team, user)
		if err != nil {
			t.Error(err)
		}
		view, tokens := homeTab(v, b.mint)
		for _, k := range tokens {
			if err := th.PutToken(ctx, k); err != nil {
				t.Error(err)
			}
		}
		_ = s.publishHome(ctx, user, view)
	}
	b.exec(`INSERT INTO threads (key, team, channel, thread_ts, surface_channel, surface_ts, owner, state, mode, workspace, created, updated) VALUES ('T1/D1/1.0', 'T1', 'D1', '1.0', 'D1', '1.0', 'UALICE', 'running', 'ask', ?, 1, 1)`, dir)
	return b
}

func (b *bench) exec(q string, args ...any) {
	b.t.Helper()
	if err := b.db.Write(b.t.Context(), func(tx *record.Tx) error { _, err := tx.Exec(q, args...); return err }); err != nil {
		b.t.Fatal(err)
	}
}

// draft stages one; change may taint it first.
func (b *bench) stage(args string, change func(*outbox.Staging)) string {
	b.t.Helper()
	st := outbox.Staging{Tool: mailTool{}, Args: json.RawMessage(args), Workspace: b.dir, Team: "T1", Thread: "T1/D1/1.0", Run: "r1", Call: "call" + b.newID(), Requester: "UALICE"}
	if change != nil {
		change(&st)
	}
	var out outbox.Staged
	err := b.db.Write(b.t.Context(), func(tx *record.Tx) (err error) {
		out, err = b.outbox.Stage(tx, st)
		return err
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return out.ID
}

// callCard leaves a pending call on the record.
func (b *bench) ask(tool, args, scope string) string {
	id := "c" + b.newID()
	b.exec(`INSERT INTO calls (id, thread, run, turn, ord, wire_id, tool, args, state, created) VALUES (?, 'T1/D1/1.0', 'r1', 1, 1, 'w', ?, ?, 'offered', 1)`, id, tool, args)
	b.exec(`INSERT INTO approvals (call, thread, run, tool, args, digest, scope, state, created) VALUES (?, 'T1/D1/1.0', 'r1', ?, ?, 'digest', ?, 'pending', 1)`, id, tool, args, scope)
	return id
}

// post puts a card's rendering up as the poster would.
func (b *bench) show(kind threads.PostKind, ref string) threads.Post {
	b.t.Helper()
	ctx := b.t.Context()
	var r Rendering
	switch kind {
	case threads.PostDraft:
		v, err := b.draftView(ctx, ref, true)
		if err != nil {
			b.t.Fatal(err)
		}
		r = draftCard(v, b.mint())
	case threads.PostApproval:
		a, err := b.threads.Approval(ctx, ref)
		if err != nil {
			b.t.Fatal(err)
		}
		r = approvalCard(a, b.mint())
	case threads.PostQuestion:
		q, err := b.threads.Question(ctx, ref)
		if err != nil {
			b.t.Fatal(err)
		}
		r = questionCard(q, b.mint())
	case threads.PostTrigger:
		v, err := b.triggerView(ctx, ref)
		if err != nil {
			b.t.Fatal(err)
		}
		r = triggerCard(v, b.mint())
	}
	return b.put(kind, ref, r)
}

// put puts a rendering up.
func (b *bench) put(kind threads.PostKind, ref string, r Rendering) threads.Post {
	b.t.Helper()
	ctx := b.t.Context()
	p, known := b.posts[ref]
	if !known {
		id, err := b.threads.AddPost(ctx, threads.Post{Thread: "T1/D1/1.0", Kind: kind, Ref: ref, Place: threads.Place{Team: "T1", Channel: "D1", ThreadTS: "1.0"}})
		if err != nil {
			b.t.Fatal(err)
		}
		p, _ = b.threads.Post(ctx, id)
		p.TS, p.State = fmt.Sprintf("9.%d", id), threads.PostPosted
	}
	accepted(b.t, r)
	keep := ""
	for _, k := range r.Tokens {
		k.Post, k.Channel, k.TS, keep = p.ID, p.Place.Channel, p.TS, k.Token
		if err := b.threads.PutToken(ctx, k); err != nil {
			b.t.Fatal(err)
		}
	}
	if err := b.threads.DropTokens(ctx, p.ID, keep); err != nil {
		b.t.Fatal(err)
	}
	p.Body = json.RawMessage(r.Blocks.JSON())
	if err := b.threads.SetPost(ctx, p); err != nil {
		b.t.Fatal(err)
	}
	b.posts[ref] = p
	return p
}

// on presses a label of a message as Slack would tell it.
func (b *bench) on(p threads.Post, user, label string) Press {
	b.t.Helper()
	action, token := button(p.Body, label)
	if action == "" {
		b.t.Fatalf("no button %q on %s", label, p.Body)
	}
	return Press{Kind: "block_actions", Team: "T1", User: user, TriggerID: "tr", ActionID: action, Value: token, Channel: p.Place.Channel, TS: p.TS, ThreadTS: "1.0"}
}

// in presses a label of the view in front.
func (b *bench) in(user, label string) Press {
	b.t.Helper()
	id := b.screen.top()
	action, token := button(b.screen.views[id], label)
	if action == "" {
		b.t.Fatalf("no button %q in %s", label, b.screen.views[id])
	}
	return Press{Kind: "block_actions", Team: "T1", User: user, TriggerID: "tr", ActionID: action, Value: token, ViewID: id, RootView: b.screen.stack[0]}
}

// submit sends the form in front with values by block id.
func (b *bench) submit(user string, fields map[string]string) string {
	b.t.Helper()
	id := b.screen.top()
	var v struct {
		Callback string `json:"callback_id"`
		Meta     string `json:"private_metadata"`
	}
	if err := json.Unmarshal(b.screen.views[id], &v); err != nil {
		b.t.Fatal(err)
	}
	state := initial(b.screen.views[id])
	for k, s := range fields {
		state[k] = map[string]any{k: map[string]any{"type": "plain_text_input", "value": s}}
	}
	raw, _ := json.Marshal(state)
	ack := b.submitted(b.t.Context(), Press{Kind: "view_submission", Team: "T1", User: user, ViewID: id, RootView: b.screen.stack[0], Callback: v.Callback, Meta: v.Meta, State: raw})
	if string(ack) == "{}" {
		b.screen.stack = b.screen.stack[:len(b.screen.stack)-1]
	}
	return string(ack)
}

// initial is the state of a view that nobody has touched.
func initial(view json.RawMessage) map[string]any {
	var v struct {
		Blocks []struct {
			Type    string `json:"type"`
			BlockID string `json:"block_id"`
			Element struct {
				Type     string          `json:"type"`
				ActionID string          `json:"action_id"`
				Value    *string         `json:"initial_value"`
				Option   json.RawMessage `json:"initial_option"`
			} `json:"element"`
		} `json:"blocks"`
	}
	state := map[string]any{}
	if json.Unmarshal(view, &v) != nil {
		return state
	}
	for _, bl := range v.Blocks {
		if bl.Type != "input" {
			continue
		}
		in := map[string]any{"type": bl.Element.Type, "value": bl.Element.Value}
		if len(bl.Element.Option) > 0 {
			in["selected_option"] = bl.Element.Option
		}
		state[bl.BlockID] = map[string]any{bl.Element.ActionID: in}
	}
	return state
}

// button finds a button by its label anywhere in a JSON document.
func button(doc json.RawMessage, label string) (action, value string) {
	var v any
	_ = json.Unmarshal(doc, &v)
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if t, ok := v["text"].(map[string]any); ok && v["type"] == "button" && t["text"] == label {
				action, _ = v["action_id"].(string)
				value, _ = v["value"].(string)
				return
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return action, value
}

func (b *bench) press(p Press) { b.desk.pressed(b.t.Context(), p) }

func (b *bench) state(id string) outbox.State {
	b.t.Helper()
	d, err := b.outbox.Get(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return d.State
}

func (b *bench) due(p threads.Post) bool {
	q, err := b.threads.Post(b.t.Context(), p.ID)
	if err != nil {
		b.t.Fatal(err)
	}
	return q.Want > p.Want
}

const mail = `{"to": ["dean@example.edu"], "subject":"Re: budget","body":"Dear Dean,\r\nthe total is 41,200.\r\n","copies":1.0}`

var both = func(s *outbox.Staging) {
	s.Taint = tools.Taint{}.With(tools.Mark{Leg: tools.Private, Tool: "fs_read", What: "budget.md"}, tools.Mark{Leg: tools.Untrusted, Tool: "web_open", What: "x"})
}

func TestApproveADraft(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	p := b.show(threads.PostDraft, id)
	b.press(b.on(p, "UALICE", "Approve"))
	if got := b.state(id); got != outbox.Approved {
		t.Fatalf("the draft is %s; told %q", got, b.screen.told)
	}
	if !b.due(p) {
		t.Error("the card is not rendered again")
	}
	b.press(b.on(p, "UALICE", "Approve"))
	if !strings.Contains(b.screen.said(), "Already decided") || !strings.Contains(b.screen.said(), "Approved") {
		t.Errorf("a second press hears %q", b.screen.said())
	}
	d, _ := b.outbox.Get(t.Context(), id)
	if len(d.Approvals) != 1 {
		t.Errorf("%d approvals after two presses", len(d.Approvals))
	}
}

func TestRejectADraft(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	p := b.show(threads.PostDraft, id)
	b.press(b.on(p, "UALICE", "Reject…"))
	if ack := b.submit("UALICE", map[string]string{"reason": strings.Repeat("x", 501)}); !strings.Contains(ack, `"errors"`) || b.state(id) != outbox.Pending {
		t.Errorf("501 characters of reason: %s", ack)
	}
	if ack := b.submit("UALICE", map[string]string{"reason": " wrong recipient "}); ack != "{}" {
		t.Fatalf("ack %s", ack)
	}
	d, _ := b.outbox.Get(t.Context(), id)
	if d.State != outbox.Rejected || d.Reason != "wrong recipient" || d.ResolvedBy != "UALICE" {
		t.Errorf("the draft is %s by %s: %q", d.State, d.ResolvedBy, d.Reason)
	}
	p = b.show(threads.PostDraft, id)
	if a, _ := button(p.Body, "Approve"); a != "" {
		t.Error("a rejected card still offers Approve")
	}
}

func TestEditADraft(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	p := b.show(threads.PostDraft, id)
	b.press(b.on(p, "UALICE", "Edit"))
	if ack := b.submit("UALICE", nil); ack != "{}" {
		t.Fatalf("an untouched form: %s", ack)
	}
	d, _ := b.outbox.Get(t.Context(), id)
	if d.Revision != 1 || string(d.Args) != mail {
		t.Fatalf("an untouched form made revision %d: %s", d.Revision, d.Args)
	}
	b.press(b.on(p, "UALICE", "Edit"))
	f, _ := newForm(mailTool{}.InputSchema(), d.Args)
	subject, body, copies := f.blockOf("subject"), f.blockOf("body"), f.blockOf("copies")
	if ack := b.submit("UALICE", map[string]string{subject: strings.Repeat("long", 40)}); !strings.Contains(ack, `"`+subject+`"`) {
		t.Errorf("a subject that the schema refuses: %s", ack)
	}
	if ack := b.submit("UALICE", map[string]string{copies: "many"}); !strings.Contains(ack, `"`+copies+`"`) {
		t.Errorf("a number that is none: %s", ack)
	}
	if ack := b.submit("UALICE", map[string]string{body: "Dear Dean,\nthe total is 41,300.\n"}); ack != "{}" {
		t.Fatalf("ack %s", ack)
	}
	d, _ = b.outbox.Get(t.Context(), id)
	want := strings.Replace(mail, "41,200", "41,300", 1)
	if d.State != outbox.Pending || d.Revision != 2 || string(d.Args) != want {
		t.Errorf("%s, revision %d:\n%s\nwant\n%s", d.State, d.Revision, d.Args, want)
	}
	if string(d.ArgsBefore) != mail {
		t.Errorf("args_before changed: %s", d.ArgsBefore)
	}
	// The old card's Approve is bound to what it showed.
	b.press(b.on(p, "UALICE", "Approve"))
	if b.state(id) != outbox.Pending || !strings.Contains(b.screen.said(), "changed since it was shown") {
		t.Errorf("approving the old revision: %s, told %q", b.state(id), b.screen.said())
	}
}

func TestEditOfAnOldRevisionIsRefused(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	b.press(b.on(b.show(threads.PostDraft, id), "UALICE", "Edit"))
	if _, err := b.outbox.Edit(t.Context(), id, 1, json.RawMessage(strings.Replace(mail, "Re:", "Fwd:", 1)), "local:0", "terminal"); err != nil {
		t.Fatal(err)
	}
	if ack := b.submit("UALICE", nil); !strings.Contains(ack, "Not saved") {
		t.Errorf("ack %s", ack)
	}
	if d, _ := b.outbox.Get(t.Context(), id); d.Revision != 2 || !strings.Contains(string(d.Args), "Fwd:") {
		t.Errorf("revision %d: %s", d.Revision, d.Args)
	}
}

func TestTaintedTakesTwoPresses(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, both)
	p := b.show(threads.PostDraft, id)
	if a, _ := button(p.Body, "Approve"); a != "" {
		t.Fatal("a tainted card offers Approve")
	}
	// A forged action on the card's own token.
	forged := b.on(p, "UALICE", "Look closer")
	for _, verb := range []string{verbApprove, verbSend} {
		forged.ActionID = kindDraft + "." + verb
		b.press(forged)
		if b.state(id) != outbox.Pending {
			t.Fatalf("%s without a second look: %s", verb, b.state(id))
		}
	}
	b.press(b.on(p, "UALICE", "Look closer"))
	b.press(b.in("UALICE", "Send anyway"))
	if got := b.state(id); got != outbox.Approved {
		t.Fatalf("the draft is %s; told %q", got, b.screen.told)
	}
	if a, _ := button(b.screen.views[b.screen.top()], "Send anyway"); a != "" {
		t.Error("the modal still offers it")
	}
}

func TestLookCloserBindsToWhatItShowed(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, both)
	b.press(b.on(b.show(threads.PostDraft, id), "UALICE", "Look closer"))
	send := b.in("UALICE", "Send anyway")
	if _, err := b.outbox.Edit(t.Context(), id, 1, json.RawMessage(strings.Replace(mail, "dean@", "eve@", 1)), "local:0", "terminal"); err != nil {
		t.Fatal(err)
	}
	b.press(send)
	if b.state(id) != outbox.Pending {
		t.Fatalf("sent something that was not shown: %s", b.state(id))
	}
	if !strings.Contains(string(b.screen.views[b.screen.top()]), "eve@example.edu") {
		t.Error("the modal does not show what stands now")
	}
}

func TestReadAllPagesBeforeApprove(t *testing.T) {
	b := newBench(t)
	long, _ := encodeJSON(map[string]any{"to": []string{"dean@example.edu"}, "subject": "s", "body": strings.Repeat("a line of a long letter\n", 1500)})
	id := b.stage(string(long), nil)
	p := b.show(threads.PostDraft, id)
	if a, _ := button(p.Body, "Approve"); a != "" {
		t.Fatal("a card that is not whole offers Approve")
	}
	b.press(b.on(p, "UALICE", "Read all"))
	for n := 0; ; n++ {
		view := b.screen.views[b.screen.top()]
		next, _ := button(view, "Next page")
		approve, _ := button(view, "Approve")
		if (next == "") != (approve != "") {
			t.Fatalf("page %d: next %q, approve %q", n+1, next, approve)
		}
		if next == "" {
			break
		}
		early := b.in("UALICE", "Next page")
		early.ActionID = kindDraft + "." + verbApprove
		b.press(early)
		if b.state(id) != outbox.Pending {
			t.Fatal("approved before the last page")
		}
		b.press(b.in("UALICE", "Next page"))
	}
	b.press(b.in("UALICE", "Approve"))
	if got := b.state(id); got != outbox.Approved {
		t.Fatalf("the draft is %s; told %q", got, b.screen.told)
	}
}

func TestReconcile(t *testing.T) {
	for label, want := range map[string]outbox.State{"It arrived…": outbox.Released, "It did not…": outbox.Pending} {
		b := newBench(t)
		id := b.stage(mail, nil)
		b.exec(`UPDATE drafts SET state = 'uncertain' WHERE id = ?`, id)
		p := b.show(threads.PostDraft, id)
		b.press(b.on(p, "UALICE", label))
		if ack := b.submit("UALICE", map[string]string{"evidence": "  "}); !strings.Contains(ack, `"evidence"`) {
			t.Errorf("%s without evidence: %s", label, ack)
		}
		if ack := b.submit("UALICE", map[string]string{"evidence": "my Sent folder"}); ack != "{}" {
			t.Fatalf("%s: %s", label, ack)
		}
		if got := b.state(id); got != want {
			t.Errorf("%s: the draft is %s, want %s", label, got, want)
		}
	}
}

func TestCalls(t *testing.T) {
	for _, c := range []struct{ label, reason, want string }{
		{"Approve", "", "approved"}, {"Allow for this run", "", "approved"}, {"Reject…", "use the venv", "denied"},
	} {
		b := newBench(t)
		id := b.ask("fs_write", `{"path":"a"}`, "fs_write")
		p := b.show(threads.PostApproval, id)
		b.press(b.on(p, "UALICE", c.label))
		if c.reason != "" {
			if ack := b.submit("UALICE", map[string]string{"reason": c.reason}); ack != "{}" {
				t.Fatalf("%s: %s", c.label, ack)
			}
		}
		a, err := b.threads.Approval(t.Context(), id)
		if err != nil || a.State != c.want || a.Reason != c.reason || a.By != "UALICE" {
			t.Errorf("%s: %+v %v", c.label, a, err)
		}
		b.press(b.on(p, "UALICE", "Approve"))
		if !strings.Contains(b.screen.said(), "Already decided") {
			t.Errorf("%s, then a second press: told %q", c.label, b.screen.said())
		}
	}
}

func TestUnansweredOffersAskAgain(t *testing.T) {
	b := newBench(t)
	id := b.ask("fs_write", `{"path":"a"}`, "fs_write")
	old := b.on(b.show(threads.PostApproval, id), "UALICE", "Approve")
	b.exec(`UPDATE approvals SET state = 'unanswered', decided = 2, version = version + 1 WHERE call = ?`, id)
	b.press(old)
	if a, _ := b.threads.Approval(t.Context(), id); a.State != "unanswered" || !strings.Contains(b.screen.said(), "No answer") {
		t.Errorf("a late press: %s, told %q", a.State, b.screen.said())
	}
	b.press(b.on(b.show(threads.PostApproval, id), "UALICE", "Ask again"))
	if !strings.Contains(b.screen.said(), "ask again") {
		t.Errorf("told %q", b.screen.said())
	}
}

// Presses that must do nothing, each told so and each with a row.
func TestPressesThatDoNotCount(t *testing.T) {
	other := func(b *bench) Press {
		p := b.on(b.show(threads.PostDraft, b.stage(strings.Replace(mail, "dean@", "eve@", 1), nil)), "UALICE", "Approve")
		return p
	}
	for name, c := range map[string]struct {
		change func(b *bench, p *Press)
		told   string
	}{
		"a stranger":                     {func(_ *bench, p *Press) { p.User = "UMALLORY" }, "not yours"},
		"another team":                   {func(_ *bench, p *Press) { p.Team = "T2" }, "not yours"},
		"a token that nobody minted":     {func(_ *bench, p *Press) { p.Value = "tforged" }, "earlier version"},
		"an empty token":                 {func(_ *bench, p *Press) { p.Value = "" }, "earlier version"},
		"another message":                {func(_ *bench, p *Press) { p.TS = "8.8" }, "does not belong here"},
		"another channel":                {func(_ *bench, p *Press) { p.Channel = "C9" }, "does not belong here"},
		"a view instead of the message":  {func(_ *bench, p *Press) { p.ViewID, p.TS, p.Channel = "V1", "", "" }, "does not belong here"},
		"another card's token":           {func(b *bench, p *Press) { p.Value = other(b).Value }, "does not belong here"},
		"a verb that it does not offer":  {func(_ *bench, p *Press) { p.ActionID = "draft.cancel" }, "does not do that"},
		"another kind":                   {func(_ *bench, p *Press) { p.ActionID = "call.approve" }, "does not do that"},
		"resume on a draft's token":      {func(_ *bench, p *Press) { p.ActionID = "all.resume" }, "does not do that"},
		"no action at all":               {func(_ *bench, p *Press) { p.ActionID = "" }, "does not do that"},
		"a card that was rendered since": {func(b *bench, p *Press) { b.show(threads.PostDraft, refOf(b, *p)) }, "earlier version"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			id := b.stage(mail, nil)
			p := b.on(b.show(threads.PostDraft, id), "UALICE", "Approve")
			c.change(b, &p)
			b.press(p)
			if b.state(id) != outbox.Pending {
				t.Errorf("the draft is %s", b.state(id))
			}
			if !strings.Contains(b.screen.said(), c.told) {
				t.Errorf("told %q, want %q", b.screen.said(), c.told)
			}
			var rows int
			if err := b.db.Read(t.Context(), func(tx *record.Tx) error {
				return tx.Row(`SELECT count(*) FROM actions WHERE outcome LIKE 'refused:%' OR outcome LIKE 'stale:%'`, nil, &rows)
			}); err != nil || rows == 0 {
				t.Errorf("%d rows in the audit trail, %v", rows, err)
			}
		})
	}
}

func refOf(b *bench, p Press) string {
	post, err := b.threads.PostAt(b.t.Context(), p.Channel, p.TS)
	if err != nil {
		b.t.Fatal(err)
	}
	return post.Ref
}

func TestApproversDecideWhatTheyAreNamedFor(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	b.press(b.on(b.show(threads.PostDraft, id), "UBOB", "Approve"))
	if b.state(id) != outbox.Approved {
		t.Errorf("bob is named for the tool: %s, told %q", b.state(id), b.screen.told)
	}
	call := b.ask("shell", `{"command":"ls"}`, "ls")
	p := b.show(threads.PostApproval, call)
	for _, label := range []string{"Approve", "Allow for this run", "Reject…"} {
		b.press(b.on(p, "UBOB", label))
		if a, _ := b.threads.Approval(t.Context(), call); a.State != "pending" || !strings.Contains(b.screen.said(), "not yours") {
			t.Errorf("bob's %s on shell: %s, told %q", label, a.State, b.screen.said())
		}
	}
	routed := b.ask("mail__mail_send", `{}`, "mail__mail_send")
	p = b.show(threads.PostApproval, routed)
	b.press(b.on(p, "UBOB", "Allow for this run"))
	if a, _ := b.threads.Approval(t.Context(), routed); a.State != "pending" {
		t.Error("an approver may not allow for the run")
	}
	b.press(b.on(p, "UBOB", "Approve"))
	if a, _ := b.threads.Approval(t.Context(), routed); a.State != "approved" {
		t.Errorf("a single call of a tool that bob is named for: %s, told %q", a.State, b.screen.said())
	}
}

func TestViewsBelongToWhoOpenedThem(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, both)
	b.press(b.on(b.show(threads.PostDraft, id), "UALICE", "Look closer"))
	theirs := b.in("UBOB", "Send anyway")
	b.press(theirs)
	elsewhere := b.in("UALICE", "Send anyway")
	elsewhere.ViewID = "V99"
	b.press(elsewhere)
	if b.state(id) != outbox.Pending {
		t.Error("sent from a view that is somebody else's")
	}
	b.press(b.on(b.posts[id], "UALICE", "Reject…"))
	if ack := b.submit("UBOB", map[string]string{"reason": "x"}); !strings.Contains(ack, "not valid") || b.state(id) != outbox.Pending {
		t.Errorf("bob submits alice's form: %s, %s", ack, b.state(id))
	}
}

func TestExpiredTriggerIsTold(t *testing.T) {
	b := newBench(t)
	id := b.stage(mail, nil)
	p := b.show(threads.PostDraft, id)
	b.screen.fail = fmt.Errorf("expired_trigger_id")
	b.press(b.on(p, "UALICE", "Edit"))
	if !strings.Contains(b.screen.said(), "Press again") {
		t.Errorf("told %q", b.screen.said())
	}
}

func TestQuestions(t *testing.T) {
	b := newBench(t)
	ask := func(id string) {
		b.exec(`INSERT INTO questions (id, thread, run, call, question, options, state, created) VALUES (?, 'T1/D1/1.0', 'r1', '', 'Which one?', '["the first","the second"]', 'open', 1)`, id)
	}
	ask("q1")
	b.press(b.on(b.show(threads.PostQuestion, "q1"), "UBOB", "the second"))
	if q, _ := b.threads.Question(t.Context(), "q1"); q.State != "open" {
		t.Error("an approver answered a question")
	}
	b.press(b.on(b.show(threads.PostQuestion, "q1"), "UALICE", "the second"))
	if q, _ := b.threads.Question(t.Context(), "q1"); q.Answer != "the second" {
		t.Errorf("answered %q; told %q", q.Answer, b.screen.told)
	}
	ask("q2")
	b.press(b.on(b.show(threads.PostQuestion, "q2"), "UALICE", "Answer"))
	if ack := b.submit("UALICE", nil); !strings.Contains(ack, "errors") {
		t.Errorf("an empty answer: %s", ack)
	}
	b.submit("UALICE", map[string]string{"answer": "neither"})
	if q, _ := b.threads.Question(t.Context(), "q2"); q.Answer != "neither" {
		t.Errorf("answered %q", q.Answer)
	}
}

func TestTriggers(t *testing.T) {
	b := newBench(t)
	propose := func(name string) threads.Post {
		if _, err := b.triggers.Propose(t.Context(), triggers.Who{Team: "T1", User: "UALICE", Surface: "agent"}, triggers.Trigger{Name: name, Schedule: "0 7 * * 1-5", Zone: "Europe/Berlin", Prompt: "mail?", Untrusted: true}); err != nil {
			t.Fatal(err)
		}
		return b.show(threads.PostTrigger, name)
	}
	p := propose("morning")
	b.press(b.on(p, "UBOB", "Accept"))
	if tr, _ := b.triggers.Get(t.Context(), "morning"); tr.State != "proposed" {
		t.Error("an approver accepted a trigger")
	}
	b.press(b.on(p, "UALICE", "Accept"))
	if tr, _ := b.triggers.Get(t.Context(), "morning"); tr.State != "enabled" {
		t.Errorf("it is %s; told %q", tr.State, b.screen.told)
	}
	b.press(b.on(p, "UALICE", "Accept"))
	if !strings.Contains(b.screen.said(), "Already decided") {
		t.Errorf("told %q", b.screen.said())
	}
	propose("nightly")
	b.exec(`UPDATE triggers SET prompt = ? WHERE name = 'nightly'`, strings.Repeat("a long prompt ", 1100))
	p = b.show(threads.PostTrigger, "nightly")
	if a, _ := button(p.Body, "Accept"); a != "" {
		t.Error("a card that is not whole offers Accept")
	}
	b.press(b.on(p, "UALICE", "Read all"))
	for {
		if next, _ := button(b.screen.views[b.screen.top()], "Next page"); next == "" {
			break
		}
		b.press(b.in("UALICE", "Next page"))
	}
	b.press(b.in("UALICE", "Accept"))
	if tr, _ := b.triggers.Get(t.Context(), "nightly"); tr.State != "enabled" {
		t.Errorf("it is %s; told %q", tr.State, b.screen.told)
	}
	p = propose("evening")
	b.press(b.on(p, "UALICE", "Reject…"))
	if _, err := b.triggers.Get(t.Context(), "evening"); err == nil {
		t.Error("a rejected proposal is kept")
	}
	b.show(threads.PostTrigger, "evening")
}

func TestReviewWalks(t *testing.T) {
	b := newBench(t)
	first := b.stage(mail, nil)
	second := b.stage(strings.Replace(mail, "dean@", "team@", 1), both)
	third := b.stage(strings.Replace(mail, "dean@", "eve@", 1), nil)
	call := b.ask("fs_write", `{"path":"a"}`, "fs_write")
	b.home(t.Context(), "T1", "UALICE")
	action, token := button(b.screen.homes["UALICE"], "Review")
	b.press(Press{Kind: "block_actions", Team: "T1", User: "UALICE", TriggerID: "tr", ActionID: action, Value: token, ViewID: "VHOME"})
	b.press(b.in("UALICE", "Approve"))
	b.press(b.in("UALICE", "Send anyway"))
	b.press(b.in("UALICE", "Later"))
	b.press(b.in("UALICE", "Reject…"))
	if ack := b.submit("UALICE", map[string]string{"reason": "no"}); ack != "{}" {
		t.Fatalf("ack %s", ack)
	}
	for id, want := range map[string]outbox.State{first: outbox.Approved, second: outbox.Approved, third: outbox.Pending} {
		if got := b.state(id); got != want {
			t.Errorf("%s is %s, want %s", id, got, want)
		}
	}
	if a, _ := b.threads.Approval(t.Context(), call); a.State != "denied" {
		t.Errorf("the call is %s", a.State)
	}
	if view := string(b.screen.views[b.screen.top()]); !strings.Contains(view, "That is all for now") {
		t.Errorf("the review does not end: %s", view)
	}
}

func TestPauseAndResumeFromHome(t *testing.T) {
	b := newBench(t)
	press := func(user, label string) {
		b.home(t.Context(), "T1", user)
		action, token := button(b.screen.homes[user], label)
		b.press(Press{Kind: "block_actions", Team: "T1", User: user, ActionID: action, Value: token, ViewID: "VHOME"})
	}
	press("UBOB", "Pause everything")
	if paused, _ := b.threads.Paused(t.Context()); !paused {
		t.Fatal("an approver may pause")
	}
	b.home(t.Context(), "T1", "UBOB")
	if a, _ := button(b.screen.homes["UBOB"], "Resume"); a != "" {
		t.Error("an approver is offered Resume")
	}
	press("UALICE", "Resume")
	if paused, _ := b.threads.Paused(t.Context()); paused {
		t.Error("still paused")
	}
	press("UALICE", "Stop")
	if !strings.Contains(b.screen.said(), "Nothing is running") {
		t.Errorf("told %q", b.screen.said())
	}
	press("UALICE", "Mode: read-only")
	if th, _ := b.threads.Thread(t.Context(), "T1/D1/1.0"); th.Mode != threads.ModeReadOnly {
		t.Errorf("the mode is %s; told %q", th.Mode, b.screen.said())
	}
}
