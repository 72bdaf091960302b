package bot

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

const mailSchema = `{"type":"object","required":["to","n"],"properties":{
 "to":{"type":"array","items":{"type":"string"}},"cc":{"type":"array","items":{"type":"string"}},
 "subject":{"type":"string"},"body":{"type":"string"},"tone":{"type":"string","enum":["formal","short"]},
 "n":{"type":"number"},"count":{"type":"integer"},"urgent":{"type":"boolean"},"headers":{"type":"object"},"note":{"type":["string","null"]}}}`

// shownForm builds the modal and answers what Slack would send back of it
// untouched, line ends as Slack writes them.
func shownForm(t testing.TB, schema, args string) (form, values) {
	t.Helper()
	f, err := newForm(json.RawMessage(schema), json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	v := draftView{}
	v.Args = json.RawMessage(args)
	view, ok := editView(v, f, threads.Token{Token: "t"})
	if !ok {
		t.Skip("too large for a view")
	}
	for _, e := range blockkit.ValidateView(view) {
		t.Errorf("Slack would refuse the form: %v", e)
	}
	raw, err := json.Marshal(initial(view))
	if err != nil {
		t.Fatal(err)
	}
	in, err := readValues(json.RawMessage(raw))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range in {
		for id, val := range block {
			if val.Value != nil {
				s := unix(*val.Value)
				val.Value = &s
				block[id] = val
			}
		}
	}
	return f, in
}

func set(f form, in values, key, text string) {
	for _, fl := range f.fields {
		if fl.key == key {
			in[fl.block()] = map[string]value{fl.block(): {Value: &text}}
		}
	}
}

func TestFormChangesOnlyWhatWasChanged(t *testing.T) {
	const args = `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true }`
	for name, c := range map[string]struct {
		key, text string
		want      string
	}{
		"a word":            {"subject", "hi", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"hi","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true }`},
		"line ends kept":    {"body", "one\nTWO\n", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\nTWO\r\n","zz":{"k":1e3},"urgent":true }`},
		"no HTML escapes":   {"subject", "a <b> & c", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"a <b> & c","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true }`},
		"a recipient":       {"to", "a@x.org\n\n c@x.org ", `{ "n" : 1.50,"to":["a\u0040x.org","c@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true }`},
		"the same number":   {"n", "1.5", args},
		"another number":    {"n", "2.10", `{ "n" : 2.10,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true }`},
		"raw JSON":          {"zz", `{"k":2}`, `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":2},"urgent":true }`},
		"raw JSON away":     {"zz", "", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","urgent":true }`},
		"a new copy":        {"cc", "d@x.org", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true,"cc":["d@x.org"] }`},
		"a new number":      {"count", "3", `{ "n" : 1.50,"to":["a\u0040x.org", "b@x.org"],  "subject":"h\u00e9","body":"one\r\ntwo\r\n","zz":{"k":1e3},"urgent":true,"count":3 }`},
		"nothing new added": {"cc", "", args},
	} {
		t.Run(name, func(t *testing.T) {
			f, in := shownForm(t, mailSchema, args)
			set(f, in, c.key, c.text)
			got, errs := f.apply(in)
			if len(errs) > 0 || string(got) != c.want {
				t.Errorf("%v\n got %s\nwant %s", errs, got, c.want)
			}
		})
	}
}

func TestFormErrorsStandAtTheirField(t *testing.T) {
	for _, c := range []struct{ key, text, why string }{
		{"n", "", "needs a number"}, {"n", "0x10", "not a number"}, {"n", "01", "not a number"}, {"count", "1.5", "whole number"}, {"count", "1e99999999", "out of range"},
		{"headers", "{", "not JSON"}, {"headers", `{"a":1} x`, "not JSON"},
	} {
		f, in := shownForm(t, mailSchema, `{"to":[],"n":1}`)
		set(f, in, c.key, c.text)
		_, errs := f.apply(in)
		if got := errs[f.blockOf(c.key)]; !strings.Contains(got, c.why) {
			t.Errorf("%s = %q: %q, want %q", c.key, c.text, errs, c.why)
		}
	}
}

func TestFormPartsLongText(t *testing.T) {
	body := strings.Repeat("a line that is neither long nor short\r\n", 400) + strings.Repeat("😀", 3000)
	raw, _ := encodeJSON(map[string]string{"body": body})
	f, in := shownForm(t, mailSchema, string(raw))
	var parts []string
	for _, fl := range f.fields {
		if fl.key == "body" {
			parts = fl.parts
		}
	}
	if len(parts) < 7 {
		t.Fatalf("%d parts", len(parts))
	}
	for i, p := range parts {
		if width(p) > maxPartUnits || strings.HasPrefix(p, "\n") {
			t.Errorf("part %d: %d units, begins %q", i, width(p), p[:1])
		}
	}
	got, errs := f.apply(in)
	if len(errs) > 0 || string(got) != string(raw) {
		t.Errorf("untouched parts changed the text: %v", errs)
	}
	// Slack hands a part back without the line end at which we cut it.
	for _, fl := range f.fields {
		if fl.key == "body" {
			s := strings.TrimSuffix(unix(parts[1]), "\n")
			in[fl.part(1)] = map[string]value{fl.part(1): {Value: &s}}
		}
	}
	if got, _ := f.apply(in); string(got) != string(raw) {
		t.Error("a part without its last line end counts as changed")
	}
	raw, _ = encodeJSON(map[string]string{"body": strings.Repeat("x", maxFormUnits+1)})
	if _, err := newForm(nil, raw); !errors.Is(err, errFormTooLong) {
		t.Errorf("60,001 characters: %v", err)
	}
}

func TestFormListsHiddenCharacters(t *testing.T) {
	f, _ := shownForm(t, mailSchema, `{"to":["a@x.org"],"n":1,"subject":"pay\u200b \u202enow\u200b"}`)
	shown := shownText(blockkit.BlocksJSON(f.blocks()))
	if !strings.Contains(shown, "3 hidden characters") || !strings.Contains(shown, "‹U+200B› ×2") || !strings.Contains(shown, "‹U+202E›") {
		t.Errorf("shown: %s", shown)
	}
}

func TestFormLeavesTheKeyAlone(t *testing.T) {
	f, err := newForm(json.RawMessage(mailSchema), json.RawMessage(`{"to":["a"],"n":1,"key":"k-1"}`), "key")
	if err != nil {
		t.Fatal(err)
	}
	got, errs := f.apply(values{})
	if len(errs) > 0 || string(got) != `{"to":["a"],"n":1,"key":"k-1"}` {
		t.Errorf("%s %v", got, errs)
	}
}

// Whatever the schema and the arguments: a form that comes back as it was
// shown changes not one byte.
func FuzzFormRoundTrip(f *testing.F) {
	f.Add(mailSchema, `{ "n" : 1.50,"to":["a","b"],"subject":"x\ty","body":"a\r\nb\rc\n","tone":"short","urgent":false,"headers":{},"note":null}`)
	f.Add(`{}`, `{"a":"\u0000","b":[""],"c":[" x"],"d":-0,"e":1e400,"f":"‹U+200B›","g":[1,"2"],"h":"\ud83d\ude00"}`)
	f.Add(`{"properties":{"a":{"type":"string","enum":["",1]},"b":{"type":"string","enum":["x","x"]}}}`, `{"a":"","b":"x"}`)
	f.Add(`{"properties":[]}`, `{"":""," ":" ","to":"a@b"}`)
	f.Add(`{"properties":{"a":{"type":"integer"},"b":{"type":"boolean"}},"required":["a","b","c"]}`, `{"a":12345678901234567890,"b":"true"}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if len(args) > 20000 || len(schema) > 20000 || !json.Valid([]byte(args)) || !utf8.ValidString(args) { // refused before it is staged
			t.Skip()
		}
		if _, err := newForm(json.RawMessage(schema), json.RawMessage(args)); err != nil {
			t.Skip()
		}
		keys := map[string]bool{}
		if list, err := arguments(json.RawMessage(args)); err == nil {
			for _, a := range list {
				if keys[a.Key] {
					t.Skip() // refused before it is staged
				}
				keys[a.Key] = true
			}
		}
		fm, in := shownForm(t, schema, args)
		got, errs := fm.apply(in)
		if len(errs) > 0 {
			t.Fatalf("an untouched form has errors: %v", errs)
		}
		if string(got) != args {
			t.Fatalf("an untouched form changed the arguments\n got %q\nwant %q", got, args)
		}
	})
}
