package provider_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/agent/provider"
	"github.com/mecha-slack/mecha-slack/internal/offline"
	"github.com/mecha-slack/mecha-slack/tools"
)

// record is a Journal that numbers and keeps nothing else.
type record struct {
	n        int
	outcomes map[string]agent.CallOutcome
	texts    []string
}

func (r *record) Turn(_ context.Context, _ int, t *agent.Turn) error {
	for i := range t.Calls {
		r.n++
		t.Calls[i].ID = fmt.Sprintf("c%d", r.n)
	}
	r.texts = append(r.texts, t.Text)
	return nil
}
func (r *record) Call(context.Context, string, agent.CallState, json.RawMessage) error { return nil }
func (r *record) Result(_ context.Context, res agent.Result) error {
	r.outcomes[res.CallID] = res.Outcome
	return nil
}
func (r *record) Note(context.Context, int, string) error                { return nil }
func (r *record) Compact(context.Context, int, []int64, string) error    { return nil }
func (r *record) Steering(context.Context, int) ([]agent.Message, error) { return nil, nil }
func (r *record) Approve(context.Context, agent.Ask) (agent.Decision, error) {
	return agent.Allow{}, nil
}

type echo struct{}

func (echo) Name() string        { return "echo" }
func (echo) Description() string { return "says it again" }
func (echo) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
}
func (echo) ReadOnly() bool                   { return true }
func (echo) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (echo) Call(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
	return tools.OK(strings.Repeat("echo of "+string(in)+" ", 100)), nil
}

// The loop and the adapter together, over a socket, against a server that
// refuses every request which some real provider refuses.
func TestLoopAgainstAStrictServer(t *testing.T) {
	script := offline.NewScript(
		offline.Calls("echo", `{"text":"a"}`).Calling("echo", `{"text":"b"}`),
		offline.Calls("echo", `{"text": oops`), // broken, and then it stands in the history
		offline.Calls("nosuch", `{}`),
		offline.Calls("echo", ``),
		offline.ScriptTurn{Reasoning: []string{"hm"}, Calls: []offline.Call{{Name: "echo", Args: json.RawMessage(`{"text":"c"}`)}}, FinishReason: "stop"},
		offline.ScriptTurn{}, // nothing at all: a nudge follows
		offline.Fails(offline.Overflow()),
		offline.Says("a ", "summary"), // what the overflow asks for
		offline.Says("all ", "done").Failing(offline.CommentsAfter(1, 300)),
	)
	srv, err := offline.Start(t.Context(), offline.Config{Script: script, PieceDelay: -1, RefuseTwoUsersInARow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	model, err := provider.New("offline", provider.Config{BaseURL: srv.URL(), Model: "m"}, provider.Deps{Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := tools.NewRegistry(echo{})
	if err != nil {
		t.Fatal(err)
	}
	rec := &record{outcomes: map[string]agent.CallOutcome{}}
	out := agent.Do(t.Context(), &agent.Run{ID: "r", Thread: "t", Model: model, Tools: reg, System: agent.SystemPrompt(agent.PromptOptions{}),
		History: []agent.Message{{Role: agent.User, Author: agent.ByOwner, Text: "go"}}, Turn: 1, Journal: rec, Approver: rec, Opening: "[Clock: now]"})
	if out.Cause != agent.Completed || rec.texts[len(rec.texts)-1] != "all done" {
		t.Errorf("%+v, %q", out, rec.texts)
	}
	for _, r := range script.Refusals() {
		t.Errorf("refused with %d, %s:\n%s", r.Status, r.Reason, r.Body)
	}
	if script.Left() != 0 {
		t.Errorf("%d turns of the script are left", script.Left())
	}
	want := map[string]agent.CallOutcome{"c1": agent.CallOK, "c2": agent.CallOK, "c3": agent.CallError, "c4": agent.CallError, "c5": agent.CallOK, "c6": agent.CallOK}
	for id, o := range want {
		if rec.outcomes[id] != o {
			t.Errorf("%s: %s, want %s", id, rec.outcomes[id], o)
		}
	}
	list, err := model.ListModels(t.Context())
	if err != nil || len(list) == 0 {
		t.Errorf("%v, %v", list, err)
	}
	if err := model.Probe(t.Context()); err != nil {
		t.Error(err)
	}
	t.Logf("%d tokens in, window %d", out.Usage.In, model.Window())
}
