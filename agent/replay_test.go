package agent

import (
	"context"
	"errors"
	"testing"
)

// Each kind of divergence is told, spelling is none, and only recorded results
// are ever before the model.
func TestReplay(t *testing.T) {
	call := func(tool, args string) Call {
		return Call{ID: "c" + tool, WireID: "w" + tool, Tool: tool, Args: []byte(args)}
	}
	rec := Recording{From: 1, Messages: []Message{
		{Turn: 1, Role: User, Author: ByOwner, Text: "read it"},
		{Turn: 1, Role: Assistant, Author: ByModel, Calls: []Call{call("read_file", `{"path":"a","n":1}`)}},
		{Turn: 1, Role: ToolRole, Author: ByTool, CallID: "cread_file", WireID: "wread_file", Tool: "read_file", Text: "what the file held then"},
		{Turn: 2, Role: Assistant, Author: ByModel, Text: "it says so"},
	}}
	for name, tt := range map[string]struct {
		first  Turn
		kinds  []DivergenceKind
		follow bool
		asked  int
	}{
		"the same, spelt otherwise": {Turn{Calls: []Call{call("read_file", `{ "n":1, "path":"a" }`)}}, nil, false, 2},
		"another tool":              {Turn{Calls: []Call{call("list", `{}`)}}, []DivergenceKind{OtherTool}, false, 1},
		"other arguments":           {Turn{Calls: []Call{call("read_file", `{"path":"b","n":1}`)}}, []DivergenceKind{OtherArgs}, true, 2},
		"no call":                   {Turn{Text: "I know it"}, []DivergenceKind{MissingCall}, false, 1},
		"one more":                  {Turn{Calls: []Call{call("read_file", `{"path":"a","n":1}`), call("send", `{}`)}}, []DivergenceKind{ExtraCall}, true, 2},
	} {
		m := &strict{t: t, script: func(n int, req Request) (Turn, error) {
			if n == 0 {
				return tt.first, nil
			}
			if last := req.Messages[len(req.Messages)-1]; last.Text != "what the file held then" {
				t.Errorf("%s: the second turn was asked over %q", name, last.Text)
			}
			return says("it says so, in other words"), nil
		}}
		out, err := Replay(t.Context(), m, rec, tt.follow)
		if err != nil || len(m.asked) != tt.asked || len(out.Divergences) != len(tt.kinds) {
			t.Errorf("%s: %+v, %v, asked %d times", name, out, err, len(m.asked))
			continue
		}
		for i, d := range out.Divergences {
			if d.Kind != tt.kinds[i] || d.Turn != 1 {
				t.Errorf("%s: %+v", name, d)
			}
		}
	}
	broken := &strict{t: t, script: func(int, Request) (Turn, error) { return Turn{}, errors.New("gone") }}
	if _, err := Replay(context.Background(), broken, rec, false); err == nil {
		t.Error("a provider that fails is no divergence")
	}
}
