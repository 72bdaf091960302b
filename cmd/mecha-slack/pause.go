package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (c *cli) pauseCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "pause",
		Short: "Stop every run, and freeze releases, until resume",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := c.makeDesk(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if _, err := d.threads.Pause(cmd.Context(), who()); err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "Paused: nothing runs and nothing is released until `mecha-slack resume`.")
			return nil
		},
	}
}

func (c *cli) resumeCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "resume",
		Short: "Go on after a pause",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.aPerson(); err != nil {
				return err
			}
			d, err := c.openDesk(cmd.Context())
			if err != nil {
				return err
			}
			defer d.close()
			if err := d.threads.Resume(cmd.Context(), who()); err != nil {
				return err
			}
			fmt.Fprintln(c.Stdout, "Going on.")
			return nil
		},
	}
}
