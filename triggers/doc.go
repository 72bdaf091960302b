// Package triggers knows when a prompt is due, and keeps the ledger of what
// became of each slot: run, or skipped with its reason, exactly one row each.
// The calendar is robfig/cron's; what daylight saving does to it, and the loop
// that compares wall time, are ours.
//
// It must never know what running a prompt means: a Runner does that, joined by
// cmd.
package triggers
