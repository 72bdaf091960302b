package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

func (c *cli) mcpCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var asJSON bool
		cmd.Args = cobra.NoArgs
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return c.mcpList(cmd.Context(), asJSON) }
		return cmd
	}
	cmd := list(&cobra.Command{Use: "mcp", Short: "MCP servers: what they offer, and what of it is withheld"})
	var yes bool
	accept := &cobra.Command{
		Use:   "accept TOOL",
		Short: "Take a tool's changed definition, after reading the change",
		Args:  cobra.ExactArgs(1),
		RunE: c.byPerson(c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			return c.mcpAccept(ctx, d, args[0], yes)
		})),
	}
	accept.Flags().BoolVarP(&yes, "yes", "y", false, "answer yes")
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "Servers: tools, state, last error, start, memory; of the running bot where one runs"}), accept)
	return cmd
}

func (c *cli) mcpList(ctx context.Context, asJSON bool) error {
	list, of, err := c.serverStatus(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(map[string]any{"servers": list, "of": of})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "No MCP server is configured: write an [[mcp]] table.")
		return nil
	}
	fmt.Fprintf(c.Stdout, "MCP servers %s.\n\n", of)
	for _, s := range list {
		kind := s.Transport + ", " + s.Scope
		if s.Sandboxed {
			kind += ", sandboxed"
		}
		if err := c.table([][]string{{s.Name, string(s.State), kind, plural(len(s.Tools), "tool", "tools"), since(s.Started), megabytes(s.MemoryKB)}}); err != nil {
			return err
		}
		for _, p := range s.Processes {
			if err := c.table([][]string{{"  process " + strconv.Itoa(p.PID), firstOf(p.Thread, "for all"), since(p.Started), megabytes(p.MemoryKB)}}); err != nil {
				return err
			}
		}
		if s.LastError != "" {
			fmt.Fprintf(c.Stdout, "  ✕ %s\n", c.redact(plain(s.LastError, 500)))
		}
		for _, t := range s.Tools {
			mark := ""
			if t.Unlabelled {
				mark = "   ⚠ unlabelled"
			}
			if t.Unchecked {
				mark += "   ⚠ its schema does not compile"
			}
			fmt.Fprintf(c.Stdout, "  %s%s\n", t.Name, mark)
		}
		if len(s.Prompts) > 0 {
			fmt.Fprintf(c.Stdout, "  prompts, for people only: %s\n", plain(strings.Join(s.Prompts, ", "), 400))
		}
		for _, q := range s.Quarantined {
			how := ""
			if q.Accept {
				how = "   → mecha-slack mcp accept " + q.Name
			}
			fmt.Fprintf(c.Stdout, "  ✕ %s: %s%s\n", q.Name, plain(q.Why, 400), how)
		}
		for _, w := range s.Warnings {
			fmt.Fprintf(c.Stdout, "  ⚠ %s\n", plain(w, 400))
		}
	}
	return nil
}

// mcpAccept shows what changed in a tool's definition, and pins the new one.
func (c *cli) mcpAccept(ctx context.Context, d *desk, name string, yes bool) error {
	p, err := d.threads.ChangedPin(ctx, name)
	if errors.Is(err, threads.ErrNotFound) {
		return refusedf("no change of a tool %q waits; `mecha-slack mcp` shows what is withheld", name)
	}
	if err != nil {
		return err
	}
	was, err := outbox.Pretty(p.Was)
	if err != nil {
		return fmt.Errorf("cannot show the pinned definition of %s: %w", name, err)
	}
	now, err := outbox.Pretty(p.Now)
	if err != nil {
		return fmt.Errorf("cannot show the new definition of %s: %w", name, err)
	}
	diff, _ := visible(udiff.Unified("pinned", "now", string(was), string(now)))
	fmt.Fprintf(c.Stdout, "The server now describes %s like this; its words are its own:\n", name)
	for line := range strings.Lines(diff) {
		fmt.Fprintf(c.Stdout, "  ┊ %s\n", strings.TrimRight(line, "\r\n"))
	}
	if !yes {
		ok, err := c.answers().yes(ctx, "Accept it?")
		if err != nil {
			return refusedf("the change of %s was not accepted: %w", name, err)
		}
		if !ok {
			return refusedf("the change of %s was not accepted, as you said", name)
		}
	}
	if err := d.threads.AcceptPin(ctx, who(), name); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Accepted. A running bot offers %s again from its next run on.\n", name)
	return nil
}
