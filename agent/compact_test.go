package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/tools"
)

// long is a conversation that calls until its results are too much.
func long(n int, size int) (script func(int, Request) (Turn, error), list []tools.Tool) {
	k := 0
	rd := &tool{name: "read_file", readOnly: true, repeatable: true, do: func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
		k++
		return tools.OK(fmt.Sprintf("%d:", k) + strings.Repeat("x", size)), nil
	}}
	return func(_ int, req Request) (Turn, error) {
		if req.System == summariser {
			return says("SUMMARY of " + fmt.Sprint(len(req.Messages[0].Text)) + " bytes"), nil
		}
		k := 0
		for _, m := range req.Messages {
			k += len(m.Calls)
		}
		if n--; n < 0 {
			return says("done"), nil
		}
		turn := calls(fmt.Sprintf(`read_file {"path":"f%d.txt"}`, n))
		turn.Usage.In = sizeOf(req.Messages) / 4
		return turn, nil
	}, []tools.Tool{rd}
}

type state struct {
	tool
	text string
}

func (s *state) Carry(string) (string, string) { return "Todo list", s.text }

func TestCompaction(t *testing.T) {
	script, list := long(40, 3000)
	todo := &state{tool: tool{name: "plan", readOnly: true}, text: "[ ] step one"}
	r := newRig(t, script, append(list, todo)...)
	r.CompactAt, r.KeepRecent, r.Budget.Turns = 4000, 4, 60
	out := Do(t.Context(), r.Run)
	if out.Cause != Completed {
		t.Fatalf("%+v", out)
	}
	compactions := 0
	for _, op := range r.journal.ops {
		if op == "compact" {
			compactions++
		}
	}
	if compactions < 2 {
		t.Errorf("%d compactions", compactions)
	}
	last := r.model.asked[len(r.model.asked)-1].Messages
	if n := strings.Count(transcript(last), "SUMMARY of"); n != 1 {
		t.Errorf("%d summaries:\n%s", n, transcript(last))
	}
	all := ""
	for _, m := range last {
		all += m.Text
	}
	if n := strings.Count(all, "[ ] step one"); n != 1 {
		t.Errorf("the carried state is there %d times", n)
	}
	for _, req := range r.model.asked {
		if tokens := sizeOf(req.Messages) / 4; req.System != summariser && tokens > 6000 {
			t.Errorf("asked with %d tokens at a threshold of 4000", tokens)
		}
	}
	// The summariser's words are no answer.
	for _, e := range r.sink.events {
		if e.Kind == TextDelta && strings.Contains(e.Text, "SUMMARY") {
			t.Error("a summary was shown as an answer")
		}
	}
	// Nothing is gone from the record.
	if len(r.journal.messages) < 80 {
		t.Errorf("%d messages in the record", len(r.journal.messages))
	}
}

func TestOverflowIsAnsweredOnce(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times int // overflows in a row
		want  Cause
	}{{"once", 1, Completed}, {"again and again", 9, Failed}} {
		t.Run(tt.name, func(t *testing.T) {
			over, asked := 0, 0
			inner, list := long(4, 30000)
			r := newRig(t, nil, list...)
			r.model.script = func(n int, req Request) (Turn, error) {
				if req.System != summariser {
					if asked++; asked > 4 && over < tt.times {
						over++
						return Turn{}, &ModelError{Kind: ErrOverflow, Model: "m", What: "too long"}
					}
				}
				return inner(n, req)
			}
			out := Do(t.Context(), r.Run)
			if out.Cause != tt.want {
				t.Errorf("%+v", out)
			}
			if over > 2 {
				t.Errorf("%d overflows: one compaction for each, no more", over)
			}
		})
	}
	t.Run("the newest result is what is too much, and no summary can be had", func(t *testing.T) {
		over := false
		rd := &tool{name: "read_file", readOnly: true, do: func(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
			return tools.OK(strings.Repeat("x", 20000)), nil
		}}
		r := newRig(t, nil, rd)
		r.model.script = func(n int, req Request) (Turn, error) {
			switch {
			case req.System == summariser:
				return Turn{}, &ModelError{Kind: ErrOverflow, What: "too long"}
			case n == 0:
				return calls("read_file {}"), nil
			case sizeOf(req.Messages) > 10000:
				over = true
				return Turn{}, &ModelError{Kind: ErrOverflow, What: "too long"}
			}
			return says("done"), nil
		}
		if out := Do(t.Context(), r.Run); out.Cause != Completed || !over {
			t.Errorf("%+v", out)
		}
	})
}

func TestCompactTool(t *testing.T) {
	n := 0
	r := newRig(t, nil, append(Tools(ToolDeps{Compact: true}), reader())...)
	r.KeepRecent = 1
	r.model.script = func(_ int, req Request) (Turn, error) {
		if req.System == summariser {
			return says("short"), nil
		}
		switch n++; n {
		case 1, 2, 3:
			return calls(fmt.Sprintf(`read_file {"path":"%d"}`, n)), nil
		case 4:
			return calls("compact {}"), nil
		}
		return says("done"), nil
	}
	if out := Do(t.Context(), r.Run); out.Cause != Completed {
		t.Errorf("%+v", out)
	}
	last := r.model.asked[len(r.model.asked)-1].Messages
	if !strings.HasPrefix(last[0].Text, summaryHead) || !strings.Contains(last[0].Text, "Also touched: 1, 2, 3") {
		t.Errorf("%q", last[0].Text)
	}
}

func TestThinning(t *testing.T) {
	ro := func(name string) bool { return name == "read" }
	call := func(id, tool, args string) Message {
		return Message{Role: Assistant, Author: ByModel, Calls: []Call{{ID: id, Tool: tool, Args: json.RawMessage(args)}}}
	}
	big := strings.Repeat("y", 2000)
	res := func(id, tool, text string, failed bool) Message {
		return Message{Role: ToolRole, CallID: id, Tool: tool, Text: text, IsError: failed}
	}
	h := []Message{
		call("1", "read", `{"path":"a"}`), res("1", "read", "old "+big, false),
		call("2", "read", `{"path":"b"}`), res("2", "read", "before the write "+big, false),
		call("3", "write", `{"path":"b"}`), res("3", "write", "ok", false),
		call("4", "read", `{ "path":"a" }`), res("4", "read", "new "+big, false),
		call("5", "run", `{}`), res("5", "run", "exit 1 "+big, true),
		call("6", "run", `{}`), res("6", "run", "exit 1 "+big, true),
		call("7", "send", `{}`), res("7", "send", prefixBlocked+big, true),
		call("8", "web", `{}`), res("8", "web", tools.Wrap(big, "web"), false),
	}
	superseded(h, ro)
	sameFailures(h)
	var got []string
	for _, m := range h {
		if m.Role == ToolRole {
			got = append(got, oneLine(m.Text, 34))
		}
	}
	want := []string{
		"[taken out: the same call was made…", // the older read
		"[taken out: b was changed after th…",
		"ok",
		oneLine("new "+big, 34),
		"[the same call failed the same way…",
		oneLine("exit 1 "+big, 34),
		oneLine(prefixBlocked+big, 34),
		oneLine(tools.Wrap(big, "web"), 34),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	thin(h, len(h))
	if s := h[7].Text; len(s) > 400 || !strings.HasPrefix(s, "new yyy") || !strings.Contains(s, "2004 bytes") {
		t.Errorf("%q", s)
	}
	if s := h[13].Text; s != prefixBlocked+big {
		t.Error("a refusal was shortened")
	}
	s := h[15].Text
	tag := s[1:strings.IndexByte(s, ' ')]
	if len(s) > 600 || !strings.HasSuffix(s, "\n</"+tag+">") {
		t.Errorf("a stranger's words lost their frame: %q", s)
	}
}

func TestSystemPromptIsStable(t *testing.T) {
	o := PromptOptions{Slack: true, Routed: []string{"mail__send"}, Shell: true, Unattended: true, Planning: true, Skills: []string{"a: b"}, Persona: "Be kind."}
	s := SystemPrompt(o)
	for range 10 {
		if SystemPrompt(o) != s {
			t.Fatal("two builds differ")
		}
	}
	for _, want := range []string{"Drafted, not sent", "mail__send", "nobody is watching", "planning phase", "- a: b", "Be kind.", "<external-"} {
		if !strings.Contains(s, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if s := SystemPrompt(PromptOptions{}); strings.Contains(s, "Drafts") || strings.Contains(s, "Planning") {
		t.Error("it speaks of what is not there")
	}
}

func TestClockNote(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	got := ClockNote(time.Date(2026, 12, 30, 9, 5, 0, 0, zone))
	want := "[Clock: it is Wednesday 2026-12-30, 09:05 (CET, UTC+01:00). The coming days: Thu 2026-12-31, Fri 2027-01-01, Sat 2027-01-02, Sun 2027-01-03, Mon 2027-01-04, Tue 2027-01-05, Wed 2027-01-06.]"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type recallFunc func(thread, query string, max int) ([]string, error)

func (f recallFunc) Recall(_ context.Context, thread, query string, max int) ([]string, error) {
	return f(thread, query, max)
}

func TestRecall(t *testing.T) {
	r := newRig(t, turns(calls(`recall {"query":"blue"}`), says("x")), Tools(ToolDeps{Recall: recallFunc(func(thread, query string, max int) ([]string, error) {
		if thread != "T" || query != "blue" || max != 20 {
			t.Errorf("asked %q %q %d", thread, query, max)
		}
		return []string{"turn 2: it is blue"}, nil
	})})...)
	Do(t.Context(), r.Run)
	if res := r.result(t, "c1.0"); res.Outcome != CallOK || !strings.Contains(res.Content, "it is blue") || len(res.Marks) != 0 {
		t.Errorf("%+v", res)
	}
}
