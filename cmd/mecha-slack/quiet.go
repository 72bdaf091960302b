package main

import (
	"context"
	"encoding/json"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// quietTool is how a trigger's run says that there is nothing to say. It is a
// call on record, not a magic word: an answer that quotes it, or is empty, or
// says "nothing" in other words, is none.
type quietTool struct{}

// triggerKind is the kind of a conversation that a trigger began.
const triggerKind = "trigger"

const quietName = "nothing_to_report"

func (quietTool) Name() string { return quietName }
func (quietTool) Description() string {
	return "Says that this scheduled run found nothing that the owner has to hear about: nobody is notified, and the day's digest says so in three words. Call it last, once you know; then end with one short line. Do not call it when something failed, was drafted, or could not be looked at."
}
func (quietTool) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
}
func (quietTool) ReadOnly() bool                   { return true }
func (quietTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }
func (quietTool) Call(context.Context, json.RawMessage, *tools.Env) (tools.Output, error) {
	return tools.OK("Noted: nobody is notified. End with one short line."), nil
}

// quieted takes the calls that only said so out of what a run did, and says
// whether it is silent: it came to its end, and left nothing for a person.
func quieted(res triggers.Result, calls []threads.CallLine) triggers.Result {
	said := false
	for _, c := range calls {
		if c.Tool == quietName {
			said = said || c.Outcome == agent.CallOK
			res.Calls--
		}
	}
	res.Silent = said && res.StopCause == string(agent.Completed) && res.Failed == "" && res.Staged == 0 && res.Blocked == 0 && res.CallErrors == 0
	return res
}
