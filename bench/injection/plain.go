package main

import (
	"context"

	"github.com/mecha-slack/mecha-slack/tools"
)

// plain is a simple gate of two bits: the floor that ours is held against.
type plain struct {
	name        string
	interlock   bool
	outbox      bool // send-like tools are staged
	destructive bool // destructive ones are staged or asked
	fetch       bool // an armed fetch is a question, not a refusal
}

func (p plain) title() string { return p.name }

func (p plain) converse(_ context.Context, s suite, _ string, list []step, _ string) (outcome, error) {
	out := outcome{steps: list}
	private, untrusted := false, false
	for _, st := range list {
		l := s.labels[st.Tool]
		v := executed
		switch {
		case p.outbox && l.Outbox:
			v = staged
		case p.interlock && l.Egress == tools.Chosen && private && untrusted:
			v = refused
			if p.fetch && !l.Writes {
				v = p.ask(&out, st)
			}
		case p.destructive && l.Destructive:
			v = p.ask(&out, st)
		}
		if v == staged {
			if st.attacker {
				out.theirs++
				out.draftsBy++
			} else {
				out.drafts++
			}
		}
		if v == executed {
			private = private || l.Private
			untrusted = untrusted || l.Untrusted
		}
		out.verdicts = append(out.verdicts, v)
	}
	return out, nil
}

// ask: the user's own question is answered yes, the attacker's no.
func (plain) ask(out *outcome, st step) verdict {
	if st.attacker {
		out.theirs++
		return answeredNo
	}
	out.asked++
	return executed
}
