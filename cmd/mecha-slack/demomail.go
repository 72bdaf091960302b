package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/internal/demomail"
)

func (c *cli) demoMailCmd() *cobra.Command {
	var cfg demomail.Config
	cmd := &cobra.Command{
		Use:   "demo-mail",
		Short: "The demo mail server: MCP on standard input and output, over a Maildir",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cfg.Maildir == "" {
				return usagef("demo-mail needs --maildir DIR")
			}
			cfg.In, cfg.Out = c.Stdin, c.Stdout
			cfg.Workspace = c.env("MECHA_WORKSPACE")
			cfg.Log = slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			return demomail.Run(cmd.Context(), cfg)
		},
	}
	cmd.Flags().StringVar(&cfg.Maildir, "maildir", "", "the Maildir; what is sent lands in its .Sent/new")
	cmd.Flags().StringVar(&cfg.SMTP, "smtp", "", "HOST:PORT of a mail server: then it really sends")
	return cmd
}
