package offline

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Turn is what the model does next: it says something, calls tools, or both.
type Turn struct {
	Text  string
	Calls []Call
}

// Call is one tool call. Args is JSON, except where a script means it not to be.
type Call struct {
	ID   string
	Name string
	Args json.RawMessage
}

// callID derives an id from the place and content of a call, so that the same
// request gives the same ids and no two calls of a conversation share one.
func callID(messages, index int, c Call) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d/%d/%s/%s", messages, index, c.Name, c.Args))
	return "call_" + hex.EncodeToString(sum[:12])
}

// withIDs gives every call without one its id.
func (t Turn) withIDs(messages int) Turn {
	calls := make([]Call, len(t.Calls))
	for i, c := range t.Calls {
		if c.ID == "" {
			c.ID = callID(messages, i, c)
		}
		calls[i] = c
	}
	t.Calls = calls
	return t
}

func (t Turn) finishReason() string {
	if len(t.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (t Turn) toolCalls() []ToolCall {
	var out []ToolCall
	for _, c := range t.Calls {
		out = append(out, ToolCall{ID: c.ID, Type: "function", Function: FunctionCall{Name: c.Name, Arguments: string(c.Args)}})
	}
	return out
}
