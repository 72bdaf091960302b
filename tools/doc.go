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
package tools
