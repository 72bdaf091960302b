// Package localslack is a Slack-compatible workspace that runs in this process.
//
// It owns a workspace's people, channels, messages, files, views and tokens,
// and speaks to apps exactly as Slack does: the Web API under /api/, Socket
// Mode under /link/, file URLs, response URLs. What a person does that Slack
// has no API for, and what tests need, is under /_local/; the page in a browser
// is one client of that. Everything is served from one loopback origin.
//
// It promises that an app written against Slack's documentation can't tell the
// difference: the same argument encodings, error names, limits, timers,
// redeliveries and rate tiers. It promises that a fact it answered "ok" for
// survives kill -9 when Config.Dir is set, that nobody gets in from another
// origin, and that Close leaves no goroutine behind.
//
// It must never know which app is connected: nothing here is about agents,
// drafts or approvals, and nothing in bot knows about it.
package localslack
