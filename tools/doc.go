// Package tools holds what a tool is, what it may do, and what its results do
// to a conversation: Tool, Output, Capabilities, Taint, Registry, and the
// interlock, a pure function over them. The built-in tools live here too, one
// .go file and one .md file (what the model is told) each.
//
// It promises that capabilities only ever widen (Union is the one way to
// combine them), that an expected failure is a result and never an error, and
// that what the model is offered has the same bytes every time.
//
// It must never know where a tool came from, who runs it (agent, outbox), or
// that there is a Slack or a SQL database.
//
// A call's way, as the loop takes it:
//
//	args, filled, err := registry.ParseArgs(tool, raw)         // *ArgsError: what the model can mend
//	verdict := Interlock(security, taint, others, caps, ways)  // pass, refuse, or a person must see it
//	dests := Trace(Destinations(tool, args, workspace), words, untrusted)
//	why, yes := NeedsPerson(dests)                             // and Red(dests) for a draft
//	out, err := tool.Call(ctx, args, env)
//	marks := Arm(caps, out, call, name, out.What, turn)
//	text := Cut(env, name, call, out.Content, Share(Budget(configured, window), calls))
//	if out.External && security.Marks() {
//		text = Wrap(text, name)
//	}
package tools
