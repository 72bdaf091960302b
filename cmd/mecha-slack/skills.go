package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/tools"
)

func (c *cli) skillsCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "skills",
		Short: "Your instructions for recurring tasks, and which of them cannot be used",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			h, err := c.openHome(false)
			if err != nil {
				return err
			}
			from := h.skills()
			s, withheld, err := agent.LoadSkills(from, nil)
			if err != nil {
				return err
			}
			defer s.Close()
			type view struct {
				Name        string `json:"name"`
				Description string `json:"description"`
			}
			list := []view{}
			for _, line := range s.Prompt() {
				name, description, _ := strings.Cut(line, ": ")
				list = append(list, view{name, description})
			}
			if asJSON {
				return c.printJSON(map[string]any{"dir": from.Dir, "skills": list, "withheld": append([]tools.Withheld{}, withheld...)})
			}
			if len(list) == 0 && len(withheld) == 0 {
				fmt.Fprintf(c.Stdout, "There are no skills. Write one as %s/NAME/SKILL.md, beginning with a front matter (---, description: …, ---).\n", c.short(from.Dir))
				return nil
			}
			var rows [][]string
			for _, k := range list {
				rows = append(rows, []string{k.Name, plain(k.Description, 200)})
			}
			if err := c.table(rows); err != nil {
				return err
			}
			for _, w := range withheld {
				fmt.Fprintf(c.Stdout, "✕ %s: %s\n", w.Name, plain(w.Why, 300))
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
