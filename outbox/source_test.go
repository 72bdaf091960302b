package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type transcript struct {
	calls []PastCall
	err   error
}

func (t transcript) PastCalls(context.Context, string) ([]PastCall, error) { return t.calls, t.err }

func TestSource(t *testing.T) {
	call := func(id, tool, args, result string) PastCall {
		return PastCall{CallID: id, Tool: tool, Args: json.RawMessage(args), Result: result, External: true, Answered: true}
	}
	reply := func(args string) PastCall {
		return PastCall{CallID: "c9", Tool: "mail__mail_reply", Args: json.RawMessage(args)}
	}
	thread := call("c1", "mail__mail_get_thread", `{"thread_id":"spring-budget"}`, "<external-42>\nFrom: dean\n\nHow much?\n</external-42>")
	own := thread
	own.External = false
	unanswered := thread
	unanswered.Answered = false
	const args = `{"thread_id":"spring-budget","body":"41,200"}`
	tests := []struct {
		name   string
		calls  []PastCall
		draft  Draft
		err    error
		status string
		from   string
		text   string
	}{
		{"by argument", []PastCall{thread, reply(args)}, Draft{}, nil, "found", "c1", "From: dean\n\nHow much?"},
		{"the newest of several", []PastCall{thread, call("c2", "mail__mail_get_thread", `{"thread_id":"spring-budget"}`, "newer"), reply(args)}, Draft{}, nil, "found", "c2", "newer"},
		{"an argument before a mention", []PastCall{thread, call("c2", "mail__mail_list", `{}`, "- spring-budget"), reply(args)}, Draft{}, nil, "found", "c1", "From: dean\n\nHow much?"},
		{"an id that a list mentions", []PastCall{call("c2", "mail__mail_list", `{}`, "- thread 18fa99c0de"), reply(`{"thread_id":"18fa99c0de","body":"x"}`)}, Draft{}, nil, "found", "c2", "- thread 18fa99c0de"},
		{"a short word in a list joins nothing", []PastCall{call("c2", "mail__mail_list", `{}`, "the budget"), reply(`{"thread_id":"budget","body":"x"}`)}, Draft{}, nil, "none", "", ""},
		{"a number", []PastCall{call("c1", "x", `{"event_id":42}`, "the event"), reply(`{"event_id":42,"body":"x"}`)}, Draft{}, nil, "found", "c1", "the event"},
		{"another id", []PastCall{thread, reply(`{"thread_id":"lunch","body":"x"}`)}, Draft{}, nil, "none", "", ""},
		{"a later call", []PastCall{reply(args), thread}, Draft{}, nil, "none", "", ""},
		{"our own words", []PastCall{own, reply(args)}, Draft{}, nil, "none", "", ""},
		{"no answer", []PastCall{unanswered, reply(args)}, Draft{}, nil, "none", "", ""},
		{"it answers nothing", []PastCall{thread, reply(`{"to":["dean@example.edu"],"body":"x"}`)}, Draft{}, nil, "none", "", ""},
		{"a default that we pinned", []PastCall{call("c1", "cal", `{"calendar_id":"primary"}`, "events"), reply(`{"calendar_id":"primary","body":"x"}`)}, Draft{FilledDefaults: []string{"calendar_id"}}, nil, "none", "", ""},
		{"the key that we pinned", []PastCall{call("c1", "cal", `{}`, "mecha-20261130-aabbccdd"), reply(`{"event_id":"mecha-20261130-aabbccdd"}`)}, Draft{IdempotencyKey: "mecha-20261130-aabbccdd"}, nil, "none", "", ""},
		{"the call is gone", []PastCall{thread}, Draft{}, nil, "pruned", "", ""},
		{"the conversation is gone", nil, Draft{}, ErrPruned, "pruned", "", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			o := &Outbox{Deps: Deps{Transcript: transcript{tc.calls, tc.err}}}
			d := tc.draft
			d.CallID = "c9"
			for _, c := range tc.calls {
				if c.CallID == "c9" {
					d.ArgsBefore = c.Args
				}
			}
			// What a person edited since does not change what was answered.
			d.Args = json.RawMessage(`{"thread_id":"another"}`)
			got, err := o.Source(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			got.Tool, got.Arg = "", ""
			if diff := cmp.Diff(Source{Status: tc.status, CallID: tc.from, Text: tc.text}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	boom := errors.New("boom")
	if _, err := (&Outbox{Deps: Deps{Transcript: transcript{err: boom}}}).Source(t.Context(), Draft{}); !errors.Is(err, boom) {
		t.Errorf("an unreadable transcript is said to be pruned: %v", err)
	}
}
