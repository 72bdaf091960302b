package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mecha-slack/mecha-slack/tools"
)

// ToolDeps is what the tools about the conversation need from outside. A tool
// whose part is missing does not exist.
type ToolDeps struct {
	Recall  Recaller
	Compact bool // the provider has a compaction threshold
	AskUser bool // somebody can answer, or the question can wait
	Goals   Goals
	Letters Letters
}

// Recaller finds text in everything that one conversation has recorded, also
// what a compaction dropped, and in nothing else: literal, without regard to
// case. Each answer is an excerpt with its turn.
type Recaller interface {
	Recall(ctx context.Context, thread, query string, max int) ([]string, error)
}

// Tools makes the tools that are about the conversation itself.
func Tools(d ToolDeps) []tools.Tool {
	var list []tools.Tool
	if d.Compact {
		list = append(list, &compactTool{asked: map[string]bool{}})
	}
	if d.Recall != nil {
		list = append(list, recallTool{d.Recall})
	}
	if d.AskUser {
		list = append(list, askUserTool{})
	}
	if d.Goals != nil {
		list = append(list, goalTool{d.Goals})
	}
	if d.Letters != nil {
		list = append(list, messageSend{d.Letters})
	}
	return list
}

// compactTool asks for a compaction before the next turn. It can only add one.
type compactTool struct {
	mu    sync.Mutex
	asked map[string]bool // threads that want one
}

func (*compactTool) Name() string { return "compact" }
func (*compactTool) Description() string {
	return "Shorten this conversation before your next turn: older messages become a summary, your todo list stays. Call it when a part of the work is finished and its details are no longer needed, not in the middle of a step. What is dropped can still be found with recall."
}
func (*compactTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
}
func (*compactTool) ReadOnly() bool                   { return true }
func (*compactTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (*compactTool) Repeatable() bool                 { return true }

func (t *compactTool) Call(_ context.Context, _ json.RawMessage, env *tools.Env) (tools.Output, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked[env.Thread] = true
	return tools.OK("The conversation is shortened before your next turn."), nil
}

// Requested makes it a Compactor.
func (t *compactTool) Requested(thread string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := t.asked[thread]
	delete(t.asked, thread)
	return asked
}

// recallTool searches the conversation's own record. What it returns was in
// the conversation before, so it arms nothing.
type recallTool struct{ from Recaller }

func (recallTool) Name() string { return "recall" }
func (recallTool) Description() string {
	return "Find text in everything that was said and returned in this conversation so far, including what was summarised away. The query is literal and its case does not matter. Use it instead of guessing what was said before."
}
func (recallTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":2,"maxLength":200,"description":"Words as they stood there"},` +
		`"max_matches":{"type":"integer","minimum":1,"maximum":50,"default":20}` +
		`},"required":["query"],"additionalProperties":false}`)
}
func (recallTool) ReadOnly() bool                   { return true }
func (recallTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (recallTool) Repeatable() bool                 { return true }

func (t recallTool) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct {
		Query string `json:"query"`
		Max   int    `json:"max_matches"`
	}
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	found, err := t.from.Recall(ctx, env.Thread, args.Query, max(args.Max, 1))
	if err != nil {
		return tools.Fail(fmt.Sprintf("the record could not be searched: %v", err)), nil
	}
	if len(found) == 0 {
		return tools.OK("Nothing in this conversation says that. The search is literal: fewer or other words may find it."), nil
	}
	// A stranger's words that come back are a stranger's words: framed as such,
	// though they arm nothing that was not armed when they first came.
	return tools.Output{Content: strings.Join(found, "\n---\n"), External: true, What: args.Query}, nil
}

// askUserTool puts a question to the owner and ends the run until it is
// answered.
type askUserTool struct{}

func (askUserTool) Name() string { return "ask_user" }
func (askUserTool) Description() string {
	return "Ask the owner one question that you cannot go on without, with two to four options where there are some. The run ends here and goes on with their answer, whenever it comes. Do not ask what you can find out, or what does not change what you do."
}
func (askUserTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"question":{"type":"string","minLength":1,"maxLength":2000},` +
		`"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"string","minLength":1,"maxLength":75}}` +
		`},"required":["question"],"additionalProperties":false}`)
}
func (askUserTool) ReadOnly() bool                   { return true }
func (askUserTool) Personal() bool                   { return true }
func (askUserTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }

func (askUserTool) Call(_ context.Context, in json.RawMessage, _ *tools.Env) (tools.Output, error) {
	var args struct {
		Question string   `json:"question"`
		Options  []string `json:"options"`
	}
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	return tools.Output{Park: &tools.Question{Text: args.Question, Options: args.Options}, What: oneLine(args.Question, headlineMost)}, nil
}
