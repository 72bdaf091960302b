package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

func (c *cli) pauseCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Stop every run, and freeze releases, until resume",
		Args:  cobra.NoArgs,
		RunE: c.atNewDesk(func(ctx context.Context, d *desk, _ []string) error {
			if _, err := d.threads.Pause(ctx, who()); err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "Paused: nothing runs and nothing is released until `mecha-slack resume`.")
			return nil
		}),
	}
}

func (c *cli) resumeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Go on after a pause",
		Args:  cobra.NoArgs,
		RunE: c.byPerson(c.atDesk(func(ctx context.Context, d *desk, _ []string) error {
			if err := d.threads.Resume(ctx, who()); err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "Going on.")
			return nil
		})),
	}
}
