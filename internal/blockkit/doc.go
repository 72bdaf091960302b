// Package blockkit knows what Slack's Block Kit allows, as plain JSON.
//
// It owns three things:
//
//   - the limits and the shapes of every block, element and object
//     (limits.go, shapes*.go), and a validator over them (ValidateBlocks,
//     ValidateView, ValidateMessage, ValidateChunks);
//   - constructors for cards (build*.go) whose output the validator always
//     accepts: every text is cut to its limit where a person can see the cut,
//     and the constructor's owner can ask what was cut (Card.Cut);
//   - the handling of text that we didn't write (text*.go, markdown*.go):
//     escaping, making hidden characters visible, defusing our own marks,
//     taming and splitting a model's Markdown.
//
// It promises that nothing a builder returns exceeds a limit, whatever went
// in; that no input, however hostile, makes it panic, recurse without bound or
// run for longer than about its length; and that text shown verbatim is shown
// whole or visibly cut.
//
// It must never know Slack's client library, the network, or who is asking:
// the bot builds and checks its cards with it, and the local workspace refuses
// with it what Slack would refuse.
//
// # Characters
//
// Slack's documents say "characters". The validator counts Unicode code
// points: the Block Kit conformance suite it is tested against accepts a
// header of 150 astral-plane emoji (300 UTF-16 units) and words its longest
// URL test in code points. Whether a given Slack server or client counts
// UTF-16 units somewhere was not measured, so the builders cut by UTF-16
// units, which are never fewer: their output fits under either reading.
// Lengths are those of the text as sent, entities such as &amp; included.
package blockkit
