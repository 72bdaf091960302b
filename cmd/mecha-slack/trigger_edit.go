package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/triggers"
)

// triggerFlags are what add and edit set.
type triggerFlags struct {
	schedule, prompt, zone, catchUp, mode, channel, notify, on, pattern string
	timeout                                                             time.Duration
	tools                                                               []string
	maxTurns, maxOut                                                    int
	maxCost                                                             float64

	given func(name string) bool
}

func (f *triggerFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	f.given = fs.Changed
	fs.StringVar(&f.schedule, "schedule", "", "five cron fields (minute hour day month weekday), @daily and so on, or @every 2h")
	fs.StringVar(&f.prompt, "prompt", "", "what each run is asked; - reads standard input")
	fs.StringVar(&f.zone, "timezone", "", "IANA zone such as Europe/Berlin (default: the owner's)")
	fs.StringVar(&f.catchUp, "catch-up", "", "after a time away: always, never, or at most this late (2h); default always")
	fs.DurationVar(&f.timeout, "timeout", 0, "of one run; default 20m")
	fs.StringVar(&f.mode, "mode", "", "read-only (default), ask or allow")
	fs.StringArrayVar(&f.tools, "tool", nil, "offer only this tool (may be given several times)")
	fs.StringVar(&f.channel, "channel", "", "id of the channel for its answers (default: the owner's DM); with --on message, the one that is watched")
	fs.StringVar(&f.on, "on", "", "message: what somebody writes in --channel causes it, instead of the clock")
	fs.StringVar(&f.pattern, "pattern", "", "of a message trigger: a regular expression that the message matches")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "bound of a run")
	fs.IntVar(&f.maxOut, "max-output-tokens", 0, "bound of a run")
	fs.Float64Var(&f.maxCost, "max-cost", 0, "bound of a run, in USD")
	fs.StringVar(&f.notify, "notify", "", "a command that gets the answer on its standard input")
}

// setters put each flag's value into t.
func (f *triggerFlags) setters(t *triggers.Trigger) map[string]func() {
	return map[string]func(){
		"schedule": func() { t.Schedule = f.schedule }, "prompt": func() { t.Prompt = f.prompt }, "timezone": func() { t.Zone = f.zone },
		"catch-up": func() { t.CatchUp = f.catchUp }, "timeout": func() { t.Timeout = f.timeout }, "mode": func() { t.Mode = f.mode },
		"tool": func() { t.Tools = f.tools }, "channel": func() { t.Channel = f.channel }, "notify": func() { t.Notify = f.notify },
		"on": func() { t.OnEvent = f.on }, "pattern": func() { t.Pattern = f.pattern },
		"max-turns": func() { t.MaxTurns = f.maxTurns }, "max-output-tokens": func() { t.MaxOutputTokens = f.maxOut }, "max-cost": func() { t.MaxCost = f.maxCost },
	}
}

// apply sets what was given on the command line, and nothing else.
func (f *triggerFlags) apply(t *triggers.Trigger) {
	for name, set := range f.setters(t) {
		if f.given(name) {
			set()
		}
	}
}

// none tells that nothing was given.
func (f *triggerFlags) none() bool {
	for name := range f.setters(nil) {
		if f.given(name) {
			return false
		}
	}
	return true
}

// whoTriggers is me for the triggers' audit trail.
func whoTriggers() triggers.Who { return triggers.Who{User: me(), Surface: "terminal"} }

func (c *cli) triggerAddCmd() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "add NAME --schedule S --prompt P",
		Short: "Make a trigger; its zone and its next times are echoed",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if f.schedule == "" && f.on == "" || f.prompt == "" {
				return usagef("trigger add needs --schedule and --prompt")
			}
			return nil
		},
		RunE: c.byPerson(c.atNewDesk(func(ctx context.Context, d *desk, args []string) error {
			if err := c.readPrompt(ctx, &f); err != nil {
				return err
			}
			t := triggers.Trigger{Name: args[0]}
			f.apply(&t)
			if t.Zone == "" && t.OnEvent == "" {
				zone, err := d.home.zone(ctx, bot.People{DB: d.db})
				if err != nil {
					return err
				}
				if t.Zone = zone; t.Zone == "" {
					return usagef("the owner's time zone is not known: give one with --timezone (Europe/Berlin, for example), or set [agent] timezone")
				}
			}
			if err := t.Validate(); err != nil {
				return usagef("%v", err)
			}
			t, err := d.triggers.Add(ctx, whoTriggers(), t)
			if err != nil {
				return err
			}
			c.printTrigger(t)
			return nil
		})),
	}
	f.bind(cmd)
	return cmd
}

func (c *cli) readPrompt(ctx context.Context, f *triggerFlags) error {
	if f.prompt != "-" {
		return nil
	}
	b, err := c.input(ctx, 64<<10)
	if err != nil {
		return fmt.Errorf("cannot read the prompt from standard input: %w", err)
	}
	f.prompt = strings.TrimSpace(string(b))
	return nil
}

func (c *cli) triggerEditCmd() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "edit NAME",
		Short: "Change what is given; the next slot counts from now",
		Args:  cobra.ExactArgs(1),
		PreRunE: func(*cobra.Command, []string) error {
			if f.none() {
				return usagef("trigger edit: say what to change, for instance --schedule '0 8 * * 1-5'")
			}
			return nil
		},
		RunE: c.byPerson(c.atTrigger(func(ctx context.Context, d *desk, t triggers.Trigger) error {
			if err := c.readPrompt(ctx, &f); err != nil {
				return err
			}
			f.apply(&t)
			if err := t.Validate(); err != nil {
				return usagef("%v", err)
			}
			t, err := d.triggers.Edit(ctx, whoTriggers(), t.Name, f.apply)
			if err != nil {
				return err
			}
			c.printTrigger(t)
			return nil
		})),
	}
	f.bind(cmd)
	return cmd
}
