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
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.triggerList(cmd.Context(), false) },
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

// triggerFlags are what add and edit set.
type triggerFlags struct {
	schedule, prompt, zone, catchUp, mode, channel, notify string
	timeout                                                time.Duration
	tools                                                  []string
	maxTurns, maxOut                                       int
	maxCost                                                float64
}

func (f *triggerFlags) bind(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.schedule, "schedule", "", "five cron fields (minute hour day month weekday), @daily and so on, or @every 2h")
	fs.StringVar(&f.prompt, "prompt", "", "what each run is asked; - reads standard input")
	fs.StringVar(&f.zone, "timezone", "", "IANA zone such as Europe/Berlin (default: the owner's)")
	fs.StringVar(&f.catchUp, "catch-up", "", "after a time away: always, never, or at most this late (2h); default always")
	fs.DurationVar(&f.timeout, "timeout", 0, "of one run; default 20m")
	fs.StringVar(&f.mode, "mode", "", "read-only (default), ask or allow")
	fs.StringArrayVar(&f.tools, "tool", nil, "offer only this tool (may be given several times)")
	fs.StringVar(&f.channel, "channel", "", "id of the channel for its answers (default: the owner's DM)")
	fs.IntVar(&f.maxTurns, "max-turns", 0, "bound of a run")
	fs.IntVar(&f.maxOut, "max-output-tokens", 0, "bound of a run")
	fs.Float64Var(&f.maxCost, "max-cost", 0, "bound of a run, in USD")
	fs.StringVar(&f.notify, "notify", "", "a command that gets the answer on its standard input")
}

// apply sets what was given on the command line, and nothing else.
func (f *triggerFlags) apply(cmd *cobra.Command, t *triggers.Trigger) {
	for name, set := range map[string]func(){
		"schedule": func() { t.Schedule = f.schedule }, "prompt": func() { t.Prompt = f.prompt }, "timezone": func() { t.Zone = f.zone },
		"catch-up": func() { t.CatchUp = f.catchUp }, "timeout": func() { t.Timeout = f.timeout }, "mode": func() { t.Mode = f.mode },
		"tool": func() { t.Tools = f.tools }, "channel": func() { t.Channel = f.channel }, "notify": func() { t.Notify = f.notify },
		"max-turns": func() { t.MaxTurns = f.maxTurns }, "max-output-tokens": func() { t.MaxOutputTokens = f.maxOut }, "max-cost": func() { t.MaxCost = f.maxCost },
	} {
		if cmd.Flags().Changed(name) {
			set()
		}
	}
}

// whoTriggers is me for the triggers' audit trail.
func whoTriggers() triggers.Who { return triggers.Who{User: me(), Surface: "terminal"} }

func (c *cli) triggerAddCmd() *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "add NAME --schedule S --prompt P",
		Short: "Make a trigger; its zone and its next times are echoed",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			if f.schedule == "" || f.prompt == "" {
				return usagef("trigger add needs --schedule and --prompt")
			}
			if err := c.aPerson(); err != nil {
				return err
			}
			if err := c.readPrompt(&f); err != nil {
				return err
			}
			d, err := c.makeDesk(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			t := triggers.Trigger{Name: args[0]}
			f.apply(cmd, &t)
			if t.Zone == "" {
				if t.Zone, err = c.ownerZone(ctx, d.home, d.db); err != nil {
					return err
				}
				if t.Zone == "" {
					return usagef("the owner's time zone is not known: give one with --timezone (Europe/Berlin, for example), or set [agent] timezone")
				}
			}
			if err := t.Validate(); err != nil {
				return usagef("%v", err)
			}
			if t, err = d.triggers.Add(ctx, whoTriggers(), t); err != nil {
				return err
			}
			c.printTrigger(t)
			return nil
		},
	}
	f.bind(cmd)
	return cmd
}

func (c *cli) readPrompt(f *triggerFlags) error {
	if f.prompt != "-" {
		return nil
	}
	b, err := readBounded(c.Stdin, 64<<10)
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
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.aPerson(); err != nil {
				return err
			}
			if cmd.Flags().NFlag() == 0 {
				return usagef("trigger edit: say what to change, for instance --schedule '0 8 * * 1-5'")
			}
			if err := c.readPrompt(&f); err != nil {
				return err
			}
			return c.withTrigger(cmd.Context(), args[0], func(ctx context.Context, d *desk, t triggers.Trigger) error {
				f.apply(cmd, &t)
				if err := t.Validate(); err != nil {
					return usagef("%v", err)
				}
				t, err := d.triggers.Edit(ctx, whoTriggers(), t.Name, func(t *triggers.Trigger) { f.apply(cmd, t) })
				if err != nil {
					return err
				}
				c.printTrigger(t)
				return nil
			})
		},
	}
	f.bind(cmd)
	return cmd
}

// withTrigger opens the record and finds a trigger by its name.
func (c *cli) withTrigger(ctx context.Context, name string, fn func(context.Context, *desk, triggers.Trigger) error) error {
	d, err := c.openDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	t, err := d.triggers.Get(ctx, name)
	if errors.Is(err, triggers.ErrNotFound) {
		return fmt.Errorf("there is no trigger %q; `mecha-slack trigger list` shows them", name)
	}
	if err != nil {
		return err
	}
	return fn(ctx, d, t)
}

func (c *cli) triggerStateCmd(verb, state, short string) *cobra.Command {
	return &cobra.Command{
		Use:   verb + " NAME",
		Short: short,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.aPerson(); err != nil {
				return err
			}
			return c.withTrigger(cmd.Context(), args[0], func(ctx context.Context, d *desk, t triggers.Trigger) error {
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
			})
		},
	}
}

// printTrigger shows a trigger whole, with its zone and its next times.
func (c *cli) printTrigger(t triggers.Trigger) {
	w := c.Stdout
	fmt.Fprintf(w, "%s   %s   by %s\n", t.Name, t.State, firstOf(t.By, "-"))
	fmt.Fprintf(w, "  schedule  %s   zone %s\n", t.Schedule, t.Zone)
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
		t.MaxTurns, t.MaxOutputTokens, t.MaxCost, t.Notify, t.Private, t.Untrusted, append([]triggers.Source{}, t.Sources...), t.ProposedIn, t.By, next}
}

func (c *cli) triggerListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Triggers, with their next time and their last result",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.triggerList(cmd.Context(), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (c *cli) triggerList(ctx context.Context, asJSON bool) error {
	d, err := c.openDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
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
		rows = append(rows, []string{t.Name, state, t.Schedule, t.Zone, "next " + next, "last: " + last})
	}
	return c.table(rows)
}

func (c *cli) triggerShowCmd() *cobra.Command {
	var asJSON, last bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "A trigger whole; --last shows what its last run said",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withTrigger(cmd.Context(), args[0], func(ctx context.Context, d *desk, t triggers.Trigger) error {
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
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&last, "last", false, "its last run, with its answer")
	return cmd
}

// fireView is a row of the ledger as `trigger runs --json` tells it.
type fireView struct {
	Trigger     string     `json:"trigger"`
	Slot        *time.Time `json:"slot"` // null: by hand
	Status      string     `json:"status"`
	Reason      string     `json:"reason"`
	Started     time.Time  `json:"started"`
	Finished    *time.Time `json:"finished"`
	Thread      string     `json:"thread"`
	Run         string     `json:"run"`
	Turns       int        `json:"turns"`
	Calls       int        `json:"calls"`
	CallErrors  int        `json:"call_errors"`
	Staged      int        `json:"staged"`
	Blocked     int        `json:"blocked"`
	StopCause   string     `json:"stop_cause"`
	Summary     string     `json:"summary"`
	NotifyError string     `json:"notify_error,omitempty"`
}

func viewFire(f triggers.Fire) fireView {
	return fireView{f.Trigger, rfc(f.Slot), f.Status, f.Reason, f.Started, rfc(f.Finished), f.Thread, f.Run, f.Turns, f.Calls, f.CallErrors, f.Staged, f.Blocked, f.StopCause, f.Summary, f.NotifyError}
}

func (c *cli) printFire(f triggers.Fire) {
	slot := "by hand"
	if !f.Slot.IsZero() {
		slot = "slot " + f.Slot.Format("2006-01-02 15:04 MST")
	}
	fmt.Fprintf(c.Stdout, "%s   %s   %s %s\n  %d turns, %d calls (%d failed), %d staged, %d blocked   in %s\n", f.Trigger, slot, f.Status, plain(f.Reason, 200), f.Turns, f.Calls, f.CallErrors, f.Staged, f.Blocked, firstOf(f.Thread, "no thread"))
	if f.NotifyError != "" {
		fmt.Fprintf(c.Stdout, "  ✕ notify: %s\n", plain(f.NotifyError, 300))
	}
}

func (c *cli) triggerRunsCmd() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "runs [NAME]",
		Short: "What became of each slot, newest first",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := c.openDesk(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			list, err := d.triggers.Runs(ctx, name, time.Time{}, limit)
			if err != nil {
				return err
			}
			if asJSON {
				views := make([]fireView, 0, len(list))
				for _, f := range list {
					views = append(views, viewFire(f))
				}
				return c.printJSON(map[string]any{"runs": views})
			}
			if len(list) == 0 {
				fmt.Fprintln(c.Stdout, "Nothing has run yet.")
				return nil
			}
			var rows [][]string
			for _, f := range list {
				slot := "by hand"
				if !f.Slot.IsZero() {
					slot = f.Slot.Format("2006-01-02 15:04")
				}
				rows = append(rows, []string{f.Started.Format("2006-01-02 15:04"), f.Trigger, slot, f.Status, plain(firstOf(f.Reason, f.Summary), 100)})
			}
			return c.table(rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}

func (c *cli) triggerRunCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "run NAME",
		Short: "Run it now, outside its schedule, and wait for the end",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.aPerson(); err != nil {
				return err
			}
			return c.withTrigger(cmd.Context(), args[0], func(ctx context.Context, d *desk, t triggers.Trigger) error {
				if t.State == "proposed" {
					return refusedf("trigger %s is only proposed: read it (trigger show %s), then enable it", t.Name, t.Name)
				}
				if err := d.needBot("run a trigger"); err != nil {
					return err
				}
				f, err := d.triggers.Ask(ctx, whoTriggers(), t.Name)
				if err != nil {
					return refused(err)
				}
				return c.awaitFire(ctx, d, f)
			})
		},
	}
}

// awaitFire waits for a run's end and tells it.
func (c *cli) awaitFire(ctx context.Context, d *desk, f triggers.Fire) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for f.Status == "running" {
		select {
		case <-ctx.Done():
			return fmt.Errorf("you stopped waiting; %s goes on (trigger cancel %s stops it)", f.Trigger, f.Trigger)
		case <-tick.C:
		}
		if err := d.needBot("go on with this"); err != nil {
			return err
		}
		var err error
		if f, err = d.triggers.Fire(ctx, f.ID); err != nil {
			return err
		}
	}
	c.printFire(f)
	if f.Run != "" {
		text, err := d.threads.Answer(ctx, f.Run)
		if err != nil {
			return err
		}
		shown, _ := visible(text)
		fmt.Fprintf(c.Stdout, "\n%s\n", strings.TrimSpace(shown))
	}
	if f.Status != "ok" {
		return fmt.Errorf("trigger %s ended as %s: %s", f.Trigger, f.Status, plain(f.Reason, 300))
	}
	return nil
}

func (c *cli) triggerCancelCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "cancel NAME",
		Short: "Stop its run at a safe point; what it has said stays",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.aPerson(); err != nil {
				return err
			}
			return c.withTrigger(cmd.Context(), args[0], func(ctx context.Context, d *desk, t triggers.Trigger) error {
				asked, err := d.triggers.AskCancel(ctx, whoTriggers(), t.Name)
				if err != nil {
					return err
				}
				if !asked {
					return refusedf("trigger %s is not running", t.Name)
				}
				fmt.Fprintf(c.Stdout, "%s: its run ends at the next safe point.\n", t.Name)
				return nil
			})
		},
	}
}

func (c *cli) triggerNextCmd() *cobra.Command {
	var schedule, zone, from string
	var n int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "next [NAME] | next --schedule S --timezone Z",
		Short: "When triggers, or a schedule, are due next",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
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
				return c.nextOf(ctx, schedule, zone, n, start, asJSON)
			case len(args) == 1:
				return c.withTrigger(ctx, args[0], func(_ context.Context, d *desk, t triggers.Trigger) error {
					return c.printTimes(d.triggers.Next(t, n, start), asJSON)
				})
			}
			return c.nextOfAll(ctx, n, start, asJSON)
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
			zone, err = c.ownerZone(ctx, d.home, d.db)
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

func (c *cli) nextOfAll(ctx context.Context, n int, from time.Time, asJSON bool) error {
	d, err := c.openDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
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
	cmd := &cobra.Command{
		Use:   "tick --dry-run",
		Short: "What would be run, or skipped and why, at a time",
		Long: `Decides about every slot that is not in the ledger yet, as a running bot does by
itself at most thirty seconds late. With --dry-run it only tells; without, it needs a
running bot, which ticks anyway.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			when := time.Now()
			if at != "" {
				var err error
				if when, err = parseTime(at, when); err != nil {
					return usagef("--at: %v", err)
				}
			}
			d, err := c.openDesk(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			if !dryRun {
				if err := c.aPerson(); err != nil {
					return err
				}
				if _, ok := d.botPID(); ok {
					return refusedf("the bot that runs on this home decides about due slots by itself; --dry-run tells what it would do")
				}
				return refusedf("no bot runs on this home, and only a bot can run a trigger; start one, or use --dry-run")
			}
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
		},
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only tell")
	cmd.Flags().StringVar(&at, "at", "", "as if it were this time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
