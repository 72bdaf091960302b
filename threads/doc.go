// Package threads makes a Slack thread a session: one actor each, with its
// journal, its jail, its mode, its state machine and its recovery. It
// implements what agent asks of the outside (Journal, Approver, Stager) on the
// record, and keeps what shall stand in Slack as rows (posts) that bot drains.
//
// It promises that a message is on the record before it is acknowledged, that a
// run goes on after a crash where its journal ends, that a run which was
// presumed dead can write nothing (the fence), and that a control message never
// waits behind the turn that it controls.
//
// It must never know Slack's API or Block Kit. queue.go alone knows who may run.
package threads
