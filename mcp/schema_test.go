package mcp

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func TestAcceptableSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"as it should be", `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"empty", `{}`, `{"properties":{},"type":"object"}`},
		{"no type, array without items", `{"properties":{"a":{"type":"array"}}}`,
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{"items as a tuple", `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`,
			`{"properties":{"a":{"items":{},"type":"array"}},"type":"object"}`},
		{"$ref and $defs", `{"$schema":"x","$defs":{"p":{"type":"string","description":"far"}},"type":"object","properties":{"a":{"$ref":"#/$defs/p"},"b":{"$ref":"#/$defs/p","description":"near"}}}`,
			`{"properties":{"a":{"description":"far","type":"string"},"b":{"description":"near","type":"string"}},"type":"object"}`},
		{"$ref into properties", `{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"$ref":"#/properties/a"}}}`,
			`{"properties":{"a":{"minimum":1,"type":"integer"},"b":{"minimum":1,"type":"integer"}},"type":"object"}`},
		{"$ref that leads out, or nowhere", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"},"b":{"$ref":"#/nowhere"}}}`,
			`{"properties":{"a":{},"b":{}},"type":"object"}`},
		{"oneOf at the root: either's properties, nobody's requirement", `{"oneOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"type":"integer"}},"required":["b","k"]}]}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"string"},"k":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["k"],"type":"object"}`},
		{"allOf at the root", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]}`,
			`{"properties":{"a":{},"b":{}},"required":["a"],"type":"object"}`},
		{"draft 4", `{"type":"object","properties":{"a":{"type":"number","minimum":0,"exclusiveMinimum":true,"required":true}}}`,
			`{"properties":{"a":{"minimum":0,"type":"number"}},"type":"object"}`},
		{"types that are none", `{"type":"object","properties":{"a":{"type":"any"},"b":{"type":["string","whatever"]},"c":{"type":["string","null"]}}}`,
			`{"properties":{"a":{},"b":{},"c":{"type":["string","null"]}},"type":"object"}`},
		{"required without a property", `{"type":"object","required":["a",7,"a"]}`,
			`{"properties":{"a":{}},"required":["a"],"type":"object"}`},
		{"a property named like a keyword", `{"type":"object","properties":{"$ref":{"type":"string"},"id":{"type":"string"},"items":{"type":"string"}}}`,
			`{"properties":{"$ref":{"type":"string"},"id":{"type":"string"},"items":{"type":"string"}},"type":"object"}`},
		{"exact numbers, no escaping", `{"type":"object","properties":{"a":{"const":9007199254740993,"description":"<b> & \u2028"}}}`,
			"{\"properties\":{\"a\":{\"const\":9007199254740993,\"description\":\"<b> & \\u2028\"}},\"type\":\"object\"}"},
		{"closed objects stay closed and open ones open", `{"type":"object","additionalProperties":false,"properties":{"o":{"type":"object"}}}`,
			`{"additionalProperties":false,"properties":{"o":{"properties":{},"type":"object"}},"type":"object"}`},
	} {
		got, err := acceptableSchema(json.RawMessage(tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestUnacceptableSchemas(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	for name, in := range map[string]string{
		"missing": ``, "a string": `"object"`, "an array": `[]`, "null": `null`, "of another type": `{"type":"array"}`,
		"broken": `{"type":`, "two values": `{} {}`, "too deep": deep, "too long": `{"description":"` + strings.Repeat("x", maxSchema) + `"}`,
		// Sixteen references to a definition with sixteen references to the next: 2^32 once they are written out.
		"a bomb of references": bomb(8, 16),
	} {
		if got, err := acceptableSchema(json.RawMessage(in)); err == nil {
			t.Errorf("%s becomes %s", name, cut(string(got), 200))
		}
	}
}

func bomb(levels, width int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range levels {
		b.WriteString(`"d` + string(rune('0'+i)) + `":{"type":"object","properties":{`)
		for j := range width {
			if j > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"p` + string(rune('a'+j)) + `":{"$ref":"#/$defs/d` + string(rune('1'+i)) + `"}`)
		}
		b.WriteString(`}},`)
	}
	b.WriteString(`"d` + string(rune('0'+levels)) + `":{"type":"string"}}}`)
	return b.String()
}

func TestRecursiveSchemasEnd(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"$ref":"#"}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"type":"object","properties":{"x":{"$ref":"#/$defs/a"}}}`,
	} {
		got, err := acceptableSchema(json.RawMessage(in))
		if err != nil || bytes.Contains(got, []byte(`"$ref"`)) {
			t.Errorf("%s becomes %s, %v", in, got, err)
		}
	}
}

// Mending never tightens: what the server's own schema accepts, ours accepts.
func TestMendingNeverTightens(t *testing.T) {
	t.Parallel()
	values := []string{`{}`, `{"a":"x"}`, `{"a":1}`, `{"a":[1,"x"]}`, `{"a":null}`, `{"a":{"b":{"c":true}}}`, `{"b":"x"}`, `{"a":"x","b":"y"}`,
		`{"k":"x","a":"y"}`, `{"k":2,"b":"y"}`, `{"root":{"kids":[{"kids":[{"kids":[{"kids":[{"kids":[{"odd":1}]}]}]}]}]}}`}
	schemas := []string{
		`{}`, `{"type":"object","properties":{"a":{"type":"array","items":[{"type":"integer"}]}}}`,
		`{"oneOf":[{"properties":{"a":{"type":"string"},"k":{"type":"string"}},"required":["a","k"]},{"properties":{"b":{"type":"string"},"k":{"type":"integer"}},"required":["b","k"]}]}`,
		`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{"allOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}]}`,
		`{"type":"object","not":{"required":["a"]}}`,
		`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}`,
		`{"$defs":{"n":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}},"type":"object","properties":{"root":{"$ref":"#/$defs/n"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/properties/b","description":"x"},"b":{"type":["string","null"]}}}`,
		`{"type":"object","properties":{"a":{"enum":[]}}}`,
		`{"type":"object","required":["zz"]}`,
	}
	for _, s := range schemas {
		mended, err := acceptableSchema(json.RawMessage(s))
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		theirs, ours := compile(t, s), compile(t, string(mended))
		if theirs == nil {
			continue
		}
		if ours == nil {
			t.Errorf("%s becomes %s, which does not compile", s, mended)
			continue
		}
		for _, v := range values {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(v))
			if err != nil {
				t.Fatal(err)
			}
			if theirs.Validate(doc) == nil {
				if err := ours.Validate(doc); err != nil {
					t.Errorf("%s accepts %s; %s does not: %v", s, v, mended, err)
				}
			}
		}
	}
}

func compile(t *testing.T, schema string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(schema))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nil)
	if c.AddResource("s.json", doc) != nil {
		return nil
	}
	s, err := c.Compile("s.json")
	if err != nil {
		return nil
	}
	return s
}

func FuzzAcceptableSchema(f *testing.F) {
	for _, s := range []string{`{}`, `{"$ref":"#"}`, `{"type":"object","properties":{"a":{"type":"array"}}}`, `{"oneOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"required":["x"]}}}`, bomb(2, 3)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := acceptableSchema(in)
		if err != nil {
			return
		}
		var root map[string]any // and no struct: its names would also match "tYpe"
		if err := json.Unmarshal(out, &root); err != nil || root["type"] != "object" {
			t.Fatalf("%q becomes %q: %v", in, out, err)
		}
		if _, ok := root["properties"].(map[string]any); !ok {
			t.Fatalf("%q becomes %q", in, out)
		}
		again, err := acceptableSchema(out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q is mended to %q and then to %q, %v", in, out, again, err)
		}
	})
}

func TestPinHash(t *testing.T) {
	t.Parallel()
	cfg := Config{Name: "s"}
	hash := func(raw string) string {
		d, err := define(cfg, json.RawMessage(raw))
		if err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		return d.hash
	}
	base := hash(`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"openWorldHint":true}}`)
	if same := hash(`{"annotations":{"openWorldHint":true},"inputSchema":{"properties":{"x":{"type":"string"}},"type":"object"},"description":"d","name":"a","title":"T"}`); same != base {
		t.Error("the order of keys changes a pin")
	}
	for _, other := range []string{
		`{"name":"a","description":"e","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"openWorldHint":true}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string","description":"your password"}}},"annotations":{"openWorldHint":true}}`,
		`{"name":"a","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"openWorldHint":false}}`,
		`{"name":"b","description":"d","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}},"annotations":{"openWorldHint":true}}`,
	} {
		if hash(other) == base {
			t.Errorf("the pin does not notice %s", other)
		}
	}
}
