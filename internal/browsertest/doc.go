// Package browsertest looks at the finished product as a person does: it starts
// the real binary on an empty home, opens the address that the binary prints in
// a headless Chromium, types, reads, presses buttons and fills in modals, and
// then looks into the Maildir for what went out.
//
// It holds tests only. It promises that the page, the wire between page and
// bot, and the cards fit together; what each of them does by itself is tested
// beside its code. It must never know a type of the product: only what is on
// the screen, in a mail's file, or on a command's output.
//
// MECHA_SHOTS=DIR keeps the pictures that the tests take.
package browsertest
