package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/internal/config"
)

func (c *cli) configCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Check or show the configuration",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "check [FILE]",
			Short: "Read the configuration and say what is wrong with it",
			Args:  cobra.MaximumNArgs(1),
			RunE: func(_ *cobra.Command, args []string) error {
				path, err := c.configPath(args)
				if err != nil {
					return err
				}
				if _, err := os.Stat(path); err != nil {
					if len(args) > 0 {
						return fmt.Errorf("cannot read the configuration: %w", err)
					}
					fmt.Fprintf(c.Stdout, "There is no %s: the defaults are in force.\n", c.short(path))
					return nil
				}
				if _, err := config.Load(path); err != nil {
					return err
				}
				fmt.Fprintf(c.Stdout, "%s is in order.\n", c.short(path))
				return nil
			},
		},
		c.configShowCmd(),
	)
	return cmd
}

func (c *cli) configShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "The configuration in force, defaults filled in and secrets hidden",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := c.openHome(false)
			if err != nil {
				return err
			}
			s, err := h.config.Show()
			if err != nil {
				return fmt.Errorf("cannot write the configuration: %w", err)
			}
			s = h.mask.String(s)
			if asJSON {
				v, err := config.Tree(s)
				if err != nil {
					return fmt.Errorf("cannot write the configuration as JSON: %w", err)
				}
				return c.printJSON(v)
			}
			fmt.Fprint(c.Stdout, s)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) configPath(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	dir, err := c.homeDir()
	return dir + "/config.toml", err
}
