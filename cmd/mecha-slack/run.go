package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Main is the program with its surroundings as values, so that a test starts
// the real one.
type Main struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            []string

	interrupts *interrupts // nil: ctx alone ends it
}

// Run runs one command and answers the exit code: 0 done, 1 it failed (one line
// on stderr), 2 usage, 3 refused by policy or by state.
func (m Main) Run(ctx context.Context, args []string) int {
	out := &output{w: m.Stdout}
	c := &cli{Main: m}
	c.Stdout = out
	root := c.root()
	root.SetArgs(args)
	root.SetIn(m.Stdin)
	root.SetOut(out)
	root.SetErr(m.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = out.failed()
	}
	if err == nil {
		return 0
	}
	var code exitCode
	if errors.As(err, &code) && code.silent {
		return code.code
	}
	fmt.Fprintln(m.Stderr, "mecha-slack: "+strings.TrimPrefix(c.redact(oneLine(err.Error())), "mecha-slack: "))
	if errors.As(err, &code) {
		return code.code
	}
	return 1
}

// cli is one invocation: its flags, its home, what it has opened.
type cli struct {
	Main
	homeFlag  string
	logLevel  string
	logFormat string
	secrets   []string
}

func (c *cli) env(name string) string {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(c.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "mecha-slack",
		Short: "An agent in Slack threads: it asks before it changes something, and drafts before it sends",
		Long: `mecha-slack is a self-hosted agent that people work with in Slack.

Each thread is a session with a directory of its own. What would go out to other
people waits in the outbox until somebody has read exactly what would be sent.

Start here:
  mecha-slack local      everything on this machine: workspace, model, mail server
  mecha-slack connect    the bot against your Slack
  mecha-slack outbox     what waits for you
  mecha-slack doctor     what is wrong, and what to do about it`,
		Version:       version(), // said in cobra's words: a template of ours would link text/template, and with it every method there is (7 MB)
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s: %v (see %s --help)", cmd.CommandPath(), err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVar(&c.homeFlag, "home", "", "directory of the record, the work and the configuration (default $MECHA_HOME, else ~/.mecha-slack)")
	root.PersistentFlags().StringVar(&c.logLevel, "log-level", "warn", "debug, info, warn or error, on stderr")
	root.PersistentFlags().StringVar(&c.logFormat, "log-format", "text", "text or json")
	root.AddCommand(c.commands()...)
	for _, cmd := range allCommands(root) {
		wrapArgs(cmd)
	}
	return root
}

func allCommands(c *cobra.Command) []*cobra.Command {
	list := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		list = append(list, allCommands(sub)...)
	}
	return list
}

// wrapArgs makes a wrong number of arguments, or an unknown command, a usage
// error: exit 2.
func wrapArgs(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %v (see %s --help)", cmd.CommandPath(), err, cmd.CommandPath())
		}
		return nil
	}
}

// oneLine is a text of several lines as one: what an error says is one line.
func oneLine(s string) string {
	var b strings.Builder
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case b.Len() > 0 && strings.HasSuffix(b.String(), ":"):
			b.WriteByte(' ')
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}
