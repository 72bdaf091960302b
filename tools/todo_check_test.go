package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// A step whose check is a draft is done when that is released, by nothing less,
// and the check cannot be taken away.
func TestAStepIsDoneWhenItsDraftIsReleased(t *testing.T) {
	state := "pending"
	td := &todo{state: NewTodoMemory(), drafts: func(_ context.Context, thread, id string) (string, error) {
		if thread != "t" || id != "d1" {
			return "", nil
		}
		return state, nil
	}}
	set := func(items string) Output {
		t.Helper()
		out, err := td.Call(t.Context(), []byte(`{"items":[`+items+`]}`), &Env{Thread: "t"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const done = `{"content":"write to bob","status":"done","serves":true,"check":"d1"}`
	for _, state = range []string{"pending", "approved", "releasing", "uncertain", "rejected", "expired"} {
		if out := set(done); out.IsError || !strings.Contains(out.Content, "[~] write to bob (serves the goal) (not done: draft d1 is "+state) || !strings.Contains(out.Content, "0 of 1 done") {
			t.Errorf("%s: %+v", state, out)
		}
	}
	state = "released"
	if out := set(done); !strings.Contains(out.Content, "[x] write to bob") || !strings.Contains(out.Content, "1 of 1 done") {
		t.Errorf("%+v", out)
	}
	for items, says := range map[string]string{
		`{"content":"write to bob","status":"done"}`:              "keeps it",
		`{"content":"write to bob","status":"done","check":"d2"}`: "keeps it",
		`{"content":"other","status":"pending","check":"d9"}`:     "no draft d9",
	} {
		if out := set(items); !out.IsError || !strings.Contains(out.Content, says) || !strings.Contains(out.Content, "unchanged") {
			t.Errorf("%s: %+v", items, out)
		}
	}
	// What a compaction carries is read fresh.
	state = "pending"
	if _, text := td.Carry("t"); !strings.Contains(text, "draft d1 is pending") {
		t.Error(text)
	}
	td.drafts = func(context.Context, string, string) (string, error) { return "", errors.New("the disk is full") }
	if out := set(done); !out.IsError || !strings.Contains(out.Content, "the disk is full") {
		t.Errorf("%+v", out)
	}
}
