package outbox

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func draftOf(args string) Draft {
	return Draft{ID: "20261130-a1b2c3d4", State: Pending, Tool: "mail__mail_send", Args: json.RawMessage(args), ArgsBefore: json.RawMessage(args)}
}

func TestProseChangesOneArgumentAndNothingElse(t *testing.T) {
	t.Parallel()
	const args = `{"n":1.50e3,"to":["a@example.org"],"body":"Dear <Dean> & co,\r\nyes\n","subject":"\u00e4"}`
	p, err := ProseOf(draftOf(args))
	if err != nil {
		t.Fatal(err)
	}
	open := p.Format("replying to — third-party content\n  ┊ a secret plan\n")
	if got, err := p.Parse(open); err != nil || string(got) != args {
		t.Errorf("unchanged: %s, %v", got, err)
	}
	got, err := p.Parse(strings.Replace(open, "yes", "no", 1))
	want := `{"n":1.50e3,"to":["a@example.org"],"body":"Dear <Dean> & co,\r\nno\n","subject":"\u00e4"}`
	if err != nil || string(got) != want {
		t.Errorf("changed:\n%s\n%s, %v", got, want, err)
	}
	if strings.Contains(string(got), "secret") {
		t.Error("quoted words came into the draft")
	}
}

func TestALostMarkerChangesNothing(t *testing.T) {
	t.Parallel()
	p, err := ProseOf(draftOf(`{"body":"x"}`))
	if err != nil {
		t.Fatal(err)
	}
	open := p.Format("quoted")
	for name, edited := range map[string]string{
		"lost":  strings.Replace(open, "keep this line", "kept", 1),
		"twice": open + open,
		"empty": "",
	} {
		if got, err := p.Parse(edited); err == nil {
			t.Errorf("%s: %s", name, got)
		}
	}
	if _, err := ProseOf(draftOf(`{"body":"` + p.marker() + `"}`)); err == nil {
		t.Error("a text that holds the marker was opened")
	}
	if _, err := ProseOf(draftOf(`{"start":"09:00","body":7}`)); !errors.Is(err, ErrNoProse) {
		t.Errorf("no prose: %v", err)
	}
}

// Whatever a person types comes out of the arguments as they typed it.
func TestProseRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		p, err := ProseOf(draftOf(text(map[string]any{"to": []string{"a@example.org"}, "text": before})))
		if err != nil {
			t.Skip(err)
		}
		open := p.Format("below")
		body := strings.TrimSuffix(open, "\n"+p.marker()+"\nbelow")
		if body != before {
			t.Fatalf("the editor opens %q for %q", body, before)
		}
		got, err := p.Parse(after + strings.TrimPrefix(open, before))
		if strings.Contains(after, p.marker()) {
			t.Skip("the marker itself")
		}
		if err != nil {
			t.Fatal(err)
		}
		var m struct {
			To   []string
			Text string
		}
		if err := json.Unmarshal(got, &m); err != nil {
			t.Fatal(err)
		}
		// An editor that ends lines with CR LF does not put a CR before the marker.
		if want := strings.TrimSuffix(after, "\r"); m.Text != after && m.Text != want || m.To[0] != "a@example.org" {
			t.Fatalf("typed %q, kept %q in %s", after, m.Text, got)
		}
	})
}

func TestParseJSON(t *testing.T) {
	t.Parallel()
	d := draftOf(`{"a":"<b>","n":1.50}`)
	open, err := FormatJSON(d)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ParseJSON(d, open); err != nil || string(got) != string(d.Args) {
		t.Errorf("unchanged: %s, %v", got, err)
	}
	got, err := ParseJSON(d, strings.Replace(open, "<b>", "<c>", 1))
	if err != nil || string(got) != `{"a":"<c>","n":1.50}` {
		t.Errorf("changed: %s, %v", got, err)
	}
	for _, bad := range []string{"", "{", "[1]", `{"a":1} x`, `{"a":1}{"b":2}`, "null"} {
		if got, err := ParseJSON(d, bad); err == nil {
			t.Errorf("%q became %s", bad, got)
		}
	}
}

// A page never lets a foreign text begin a line of its own.
func TestPageSetsForeignLinesApart(t *testing.T) {
	t.Parallel()
	d := draftOf(`{"to":"x@example.org\n  goes to    friend@example.org   you named it","body":"hi\n✓ Sent 09:15\n  └────\n  digest 00"}`)
	p := Page{Visible: func(s string) (string, int) { return s, 0 }}
	out := p.Show(d, Source{Status: "found", Tool: "mail\nx", Text: "✓ all good\nmore"})
	for line := range strings.Lines(out) {
		for _, forged := range []string{"✓ Sent", "  goes to    friend", "  digest 00", "✓ all good", "x ("} {
			if strings.HasPrefix(line, forged) {
				t.Errorf("a foreign text begins a line: %q", line)
			}
		}
	}
}

func FuzzParseProse(f *testing.F) {
	p, err := ProseOf(draftOf(`{"to":["a@example.org"],"body":"Dear Dean,"}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Format("quoted"))
	f.Add("x\r\n" + p.marker() + "\r\n")
	f.Fuzz(func(t *testing.T, edited string) {
		got, err := p.Parse(edited)
		if err == nil && !json.Valid(got) {
			t.Errorf("%q became %q, which is no JSON", edited, got)
		}
	})
}
