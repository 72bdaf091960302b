package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/tools"
)

// stage drafts a call in a home, as a conversation would.
func (h homeOfOne) stage(args string, taint tools.Taint) string {
	h.t.Helper()
	d := h.desk()
	defer d.close()
	s := outbox.Staging{Tool: sends{}, Args: json.RawMessage(args), Workspace: h.dir, Team: "T1", Thread: "T1/D1/1", Run: "r1", Call: "call " + args, Requester: "UALICE", Taint: taint}
	var st outbox.Staged
	err := d.db.Write(h.t.Context(), func(tx *record.Tx) (err error) { st, err = d.outbox.Stage(tx, s); return err })
	if err != nil {
		h.t.Fatal(err)
	}
	return st.ID
}

func (h homeOfOne) draft(id string) outbox.Draft {
	h.t.Helper()
	d := h.desk()
	defer d.close()
	dr, err := d.outbox.Get(h.t.Context(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return dr
}

var bothLegs = tools.Taint{}.With(tools.Mark{Leg: tools.Private, Call: "c1", Tool: "fs_read", What: "budget.md", Turn: 2}, tools.Mark{Leg: tools.Untrusted, Call: "c2", Tool: "web_open", Turn: 3})

// What `show --json` prints is the arguments' own bytes: numbers as they were
// spelled, no HTML escapes, every field that CONTRACT.md names there in any state.
func TestShowJSON(t *testing.T) {
	h := newHome(t, "")
	const args = `{"to":"dean@example.edu","n":1e3,"big":12345678901234567890,"html":"<b> & \u2028","esc":"\u00e9é","body":"x"}`
	id := h.stage(args, bothLegs)
	code, out, errs := h.run("outbox", "show", id, "--json")
	if code != 0 || errs != "" {
		t.Fatalf("%d %s", code, errs)
	}
	for _, want := range []string{`"n": 1e3`, `"big": 12345678901234567890`, `"html": "<b> & \u2028"`, `"esc": "\u00e9é"`, `"leg": "private"`, `"call_id": "c1"`, `"turn": 2`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	var d map[string]json.RawMessage
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	fields := strings.Split("id state tool kind args_before args revision digest workspace thread run call_id edited filled_defaults files taint destinations tainted red approvals not_before supersedes superseded_by last_error source attempts reconciliations created resolved resolved_by reason", " ")
	for _, f := range fields {
		if _, ok := d[f]; !ok {
			t.Errorf("show has no %q", f)
		}
	}
	code, out, _ = h.run("outbox", "list", "--json")
	var list struct{ Drafts []map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(out), &list); err != nil || code != 0 || len(list.Drafts) != 1 {
		t.Fatalf("%d, %v: %s", code, err, out)
	}
	for _, f := range fields {
		if _, ok := list.Drafts[0][f]; ok == (f == "source") {
			t.Errorf("list: %q is there: %v", f, ok)
		}
	}
	for _, f := range []string{"approvals", "attempts", "reconciliations", "files", "filled_defaults"} {
		if string(d[f]) != "[]" {
			t.Errorf("%s of a fresh draft is %s", f, d[f])
		}
	}
}

// watched is standard output that tells when a text has been written.
type watched struct {
	text string
	seen chan struct{}
	all  strings.Builder
}

func (w *watched) Write(b []byte) (int, error) {
	w.all.Write(b)
	if w.text != "" && strings.Contains(w.all.String(), w.text) {
		w.text = ""
		close(w.seen)
	}
	return len(b), nil
}

// Ctrl-C at the question is no, and so is the end of input; nothing is decided.
func TestCtrlCAtTheQuestionIsNo(t *testing.T) {
	h := newHome(t, "")
	id := h.stage(`{"to":"dean@example.edu","body":"x"}`, bothLegs)
	in, keys := io.Pipe() // nobody types
	defer keys.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	out := &watched{text: "Send anyway? [y/N]", seen: make(chan struct{})}
	var errs strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- Main{Stdin: in, Stdout: out, Stderr: &errs, Env: h.env()}.Run(ctx, []string{"outbox", "approve", id})
	}()
	<-out.seen
	interrupt()
	if c := <-code; c != 3 || !strings.Contains(errs.String(), "you stopped it, which counts as no") {
		t.Errorf("%d %s", c, errs.String())
	}
	if d := h.draft(id); d.State != outbox.Pending || len(d.Approvals) != 0 {
		t.Errorf("%+v", d)
	}
	if c, _, errs := h.run("outbox", "approve", id); c != 3 || !strings.Contains(errs, "ended without an answer") {
		t.Errorf("%d %s", c, errs)
	}
}

// Ctrl-C while a bot sends leaves the approval as it stands, and says so.
func TestCtrlCWhileTheBotSends(t *testing.T) {
	h := newHome(t, "")
	id := h.stage(`{"to":"dean@example.edu","body":"x"}`, tools.Taint{})
	hold, err := record.TryHold(h.dir) // a bot that takes its time
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	ctx, interrupt := context.WithCancel(t.Context())
	var out, errs strings.Builder
	code := make(chan int, 1)
	go func() {
		code <- Main{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Env: h.env()}.Run(ctx, []string{"outbox", "approve", id})
	}()
	// Nothing but the record tells that it has come to wait.
	for end := time.Now().Add(20 * time.Second); h.draft(id).State != outbox.Approved && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	interrupt()
	if c := <-code; c != 1 || !strings.Contains(errs.String(), "is approved, and the bot sends it") {
		t.Errorf("%d %s", c, errs.String())
	}
	if d := h.draft(id); d.State != outbox.Approved {
		t.Errorf("it is %s", d.State)
	}
}

// A publication is not edited: the remedy is named, by every way.
func TestAPublicationIsNotEdited(t *testing.T) {
	h := newHome(t, "[outbox]\ntools = [\"mail__mail_send\"]\npublish_tools = [\"mail__mail_send\"]\n")
	if err := os.MkdirAll(filepath.Join(h.dir, "site"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "site", "index.html"), []byte("<p>"), 0o600); err != nil {
		t.Fatal(err)
	}
	id := h.stage(`{"to":"site","body":"x"}`, tools.Taint{})
	for _, how := range [][]string{{"outbox", "edit", id}, {"outbox", "edit", id, "--json"}} {
		if code, _, errs := h.run(how...); code != 3 || !strings.Contains(errs, "change its source, render it again, and reject this draft") {
			t.Errorf("%v: %d %s", how, code, errs)
		}
	}
	site, err := filepath.EvalSymlinks(filepath.Join(h.dir, "site"))
	if err != nil {
		t.Fatal(err)
	}
	code, out, _ := h.run("outbox", "show", id, "--json")
	var d struct {
		Kind   string
		Bundle outbox.Bundle
	}
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Kind != "publish" || d.Bundle.Dir != site || d.Bundle.Index != filepath.Join(site, "index.html") {
		t.Errorf("%d %+v %v", code, d, err)
	}
	code, out, _ = h.run("outbox", "review")
	if code != 0 || !strings.Contains(out, "directory  "+site) || strings.Contains(out, "(e)dit") {
		t.Errorf("%d %s", code, out)
	}
	// An editor that fails leaves nothing behind where nothing was typed.
	h = newHome(t, "")
	id = h.stage(`{"to":"dean@example.edu","body":"x"}`, tools.Taint{})
	tmp := t.TempDir()
	var errs strings.Builder
	env := append(slices.Clone(h.env()), "EDITOR=false", "TMPDIR="+tmp)
	c := Main{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs, Env: env}.Run(t.Context(), []string{"outbox", "edit", id})
	if left, err := os.ReadDir(tmp); c != 1 || err != nil || len(left) != 0 || strings.Contains(errs.String(), "kept in") {
		t.Errorf("%d %s, left %v, %v", c, errs.String(), left, err)
	}
}
