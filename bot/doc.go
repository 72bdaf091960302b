// Package bot is Slack on one side and threads, outbox and triggers on the
// other: sockets, the gate at the door, intake, cards and modals, streaming,
// files, the Home tab and the digest. It is the one place that talks to Slack.
//
// It promises that an envelope is on the record before it is acknowledged, that
// the reader of a socket only enqueues, that what stands in Slack is rendered
// from the record, that every press gets an answer, and that what we did not
// write is escaped and never becomes blocks of its own.
//
// It must never decide: who may run, what is released and what is due is told
// by threads, outbox and triggers.
package bot
