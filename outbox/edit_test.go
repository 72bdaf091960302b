package outbox

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

func TestEdits(t *testing.T) {
	const drafted = `{"to":["dean@example.edu"],"subject":"Budget <1>", "body":"a\u00e9\r\nb","priority":12345678901234567890}`
	tests := []struct {
		name  string
		args  string
		field string // of the FieldError
		why   string
	}{
		{"other words", `{"to":["dean@example.edu"],"subject":"Budget <1>", "body":"mine","priority":12345678901234567890}`, "", ""},
		{"a wrong type", `{"to":"dean@example.edu","body":"x"}`, "to", "array"},
		{"an unknown argument", `{"body":"x","boddy":"y"}`, "", "boddy"},
		{"a missing argument", `{"to":["dean@example.edu"]}`, "body", "missing"},
		{"a nested one", `{"to":[1],"body":"x"}`, "to", "string"},
		{"a fraction", `{"body":"x","priority":1.5}`, "priority", "integer"},
		{"twice the same", `{"body":"x","body":"y"}`, "", "body"},
		{"no JSON", `{"body":`, "", ""},
		{"no object", `["x"]`, "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, Config{})
			d := b.stage(drafted)
			e, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(tc.args), "U2", "slack")
			if tc.name == "other words" {
				if err != nil || string(e.Args) != tc.args || string(e.ArgsBefore) != drafted || e.Revision != 2 || !e.Edited || e.Requester != "U2" || e.Digest == d.Digest {
					t.Fatalf("%+v, %v", e, err)
				}
				return
			}
			var field *FieldError
			if !errors.As(err, &field) || tc.field != "" && field.Arg != tc.field || !strings.Contains(err.Error(), tc.why) {
				t.Fatalf("%#v, want %q with %q", err, tc.field, tc.why)
			}
			if now := b.get(d.ID); now.Revision != 1 || string(now.Args) != drafted || now.Digest != d.Digest {
				t.Fatalf("a refused edit changed it: %+v", now)
			}
		})
	}
}

func TestAnEditThatChangesNothingIsNone(t *testing.T) {
	b := newBench(t, Config{})
	d := b.stage(`{"body":"a \u00e9 <b> 1.0","priority":12345678901234567890}`)
	e, err := b.Edit(t.Context(), d.ID, 1, d.Args, "U1", "slack")
	if err != nil || e.Revision != 1 || e.Edited || e.Digest != d.Digest || e.Version != d.Version {
		t.Fatalf("%+v, %v", e, err)
	}
	var n int
	if err := b.db.Read(t.Context(), func(tx *record.Tx) error {
		return tx.Row(`SELECT count(*) FROM draft_revisions WHERE draft = ?`, []any{d.ID}, &n)
	}); err != nil || n != 1 {
		t.Fatalf("%d revisions, %v", n, err)
	}
}

func TestAnEditVoidsApprovals(t *testing.T) {
	b := newBench(t, Config{Policies: []Policy{{Tool: "mail__mail_send", MinApprovals: 2}}})
	d := b.stage(args("hello"))
	if _, err := b.Approve(t.Context(), second(d, "U2")); err != nil {
		t.Fatal(err)
	}
	e, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(args("mine")), "U1", "slack")
	if err != nil || len(e.Approvals) != 0 {
		t.Fatalf("%+v, %v", e.Approvals, err)
	}
	var changed *ChangedError
	if _, err := b.Approve(t.Context(), second(d, "U3")); !errors.As(err, &changed) {
		t.Fatalf("approved from the old card: %v", err)
	}
	if _, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(args("theirs")), "U2", "slack"); !errors.As(err, &changed) {
		t.Fatalf("edited from the old card: %v", err)
	}
	for _, by := range []string{"U2", "U3"} {
		if e, err = b.Approve(t.Context(), second(e, by)); err != nil {
			t.Fatal(err)
		}
	}
	want(t, b.dispatch(e), Released)
	if b.mail.sent[0] != args("mine") {
		t.Fatalf("sent %s", b.mail.sent[0])
	}
}

func TestWhatIsNotEdited(t *testing.T) {
	b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
	d := b.stage(`{"body":"x"}`)
	var field *FieldError
	if _, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(`{"body":"y"}`), "U1", "slack"); !errors.As(err, &field) || !strings.Contains(err.Error(), "render it again") {
		t.Errorf("a publication: %v", err)
	}
	b.cfg.PublishTools = nil
	d = b.stage(args("two"))
	b.approve(d)
	var state *StateError
	if _, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(args("y")), "U1", "slack"); !errors.As(err, &state) {
		t.Errorf("an approved one: %v", err)
	}
	d = b.stage(`{"body":"three"}`)
	b.Secret = func(s string) bool { return strings.Contains(s, "xoxb-1") }
	if _, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(`{"body":"xoxb-1"}`), "U1", "slack"); !errors.As(err, &field) {
		t.Errorf("a secret: %v", err)
	}
	delete(b.Surface.(surface), b.mail.name)
	if _, err := b.Edit(t.Context(), d.ID, 1, json.RawMessage(`{"body":"y"}`), "U1", "slack"); !errors.As(err, &field) || !strings.Contains(err.Error(), "server is off") {
		t.Errorf("without its tool: %v", err)
	}
}

// The key goes in, every other byte stays, and putting it in twice changes nothing.
func FuzzWithKey(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, ` { "key" : "x" , "b":"}" } `, `{"key":{"key":1}}`, `{"a":"key"}`, `[]`, `{"k\u0065y":1}`, ``, `{"a":1}}`} {
		f.Add([]byte(s), "key")
	}
	f.Fuzz(func(t *testing.T, raw []byte, arg string) {
		if !json.Valid(raw) || arg == "" {
			return
		}
		var before map[string]json.RawMessage
		object := json.Unmarshal(raw, &before) == nil && before != nil
		got, err := withKey(raw, arg, "mecha-1")
		if (err == nil) != object {
			t.Fatalf("%q: %v", raw, err)
		}
		if err != nil {
			return
		}
		list, err := members(got)
		if err != nil {
			t.Fatalf("%q became %q: %v", raw, got, err)
		}
		was, err := members(raw)
		if err != nil {
			t.Fatal(err)
		}
		valid := json.RawMessage(text(arg)) // an invalid name is replaced as JSON does it
		var name string
		if err := json.Unmarshal(valid, &name); err != nil || name != arg {
			return
		}
		found := 0
		for i, m := range list {
			if m.key == arg {
				found++
				if found == 1 && !sameString(m.raw, "mecha-1") {
					t.Fatalf("%q became %q", raw, got)
				}
				continue
			}
			if i >= len(was) || was[i].key != m.key || string(was[i].raw) != string(m.raw) {
				t.Fatalf("%q became %q: `%s` changed", raw, got, m.key)
			}
		}
		if found == 0 {
			t.Fatalf("%q became %q without it", raw, got)
		}
		if again, err := withKey(got, arg, "mecha-1"); err != nil || string(again) != string(got) {
			t.Fatalf("again: %q, %v", again, err)
		}
	})
}

// Prepare looks at whatever a model wrote; it never reads outside of the jail.
func FuzzPrepare(f *testing.F) {
	for _, s := range []string{`{"attachments":["a.txt"]}`, `{"body":"../secret.txt"}`, `{"x":{"y":["/etc/passwd","."]}}`, `{"path":"` + strings.Repeat("a/", 300) + `"}`, `null`, `{"a":"\u0000."}`} {
		f.Add([]byte(s))
	}
	b := newBench(f, Config{})
	b.write("a.txt", "here")
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := b.staging(string(raw))
		j := openJail(t, b.work)
		p, err := b.Prepare(t.Context(), s.Tool, s.Args, j)
		if err != nil {
			return
		}
		for _, file := range p.Files {
			rel, err := j.Rel(file.Path)
			if err != nil || rel != "a.txt" || file.Bytes != 4 {
				t.Fatalf("%q: hashed %+v, %v", raw, file, err)
			}
		}
	})
}
