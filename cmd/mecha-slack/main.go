// Command mecha-slack is a self-hosted agent that people work with in Slack.
// This package only wires rooms together and speaks to the terminal: one file
// a command, exit codes in exit.go, the assembly of the product in app.go.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/mecha-slack/mecha-slack/internal/sandbox"
)

func main() {
	sandbox.MaybeExec() // a confined child of ours starts here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Environ()}.Run(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}
