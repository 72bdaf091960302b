// Package triggers knows when a prompt is due, and keeps the ledger of what
// became of each slot: run, or skipped with its reason, exactly one row each.
//
// It owns triggers and fires. robfig/cron parses a schedule; what daylight
// saving does to it, the loop that compares wall time, and the rules for what
// was missed are ours. It promises that a slot's row is committed before
// anything runs, that a slot is never run twice whatever the clock, a crash or
// an edit does, that an outage brings each trigger at most one catch-up, one
// after another, and that a run which was cut off is not called ok.
//
// What a very long outage missed is noted slot by slot for the newest 1,500 of
// a trigger, and as one row for all that is older.
//
// It must never know what running a prompt means: a Runner does that, joined by
// cmd.
package triggers
