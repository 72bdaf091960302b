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

func (c *cli) triggerNextCmd() *cobra.Command {
	var schedule, zone, from string
	var n int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "next [NAME] | next --schedule S --timezone Z",
		Short: "When triggers, or a schedule, are due next",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 || n > 1000 {
				return usagef("-n is 1 to 1000, not %d", n)
			}
			start := time.Now()
			if from != "" {
				var err error
				if start, err = parseTime(from, start); err != nil {
					return usagef("--from: %v", err)
				}
			}
			switch {
			case schedule != "" && len(args) > 0:
				return usagef("trigger next takes a name or --schedule, not both")
			case schedule == "" && zone != "":
				return usagef("--timezone goes with --schedule: a trigger has its own zone")
			case schedule != "":
				return c.nextOf(cmd.Context(), schedule, zone, n, start, asJSON)
			case len(args) == 1:
				return c.atTrigger(func(_ context.Context, d *desk, t triggers.Trigger) error {
					return c.printTimes(d.triggers.Next(t, n, start), asJSON)
				})(cmd, args)
			}
			return c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.nextOfAll(ctx, d, n, start, asJSON) })(cmd, args)
		},
	}
	cmd.Flags().StringVar(&schedule, "schedule", "", "a schedule, without storing anything")
	cmd.Flags().StringVar(&zone, "timezone", "", "its IANA zone (default: the owner's)")
	cmd.Flags().StringVar(&from, "from", "", "count from this time instead of now")
	cmd.Flags().IntVarP(&n, "count", "n", nextShown, "how many times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of RFC 3339 times")
	return cmd
}

func (c *cli) nextOf(ctx context.Context, schedule, zone string, n int, from time.Time, asJSON bool) error {
	if zone == "" {
		d, err := c.openDesk(ctx)
		if err == nil {
			defer d.close()
			zone, err = d.home.zone(ctx, bot.People{DB: d.db})
		} else if h, herr := c.openHome(false); herr == nil {
			zone, err = h.config.Agent.Timezone, nil
		}
		if err != nil {
			return err
		}
		if zone == "" {
			return usagef("the owner's time zone is not known: give one with --timezone (Europe/Berlin, for example)")
		}
	}
	list, err := triggers.NextOf(schedule, zone, n, from)
	if err != nil {
		return usagef("%v", err)
	}
	return c.printTimes(list, asJSON)
}

// printTimes prints instants with the offset of their zone.
func (c *cli) printTimes(list []time.Time, asJSON bool) error {
	if asJSON {
		texts := make([]string, 0, len(list))
		for _, t := range list {
			texts = append(texts, t.Format(time.RFC3339))
		}
		return c.printJSON(texts)
	}
	for _, t := range list {
		fmt.Fprintf(c.Stdout, "%s   %s\n", t.Format(time.RFC3339), t.Format("Mon 2 Jan 15:04 MST"))
	}
	return nil
}

func (c *cli) nextOfAll(ctx context.Context, d *desk, n int, from time.Time, asJSON bool) error {
	list, err := d.triggers.List(ctx)
	if err != nil {
		return err
	}
	type view struct {
		Trigger string   `json:"trigger"`
		Next    []string `json:"next"`
	}
	views := []view{}
	for _, t := range list {
		if t.State != "enabled" {
			continue
		}
		v := view{Trigger: t.Name, Next: []string{}}
		for _, at := range d.triggers.Next(t, n, from) {
			v.Next = append(v.Next, at.Format(time.RFC3339))
		}
		views = append(views, v)
	}
	if asJSON {
		return c.printJSON(views)
	}
	for _, v := range views {
		fmt.Fprintf(c.Stdout, "%s\n  %s\n", v.Trigger, strings.Join(v.Next, "\n  "))
	}
	return nil
}

func (c *cli) triggerTickCmd() *cobra.Command {
	var dryRun, asJSON bool
	var at string
	var when time.Time
	cmd := &cobra.Command{
		Use:   "tick --dry-run",
		Short: "What would be run, or skipped and why, at a time",
		Long: `Decides about every slot that is not in the ledger yet, as a running bot does by
itself at most thirty seconds late. With --dry-run it only tells; without, it needs a
running bot, which ticks anyway.`,
		Args: cobra.NoArgs,
		PreRunE: func(*cobra.Command, []string) (err error) {
			if when = time.Now(); at == "" {
				return nil
			}
			if when, err = parseTime(at, when); err != nil {
				return usagef("--at: %v", err)
			}
			return nil
		},
		RunE: c.atDesk(func(ctx context.Context, d *desk, _ []string) error {
			if !dryRun {
				if err := c.aPerson(); err != nil {
					return err
				}
				if _, ok := d.botPID(); ok {
					return refusedf("the bot that runs on this home decides about due slots by itself; --dry-run tells what it would do")
				}
				return refusedf("no bot runs on this home, and only a bot can run a trigger; start one, or use --dry-run")
			}
			zone, err := d.home.zone(ctx, bot.People{DB: d.db})
			if err != nil {
				return err
			}
			d.inZone(zone) // in which the day of a budget begins
			list, err := d.triggers.Tick(ctx, when, true)
			if err != nil {
				return err
			}
			if asJSON {
				if list == nil {
					list = []triggers.Decision{}
				}
				return c.printJSON(map[string]any{"decisions": list})
			}
			if len(list) == 0 {
				fmt.Fprintln(c.Stdout, "Nothing is due.")
				return nil
			}
			var rows [][]string
			for _, s := range list {
				rows = append(rows, []string{s.Do, s.Trigger, s.Slot.Format(time.RFC3339), s.Reason})
			}
			return c.table(rows)
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only tell")
	cmd.Flags().StringVar(&at, "at", "", "as if it were this time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
