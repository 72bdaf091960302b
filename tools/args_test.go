package tools

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const readSchema = `{"type":"object","properties":{
	"path":{"type":"string"},
	"limit":{"type":"integer","minimum":1,"default":100},
	"mode":{"enum":["text","hex"],"default":"text"},
	"since":{"type":"string","default":null},
	"big":{"type":"integer"},
	"tags":{"type":"array","items":{"type":"string"}},
	"who":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]}
},"required":["path"],"additionalProperties":false}`

func TestParse(t *testing.T) {
	c := Compile(json.RawMessage(readSchema))
	if c.Unchecked() != nil {
		t.Fatal(c.Unchecked())
	}
	tests := []struct {
		name, in, want string
		filled         []string
		problems       []string
	}{
		{"defaults pinned", `{"path":"a"}`, `{"path":"a","limit":100,"mode":"text"}`, []string{"limit", "mode"}, nil},
		{"nothing to fill keeps every byte", ` { "path" : "<a&b>\u00e9" , "limit":1.0e1,"mode":"hex" } `, ` { "path" : "<a&b>\u00e9" , "limit":1.0e1,"mode":"hex" } `, nil, nil},
		{"digits stay", `{"path":"a","big":9007199254740993,"limit":5,"mode":"hex"}`, `{"path":"a","big":9007199254740993,"limit":5,"mode":"hex"}`, nil, nil},
		{"empty", ``, ``, nil, []string{"`path` is missing"}},
		{"null", ` null `, ``, nil, []string{"`path` is missing"}},
		{"not an object", `[1]`, ``, nil, []string{"the arguments must be a JSON object, got an array"}},
		{"type", `{"path":"a","limit":"ten"}`, ``, nil, []string{"`limit` must be an integer, got string"}},
		{"all of them", `{"limit":0,"mode":"x","tags":["a",1],"nope":1}`, ``, nil, []string{
			"`limit` must be at least 1, got 0", "`mode` must be one of \"text\", \"hex\", got \"x\"",
			"`nope` is not an argument of this tool", "`path` is missing", "`tags[1]` must be a string, got number"}},
		{"either", `{"path":"a","who":1}`, ``, nil, []string{"`who` must be an array or a string, got number"}},
		{"twice", `{"path":"a","path":"b"}`, ``, nil, []string{"the key `path` appears twice; write it once"}},
		{"twice by escape", `{"path":"a","p\u0061th":"b"}`, ``, nil, []string{"the key `path` appears twice; write it once"}},
		{"by case", `{"path":"a","Path":"b"}`, ``, nil, []string{"the keys `path` and `Path` differ only by case; write one of them"}},
		{"by case, Kelvin", `{"k":1,"` + "\u212a" + `":2}`, ``, nil, []string{"the keys `k` and `\u212a` differ only by case; write one of them"}},
		{"deep inside", `{"path":"a","x":[{"y":{"to":1,"TO":2}}]}`, ``, nil, []string{"the keys `to` and `TO` differ only by case in `x[0].y`; write one of them"}},
		{"half a character", `{"path":"\ud800"}`, ``, nil, []string{"a \\u escape in `path` is half of a character; write both halves, or the character itself"}},
		{"a whole one", `{"path":"\ud83d\ude00","limit":1,"mode":"hex"}`, `{"path":"\ud83d\ude00","limit":1,"mode":"hex"}`, nil, nil},
		{"not UTF-8", "{\"path\":\"\xff\"}", ``, nil, []string{"the arguments are not valid UTF-8"}},
		{"cut off", `{"path":"a`, ``, nil, []string{"the arguments are not valid JSON: unexpected end of JSON input (at byte 10 of 10)"}},
		{"two values", `{} {}`, ``, nil, []string{"the arguments are not valid JSON: invalid character '{' after top-level value (at byte 4 of 5)"}},
		{"a default beside its twin by case", `{"path":"a","LIMIT":1}`, ``, nil, []string{"`LIMIT` is not an argument of this tool"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args, filled, err := c.Parse(json.RawMessage(tt.in))
			var problems []string
			var bad *ArgsError
			if errors.As(err, &bad) {
				problems = bad.Problems
			} else if err != nil {
				t.Fatalf("%v is no *ArgsError", err)
			}
			if d := cmp.Diff(tt.problems, problems); d != "" {
				t.Error(d)
			}
			if string(args) != tt.want {
				t.Errorf("args %s, want %s", args, tt.want)
			}
			if d := cmp.Diff(tt.filled, filled); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseBounds(t *testing.T) {
	c := Compile(json.RawMessage(`{"type":"object"}`))
	for _, in := range []string{
		strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70),
		`{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`,
		`{"a":1e999999999}`, `{"a":` + strings.Repeat("9", 200) + `}`,
		`{"a":"` + strings.Repeat("x", maxArgBytes) + `"}`,
	} {
		if _, _, err := c.Parse(json.RawMessage(in)); err == nil {
			t.Errorf("%.60s… was taken", in)
		}
	}
}

// Hostile schemas neither hang nor kill; what they cannot judge is unchecked.
func TestCompileHostile(t *testing.T) {
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range 60 {
		if i > 0 {
			chain.WriteByte(',')
		}
		next := `"#/$defs/d` + string(rune('0'+(i+1)/10)) + string(rune('0'+(i+1)%10)) + `"`
		chain.WriteString(`"d` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":{"allOf":[{"$ref":` + next + `},{"$ref":` + next + `}]}`)
	}
	chain.WriteString(`,"d60":{}}}`)
	doubling := strings.Replace(chain.String(), "#/$defs/d0\"", "#/$defs/d00\"", 1)
	tests := []struct {
		name, schema string
		unchecked    bool
	}{
		{"self reference", `{"type":"object","$ref":"#"}`, false},
		{"a file", `{"$ref":"file:///etc/passwd"}`, true},
		{"the network", `{"$ref":"https://example.com/schema"}`, true},
		{"draft 4", `{"properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, true},
		{"lookahead", `{"properties":{"n":{"pattern":"(?=a)b"}}}`, true},
		{"doubling", doubling, true},
		{"no schema", `[]`, true},
		{"tree", `{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}}}}`, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Compile(json.RawMessage(tt.schema))
			if got := c.Unchecked() != nil; got != tt.unchecked {
				t.Errorf("unchecked: %v", c.Unchecked())
			}
			_, _, _ = c.Parse(json.RawMessage(`{"kids":[{"kids":[]}]}`))
			if _, _, err := c.Parse(json.RawMessage(`{"a":1,"a":2}`)); err == nil {
				t.Error("a repeated key was taken")
			}
		})
	}
}

// What is taken means the same to encoding/json, and pinning changes nothing
// but the end.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"path":"a"}`, `{"path":"a","limit":2}`, `{"a":{"b":[1,2,{"c":null}]}}`, `{"p\u0061th":"\ud83d\ude00"}`, `{"A":1,"a":2}`, ` {} `, `{"path":"}"}`} {
		f.Add([]byte(s))
	}
	strict, open := Compile(json.RawMessage(readSchema)), Compile(json.RawMessage(`{"type":"object","properties":{"z":{"default":{"k":1}}}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, c := range []*Compiled{strict, open} {
			args, filled, err := c.Parse(in)
			if err != nil {
				continue
			}
			var m map[string]json.RawMessage
			if err := json.Unmarshal(args, &m); err != nil {
				t.Fatalf("%q was taken as %q: %v", in, args, err)
			}
			for _, name := range filled {
				if _, ok := m[name]; !ok {
					t.Fatalf("%s is said to be filled in %q", name, args)
				}
			}
			again, more, err := c.Parse(args)
			if err != nil || string(again) != string(args) || len(more) > 0 {
				t.Fatalf("%q parses to %q, %v, %v the second time", args, again, more, err)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	c := Compile(json.RawMessage(readSchema))
	in := json.RawMessage(`{"path":"notes/today.md","limit":20,"mode":"text"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := c.Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}
