package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/triggers"
)

// nextShown is how many of a trigger's times are told.
const nextShown = 5

func (c *cli) triggerCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "trigger",
		Aliases: []string{"triggers"},
		Short:   "Prompts that run by themselves, on a clock",
		Args:    cobra.NoArgs,
		RunE:    c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.triggerList(ctx, d, false) }),
	}
	cmd.AddCommand(
		c.triggerAddCmd(),
		c.triggerListCmd(),
		c.triggerShowCmd(),
		c.triggerEditCmd(),
		c.triggerStateCmd("enable", "enabled", "Let a trigger run by its schedule; accepts a proposed one"),
		c.triggerStateCmd("disable", "disabled", "Keep a trigger, without running it"),
		c.triggerStateCmd("delete", "deleted", "Remove a trigger; its ledger stays"),
		c.triggerRunCmd(),
		c.triggerCancelCmd(),
		c.triggerNextCmd(),
		c.triggerTickCmd(),
		c.triggerRunsCmd(),
	)
	return cmd
}

// atTrigger is a command about the trigger that its first argument names.
func (c *cli) atTrigger(fn func(context.Context, *desk, triggers.Trigger) error) runE {
	return c.atDesk(func(ctx context.Context, d *desk, args []string) error {
		t, err := d.trigger(ctx, args[0])
		if err != nil {
			return err
		}
		return fn(ctx, d, t)
	})
}

// trigger finds a trigger by its name.
func (d *desk) trigger(ctx context.Context, name string) (triggers.Trigger, error) {
	t, err := d.triggers.Get(ctx, name)
	if errors.Is(err, triggers.ErrNotFound) {
		err = fmt.Errorf("there is no trigger %q; `mecha-slack trigger list` shows them", name)
	}
	return t, err
}

func (c *cli) triggerStateCmd(verb, state, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: c.byPerson(c.atTrigger(func(ctx context.Context, d *desk, t triggers.Trigger) error {
			if t.State == "proposed" && verb == "enable" {
				c.printTrigger(t)
			}
			t, fresh, err := d.triggers.SetState(ctx, whoTriggers(), t.Name, state)
			if err != nil {
				return err
			}
			already := ""
			if !fresh {
				already = " already"
			}
			fmt.Fprintf(c.Stdout, "%s: %s%s\n", t.Name, state, already)
			return nil
		})),
	}
}

// printTrigger shows a trigger whole, with its zone and its next times.
func (c *cli) printTrigger(t triggers.Trigger) {
	w := c.Stdout
	fmt.Fprintf(w, "%s   %s   by %s\n", t.Name, t.State, firstOf(t.By, "-"))
	if t.OnEvent != "" {
		fmt.Fprintf(w, "  on        a %s in %s that matches %s\n", t.OnEvent, t.Channel, plain(firstOf(t.Pattern, "anything"), 200))
	} else {
		fmt.Fprintf(w, "  schedule  %s   zone %s\n", t.Schedule, t.Zone)
	}
	if list, err := triggers.NextOf(t.Schedule, t.Zone, nextShown, time.Now()); err == nil {
		for i, at := range list {
			head := ""
			if i == 0 {
				head = "next"
			}
			fmt.Fprintf(w, "  %-8s  %s\n", head, at.Format("Mon 2 Jan 2006 15:04 MST"))
		}
	}
	if t.Kind == "digest" {
		fmt.Fprintf(w, "  it sends the digest; [digest] in the configuration sets its schedule\n")
		return
	}
	fmt.Fprintf(w, "  mode      %s   catch-up %s   timeout %s\n", t.Mode, t.CatchUp, t.Timeout)
	fmt.Fprintf(w, "  answers   %s\n", firstOf(t.Channel, "the owner's DM"))
	if len(t.Tools) > 0 {
		fmt.Fprintf(w, "  tools     %s\n", strings.Join(t.Tools, ", "))
	}
	if t.MaxTurns > 0 || t.MaxOutputTokens > 0 || t.MaxCost > 0 {
		fmt.Fprintf(w, "  bounds    %d turns, %d output tokens, %g USD (0: as configured)\n", t.MaxTurns, t.MaxOutputTokens, t.MaxCost)
	}
	if t.Notify != "" {
		fmt.Fprintf(w, "  notify    %s\n", plain(t.Notify, 300))
	}
	shown, _ := visible(t.Prompt)
	for line := range strings.Lines(shown) {
		fmt.Fprintf(w, "  ┊ %s\n", strings.TrimRight(line, "\r\n"))
	}
	if t.ProposedIn != "" {
		fmt.Fprintf(w, "  proposed in %s\n", t.ProposedIn)
	}
	if t.OnEvent != "" {
		fmt.Fprintln(w, "  ⚠ what other people write causes it: every run starts as one that holds third-party content")
		return
	}
	if t.Private || t.Untrusted {
		fmt.Fprintf(w, "  ⚠ its prompt was written in a conversation that held")
		sep := ""
		if t.Private {
			fmt.Fprint(w, " private data")
			sep = " and"
		}
		if t.Untrusted {
			fmt.Fprintf(w, "%s third-party content", sep)
		}
		fmt.Fprintf(w, "; every run starts with that, until you retype it (trigger edit %s --prompt …)\n", t.Name)
		for _, s := range t.Sources {
			fmt.Fprintf(w, "    %s: %s %s\n", s.Leg, s.Tool, plain(s.What, 120))
		}
	}
}

// triggerView is a trigger for JSON.
type triggerView struct {
	Name            string            `json:"name"`
	Kind            string            `json:"kind"`
	State           string            `json:"state"`
	Schedule        string            `json:"schedule"`
	Timezone        string            `json:"timezone"`
	Prompt          string            `json:"prompt"`
	Channel         string            `json:"channel"`
	Mode            string            `json:"mode"`
	Tools           []string          `json:"tools"`
	CatchUp         string            `json:"catch_up"`
	Timeout         string            `json:"timeout"`
	MaxTurns        int               `json:"max_turns"`
	MaxOutputTokens int               `json:"max_output_tokens"`
	MaxCost         float64           `json:"max_cost"`
	Notify          string            `json:"notify"`
	OnEvent         string            `json:"on"`
	Pattern         string            `json:"pattern"`
	Private         bool              `json:"private"`
	Untrusted       bool              `json:"untrusted"`
	Sources         []triggers.Source `json:"sources"`
	ProposedIn      string            `json:"proposed_in"`
	By              string            `json:"by"`
	Next            []time.Time       `json:"next"`
}

func viewTrigger(t triggers.Trigger) triggerView {
	next := []time.Time{}
	if t.State == "enabled" {
		if list, err := triggers.NextOf(t.Schedule, t.Zone, nextShown, time.Now()); err == nil {
			next = list
		}
	}
	return triggerView{t.Name, t.Kind, t.State, t.Schedule, t.Zone, t.Prompt, t.Channel, t.Mode, append([]string{}, t.Tools...), t.CatchUp, t.Timeout.String(),
		t.MaxTurns, t.MaxOutputTokens, t.MaxCost, t.Notify, t.OnEvent, t.Pattern, t.Private, t.Untrusted, append([]triggers.Source{}, t.Sources...), t.ProposedIn, t.By, next}
}

func (c *cli) triggerListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Triggers, with their next time and their last result",
		Args:  cobra.NoArgs,
		RunE:  c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.triggerList(ctx, d, asJSON) }),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) triggerList(ctx context.Context, d *desk, asJSON bool) error {
	list, err := d.triggers.List(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		views := make([]triggerView, 0, len(list))
		for _, t := range list {
			views = append(views, viewTrigger(t))
		}
		return c.printJSON(map[string]any{"triggers": views})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.Stdout, "There are no triggers. For instance:\n  mecha-slack trigger add morning --schedule '0 7 * * 1-5' --prompt 'What is in my mail?'")
		return nil
	}
	var rows [][]string
	for _, t := range list {
		next := "-"
		if at := d.triggers.Next(t, 1, time.Now()); len(at) > 0 && t.State == "enabled" {
			next = at[0].Format("Mon 2 Jan 15:04 MST")
		}
		last := "never ran"
		runs, err := d.triggers.Runs(ctx, t.Name, time.Time{}, 1)
		if err != nil {
			return err
		}
		if len(runs) > 0 {
			last = fmt.Sprintf("%s %s %s", ago(runs[0].Started), runs[0].Status, plain(runs[0].Reason, 60))
		}
		state := t.State
		if t.State == "proposed" && (t.Private || t.Untrusted) {
			state = "⚠ " + state
		}
		rows = append(rows, []string{t.Name, state, firstOf(t.Schedule, "on "+t.OnEvent), firstOf(t.Zone, t.Channel), "next " + next, "last: " + last})
	}
	return c.table(rows)
}

func (c *cli) triggerShowCmd() *cobra.Command {
	var asJSON, last bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "A trigger whole; --last shows what its last run said",
		Args:  cobra.ExactArgs(1),
		RunE: c.atTrigger(func(ctx context.Context, d *desk, t triggers.Trigger) error {
			if !last {
				if asJSON {
					return c.printJSON(viewTrigger(t))
				}
				c.printTrigger(t)
				return nil
			}
			runs, err := d.triggers.Runs(ctx, t.Name, time.Time{}, 1)
			if err != nil {
				return err
			}
			if len(runs) == 0 {
				return fmt.Errorf("trigger %s has never run", t.Name)
			}
			if asJSON {
				return c.printJSON(viewFire(runs[0]))
			}
			c.printFire(runs[0])
			if runs[0].Run != "" {
				text, err := d.threads.Answer(ctx, runs[0].Run)
				if err != nil {
					return err
				}
				shown, _ := visible(text)
				fmt.Fprintf(c.Stdout, "\n%s\n", strings.TrimSpace(shown))
			}
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&last, "last", false, "its last run, with its answer")
	return cmd
}
