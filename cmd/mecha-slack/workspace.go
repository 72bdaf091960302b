package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/internal/localslack"
)

func (c *cli) workspaceCmd() *cobra.Command {
	var addr, ready, data string
	cmd := &cobra.Command{
		Use:   "workspace",
		Short: "The local Slack-compatible workspace alone, for any Slack app",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			log := slog.New(slog.NewTextHandler(c.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
			ws, err := localslack.Start(ctx, localslack.Config{Addr: addr, Dir: data, Log: log})
			if err != nil {
				return err
			}
			at := ws.Ready()
			if ready != "" {
				if err := writeReady(ready, readyFile{Ready: at, PID: os.Getpid()}); err != nil {
					ws.Close()
					return err
				}
				defer os.Remove(ready)
			}
			fmt.Fprintln(c.Stdout, "mecha-slack workspace")
			fmt.Fprintf(c.Stdout, "  page       %s/#key=%s\n", at.URL, at.ControlToken)
			fmt.Fprintf(c.Stdout, "  api        %s\n", at.APIURL)
			fmt.Fprintf(c.Stdout, "  bot token  %s\n  app token  %s\n", at.BotToken, at.AppToken)
			fmt.Fprintln(c.Stdout, "Ctrl-C stops it.")
			<-ctx.Done()
			return ws.Close()
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8484", "where it listens; loopback only")
	cmd.Flags().StringVar(&ready, "ready", "", "write this file (JSON, mode 0600) once it answers")
	cmd.Flags().StringVar(&data, "data", "", "keep its state in this directory; in memory without it")
	return cmd
}
