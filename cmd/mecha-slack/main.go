// Command mecha-slack is a self-hosted agent that people work with in Slack.
// This package only wires rooms together and speaks to the terminal: one file
// a command, exit codes in exit.go, the assembly of the product in app.go.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	_ "time/tzdata" // a machine without zone files still knows its zones

	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

// It runs for weeks on somebody's laptop: a small heap is worth a few more
// collections, and nobody profiles it there.
const gcPercent = 40

func main() {
	runtime.MemProfileRate = 0
	debug.SetGCPercent(gcPercent)
	sandbox.MaybeExec() // a confined child of ours starts here
	ctx, interrupts := interruptible(os.Stderr)
	code := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ(), interrupts: interrupts}.Run(ctx, os.Args[1:])
	interrupts.stop()
	os.Exit(code)
}
