package bot

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// renderer is a Bot over the bench's record that never talks to Slack: every
// place is a DM.
func (b *bench) renderer() *Bot {
	b.exec(`INSERT INTO people (team, user, role, tz, dm, bound_by, created) VALUES ('T1', 'UALICE', 'owner', 'Europe/Berlin', 'D1', 'seed', 1) ON CONFLICT DO NOTHING`)
	return &Bot{Deps: Deps{DB: b.db, Threads: b.threads, Outbox: b.outbox, Triggers: b.triggers, Now: time.Now, NewID: b.newID, Log: b.log}, wire: wire{me: identity{Team: "T1"}}}
}

func TestRenderEveryKindOfPost(t *testing.T) {
	b := newBench(t)
	bot := b.renderer()
	draft := b.stage(mail, nil)
	call := b.ask("fs_write", `{"path":"a"}`, "fs_write")
	b.exec(`INSERT INTO questions (id, thread, run, call, question, state, created) VALUES ('q1', 'T1/D1/1.0', 'r1', '', 'Which?', 'open', 1)`)
	b.exec(`INSERT INTO inbox (id, app, team, channel, ts, thread, user, text, state, received) VALUES (7, 'A', 'T1', 'D1', '2.0', 'T1/D1/1.0', 'UALICE', 'hello', 'late', 1)`)
	if _, err := b.triggers.Propose(t.Context(), triggers.Who{Team: "T1", User: "UALICE"}, triggers.Trigger{Name: "morning", Schedule: "0 7 * * *", Zone: "UTC", Prompt: "mail?"}); err != nil {
		t.Fatal(err)
	}
	place := threads.Place{Team: "T1", Channel: "D1", ThreadTS: "1.0"}
	for _, c := range []struct {
		kind        threads.PostKind
		ref, body   string
		says, offer string
	}{
		{threads.PostDraft, draft, `{}`, "Draft for you to send", verbApprove},
		{threads.PostApproval, call, `{}`, "May I run this?", verbApproveRun},
		{threads.PostQuestion, "q1", `{}`, "Which?", verbAnswer},
		{threads.PostLate, "7", `{}`, "hello", verbAnswer},
		{threads.PostTrigger, "morning", `{}`, "every day at 07:00", verbAccept},
		{threads.PostTrigger, "nobody", `{}`, "is gone", ""},
		{threads.PostNote, "n", `{"text":"going on"}`, "going on", ""},
		{threads.PostNote, "n", `{"text":"status","thread":"T1/D1/1.0"}`, "mode *ask*", verbStop},
		{threads.PostDigest, "2026-11-30", `{"user":"UALICE"}`, "4 things wait for you.", verbReview},
		{threads.PostDigest, "2026-11-30", `{"user":"UMALLORY","morning":true}`, "All done", ""},
	} {
		r, err := bot.render(t.Context(), threads.Post{Kind: c.kind, Ref: c.ref, Body: json.RawMessage(c.body), Place: place})
		if err != nil {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		accepted(t, r)
		if text := shownText(r.Blocks.JSON()); !strings.Contains(text, c.says) {
			t.Errorf("%s shows %q, want %q", c.kind, text, c.says)
		}
		if c.offer != "" && (len(r.Tokens) != 1 || !slices.Contains(r.Tokens[0].Choices, c.offer)) || c.offer == "" && len(r.Tokens) > 0 {
			t.Errorf("%s offers %v, want %q", c.kind, r.Tokens, c.offer)
		}
	}
	for _, p := range []threads.Post{{Kind: threads.PostDraft, Ref: "none"}, {Kind: "song"}, {Kind: threads.PostLate, Ref: "x"}, {Kind: threads.PostNote, Body: json.RawMessage(`[`)}} {
		if _, err := bot.render(t.Context(), p); err == nil {
			t.Errorf("%+v rendered", p)
		}
	}
}

func TestDigestIsQuietWhenNothingWaits(t *testing.T) {
	b := newBench(t)
	bot := b.renderer()
	digests := func() int {
		list, err := b.threads.PostsOf(t.Context(), threads.PostDigest, digestRef(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	if err := bot.digestNow(t.Context(), "T1", "UALICE", "", false); err != nil || digests() != 0 {
		t.Errorf("an empty morning: %d posts, %v", digests(), err)
	}
	if err := bot.digestNow(t.Context(), "T1", "UALICE", "D1", true); err != nil || digests() != 1 {
		t.Errorf("typed: %d posts, %v", digests(), err)
	}
	// A proposed rule waits for an owner, and for nobody once it is decided.
	b.exec(`INSERT INTO writing_rules (id, text, state, origin, created) VALUES (1, 'Be brief.', 'proposed', 'clean', 7)`)
	if w, err := bot.desk().waiting(t.Context(), "T1", "UALICE", time.Now()); err != nil || len(w.Rules) != 1 || w.empty() {
		t.Errorf("a proposed rule: %+v, %v", w.Rules, err)
	}
	b.exec(`UPDATE writing_rules SET state = 'accepted'`)
	if w, err := bot.desk().waiting(t.Context(), "T1", "UALICE", time.Now()); err != nil || !w.empty() {
		t.Errorf("an accepted rule: %+v, %v", w.Rules, err)
	}
	id := b.stage(mail, nil)
	if err := bot.digestNow(t.Context(), "T1", "UALICE", "", false); err != nil || digests() != 2 {
		t.Errorf("a draft waits: %d posts, %v", digests(), err)
	}
	// Through the day it follows what is settled, and nothing else.
	list, _ := b.threads.PostsOf(t.Context(), threads.PostDigest, digestRef(time.Now()))
	p := list[1]
	p.TS, p.State, p.Shown = "9.1", threads.PostPosted, p.Want
	if err := b.threads.SetPost(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	shown := map[int64]string{}
	due := func() bool {
		q, err := b.threads.Post(t.Context(), p.ID)
		if err != nil {
			t.Fatal(err)
		}
		return q.Want > q.Shown
	}
	bot.followDigests(t.Context(), shown)
	bot.followDigests(t.Context(), shown)
	if due() {
		t.Error("rendered again though nothing changed")
	}
	if _, err := b.outbox.Reject(t.Context(), id, "UALICE", "slack", "no"); err != nil {
		t.Fatal(err)
	}
	bot.followDigests(t.Context(), shown)
	if !due() {
		t.Error("not rendered again after its draft was rejected")
	}
}

func TestWaitingIsEachViewersOwn(t *testing.T) {
	b := newBench(t)
	b.stage(mail, nil)
	b.ask("shell", `{"command":"ls"}`, "ls")
	b.exec(`INSERT INTO questions (id, thread, run, call, question, state, created) VALUES ('q1', 'T1/D1/1.0', 'r1', '', 'Which?', 'open', 1)`)
	for user, want := range map[string]int{"UALICE": 3, "UBOB": 1, "UMALLORY": 0} {
		w, err := b.waiting(t.Context(), "T1", user, time.Now())
		if err != nil || w.things() != want {
			t.Errorf("%s: %d things, want %d (%v)", user, w.things(), want, err)
		}
	}
	if w, _ := b.waiting(t.Context(), "T2", "UALICE", time.Now()); w.things() != 0 {
		t.Errorf("another team sees %d things", w.things())
	}
}

func TestTriggerPropose(t *testing.T) {
	b := newBench(t)
	tool := proposeTool{b.renderer()}
	reg, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	env := &tools.Env{Thread: "T1/D1/1.0", Taint: tools.Taint{}.With(tools.Mark{Leg: tools.Untrusted, Tool: "web_open", What: "x"})}
	args, _, err := tools.ParseArgs(reg.Get(proposeName), json.RawMessage(`{"name":"morning-mail","schedule":"0 7 * * 1-5","prompt":"what is new?"}`))
	if err != nil {
		t.Fatal(err)
	}
	out, err := tool.Call(t.Context(), args, env)
	if err != nil || out.IsError || !strings.Contains(out.Content, "Proposed, not set up") {
		t.Fatalf("%+v %v", out, err)
	}
	tr, err := b.triggers.Get(t.Context(), "morning-mail")
	if err != nil || tr.State != "proposed" || tr.Zone != "Europe/Berlin" || !tr.Untrusted || tr.Private || len(tr.Sources) != 1 || tr.ProposedIn != "T1/D1/1.0" {
		t.Errorf("%+v %v", tr, err)
	}
	posts, _ := b.threads.PostsOf(t.Context(), threads.PostTrigger, "morning-mail")
	if len(posts) != 1 || posts[0].Place.Channel != "D1" {
		t.Errorf("its card: %+v", posts)
	}
	for _, in := range []string{
		`{"name":"morning-mail","schedule":"0 7 * * *","prompt":"x"}`, `{"name":"Bad Name","schedule":"0 7 * * *","prompt":"x"}`,
		`{"name":"b","schedule":"often","prompt":"x"}`, `{"name":"c","schedule":"0 7 * * *","prompt":"x","timezone":"Mars/Base"}`,
	} {
		if out, err := tool.Call(t.Context(), json.RawMessage(in), env); err != nil || !out.IsError {
			t.Errorf("%s: %+v %v", in, out, err)
		}
	}
	posts, _ = b.threads.PostsOf(t.Context(), threads.PostTrigger, "morning-mail")
	if len(posts) != 1 {
		t.Errorf("%d cards after refusals", len(posts))
	}
}

func TestPublicationsAreNotEdited(t *testing.T) {
	v := draftOf(outbox.Pending, "s", "b")
	v.Kind = outbox.Publish
	if a, _ := button(draftCard(v, "T").Blocks.JSON(), "Edit"); a != "" {
		t.Error("a publication offers Edit")
	}
	b := newBench(t)
	id := b.stage(mail, nil)
	p := b.on(b.show(threads.PostDraft, id), "UALICE", "Edit")
	b.exec(`UPDATE drafts SET kind = 'publish' WHERE id = ?`, id)
	b.press(p)
	if !strings.Contains(b.screen.said(), "not edited here") || len(b.screen.stack) > 0 {
		t.Errorf("told %q, %d views", b.screen.said(), len(b.screen.stack))
	}
}
