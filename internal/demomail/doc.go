// Package demomail is a small mail server for agents: the Model Context
// Protocol over stdio on one side, a Maildir on the other.
//
// It owns the Maildir it was given: how its messages are read, threaded and
// searched, and how a message that goes out is built, handed over and filed
// in .Sent/new. It has four tools: mail_list and mail_get_thread read;
// mail_send and mail_reply write to people.
//
// It promises:
//
//   - The text of what is sent, decoded, is the body argument byte for byte:
//     line ends, a last line without one, and carriage returns included.
//   - One idempotency key (params._meta["mecha-slack/idempotency-key"]) sends
//     one mail. The same key again answers as it did the first time and
//     writes nothing.
//   - A thread_id stands for the bytes of one message. A reply goes to that
//     message's sender, even when something newer has joined the thread
//     since: what was read when the reply was written is what is answered.
//   - Three outcomes stay apart: sent (a result), known not to be sent (an
//     isError result that says why), and unknown (a protocol error, so that
//     nobody takes it for either).
//
// It must never know what an outbox is: that a call may have been read and
// released by a person is the caller's business.
package demomail
