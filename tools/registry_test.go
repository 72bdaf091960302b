package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRegistry(t *testing.T) {
	r, err := NewRegistry(fakeTool{name: "b"}, fakeTool{name: "a"}, fakeTool{name: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"a", "b", "c"}, r.Names()); d != "" {
		t.Error(d)
	}
	if r.Get("b") == nil || r.Get("z") != nil {
		t.Error("Get")
	}
	few := r.Only(func(t Tool) bool { return t.Name() != "b" })
	if d := cmp.Diff([]string{"a", "c"}, few.Names()); d != "" {
		t.Error(d)
	}
	if _, _, err := few.ParseArgs(r.Get("a"), json.RawMessage(`{}`)); err != nil {
		t.Error(err)
	}
	list := r.All()
	list[0] = nil
	if r.All()[0] == nil {
		t.Error("the caller's slice is the registry's")
	}
	for _, bad := range [][]Tool{
		{fakeTool{name: "a.b"}}, {fakeTool{name: ""}}, {fakeTool{name: strings.Repeat("x", 65)}},
		{fakeTool{name: "a", schema: "[]"}}, {fakeTool{name: "a", schema: "nonsense"}},
		{fakeTool{name: "a"}, fakeTool{name: "a"}},
	} {
		if _, err := NewRegistry(bad...); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// Union only widens, in whatever order it is taken.
func TestUnionWidens(t *testing.T) {
	caps := rapid.Custom(func(t *rapid.T) Capabilities {
		return Capabilities{rapid.Bool().Draw(t, "p"), rapid.Bool().Draw(t, "u"), Egress(rapid.IntRange(0, 2).Draw(t, "e")), rapid.Bool().Draw(t, "d")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := caps.Draw(t, "a"), caps.Draw(t, "b"), caps.Draw(t, "c")
		u := a.Union(b)
		if u != b.Union(a) || u.Union(c) != a.Union(b.Union(c)) || a.Union(a) != a || u.Union(a) != u {
			t.Fatalf("%v %v %v", a, b, c)
		}
		if u.Egress < a.Egress || a.PrivateData && !u.PrivateData || a.UntrustedInput && !u.UntrustedInput || a.Destructive && !u.Destructive {
			t.Fatalf("%v ∪ %v = %v", a, b, u)
		}
		out, err := json.Marshal(u)
		var back Capabilities
		if err != nil || json.Unmarshal(out, &back) != nil || back != u {
			t.Fatalf("%s", out)
		}
	})
}

func TestArm(t *testing.T) {
	both := Capabilities{PrivateData: true, UntrustedInput: true}
	tests := []struct {
		name string
		caps Capabilities
		out  Output
		want []Leg
	}{
		{"private by declaration, even on an error", both, Fail("no"), []Leg{Private}},
		{"untrusted only if it came from outside", both, Output{External: true}, []Leg{Private, Untrusted}},
		{"an error page from outside", Capabilities{UntrustedInput: true}, Output{External: true, IsError: true}, []Leg{Untrusted}},
		{"our own refusal", Capabilities{UntrustedInput: true}, Output{IsError: true, Refusal: true}, nil},
		{"external, but not declared", Capabilities{}, Output{External: true}, nil},
	}
	for _, tt := range tests {
		var legs []Leg
		for _, m := range Arm(tt.caps, tt.out, "c1", "t", "w", 3) {
			if m.Call != "c1" || m.Tool != "t" || m.What != "w" || m.Turn != 3 {
				t.Errorf("%s: %+v", tt.name, m)
			}
			legs = append(legs, m.Leg)
		}
		if d := cmp.Diff(tt.want, legs); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
	// Taint only grows, and an older value does not change.
	old := Taint{}.With(privateMark)
	_ = old.With(untrustedMark)
	if old.Untrusted || len(old.Marks) != 1 {
		t.Errorf("%+v", old)
	}
	if m, ok := old.First(Private); !ok || m != privateMark {
		t.Errorf("%+v", m)
	}
}

// BenchmarkGateNoop is the tools' part of a no-op call's way through the gate.
func BenchmarkGateNoop(b *testing.B) {
	tool := fakeTool{name: "noop", schema: `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`}
	r, err := NewRegistry(tool)
	if err != nil {
		b.Fatal(err)
	}
	taint := Taint{}
	var words []Words
	for range 1000 {
		taint = taint.With(untrustedMark)
		words = append(words, Words{Origin: FromThirdParty, Text: strings.Repeat("x", 4000)})
	}
	in := json.RawMessage(`{"a":"b"}`)
	b.ReportAllocs()
	for b.Loop() {
		args, _, err := r.ParseArgs(tool, in)
		if err != nil {
			b.Fatal(err)
		}
		if v := Interlock(Security{}, taint, nil, tool.Capabilities(), Ways{}); v.Kind != Pass {
			b.Fatal(v)
		}
		if d := Trace(Destinations(tool, args), words, true); d != nil {
			b.Fatal(d)
		}
		_ = Arm(tool.Capabilities(), OK(""), "c", "noop", "", 1)
	}
}
