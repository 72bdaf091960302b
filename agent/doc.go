// Package agent is the loop: a conversation goes to a model, the model's calls
// go through the gate, results go back, until the model has nothing left to
// call. It owns the order of the gate (DESIGN.md §5), the words in which a
// refusal reaches the model, budgets and compaction.
//
// It promises that there is one path from a model to a tool, that a turn is
// journaled before its calls run, that every call gets a result, and that a
// journaled run can be taken up where it was.
//
// It must never know Slack, SQL, or where a tool or a model came from. What it
// needs of the outside it asks through the interfaces in this package.
package agent
