package agent

import (
	"context"
	"encoding/json"

	"github.com/mecha-slack/mecha-slack/tools"
)

// Letters carries words from one of an owner's agents to another. It stamps the
// sender and its taint; the model gives neither.
type Letters interface {
	SendLetter(ctx context.Context, from, run, to, body string, taint tools.Taint) (where string, err error)
}

// messageSend is message_send.
type messageSend struct{ letters Letters }

func (messageSend) Name() string { return "message_send" }
func (messageSend) Description() string {
	return "Write to another of this owner's agents on this machine: another conversation, by its key or title, or `trigger:NAME` for that trigger's next run. It arrives as an agent's words, never as the owner's; it cannot approve, instruct or start anything there, and a conversation that the owner reads holds it until they let it in. Write what the other has to know to understand it alone. It is no way to reach people."
}
func (messageSend) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"to":{"type":"string","minLength":1,"maxLength":300,"description":"A conversation's key or title, or trigger:NAME"},"body":{"type":"string","minLength":1,"maxLength":65536}},"required":["to","body"],"additionalProperties":false}`)
}
func (messageSend) ReadOnly() bool                   { return true } // nothing of the owner's is changed
func (messageSend) Personal() bool                   { return true }
func (messageSend) Capabilities() tools.Capabilities { return tools.Capabilities{} } // taint travels along

func (t messageSend) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var args struct{ To, Body string }
	if err := json.Unmarshal(in, &args); err != nil {
		return tools.Fail(err.Error()), nil
	}
	where, err := t.letters.SendLetter(ctx, env.Thread, env.Run, args.To, args.Body, env.Taint)
	if err != nil {
		return tools.Fail(err.Error()), nil
	}
	return tools.OK(where), nil
}
