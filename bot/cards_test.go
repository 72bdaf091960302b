package bot

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

var update = flag.Bool("update", false, "rewrite testdata/golden")

var noon = time.Date(2026, 11, 30, 9, 14, 0, 0, time.UTC)

func at(minutes int) *time.Time {
	t := noon.Add(time.Duration(minutes) * time.Minute)
	return &t
}

// golden compares a card with its file, and asks the validator about it.
func golden(t *testing.T, name string, r Rendering) {
	t.Helper()
	accepted(t, r)
	var b bytes.Buffer
	doc, err := encodeJSON(map[string]any{"text": r.Text, "blocks": r.Blocks.JSON(), "tokens": r.Tokens, "final": r.Final, "attached": attached(r)})
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Indent(&b, doc, "", " "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	compareGolden(t, name, b.Bytes())
}

func attached(r Rendering) (list []string) {
	for _, a := range r.Attach {
		list = append(list, fmt.Sprintf("%s (%s) %d bytes", a.Name, a.Title, len(a.Data)))
	}
	return list
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".json")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("no golden file (go test ./bot -run Golden -update makes it): %v", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-golden +now):\n%s", name, d)
	}
}

// accepted holds every card to Slack's limits.
func accepted(t interface{ Errorf(string, ...any) }, r Rendering) {
	msg, err := encodeJSON(map[string]any{"text": r.Text, "blocks": r.Blocks.JSON()})
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	for _, e := range blockkit.ValidateMessage(msg) {
		t.Errorf("Slack would refuse this card: %v", e)
	}
	if n := len([]rune(r.Text)); n > blockkit.MaxUpdateText {
		t.Errorf("the text has %d characters", n)
	}
}

// sizes of what others wrote in a card.
var sizes = map[string]struct{ short, long string }{
	"min":     {"a", ""},
	"typical": {"Re: budget", "Dear Dean,\nthe revised total is 41,200 €, 12 % under plan.\u200b\n"},
	"max":     {strings.Repeat("Ä long ﬁrst line <!channel> & more ", 120), strings.Repeat("Every line of this letter is as long as the one before it, & it has <tags>.\n", 400)},
}

func callOf(state, short, long string) threads.Approval {
	args, _ := encodeJSON(struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Mode    int    `json:"mode"`
	}{short, long, 420})
	return threads.Approval{
		Call: "c1", Thread: "T1/D1/1.0", Run: "r1", Tool: "fs_write", Args: args, Digest: strings.Repeat("ab", 32), State: state,
		Scope: "fs_write", By: "U0ALICE", Reason: map[bool]string{true: "use the venv"}[state == "denied"], Created: noon, Decided: noon.Add(time.Minute),
	}
}

func TestGoldenCalls(t *testing.T) {
	for size, s := range sizes {
		for _, state := range []string{"pending", "approved", "denied", "unanswered", "void"} {
			t.Run(state+"-"+size, func(t *testing.T) {
				golden(t, "call-"+state+"-"+size, approvalCard(callOf(state, s.short, s.long), "TOKEN"))
			})
		}
	}
	t.Run("shell", func(t *testing.T) {
		a := callOf("pending", "", "")
		a.Tool, a.Args, a.Facts.GrantScope = "shell", json.RawMessage(`{"command":"pytest -q tests/","timeout":60}`), "pytest -q tests/"
		golden(t, "call-shell", approvalCard(a, "TOKEN"))
	})
	t.Run("forced", func(t *testing.T) {
		a := callOf("pending", "", "")
		a.Tool, a.Args, a.Forced, a.Scope = "http_fetch", json.RawMessage(`{"url":"https://examp1e.net/x","nested":{"a":[1,2.50]}}`), true, ""
		a.Why = "only a third party named this address"
		a.Facts.Capabilities = tools.Capabilities{Egress: tools.Chosen, UntrustedInput: true, PrivateData: true, Destructive: true}
		a.Facts.Server = "web"
		a.Facts.Destinations = []tools.Destination{
			{Kind: tools.ToURL, Value: "https://examp1e.net/x", Origin: tools.FromThirdParty, Suspect: true, Tool: "mail__mail_get_thread"},
			{Kind: tools.ToChannel, Value: "C1", Origin: tools.FromOwner}, {Kind: tools.ToURL, Value: "https://x.example", Origin: tools.FromNowhere},
		}
		golden(t, "call-forced", approvalCard(a, "TOKEN"))
	})
}

func draftOf(state outbox.State, short, long string) draftView {
	args, _ := encodeJSON(struct {
		Subject string   `json:"subject"`
		Body    string   `json:"body"`
		To      []string `json:"to"`
		Bcc     []string `json:"bcc"`
		Urgent  bool     `json:"urgent"`
	}{short, long, []string{"dean@example.edu"}, []string{}, false})
	d := outbox.Draft{
		ID: "20261130-a1b2c3d4", State: state, Tool: "mail__mail_send", Kind: outbox.Message, Summary: `{"to":["dean@example.edu"]}`, Args: args, ArgsBefore: args,
		Revision: 1, Digest: strings.Repeat("cd", 32), Thread: "T1/D1/1.0", Team: "T1", Requester: "U0ALICE", FilledDefaults: []string{"urgent"}, NeedsApprovals: 1,
		IdempotencyKey: "mecha-20261130-a1b2c3d4", Created: noon.Add(-2 * time.Minute), Workspace: "/home/alice/site",
	}
	switch state {
	case outbox.Approved, outbox.Releasing, outbox.Uncertain, outbox.Released:
		d.Approvals = []outbox.Approval{{By: "U0ALICE", At: noon}}
	}
	switch state {
	case outbox.Approved:
		d.HoldUntil = at(1)
	case outbox.Releasing:
		d.Attempts = []outbox.Attempt{{Started: noon}}
	case outbox.Uncertain:
		d.Attempts = []outbox.Attempt{{Started: noon, Ended: at(2), Outcome: "unknown", Error: "the server closed the pipe"}}
		d.Proposal = &outbox.Proposal{Outcome: "delivered", Evidence: "found it at 09:15:03", At: *at(3)}
	case outbox.Released, outbox.Rejected, outbox.Superseded, outbox.Expired:
		d.Resolved, d.ResolvedBy = at(1), "U0ALICE"
	}
	if state == outbox.Rejected {
		d.Reason = "wrong recipient"
	}
	if state == outbox.Superseded {
		d.SupersededBy = "20261130-ffff0000"
	}
	return draftView{Draft: d, Now: noon, Answers: outbox.Source{Status: "none"}}
}

// changed is an edit of a body.
func changed(before, after string) []outbox.Change {
	arg := func(s string) json.RawMessage {
		b, _ := encodeJSON(map[string]string{"body": s})
		return b
	}
	return outbox.Changes(outbox.Draft{ArgsBefore: arg(before), Args: arg(after)})
}

var mixed = tools.Taint{Private: true, Untrusted: true, Marks: []tools.Mark{
	{Leg: tools.Private, Call: "c1", Tool: "fs_read", What: "budget.md", Turn: 1}, {Leg: tools.Untrusted, Call: "c2", Tool: "mail__mail_get_thread", What: "7", Turn: 2}}}

// variants of a pending draft.
func draftVariants(short, long string) map[string]draftView {
	make := func(change func(*draftView)) draftView {
		v := draftOf(outbox.Pending, short, long)
		change(&v)
		return v
	}
	list := map[string]draftView{
		"tainted": make(func(v *draftView) { v.Tainted, v.Taint = true, mixed }),
		"red": make(func(v *draftView) {
			v.Red = true
			v.Destinations = []tools.Destination{{Kind: tools.ToAddress, Arg: "/to/0", Value: "billing@examp1e.net", Origin: tools.FromThirdParty, Suspect: true, Tool: "mail__mail_get_thread"}}
		}),
		"failed": make(func(v *draftView) {
			v.LastError = "550 no such user"
			v.Attempts = []outbox.Attempt{{Started: noon, Ended: at(1), Outcome: "failed", Error: v.LastError}}
		}),
		"edited-stale": make(func(v *draftView) {
			v.Edited, v.Revision, v.Stale, v.Supersedes, v.Edits = true, 2, true, "20261129-00000000", changed("12 % under plan\nyours", "12 % below\u200b plan\nyours")
		}),
		"two-approvals": make(func(v *draftView) {
			v.NeedsApprovals, v.Approvals = 2, []outbox.Approval{{By: "U0BOB", At: noon}}
		}),
		"answers": make(func(v *draftView) {
			v.Answers = outbox.Source{Status: "found", Tool: "mail__mail_get_thread", Arg: "thread_id", Text: "From: dean@example.edu\n\n✓ could you send me the revised total?\n" + long}
		}),
		"answers-long": make(func(v *draftView) {
			v.Tainted, v.Taint = true, mixed
			v.Answers = outbox.Source{Status: "found", Tool: "mail__mail_get_thread", Arg: "thread_id", Text: "From: dean@example.edu\n\n" + strings.Repeat("and this is one more line of it\n", 60)}
		}),
		"pruned": make(func(v *draftView) { v.Answers.Status = "pruned" }),
		"files": make(func(v *draftView) {
			v.Files = []outbox.File{{Path: "report.pdf", Bytes: 12345, SHA256: strings.Repeat("0f", 32)}}
		}),
		"publish": make(func(v *draftView) {
			v.Kind, v.Tool = outbox.Publish, "site__publish"
			v.Bundle = outbox.Bundle{Dir: "/home/alice/site/out", Index: "/home/alice/site/out/index.html"}
			v.Files = []outbox.File{{Path: "site/index.html", Bytes: 99, SHA256: strings.Repeat("0e", 32)}}
		}),
	}
	paused := draftOf(outbox.Approved, short, long)
	paused.Paused = true
	list["approved-paused"] = paused
	behind := draftOf(outbox.Approved, short, long)
	behind.HoldUntil, behind.Behind = nil, []threads.CallLine{{Tool: "shell", Args: `{"command":"make report.pdf"}`}, {Tool: "fs_write", Args: `{"path":"report.pdf"}`}}
	list["approved-behind"] = behind
	gone := draftOf(outbox.Pending, short, long)
	gone.Kind, gone.Bundle = outbox.Publish, outbox.Bundle{Dir: "/home/alice/site/out", Gone: "no file or directory that its arguments name is there"}
	list["publish-gone"] = gone
	edited := draftOf(outbox.Released, short, long)
	edited.Edited, edited.Revision, edited.Edits = true, 2, changed("12 % under plan", "12 % below plan")
	edited.ArgsBefore = json.RawMessage(`{"body":"12 % under plan"}`)
	list["sent-edited"] = edited
	reconciled := draftOf(outbox.Released, short, long)
	reconciled.Reconciliations = []outbox.Reconciliation{{Outcome: "delivered", Evidence: "in Sent, 09:15", By: "U0ALICE", At: noon}}
	list["reconciled"] = reconciled
	named := draftOf(outbox.Uncertain, short, long)
	named.Attempts[0].Error = "timed out after DATA; Message-ID: <k1@mecha.example>"
	list["uncertain-named"] = named
	return list
}

func TestGoldenDrafts(t *testing.T) {
	for size, s := range sizes {
		for _, state := range []outbox.State{outbox.Pending, outbox.Approved, outbox.Releasing, outbox.Uncertain, outbox.Released, outbox.Rejected, outbox.Superseded, outbox.Expired} {
			t.Run(string(state)+"-"+size, func(t *testing.T) {
				golden(t, "draft-"+string(state)+"-"+size, draftCard(draftOf(state, s.short, s.long), "TOKEN"))
			})
		}
		for name, v := range draftVariants(s.short, s.long) {
			t.Run(name+"-"+size, func(t *testing.T) {
				golden(t, strings.TrimSuffix("draft-"+name+"-"+size, "-typical"), draftCard(v, "TOKEN"))
			})
		}
	}
}

func TestGoldenOthers(t *testing.T) {
	for size, s := range sizes {
		q := threads.Question{ID: "q1", Text: s.short + " " + s.long, Options: []string{"yes", "no"}, State: "open", Created: noon}
		golden(t, "question-open-"+size, questionCard(q, "TOKEN"))
		q.Options, q.Tainted = []string{s.short, strings.Repeat("long ", 40), ""}, true
		golden(t, "question-list-"+size, questionCard(q, "TOKEN"))
		q.State, q.Answer, q.By, q.Resolved = "answered", s.short, "U0ALICE", noon
		golden(t, "question-answered-"+size, questionCard(q, "TOKEN"))
		q.State = "abandoned"
		golden(t, "question-abandoned-"+size, questionCard(q, "TOKEN"))

		tr := triggerView{Trigger: triggers.Trigger{Name: "morning-mail", Schedule: "0 7 * * 1-5", Zone: "Europe/Berlin", Prompt: s.short + s.long, Mode: "read-only", State: "proposed", By: "U0ALICE", Version: 3, Updated: noon},
			Next: []time.Time{noon, noon.Add(24 * time.Hour)}}
		golden(t, "trigger-proposed-"+size, triggerCard(tr, "TOKEN"))
		tr.Private, tr.Untrusted, tr.Sources = true, true, []triggers.Source{{Leg: "untrusted", Tool: "web_open", What: s.short}}
		golden(t, "trigger-tainted-"+size, triggerCard(tr, "TOKEN"))
		tr.State = "enabled"
		golden(t, "trigger-enabled-"+size, triggerCard(tr, "TOKEN"))
		tr.State = "disabled"
		golden(t, "trigger-disabled-"+size, triggerCard(tr, "TOKEN"))
		golden(t, "trigger-gone", triggerCard(triggerView{Trigger: triggers.Trigger{Name: "gone"}, Gone: true}, "TOKEN"))

		for _, state := range []string{"late", "taken", "withdrawn"} {
			golden(t, "message-"+state+"-"+size, lateCard(threads.Late{ID: 7, User: "U0ALICE", Text: s.short, State: state, Received: noon}, "TOKEN"))
		}
		note := noteBody{Text: blockkit.Escape(s.short + s.long)}
		golden(t, "note-"+size, noteCard(note, nil, ""))
		for _, th := range []threads.Thread{{Key: "T1/D1/1.0", State: threads.Running, Mode: threads.ModeAsk}, {Key: "T1/D1/1.0", State: threads.Done, Mode: threads.ModeAllow}, {Key: "T1/D1/1.0", State: threads.Done, Mode: threads.ModeReadOnly}} {
			golden(t, "status-"+string(th.State)+"-"+string(th.Mode)+"-"+size, noteCard(note, &th, "TOKEN"))
		}
	}
}

// A long message that is answered is quoted by its beginning, however many
// lines or characters it has; the window that decides shows all of it.
func TestLongSourcesKeepTheButtonsNear(t *testing.T) {
	for name, text := range map[string]string{"lines": strings.Repeat("a line\n", 300), "words": strings.Repeat("word ", 2000), "one word": strings.Repeat("ä", 5000)} {
		v := draftOf(outbox.Pending, "Re: budget", "Dear Dean")
		v.Answers = outbox.Source{Status: "found", Tool: "mail__mail_get_thread", Text: text}
		r := draftCard(v, "TOKEN")
		accepted(t, r)
		quote := ""
		for _, b := range r.Blocks {
			if raw := string(blockkit.BlocksJSON([]blockkit.Block{b})); strings.Contains(raw, "rich_text_quote") {
				quote += raw
			}
		}
		if n := len([]rune(quote)); n == 0 || n > quoteUnits+200 || strings.Count(quote, `\n`) > quoteLines {
			t.Errorf("%s: the card quotes %d characters of %d", name, n, len(text))
		}
		if !slices.Contains(r.Tokens[0].Choices, verbRead) {
			t.Errorf("%s: it does not lead to the rest", name)
		}
		whole, _ := sourceBlocks(v.Answers, unlimited)
		if got := string(blockkit.BlocksJSON(whole)); strings.Count(got, "line")+strings.Count(got, "word ")+strings.Count(got, "ä") < strings.Count(text, "line")+strings.Count(text, "word ")-1+strings.Count(text, "ä") {
			t.Errorf("%s: the window does not hold all of it", name)
		}
	}
}

func waitingOf(n int, short string) waiting {
	w := waiting{Now: noon}
	for i := range n {
		d := draftOf(outbox.Uncertain, short, "").Draft
		d.ID = fmt.Sprint(d.ID, i)
		w.Uncertain = append(w.Uncertain, d)
		for _, kind := range []outbox.Kind{outbox.Message, outbox.Publish} {
			d := draftOf(outbox.Pending, short, "").Draft
			d.ID, d.Kind, d.Tainted = fmt.Sprint(kind, i), kind, i%2 == 0
			w.Drafts = append(w.Drafts, d)
		}
		w.Drafts = append(w.Drafts, draftOf(outbox.Approved, short, "").Draft)
		w.Calls = append(w.Calls, callOf("pending", short, ""))
		w.Questions = append(w.Questions, threads.Question{ID: "q", Text: short, Created: noon})
		w.Forms = append(w.Forms, serverAsks{threads.Form{ID: "f", Server: "shop", Message: short, Created: noon}, "its card"})
		w.Proposals = append(w.Proposals, triggers.Trigger{Name: "t", Schedule: "0 7 * * *"})
		w.Rules = append(w.Rules, outbox.Rule{ID: int64(i), Text: short})
		for _, status := range []string{"ok", "error", "skipped", "running"} {
			w.Fires = append(w.Fires, triggers.Fire{ID: int64(i), Trigger: fmt.Sprint(status, i), Status: status, Reason: short, Started: noon, Calls: 4})
		}
	}
	return w
}

func TestGoldenDigestAndHome(t *testing.T) {
	for name, n := range map[string]int{"min": 0, "typical": 1, "max": 60} {
		w := waitingOf(n, sizes[name].short)
		golden(t, "digest-"+name, digestCard(digestView{waiting: w, Morning: true}, "2026-11-30", "TOKEN"))
		golden(t, "digest-counts-"+name, digestCard(digestView{waiting: w, Counts: true}, "2026-11-30", "TOKEN"))

		v := homeView{Role: Owner, User: "U0ALICE", Waiting: w, Now: noon, Health: "connected for 3 h; offline model", Paused: n == 1, Places: map[string]int{"T1/C1/0": 2}}
		for i := range n {
			v.Threads = append(v.Threads, threads.Thread{Key: fmt.Sprint("T1/C1/", i), Title: sizes[name].short, State: threads.Running, Mode: threads.ModeAsk, Updated: noon.Add(-time.Hour)})
			v.Triggers = append(v.Triggers, homeTrigger{Trigger: triggers.Trigger{Name: fmt.Sprint("t", i), Schedule: "0 7 * * *", Zone: "UTC", State: []string{"enabled", "disabled", "proposed"}[i%3]}, Next: noon, Last: &triggers.Fire{Status: "ok", Started: noon}})
		}
		for _, role := range []Role{Owner, Approver, Stranger} {
			v.Role = role
			k := 0
			view, tokens := homeTab(v, func() string { k++; return fmt.Sprint("TOKEN", k) })
			for _, e := range blockkit.ValidateView(view) {
				t.Errorf("Slack would refuse the Home tab: %v", e)
			}
			doc, _ := encodeJSON(map[string]any{"view": view, "tokens": tokens})
			var b bytes.Buffer
			if err := json.Indent(&b, append(doc, '\n'), "", " "); err != nil {
				t.Fatal(err)
			}
			compareGolden(t, fmt.Sprintf("home-%s-%s", role, name), b.Bytes())
		}
	}
}

// shownText is all text of a card's blocks.
func shownText(blocks json.RawMessage) string {
	var v any
	if json.Unmarshal(blocks, &v) != nil {
		return ""
	}
	var b strings.Builder
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if s, ok := v["text"].(string); ok {
				b.WriteString(s)
			}
			for _, k := range []string{"text", "elements", "fields", "accessory"} {
				walk(v[k])
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	return b.String()
}

func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		s := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("ab \n\r\t<&>*_`✓✉‹\u200b\u202e\U0001f600\U000e0041")), 0, 400, -1)).Draw(t, "text")
		return strings.ToValidUTF8(strings.Repeat(s, rapid.SampledFrom([]int{1, 1, 1, 3, 50, 400}).Draw(t, "times")), "")
	})
}

// What is offered for a yes was shown whole; whatever its size and its
// characters, Slack takes the card.
func TestCardsHoldAtAnySize(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{}
		for range rapid.IntRange(0, 12).Draw(t, "args") {
			key := rapid.OneOf(rapid.SampledFrom([]string{"to", "subject", "body", "command"}), anyText()).Draw(t, "key")
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				args[key] = rapid.SliceOfN(anyText(), 0, 5).Draw(t, "list")
			case 1:
				args[key] = map[string]any{"deep": []any{1.5, anyText().Draw(t, "deep"), nil}}
			default:
				args[key] = anyText().Draw(t, "value")
			}
		}
		raw, err := encodeJSON(args)
		if err != nil {
			t.Fatal(err)
		}
		a := callOf("pending", "", "")
		a.Args, a.Tool = raw, rapid.SampledFrom([]string{"shell", "fs_write"}).Draw(t, "tool")
		a.Why, a.Forced = anyText().Draw(t, "why"), rapid.Bool().Draw(t, "forced")
		r := approvalCard(a, "TOKEN")
		accepted(t, r)
		shownWhole(t, r, verbApprove, raw, len(r.Attach) > 0)

		d := draftOf(outbox.State(rapid.SampledFrom([]string{"pending", "approved", "uncertain", "released", "rejected"}).Draw(t, "state")), "", "")
		d.Args, d.Reason, d.LastError = raw, anyText().Draw(t, "reason"), anyText().Draw(t, "error")
		d.Tainted = rapid.Bool().Draw(t, "tainted")
		if d.Tainted {
			d.Taint = tools.Taint{}.With(tools.Mark{Leg: tools.Private, Tool: "x", What: anyText().Draw(t, "what")})
		}
		for range rapid.IntRange(0, 20).Draw(t, "destinations") {
			d.Destinations = append(d.Destinations, tools.Destination{Kind: tools.ToAddress, Value: anyText().Draw(t, "to"), Suspect: true})
		}
		d.Answers = outbox.Source{Status: "found", Text: anyText().Draw(t, "source"), Tool: "x"}
		d.Edits = changed(anyText().Draw(t, "before"), anyText().Draw(t, "after"))
		r = draftCard(d, "TOKEN")
		accepted(t, r)
		if d.State == outbox.Pending {
			shownWhole(t, r, verbApprove, raw, len(r.Attach) > 0)
		}
		for page := range draftReading(d).pages() {
			view, _ := draftReading(d).view(page, threads.Token{Kind: kindDraft, Token: "TOKEN"}, draftDecisions(d.Draft, true))
			for _, e := range blockkit.ValidateView(view) {
				t.Errorf("Slack would refuse page %d: %v", page, e)
			}
		}
	})
}

func shownWhole(t *rapid.T, r Rendering, verb string, raw json.RawMessage, attached bool) {
	offered := len(r.Tokens) > 0 && slices.Contains(r.Tokens[0].Choices, verb)
	if r.Blocks.Cut() && offered {
		t.Errorf("something was cut, and %s is offered", verb)
	}
	if attached == offered {
		if offered {
			t.Errorf("attached because it does not fit, and %s is offered", verb)
		}
	}
	if !offered {
		return
	}
	text := shownText(r.Blocks.JSON())
	list, err := arguments(raw)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		want := showArg(a).Text
		for _, part := range blockkit.SplitVerbatim(want, blockkit.MaxText) {
			if !strings.Contains(text, part) {
				t.Errorf("%q is not shown whole, and %s is offered", a.Key, verb)
			}
		}
	}
}

// Paging shows every argument, and only the last page decides.
func TestReadingShowsEverything(t *testing.T) {
	v := draftOf(outbox.Pending, sizes["max"].short, sizes["max"].long)
	v.Tainted, v.Taint = true, mixed
	r := draftReading(v)
	pages := r.pages()
	if len(pages) < 2 {
		t.Fatalf("%d page(s), want several", len(pages))
	}
	var all strings.Builder
	for i := range pages {
		view, k := r.view(i, threads.Token{Token: "TOKEN", Kind: kindDraft}, draftDecisions(v.Draft, false))
		for _, e := range blockkit.ValidateView(view) {
			t.Errorf("page %d: %v", i, e)
		}
		var doc struct{ Blocks json.RawMessage }
		if err := json.Unmarshal(view, &doc); err != nil {
			t.Fatal(err)
		}
		all.WriteString(shownText(doc.Blocks))
		if last := i == len(pages)-1; slices.Contains(k.Choices, verbSend) != last {
			t.Errorf("page %d of %d offers %v", i+1, len(pages), k.Choices)
		}
		if pageOf(k) != i {
			t.Errorf("page %d calls itself %d", i, pageOf(k))
		}
	}
	for _, line := range []string{sizes["max"].long[:80], "dean@example.edu", "urgent", "AND third-party content (mail__mail_get_thread 7)"} {
		if !strings.Contains(all.String(), line) {
			t.Errorf("%q is on no page", line)
		}
	}
	if got := strings.Count(all.String(), "Every line of this letter"); got != 400 {
		t.Errorf("%d of 400 lines are on the pages", got)
	}
}

func TestScheduleWords(t *testing.T) {
	for in, want := range map[string]string{
		"0 7 * * 1-5": "every weekday at 07:00", "0 8 * * *": "every day at 08:00", "*/15 * * * *": "every 15 minutes", "30 9,17 * * MON,THU": "every Monday, Thursday at 09:30, 17:30",
		"0 0 1 * *": "on day 1 of every month at 00:00", "5 * * * *": "at minute 5 of every hour", "@every 2h": "every 2h", "0 7 1 * 1": "0 7 1 * 1", "x": "x", "0 7 * 3 *": "0 7 * 3 *", "0 9 * * 7": "every Sunday at 09:00",
	} {
		if got := scheduleWords(in); got != want {
			t.Errorf("scheduleWords(%q) = %q, want %q", in, got, want)
		}
	}
}
