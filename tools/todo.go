package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"
)

// TodoItem is one step of a conversation's plan.
type TodoItem struct {
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, done
	// Serves: the step serves the conversation's goal.
	Serves bool `json:"serves,omitempty"`
	// Check is a draft of this conversation: the step is done when that is released.
	Check string `json:"check,omitempty"`
}

// TodoState keeps each conversation's list. SetTodos replaces it whole and is
// durable before it returns, where the record is; Todos answers what was set
// last, and is asked at a compaction too.
type TodoState interface {
	Todos(thread string) []TodoItem
	SetTodos(ctx context.Context, thread string, items []TodoItem) error
}

// TodosOf reads the list out of a todo call's arguments, for a TodoState that
// is kept by way of the transcript: the last call that ran holds the list.
func TodosOf(args json.RawMessage) ([]TodoItem, error) {
	var in struct{ Items []TodoItem }
	if err := decodeArgs(args, &in); err != nil {
		return nil, fmt.Errorf("reading a todo list: %w", err)
	}
	return in.Items, nil
}

// NewTodoMemory is a TodoState for as long as the process lives.
func NewTodoMemory() TodoState { return &todoMemory{lists: map[string][]TodoItem{}} }

type todoMemory struct {
	mu    sync.Mutex
	lists map[string][]TodoItem
}

func (m *todoMemory) Todos(thread string) []TodoItem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]TodoItem(nil), m.lists[thread]...)
}

func (m *todoMemory) SetTodos(_ context.Context, thread string, items []TodoItem) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[thread] = append([]TodoItem(nil), items...)
	return nil
}

// todo is planning as a tool: a list that the model rewrites stays honest
// where a plan made up front goes stale. Every result echoes the whole list.
type todo struct {
	state  TodoState
	drafts DraftState // nil: there are none
}

//go:embed text/todo.md
var todoText string

func (*todo) Name() string               { return "todo" }
func (*todo) Description() string        { return describe(todoText) }
func (*todo) ReadOnly() bool             { return true }
func (*todo) Repeatable() bool           { return true }
func (*todo) Capabilities() Capabilities { return Capabilities{} }
func (*todo) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"items":{"type":"array","maxItems":100,"description":"The whole list; it replaces the one before","items":{"type":"object","properties":{` +
		`"content":{"type":"string","minLength":1,"maxLength":500,"description":"What to do"},` +
		`"status":{"enum":["pending","in_progress","done"]},` +
		`"serves":{"type":"boolean","description":"The step serves the goal of this conversation (goal_context)"},` +
		`"check":{"type":"string","maxLength":64,"description":"Id of a draft of this conversation: the step is done when that draft is released, and not before. It cannot be taken away again"}` +
		`},"required":["content","status"],"additionalProperties":false}}` +
		`},"required":["items"],"additionalProperties":false}`)
}

func (t *todo) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	items, err := TodosOf(in)
	if err != nil {
		return Fail(err.Error()), nil
	}
	going := 0
	for i, item := range items {
		switch item.Status {
		case "pending", "done":
		case "in_progress":
			going++
		default:
			return Fail(fmt.Sprintf("`items[%d].status` must be pending, in_progress or done; the list is unchanged", i)), nil
		}
	}
	if why, err := t.checked(ctx, env.Thread, items); err != nil {
		return Fail(fmt.Sprintf("the checks could not be read: %v; the list is unchanged", err)), nil
	} else if why != "" {
		return Fail(why), nil
	}
	if err := t.state.SetTodos(ctx, env.Thread, items); err != nil {
		return Fail(fmt.Sprintf("the list could not be kept: %v; it is unchanged", err)), nil
	}
	text := t.list(ctx, env.Thread, items)
	if going > 1 {
		text += fmt.Sprintf("\n(%d steps are in progress; one at a time is easier to follow)", going)
	}
	return OK(text), nil
}

// Carry hands the list to a compaction.
func (t *todo) Carry(thread string) (heading, text string) {
	items := t.state.Todos(thread)
	if len(items) == 0 {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), carryTimeout)
	defer cancel()
	return "Todo list", t.list(ctx, thread, items)
}

// carryTimeout bounds how long a compaction waits for how drafts stand.
const carryTimeout = 5 * time.Second

// list is the list as it is: a step is done when it says so and its check agrees.
func (t *todo) list(ctx context.Context, thread string, items []TodoItem) string {
	if len(items) == 0 {
		return "(the list is empty)"
	}
	done := 0
	var b strings.Builder
	for _, item := range items {
		mark, note := "[ ]", ""
		if item.Serves {
			note = " (serves the goal)"
		}
		switch item.Status {
		case "done":
			if ok, why := t.met(ctx, thread, item); ok {
				mark, done = "[x]", done+1
			} else {
				mark, note = "[~]", note+" (not done: "+why+")"
			}
		case "in_progress":
			mark = "[>]"
		}
		fmt.Fprintf(&b, "%s %s%s\n", mark, line(item.Content, 500), note)
	}
	fmt.Fprintf(&b, "%d of %d done", done, len(items))
	return b.String()
}
