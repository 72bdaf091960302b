package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/internal/offline"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// sends is a routed tool that always delivers.
type sends struct{}

func (sends) Name() string        { return "mail__mail_send" }
func (sends) Description() string { return "Sends." }
func (sends) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"}}}`)
}
func (sends) ReadOnly() bool                   { return false }
func (sends) Capabilities() tools.Capabilities { return tools.Capabilities{Egress: tools.Chosen} }
func (sends) Call(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
	return tools.OK("sent"), nil
}

func (s sends) Find(string) tools.Tool { return s }
func (s sends) Open(_ context.Context, d outbox.Draft) (tools.Tool, *tools.Env, func(), error) {
	j, err := jail.Open(d.Workspace)
	if err != nil {
		return nil, nil, nil, err
	}
	return s, &tools.Env{Workspace: j}, func() { j.Close() }, nil
}

// homeOfOne is a home of a test, with alice as its owner.
type homeOfOne struct {
	t   *testing.T
	dir string
}

func newHome(t *testing.T, config string) homeOfOne {
	t.Helper()
	h := homeOfOne{t, filepath.Join(t.TempDir(), "home")}
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "config.toml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := h.desk()
	defer d.close()
	who := bot.Person{Team: "T1", User: "UALICE", Role: bot.Owner, Name: "alice", DM: "D1"}
	if err := (bot.People{DB: d.db}).Bind(t.Context(), who, "seed"); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h homeOfOne) env() []string {
	return []string{"HOME=" + h.dir, "MECHA_HOME=" + h.dir, "MECHA_NO_DISCOVERY=1", "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
}

func (h homeOfOne) desk() *desk {
	h.t.Helper()
	c := &cli{Main: Main{Stdin: strings.NewReader(""), Stdout: os.Stderr, Stderr: os.Stderr, Env: h.env()}, logLevel: "error", logFormat: "text"}
	d, err := c.makeDesk(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return d
}

// run runs a command, and answers its exit code and what it wrote.
func (h homeOfOne) run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: h.env()}.Run(h.t.Context(), args)
	return code, out.String(), errs.String()
}

// sent releases mails to different people, each changed from before to after.
func (h homeOfOne) sent(mails ...[3]string) {
	h.t.Helper()
	ctx := h.t.Context()
	d := h.desk()
	defer d.close()
	d.outbox.Surface = sends{}
	for i, m := range mails {
		arg := func(body string) json.RawMessage {
			b, err := json.Marshal(map[string]string{"to": m[0], "subject": fmt.Sprint("matter ", i), "body": body})
			if err != nil {
				h.t.Fatal(err)
			}
			return b
		}
		s := outbox.Staging{Tool: sends{}, Args: arg(m[1]), Workspace: h.dir, Team: "T1", Thread: "T1/D1/1", Run: "r1", Call: fmt.Sprint("c", i, m[0]), Requester: "UALICE",
			Destinations: tools.Trace(tools.Destinations(sends{}, arg(m[1]), h.dir), nil, false)}
		var st outbox.Staged
		err := d.db.Write(ctx, func(tx *record.Tx) (err error) { st, err = d.outbox.Stage(tx, s); return err })
		if err != nil {
			h.t.Fatal(err)
		}
		dr, err := d.outbox.Get(ctx, st.ID)
		if err == nil && m[2] != "" {
			dr, err = d.outbox.Edit(ctx, dr.ID, 1, arg(m[2]), "UALICE", "slack")
		}
		if err == nil {
			_, err = d.outbox.Approve(ctx, outbox.Decision{ID: dr.ID, Revision: dr.Revision, Digest: dr.Digest, By: "UALICE", Surface: "slack"})
		}
		if err == nil {
			dr, err = d.outbox.Dispatch(ctx, dr.ID)
		}
		if err != nil || dr.State != outbox.Released {
			h.t.Fatalf("%s: %v", dr.State, err)
		}
	}
}

// A model looks at the edits, and what it makes of them is checked, listed, and
// put before the owner on a card.
func TestLearnAsksAModel(t *testing.T) {
	script := offline.NewScript(offline.Says("Here they are:\n```json\n", `{"rules": [
		{"rule": "Open with the first name alone.", "from": [1, 2]},
		{"rule": "Write to dean@example.edu in English.", "from": [1, 2]},
		{"rule": "Of one entry.", "from": [1, 99]},
		{"rule": "Of nothing."}
	]}`, "\n```\nThere you go."))
	srv, err := offline.Start(t.Context(), offline.Config{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	h := newHome(t, "[sandbox]\nkind = \"none\"\n")
	h.sent([3]string{"dean@example.edu", "Dear Dean,\nthe total is up.", "Hi Dean,\nthe total is up."}, [3]string{"bob@example.com", "Dear Robert,\nsee you.", "Bob,\nsee you."}, [3]string{"carol@example.com", "Carol,\nas drafted.", ""})
	if code, out, errs := h.run("reflect"); code != 0 || !strings.Contains(out, "2 messages sent with your edits, 1 as drafted") {
		t.Fatalf("reflect: %d %s%s", code, out, errs)
	}
	code, out, errs := h.run("learn", "--model-url", srv.URL(), "--model", "m", "--json")
	if code != 0 {
		t.Fatalf("learn: %d %s%s", code, out, errs)
	}
	var learned struct{ Rules []outbox.Rule }
	if err := json.Unmarshal([]byte(out), &learned); err != nil {
		t.Fatal(err)
	}
	if len(learned.Rules) != 1 || learned.Rules[0].Text != "Open with the first name alone." || learned.Rules[0].Origin != outbox.OriginClean || len(learned.Rules[0].Evidence) != 2 {
		t.Fatalf("%+v", learned.Rules)
	}
	asked := script.Requests()
	if len(asked) != 1 || len(asked[0].Tools) != 0 {
		t.Fatalf("%d requests: %+v", len(asked), asked)
	}
	shown := asked[0].Messages[len(asked[0].Messages)-1].Content.Text
	for _, want := range []string{"[-", "sent as drafted", "to A", "as drafted.", "Known rules: none", "</external-"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the model is not shown %q:\n%s", want, shown)
		}
	}
	if strings.Contains(shown, "@example") {
		t.Errorf("the model is shown addresses:\n%s", shown)
	}

	d := h.desk()
	defer d.close()
	posts, err := d.threads.PostsOf(t.Context(), bot.PostRules, bot.RulesRef(learned.Rules[0].Created))
	if err != nil || len(posts) != 1 || posts[0].Place.Channel != "D1" {
		t.Fatalf("%+v, %v", posts, err)
	}
	if code, out, _ := h.run("outbox"); code != 0 || !strings.Contains(out, "◌ 1 proposed writing rule waits: mecha-slack rules") {
		t.Errorf("outbox: %d %s", code, out)
	}
	if code, out, _ := h.run("status"); code != 0 || !strings.Contains(out, "◌ 1 proposed writing rule   → mecha-slack rules") {
		t.Errorf("status: %d %s", code, out)
	}
	want := posts[0].Want
	id := fmt.Sprint(learned.Rules[0].ID)
	if code, out, errs := h.run("rules", "accept", id); code != 0 {
		t.Fatalf("accept: %d %s%s", code, out, errs)
	}
	if rules, err := d.outbox.Rules(t.Context()); err != nil || len(rules) != 1 {
		t.Errorf("%v, %v", rules, err)
	}
	if _, out, _ := h.run("outbox"); strings.Contains(out, "writing rule") {
		t.Errorf("an accepted rule waits still: %s", out)
	}
	if posts, err = d.threads.PostsOf(t.Context(), bot.PostRules, posts[0].Ref); err != nil || posts[0].Want <= want {
		t.Errorf("the card does not follow: %+v, %v", posts, err)
	}
	if code, _, errs := h.run("rules", "accept", id); code != 3 || !strings.Contains(errs, "only a proposed one") {
		t.Errorf("accepted twice: %d %s", code, errs)
	}
}

// Without a model, recurring words are found; with one that answers nonsense,
// they are found as well, and the command says what went wrong.
func TestLearnWithoutAModelOrWithABadOne(t *testing.T) {
	h := newHome(t, "[sandbox]\nkind = \"none\"\n")
	h.sent([3]string{"dean@example.edu", "Hi. Best regards", "Hi. Thanks"}, [3]string{"bob@example.com", "Hello. Best regards", "Hello. Thanks"})
	if code, _, errs := h.run("reflect"); code != 0 {
		t.Fatal(errs)
	}
	script := offline.NewScript(offline.Says("I would rather not.").Always())
	srv, err := offline.Start(t.Context(), offline.Config{Script: script})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	code, out, errs := h.run("learn", "--model-url", srv.URL(), "--model", "m")
	if code != 1 || !strings.Contains(out, `Write "Thanks" rather than "Best regards".`) || !strings.Contains(errs, "no list of rules") || strings.Count(errs, "\n") != 1 {
		t.Errorf("%d\n%s\n%s", code, out, errs)
	}
	code, out, _ = h.run("learn")
	if code != 0 || !strings.Contains(out, "Nothing new was learned (no model is configured)") || len(script.Requests()) != 1 {
		t.Errorf("%d\n%s", code, out)
	}
	if code, _, _ = h.run("learn", "--no-model", "--model", "m"); code != 2 {
		t.Errorf("--no-model with --model: %d", code)
	}
	// The rule-based stand-in cannot read: it is never asked.
	if code, _, errs := h.run("learn", "--model", offline.ModelName); code != 1 || !strings.Contains(errs, "no model is configured") {
		t.Errorf("%d %s", code, errs)
	}
}

func TestReadSuggestions(t *testing.T) {
	ids := []string{"a", "b"}
	for answer, want := range map[string]string{
		`{"rules":[]}`: "[] <nil>",
		`{"rules":[{"rule":"x","from":[1,2]},{"rule":"y","from":[0,3,-1]}]}`: "[{x [a b]} {y []}] <nil>",
		"```json\n{\"rules\":[{\"rule\":\"x\"}]}\n```":                       "[{x []}] <nil>",
		`nothing`: "[] there is no JSON in it",
	} {
		list, err := readSuggestions(answer, ids)
		if got := fmt.Sprint(list, " ", err); got != want {
			t.Errorf("%s: %s, want %s", answer, got, want)
		}
	}
	for _, answer := range []string{`{}`, `{"rules":null}`, `{"rules":{"a":1}}`, `{"rules":[{"rule":1}]}`, `{"rules":[{"rule":`} {
		if list, err := readSuggestions(answer, ids); err == nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", answer, list, err)
		}
	}
}
