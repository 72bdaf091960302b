package tools

import (
	"context"
	"encoding/json"
)

// fakeTool is a tool that does nothing, for what only looks at one.
type fakeTool struct {
	name   string
	schema string
	caps   Capabilities
	hints  Hints
}

func (f fakeTool) Name() string               { return f.name }
func (f fakeTool) Description() string        { return "" }
func (f fakeTool) ReadOnly() bool             { return false }
func (f fakeTool) Capabilities() Capabilities { return f.caps }
func (f fakeTool) Hints() Hints               { return f.hints }
func (f fakeTool) InputSchema() json.RawMessage {
	if f.schema == "" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return json.RawMessage(f.schema)
}
func (f fakeTool) Call(context.Context, json.RawMessage, *Env) (Output, error) { return OK(""), nil }
