package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

func (c *cli) reflectCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "reflect",
		Short: "Mine what you changed before sending, for what it says about your writing",
		Long:  "Looks at the messages that were sent since the last time: what you changed before they went out, and which you sent as they were drafted. `mecha-slack learn` makes rules of it.",
		Args:  cobra.NoArgs,
		RunE: c.atDesk(func(ctx context.Context, d *desk, _ []string) error {
			m, err := d.outbox.Reflect(ctx)
			if err != nil {
				return err
			}
			edited, released, err := d.outbox.Corrections(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(map[string]any{"edited": m.Edited, "unedited": m.Unedited, "corrected": edited, "released": released})
			}
			fmt.Fprintf(c.Stdout, "New: %s sent with your edits, %d as drafted.\n", plural(m.Edited, "message", "messages"), m.Unedited)
			if released > 0 {
				fmt.Fprintf(c.Stdout, "In all you changed %d of %d.\n", edited, released)
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) learnCmd() *cobra.Command {
	var asJSON, noModel bool
	var mf modelFlags
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "Propose writing rules from what reflect has mined",
		Long: `Proposes rules from what you changed in several messages to several people. Words
that you keep replacing are found without a model; a configured one, or the one that
--model or --model-url names, looks at the edits as well (they go where it runs).
The rule-based stand-in of ` + "`local`" + ` is never asked: it cannot read.

Nothing is a rule before you accept it: on the card in your DM, or with
mecha-slack rules accept ID.`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) error {
			if noModel && mf != (modelFlags{}) {
				return usagef("--no-model goes with neither --model nor --model-url")
			}
			return nil
		},
		RunE: c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.learn(ctx, d, mf, noModel, asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&noModel, "no-model", false, "ask no model: only recurring words")
	addModelFlags(cmd, &mf)
	return cmd
}

func (c *cli) learn(ctx context.Context, d *desk, mf modelFlags, noModel, asJSON bool) error {
	asked := "no model is configured"
	var learner outbox.Learner
	switch {
	case noModel:
		asked = "no model was asked"
	case mf != (modelFlags{}) || len(d.home.config.Providers) > 0:
		m, err := c.chooseModel(ctx, d.home, mf, false)
		if err != nil {
			return err
		}
		defer m.close()
		learner, asked = modelLearner(m.model), m.line
	}
	// What was found without a model is kept where the model failed.
	list, failed := d.outbox.Learn(ctx, learner)
	if len(list) > 0 {
		if err := d.showRules(ctx, list); err != nil {
			d.log.Warn("the proposed rules get no card", "error", err)
		}
	}
	switch {
	case failed != nil && len(list) == 0:
		return failed
	case asJSON:
		if err := c.printJSON(map[string]any{"rules": append([]outbox.Rule{}, list...), "model": asked}); err != nil {
			return err
		}
	case len(list) == 0:
		fmt.Fprintf(c.Stdout, "Nothing new was learned (%s).\n", plain(asked, 200))
	default:
		if err := c.printRules(list); err != nil {
			return err
		}
		fmt.Fprintf(c.Stdout, "Model: %s. Accept one with: mecha-slack rules accept ID\n", plain(asked, 200))
	}
	return failed
}

// showRules leaves a card with the proposed rules for every owner's DM; the bot
// posts it.
func (d *desk) showRules(ctx context.Context, list []outbox.Rule) error {
	owners, err := bot.People{DB: d.db}.Owners(ctx, "")
	if err != nil {
		return err
	}
	for _, o := range owners {
		if o.DM == "" {
			continue // `rules` lists them
		}
		p := threads.Post{Kind: bot.PostRules, Ref: bot.RulesRef(list[0].Created), Place: threads.Place{Team: o.Team, Channel: o.DM}}
		if _, err := d.threads.AddPost(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// redrawRules has the cards of decided rules follow.
func (d *desk) redrawRules(ctx context.Context, ids []int64) error {
	list, err := d.outbox.WritingRules(ctx)
	if err != nil {
		return err
	}
	for _, r := range list {
		if slices.Contains(ids, r.ID) {
			if err := d.threads.Redraw(ctx, bot.PostRules, bot.RulesRef(r.Created)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *cli) rulesCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var asJSON, all bool
		cmd.Args = cobra.NoArgs
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.Flags().BoolVar(&all, "all", false, "declined and retired ones too")
		cmd.RunE = c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.rulesList(ctx, d, all, asJSON) })
		return cmd
	}
	cmd := list(&cobra.Command{Use: "rules", Short: "Writing rules: proposed ones wait for you, accepted ones are in every prompt"})
	decide := func(verb, short, done string, act func(*outbox.Outbox, context.Context, ...int64) error) *cobra.Command {
		return &cobra.Command{
			Use:   verb + " ID…",
			Short: short,
			Args:  cobra.MinimumNArgs(1),
			RunE: c.byPerson(c.atDesk(func(ctx context.Context, d *desk, args []string) error {
				ids := make([]int64, 0, len(args))
				for _, a := range args {
					n, err := strconv.ParseInt(a, 10, 64)
					if err != nil {
						return usagef("a rule is named by its number, not %q", a)
					}
					ids = append(ids, n)
				}
				err := act(d.outbox, ctx, ids...)
				var no *outbox.RuleError
				if errors.As(err, &no) {
					return refused(err)
				}
				if err == nil {
					err = d.redrawRules(ctx, ids)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(c.Stdout, "%s: %s\n", strings.Join(args, ", "), done)
				return nil
			})),
		}
	}
	cmd.AddCommand(
		list(&cobra.Command{Use: "list", Short: "Writing rules"}),
		decide("accept", "Put proposed rules into every later prompt", "accepted; it holds from the next run on", func(o *outbox.Outbox, ctx context.Context, ids ...int64) error {
			return o.Accept(ctx, me(), "terminal", ids...)
		}),
		decide("decline", "Refuse proposed rules; they are not proposed again", "declined", func(o *outbox.Outbox, ctx context.Context, ids ...int64) error {
			return o.Decline(ctx, me(), "terminal", ids...)
		}),
		decide("retire", "Take accepted rules out again", "retired", func(o *outbox.Outbox, ctx context.Context, ids ...int64) error {
			return o.Retire(ctx, me(), "terminal", ids...)
		}),
	)
	return cmd
}

func (c *cli) rulesList(ctx context.Context, d *desk, all, asJSON bool) error {
	states := []outbox.RuleState{outbox.RuleProposed, outbox.RuleAccepted}
	if all {
		states = nil
	}
	list, err := d.outbox.WritingRules(ctx, states...)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(map[string]any{"rules": list})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "There are no writing rules. `mecha-slack reflect` mines your edits, `mecha-slack learn` proposes rules from them.")
		return nil
	}
	return c.printRules(list)
}

func (c *cli) printRules(list []outbox.Rule) error {
	var rows [][]string
	for _, r := range list {
		mark := ""
		if r.Origin != outbox.OriginClean {
			mark = "  ⚠ learned beside a stranger's text: read it twice"
		}
		rows = append(rows, []string{strconv.FormatInt(r.ID, 10), string(r.State), plain(r.Text, 300) + mark, "from " + plural(len(r.Evidence), "draft", "drafts")})
	}
	return c.table(rows)
}
