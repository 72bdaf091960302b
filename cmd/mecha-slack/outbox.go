package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
)

// draftFilter narrows what a command is about.
type draftFilter struct {
	all  bool
	kind string
	via  string
}

func (f *draftFilter) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kind, "kind", "", "only message or publish drafts")
	cmd.Flags().StringVar(&f.via, "via", "", "only drafts whose tool's name contains this")
}

func (f draftFilter) narrowed() bool { return f.kind != "" || f.via != "" }

func (f draftFilter) words() string {
	s := ""
	if f.kind != "" {
		s += " --kind " + f.kind
	}
	if f.via != "" {
		s += " --via " + f.via
	}
	return s
}

// list answers what the filter leaves. A filter that matches nothing is an
// error: a typo must not look like an empty outbox.
func (f draftFilter) list(ctx context.Context, d *desk) ([]outbox.Draft, error) {
	if f.kind != "" && f.kind != string(outbox.Message) && f.kind != string(outbox.Publish) {
		return nil, usagef("--kind is message or publish, not %q", f.kind)
	}
	list, err := d.outbox.List(ctx, outbox.Filter{All: f.all, Kind: outbox.Kind(f.kind), Via: f.via})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 && f.narrowed() {
		return nil, fmt.Errorf("no draft matches%s; `mecha-slack outbox list --all` shows them all", f.words())
	}
	return list, nil
}

func (c *cli) outboxCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var f draftFilter
		var asJSON bool
		f.flags(cmd)
		cmd.Flags().BoolVar(&f.all, "all", false, "decided ones too")
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.Args = cobra.NoArgs
		cmd.RunE = c.atDrafts(func(ctx context.Context, d *desk, _ []string) error { return c.outboxList(ctx, d, f, asJSON) })
		return cmd
	}
	cmd := list(&cobra.Command{
		Use:   "outbox",
		Short: "What waits for you before it goes out: read it, edit it, approve or reject it",
		Long: `The outbox holds calls that would go out to other people, as drafts, until you have
read exactly what would be sent. Without a verb it lists them: unknown outcomes
first, then what waits.

An id may be any beginning of it that names one draft.`,
	})
	cmd.AddCommand(
		list(&cobra.Command{Use: "list", Short: "What waits, unknown outcomes first"}),
		c.outboxShowCmd(),
		c.outboxEditCmd(),
		c.outboxReviewCmd(),
		c.outboxApproveCmd(),
		c.outboxCancelCmd(),
		c.outboxRejectCmd(),
		c.outboxReconcileCmd(),
		c.outboxExportCmd(),
	)
	return cmd
}

func (c *cli) outboxList(ctx context.Context, d *desk, f draftFilter, asJSON bool) error {
	list, err := f.list(ctx, d)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(map[string]any{"drafts": list})
	}
	// Rules that reflect and learn made of drafts wait for the same person.
	rules, err := d.outbox.WritingRules(ctx, outbox.RuleProposed)
	if err != nil {
		return err
	}
	if len(rules) > 0 {
		defer fmt.Fprintf(c.Stdout, "\n◌ %s: mecha-slack rules\n", plural(len(rules), "proposed writing rule waits", "proposed writing rules wait"))
	}
	switch {
	case len(list) == 0 && len(rules) > 0:
		fmt.Fprintln(c.Stdout, "No draft waits for you.")
		return nil
	case len(list) == 0:
		fmt.Fprintln(c.Stdout, "Nothing waits for you.")
		return nil
	}
	page := c.page()
	for _, dr := range list {
		page.ToolWidth = max(page.ToolWidth, len(dr.Tool))
	}
	group := ""
	for _, dr := range list {
		if g := groupOf(dr); g != group {
			if group != "" {
				fmt.Fprintln(c.Stdout)
			}
			group = g
			fmt.Fprintln(c.Stdout, g)
		}
		fmt.Fprintln(c.Stdout, page.Line(dr))
	}
	return nil
}

// groupOf is the heading that a draft is listed under.
func groupOf(d outbox.Draft) string {
	switch {
	case d.State == outbox.Uncertain:
		return "? unknown outcome: look where it would have arrived, then `mecha-slack outbox reconcile`"
	case !d.Waiting():
		return "decided"
	case d.Kind == outbox.Publish:
		return "✉ publications"
	}
	return "✉ messages"
}

func (c *cli) outboxShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "A draft whole, with the message that it answers",
		Args:  cobra.ExactArgs(1),
		RunE: c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			dr, err := d.draft(ctx, args[0])
			if err != nil {
				return err
			}
			src, err := d.outbox.Source(ctx, dr)
			if err != nil {
				return err
			}
			if asJSON {
				dr.Source = &src
				if bundle, ok := outbox.BundleOf(dr); ok {
					dr.Bundle = &bundle
				}
				return c.printJSON(dr)
			}
			fmt.Fprint(c.Stdout, c.page().Show(dr, src))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: the exact arguments")
	return cmd
}

func (c *cli) outboxExportCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "export [DIR]",
		Short: "Every draft as a pretty JSON file of its own",
		Long:  "Writes every draft, decided ones too, into DIR (default: [outbox] dir, else outbox in the home), one JSON file each.",
		Args:  cobra.MaximumNArgs(1),
		RunE: c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			dir := d.home.config.Outbox.Dir
			switch {
			case len(args) > 0:
				dir = args[0]
			case dir == "":
				dir = d.home.path("outbox")
			}
			n, err := d.outbox.Export(ctx, c.long(dir))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Stdout, "%s written to %s\n", plural(n, "draft", "drafts"), c.short(dir))
			return nil
		}),
	}
}
