package main

import (
	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/threads"
	"github.com/mecha-slack/mecha-slack/tools"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// planOf is a trigger as a run. A prompt that a conversation proposed never
// counts as the owner's words until a person has retyped it.
func planOf(t triggers.Trigger, f triggers.Fire, owner bot.Person, at threads.Place) threads.Plan {
	p := threads.Plan{
		Place: at, Owner: owner.User, Trigger: t.Name, Title: t.Name, Prompt: t.Prompt,
		Owned: t.ProposedIn == "", Mode: threads.Mode(t.Mode), Tools: t.Tools,
		MaxTurns: t.MaxTurns, MaxOutputTokens: t.MaxOutputTokens, MaxCost: t.MaxCost, Timeout: t.Timeout,
	}
	if f.Text != "" {
		p.Quoted = f.Text
		p.Taint = p.Taint.With(tools.Mark{Leg: tools.Private, What: "a message in a watched channel"}, tools.Mark{Leg: tools.Untrusted, What: "a message in a watched channel"})
	}
	for _, s := range t.Sources {
		p.Taint = p.Taint.With(tools.Mark{Leg: tools.Leg(s.Leg), Call: s.Call, Tool: s.Tool, What: s.What, Turn: s.Turn})
	}
	for leg, set := range map[tools.Leg]bool{tools.Private: t.Private, tools.Untrusted: t.Untrusted} {
		if _, known := p.Taint.First(leg); set && !known {
			p.Taint = p.Taint.With(tools.Mark{Leg: leg, What: "the conversation that proposed trigger " + t.Name})
		}
	}
	return p
}
