package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// proposeTool is trigger_propose: it lays a trigger before the owner as a card.
// Nothing runs by it until a person accepts; it changes nothing by itself and
// needs no approval of its own.
type proposeTool struct{ b *Bot }

const proposeName = "trigger_propose"

const proposeDescription = `Proposes a trigger: a prompt that is run by itself at times that a schedule says ("every weekday at 7", "on the first of the month").

It only proposes. The owner sees a card with the schedule in words, its zone, the next five times and the whole prompt, and accepts or rejects it there; until then nothing runs. Say that you have proposed it, never that it is set up. Do not propose the same trigger again while its card waits.

The schedule is a cron line of five fields (minute hour day-of-month month day-of-week), such as "0 7 * * 1-5", or "@every 2h". The prompt is all that the later run will see of this conversation: write it so that it can be understood alone. Such a run is read-only; what it would send becomes a draft.`

var proposeSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"required":["name","schedule","prompt"],"properties":{` +
	`"name":{"type":"string","description":"Short and telling: a-z, 0-9, - and _; for example morning-mail.","minLength":1,"maxLength":63},` +
	`"schedule":{"type":"string","description":"Five cron fields, or @every DURATION.","minLength":1,"maxLength":120},` +
	`"timezone":{"type":"string","description":"An IANA zone such as Europe/Berlin. Left out: the owner's.","maxLength":64},` +
	`"prompt":{"type":"string","description":"What the run is asked each time.","minLength":1,"maxLength":8000},` +
	`"channel":{"type":"string","description":"A channel's id for the answers. Left out: the owner's direct messages.","maxLength":64}}}`)

func (t proposeTool) Name() string                     { return proposeName }
func (t proposeTool) Description() string              { return proposeDescription }
func (t proposeTool) InputSchema() json.RawMessage     { return proposeSchema }
func (t proposeTool) ReadOnly() bool                   { return true }
func (t proposeTool) Capabilities() tools.Capabilities { return tools.Capabilities{} }

func (t proposeTool) Call(ctx context.Context, in json.RawMessage, env *tools.Env) (tools.Output, error) {
	var a struct{ Name, Schedule, Timezone, Prompt, Channel string }
	if err := json.Unmarshal(in, &a); err != nil {
		return tools.Fail("the arguments do not parse: " + err.Error()), nil
	}
	if t.b.Triggers == nil {
		return tools.Fail("triggers are off here; nothing was proposed"), nil
	}
	th, err := t.b.Threads.Thread(ctx, env.Thread)
	if err != nil {
		return tools.Fail("cannot find the thread that proposes: " + err.Error()), nil
	}
	zone, err := t.zone(ctx, a.Timezone, th)
	if err != nil {
		return tools.Fail(err.Error()), nil
	}
	tr := triggers.Trigger{
		Name: a.Name, Schedule: a.Schedule, Zone: zone, Prompt: a.Prompt, Channel: a.Channel,
		Private: env.Taint.Private, Untrusted: env.Taint.Untrusted, ProposedIn: env.Thread,
	}
	for _, m := range env.Taint.Marks {
		tr.Sources = append(tr.Sources, triggers.Source{Leg: string(m.Leg), Call: m.Call, Tool: m.Tool, What: m.What, Turn: m.Turn})
	}
	if err := tr.Validate(); err != nil {
		return tools.Fail("not proposed: " + err.Error()), nil
	}
	tr.State, tr.By = "proposed", th.Owner
	err = t.b.DB.Write(ctx, func(tx *record.Tx) error {
		if _, err := t.b.Triggers.AddTx(tx, triggers.Who{Team: th.Team, User: th.Owner, Surface: "agent"}, tr); err != nil {
			return err
		}
		_, err := threads.AddPostTx(tx, threads.Post{Thread: th.Key, Kind: threads.PostTrigger, Ref: tr.Name, Place: th.Surface})
		return err
	})
	if err != nil {
		return tools.Fail("not proposed: " + err.Error()), nil
	}
	t.b.kick()
	next := ""
	if at := t.b.Triggers.Next(tr, 1, t.b.Now()); len(at) > 0 {
		next = ", next " + at[0].Format("Mon 2 Jan 15:04 MST")
	}
	return tools.OK(fmt.Sprintf("Proposed, not set up: trigger `%s` (%s, zone %s%s) waits on a card for the owner to accept. Nothing runs until then.", tr.Name, scheduleWords(tr.Schedule), zone, next)), nil
}

// zone is the one asked for, else the thread's owner's.
func (t proposeTool) zone(ctx context.Context, asked string, th threads.Thread) (string, error) {
	if asked = strings.TrimSpace(asked); asked != "" {
		return asked, nil
	}
	owners, err := t.b.people().Owners(ctx, th.Team)
	if err != nil {
		return "", err
	}
	for _, o := range owners {
		if o.User == th.Owner && o.Zone != "" {
			return o.Zone, nil
		}
	}
	return "", fmt.Errorf("the owner's zone is not known: ask which it is, and give it as timezone (Europe/Berlin, for example)")
}
