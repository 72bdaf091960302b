// Package outbox keeps calls that would go out as drafts, until a person has
// read exactly what would be sent: stage, show, edit, approve, release,
// reconcile, export. It owns the state machine of DESIGN.md §7 and the promise
// that a decision binds to the bytes that were shown, that an attempt is on
// record before it is made, and that an unknown outcome is never retried.
//
// It must never know Slack, a model, or how a tool is reached: a release gets
// the tool from a Surface.
package outbox
