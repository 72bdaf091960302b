package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/triggers"
)

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
	Silent      bool       `json:"silent"` // it had nothing to say
	Summary     string     `json:"summary"`
	NotifyError string     `json:"notify_error"`
}

func viewFire(f triggers.Fire) fireView {
	return fireView{f.Trigger, rfc(f.Slot), f.Status, f.Reason, f.Started, rfc(f.Finished), f.Thread, f.Run, f.Turns, f.Calls, f.CallErrors, f.Staged, f.Blocked, f.StopCause, f.Silent, f.Summary, f.NotifyError}
}

func silence(f triggers.Fire) string {
	if f.Silent {
		return "nothing to report"
	}
	return ""
}

func (c *cli) printFire(f triggers.Fire) {
	slot := "by hand"
	if !f.Slot.IsZero() {
		slot = "slot " + f.Slot.Format("2006-01-02 15:04 MST")
	}
	fmt.Fprintf(c.Stdout, "%s   %s   %s\n  %s, %s (%d failed), %d staged, %d blocked   in %s\n", f.Trigger, slot, strings.TrimSpace(f.Status+" "+plain(firstOf(f.Reason, silence(f)), 200)), plural(f.Turns, "turn", "turns"), plural(f.Calls, "call", "calls"), f.CallErrors, f.Staged, f.Blocked, firstOf(f.Thread, "no thread"))
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
		RunE: c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			name := ""
			if len(args) > 0 {
				name = args[0]
			}
			list, err := d.triggers.Runs(ctx, name, time.Time{}, limit)
			if err != nil {
				return err
			}
			if len(list) == 0 && name != "" { // a deleted one's ledger stays; a typing error has none
				if _, err := d.trigger(ctx, name); err != nil {
					return err
				}
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
				rows = append(rows, []string{f.Started.Format("2006-01-02 15:04"), f.Trigger, slot, f.Status, plain(firstOf(f.Reason, silence(f), f.Summary), 100)})
			}
			return c.table(rows)
		}),
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
		RunE: c.byPerson(c.atTrigger(func(ctx context.Context, d *desk, t triggers.Trigger) error {
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
		})),
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
		RunE: c.byPerson(c.atTrigger(func(ctx context.Context, d *desk, t triggers.Trigger) error {
			asked, err := d.triggers.AskCancel(ctx, whoTriggers(), t.Name)
			if err != nil {
				return err
			}
			if !asked {
				return refusedf("trigger %s is not running", t.Name)
			}
			fmt.Fprintf(c.Stdout, "%s: its run ends at the next safe point.\n", t.Name)
			return nil
		})),
	}
}
