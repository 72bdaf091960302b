package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

func TestAHundredTurnLoopLeavesOneDraft(t *testing.T) {
	b := newBench(t, Config{})
	first := b.stage(args("hello"))
	for range 100 {
		st, err := stageWith(t.Context(), b.Outbox, b.staging(args("hello")))
		if err != nil || !st.Already || st.ID != first.ID {
			t.Fatalf("staged again: %+v, %v", st, err)
		}
		if !strings.Contains(st.Text, "already staged as `"+first.ID+"`") {
			t.Fatalf("the model is told %q", st.Text)
		}
	}
	list, err := b.List(t.Context(), Filter{All: true})
	if err != nil || len(list) != 1 {
		t.Fatalf("%d drafts, %v", len(list), err)
	}
	if b.mail.count() != 0 {
		t.Fatal("something was sent")
	}
}

func TestTheSameCallIsTheSameDraft(t *testing.T) {
	b := newBench(t, Config{})
	s := b.staging(args("hello"))
	d := b.stageAs(s)
	if _, err := b.Reject(t.Context(), d.ID, "U1", "slack", ""); err != nil {
		t.Fatal(err)
	}
	st, err := stageWith(t.Context(), b.Outbox, s)
	if err != nil || st.ID != d.ID || !st.Already {
		t.Fatalf("a call staged twice: %+v, %v", st, err)
	}
}

func TestWhatTheModelIsTold(t *testing.T) {
	b := newBench(t, Config{})
	st, err := stageWith(t.Context(), b.Outbox, b.staging(args("hello")))
	if err != nil {
		t.Fatal(err)
	}
	want := "Drafted, not sent: this call is staged in the outbox as `" + st.ID + "`.\nThe user will review it with `mecha-slack outbox` and release or reject it.\nReport it to the user as a draft awaiting their release — never as done —\nand do not retry the call."
	if diff := cmp.Diff(want, st.Text); diff != "" {
		t.Error(diff)
	}
}

func TestSuperseding(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name   string
		before func(b *bench, d Draft)
		next   string
		old    State
		linked bool
	}{
		{"a new body", nil, args("shorter"), Superseded, true},
		{"another subject", nil, `{"to":["dean@example.edu"],"subject":"Lunch","body":"hello"}`, Pending, false},
		{"another recipient", nil, `{"to":["bob@example.com"],"subject":"Budget","body":"hello"}`, Pending, false},
		{"edited", func(b *bench, d Draft) {
			if _, err := b.Edit(ctx, d.ID, d.Revision, json.RawMessage(args("mine")), "U1", "slack"); err != nil {
				b.t.Fatal(err)
			}
		}, args("shorter"), Pending, true},
		{"edited and back", func(b *bench, d Draft) {
			e, err := b.Edit(ctx, d.ID, d.Revision, json.RawMessage(args("mine")), "U1", "slack")
			if err == nil {
				_, err = b.Edit(ctx, d.ID, e.Revision, d.ArgsBefore, "U1", "slack")
			}
			if err != nil {
				b.t.Fatal(err)
			}
		}, args("shorter"), Pending, true},
		{"open for editing", func(b *bench, d Draft) {
			if err := b.Opened(ctx, d.ID, true); err != nil {
				b.t.Fatal(err)
			}
		}, args("shorter"), Pending, true},
		{"opened and closed", func(b *bench, d Draft) {
			if err := errors.Join(b.Opened(ctx, d.ID, true), b.Opened(ctx, d.ID, false)); err != nil {
				b.t.Fatal(err)
			}
		}, args("shorter"), Superseded, true},
		{"approved", func(b *bench, d Draft) { b.approve(d) }, args("shorter"), Approved, true},
		{"rejected", func(b *bench, d Draft) {
			if _, err := b.Reject(ctx, d.ID, "U1", "slack", ""); err != nil {
				b.t.Fatal(err)
			}
		}, args("shorter"), Rejected, false},
		{"uncertain", func(b *bench, d Draft) {
			b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
				return tools.Output{}, errors.New("closed pipe")
			}
			want(b.t, b.dispatch(b.approve(d)), Uncertain)
		}, args("shorter"), Uncertain, true},
		{"failed once", func(b *bench, d Draft) {
			b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
				return tools.Fail("no such user"), nil
			}
			want(b.t, b.dispatch(b.approve(d)), Pending)
		}, args("shorter"), Pending, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			d := b.stage(args("hello"))
			if tc.before != nil {
				tc.before(b, d)
			}
			st, err := stageWith(t.Context(), b.Outbox, b.staging(tc.next))
			if err != nil {
				t.Fatal(err)
			}
			old, next := b.get(d.ID), b.get(st.ID)
			want(t, old, tc.old)
			want(t, next, Pending)
			if linked := old.SupersededBy == next.ID && next.Supersedes == old.ID; linked != tc.linked {
				t.Errorf("linked: %v, want %v", linked, tc.linked)
			}
			if both := strings.Contains(st.Text, "there are two"); both != (tc.linked && tc.old != Superseded) {
				t.Errorf("the model is told %q", st.Text)
			}
		})
	}
}

// A release takes as long as its tool; staging waits for none, and what is on
// its way out stays what it is.
func TestStagingDuringARelease(t *testing.T) {
	b := newBench(t, Config{})
	started, end := make(chan bool), make(chan bool)
	b.mail.call = func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
		started <- true
		<-end
		return tools.OK("Sent."), nil
	}
	d := b.approve(b.stage(args("hello")))
	done := make(chan Draft)
	go func() { // ends with the test's release
		d, err := b.Dispatch(context.Background(), d.ID)
		if err != nil {
			t.Error(err)
		}
		done <- d
	}()
	<-started
	same, err := stageWith(t.Context(), b.Outbox, b.staging(args("hello")))
	if err != nil || !same.Already || same.ID != d.ID {
		t.Fatalf("the very call that is going out: %+v, %v", same, err)
	}
	other := b.stage(args("another wording"))
	if b.get(d.ID).State != Releasing || b.get(d.ID).SupersededBy != other.ID {
		t.Fatalf("the draft that goes out became %+v", b.get(d.ID))
	}
	end <- true
	want(t, <-done, Released)
	want(t, b.get(other.ID), Pending)
	if b.mail.count() != 1 {
		t.Fatalf("%d deliveries", b.mail.count())
	}
}

func TestTheKeyIsPinnedAndShown(t *testing.T) {
	for _, from := range []string{"policy", "hints"} {
		t.Run(from, func(t *testing.T) {
			cfg := Config{}
			b := newBench(t, cfg)
			if from == "hints" {
				b.mail.hints.KeyArg = "idempotency_key"
			} else {
				b.cfg.Policies = []Policy{{Tool: b.mail.name, KeyArg: "idempotency_key"}}
			}
			d := b.stage(`{"body":"hello", "idempotency_key":"the model's"}`)
			wantArgs := fmt.Sprintf(`{"body":"hello", "idempotency_key":%q}`, d.IdempotencyKey)
			if string(d.Args) != wantArgs || string(d.ArgsBefore) != wantArgs || d.Edited {
				t.Fatalf("args %s, before %s", d.Args, d.ArgsBefore)
			}
			st, err := stageWith(t.Context(), b.Outbox, b.staging(`{"body":"hello", "idempotency_key":"another"}`))
			if err != nil || !st.Already {
				t.Fatalf("the key hides that it is the same call: %+v, %v", st, err)
			}
			e, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(`{"body":"mine"}`), "U1", "slack")
			if err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf(`{"body":"mine","idempotency_key":%q}`, d.IdempotencyKey); string(e.Args) != want {
				t.Fatalf("an edit made it %s, want %s", e.Args, want)
			}
			want(t, b.dispatch(b.approve(e)), Released)
			if b.mail.sent[0] != string(e.Args) || b.mail.keys[0] != d.IdempotencyKey {
				t.Fatalf("sent %s with key %s", b.mail.sent[0], b.mail.keys[0])
			}
		})
	}
}

func TestAKeyThatTheToolDoesNotTakeFailsAtStaging(t *testing.T) {
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", KeyArg: "no_such"}}})
	_, err := stageWith(t.Context(), b.Outbox, b.staging(args("hello")))
	if err == nil || !strings.Contains(err.Error(), "key_arg") {
		t.Fatalf("got %v", err)
	}
}

func TestWhatIsNotDrafted(t *testing.T) {
	b := newBench(t, Config{})
	b.Secret = func(s string) bool { return strings.Contains(s, "xoxb-1") }
	for name, raw := range map[string]string{
		"a secret":             `{"body":"here: xoxb-1"}`,
		"a secret, escaped":    `{"body":"here: \u0078oxb-1"}`,
		"too long":             `{"body":"` + strings.Repeat("x", maxArgs) + `"}`,
		"a missing attachment": `{"body":"x","attachments":["none.pdf"]}`,
		"outside of the jail":  `{"body":"x","attachments":["../mecha.db"]}`,
	} {
		b.mail.hints.Files = []string{"attachments"}
		if st, err := stageWith(t.Context(), b.Outbox, b.staging(raw)); err == nil {
			t.Errorf("%s: staged as %s", name, st.ID)
		}
	}
	list, err := b.List(t.Context(), Filter{All: true})
	if err != nil || len(list) != 0 {
		t.Fatalf("%d drafts, %v", len(list), err)
	}
}

func TestFiles(t *testing.T) {
	tests := []struct {
		name  string
		hints []string
		args  string
		want  []string
	}{
		{"by hint", []string{"attachments"}, `{"attachments":["report","q3 plan.pdf"]}`, []string{"report", "q3 plan.pdf"}},
		{"by name", nil, `{"attachments":["report"]}`, []string{"report"}},
		{"by extension", nil, `{"body":"a.txt"}`, []string{"a.txt"}},
		{"by separator", nil, `{"body":"site/index.html"}`, []string{"site/index.html"}},
		{"in objects", nil, `{"attachments":[{"name":"a.txt","content":"hello"}]}`, []string{"a.txt"}},
		{"a directory, whole", nil, `{"path":"site"}`, []string{"site/img/a.png", "site/index.html"}},
		{"prose is none", nil, `{"body":"report"}`, nil},
		{"absent ones are none", nil, `{"attachments":["absent.txt"]}`, nil},
		{"links are none", nil, `{"body":"https://example.org/a.txt"}`, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, Config{})
			for _, f := range []string{"report", "q3 plan.pdf", "a.txt", "site/index.html", "site/img/a.png"} {
				b.write(f, "content of "+f)
			}
			b.mail.schema = `{"type":"object"}`
			b.mail.hints.Files = tc.hints
			d := b.stage(tc.args)
			var got []string
			for _, f := range d.Files {
				got = append(got, f.Path)
				if f.Bytes != int64(len("content of "+f.Path)) || len(f.SHA256) != 64 {
					t.Errorf("%+v", f)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A shared server runs in a directory of its own: what lies in a conversation's
// is handed to it by absolute path.
func TestFilesOfASharedServer(t *testing.T) {
	b := newBench(t, Config{})
	b.write("report.txt", "here")
	home := t.TempDir()
	b.mail.home, b.mail.hints.Files = home, []string{"attachments"}
	s := b.staging(fmt.Sprintf(`{"body":"x","attachments":[%q]}`, filepath.Join(b.work, "report.txt")))
	s.Workspace = home
	d := b.stageAs(s)
	if len(d.Files) != 1 || d.Files[0].Bytes != 4 {
		t.Fatalf("files %+v", d.Files)
	}
	b.write("report.txt", "changed")
	d = b.dispatch(b.approve(d))
	want(t, d, Pending)
	if b.mail.count() != 0 || !strings.Contains(d.LastError, "report.txt has changed") {
		t.Fatalf("sent %d times; %s", b.mail.count(), d.LastError)
	}
}

func TestProvenanceIsKept(t *testing.T) {
	b := newBench(t, Config{})
	s := b.staging(args("hello"))
	s.Taint = tools.Taint{}.With(
		tools.Mark{Leg: tools.Private, Call: "c0", Tool: "fs_read", What: "notes.md", Turn: 1},
		tools.Mark{Leg: tools.Untrusted, Call: "c9", Tool: "mail__mail_get_thread", What: "42", Turn: 2})
	s.Destinations = []tools.Destination{{Kind: tools.ToAddress, Arg: "/to/0", Value: "dean@example.edu", Origin: tools.FromThirdParty, Suspect: true, Call: "c9", Tool: "mail__mail_get_thread"}}
	s.Filled = []string{"priority"}
	d := b.stageAs(s)
	if diff := cmp.Diff(s.Taint, d.Taint); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(s.Destinations, d.Destinations); diff != "" {
		t.Error(diff)
	}
	if !d.Tainted || !d.Red || !d.SecondLook() || !cmp.Equal(d.FilledDefaults, s.Filled) {
		t.Errorf("tainted %v, red %v, filled %v", d.Tainted, d.Red, d.FilledDefaults)
	}
	// A person who types another recipient takes the suspicion away with it.
	e, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(`{"to":["carol@example.com"],"subject":"Budget","body":"hello"}`), "U1", "slack")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Destinations) != 1 || e.Destinations[0].Origin != tools.FromOwner || e.Red || !e.Tainted {
		t.Errorf("after the edit: %+v, red %v, tainted %v", e.Destinations, e.Red, e.Tainted)
	}
	// The stranger's recipient stays a stranger's, whatever else is edited.
	f := b.stageAs(func() Staging { s.Call = "again"; s.Thread = "T2"; return s }())
	f, err = b.Edit(t.Context(), f.ID, 1, json.RawMessage(args("other words")), "U1", "slack")
	if err != nil || !f.Red {
		t.Errorf("an edit of the body made it clean: %v, %v", f.Red, err)
	}
}

func TestUnmatched(t *testing.T) {
	b := newBench(t, Config{Tools: []string{"mail__mail_send", "mail__mail_sned", "left_out"}, PublishTools: []string{"publish"},
		Policies:  []Policy{{Tool: "mail__mail_send"}, {Tool: "mail__mail_sedn"}, {Tool: "mail__mail_list"}, {Tool: "left_out"}},
		Reconcile: map[string]Reconcile{"mail__mail_send": {Tool: "mail__mail_lsit"}, "a": {Tool: "mail__mail_send"}, "b": {Tool: "mail__mail_list"}}})
	list := newSender()
	list.name, list.read = "mail__mail_list", true
	reg, err := tools.NewRegistry(b.mail, list)
	if err != nil {
		t.Fatal(err)
	}
	got := b.Unmatched(reg, func(name string) bool { return name == "left_out" })
	want := []string{
		"[outbox] routes `mail__mail_sned`, which is not a registered tool — check the spelling, or this routing protects nothing",
		"[outbox] publish_tools names `publish`, which [outbox] tools does not route — it would be executed, not staged",
		"[[outbox.policy]] is written for `mail__mail_sedn`, which is not a registered tool — check the spelling, or this policy governs nothing",
		"[[outbox.policy]] is written for `mail__mail_list`, which is not routed through the outbox — it governs nothing",
		"[outbox.reconcile.a] looks with `mail__mail_send`, which is not read-only — it is not used",
		"[outbox.reconcile.mail__mail_send] looks with `mail__mail_lsit`, which is not a registered tool — check the spelling, or nothing looks",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestRouted(t *testing.T) {
	mcp := newSender()
	mcp.name = "x__send"
	tests := []struct {
		cfg  Config
		want bool
	}{
		{Config{Tools: []string{"x__send"}}, true},
		{Config{Tools: []string{"x__sen"}}, false},
		{Config{}, false},
		{Config{Capabilities: []string{"chosen"}}, true},
		{Config{Capabilities: []string{"destructive"}}, false},
		{Config{Capabilities: []string{"chosen"}, Exclude: []string{"x__send"}}, false},
		{Config{Capabilities: []string{"chosen"}, Exclude: []string{"x__send"}, Tools: []string{"x__send"}}, true},
	}
	for i, tc := range tests {
		o := &Outbox{cfg: tc.cfg}
		if got := o.Routed(mcp); got != tc.want {
			t.Errorf("%d: %v, want %v", i, got, tc.want)
		}
	}
}

func TestSummary(t *testing.T) {
	for raw, want := range map[string]string{
		`{"subject":"re: budget","to":"dean@x.org","body":"b"}`: `{"to":"dean@x.org","subject":"re: budget"}`,
		`{"body":"b"}`:     `{"body":"b"}`,
		`{"title":"a\nb"}`: `{"title":"a\nb"}`,
		`{"to":["` + strings.Repeat("x", 100) + `"]}`: `{"to":["` + strings.Repeat("x", 71) + `…`,
	} {
		if got := summary(json.RawMessage(raw)); got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
}

func TestAFullDiskStagesNothingAndSendsNothing(t *testing.T) {
	b := newBench(t, Config{})
	b.stage(args("hello"))
	err := b.db.Write(t.Context(), func(tx *record.Tx) error {
		var pages int
		if err := tx.Row(`PRAGMA page_count`, nil, &pages); err != nil {
			return err
		}
		_, err := tx.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, pages+2))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	staged := 1
	for i := range 50 {
		_, err := stageWith(t.Context(), b.Outbox, b.staging(fmt.Sprintf(`{"to":["%d@x.org"],"body":%q}`, i, strings.Repeat("long ", 2000))))
		if err == nil {
			staged++
			continue
		}
		if !record.IsFull(err) {
			t.Fatalf("an error of another kind: %v", err)
		}
		list, lerr := b.List(t.Context(), Filter{All: true})
		if lerr != nil || len(list) != staged {
			t.Fatalf("%d drafts, %d were staged; %v", len(list), staged, lerr)
		}
		if b.mail.count() != 0 {
			t.Fatal("something was sent")
		}
		// A decision that cannot be written down did not happen either.
		_, aerr := b.Edit(t.Context(), list[0].ID, 1, json.RawMessage(args(strings.Repeat("long ", 8000))), "U1", "slack")
		if aerr == nil || !record.IsFull(aerr) {
			t.Fatalf("an edit on a full disk: %v", aerr)
		}
		if d := b.get(list[0].ID); d.Revision != 1 {
			t.Fatalf("half an edit: %+v", d)
		}
		return
	}
	t.Fatal("the disk never filled")
}
