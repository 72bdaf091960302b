package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/threads"
)

func (c *cli) sessionsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "Recorded runs: list, show, search, replay",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var asJSON bool
	var limit int
	list := &cobra.Command{
		Use:   "list",
		Short: "Runs, newest first",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.sessionsList(cmd.Context(), limit, asJSON) },
	}
	list.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	list.Flags().IntVar(&limit, "limit", 50, "at most this many")
	cmd.AddCommand(list, c.sessionsShowCmd(), c.sessionsSearchCmd(), c.sessionsReplayCmd())
	return cmd
}

func (c *cli) sessionsList(ctx context.Context, limit int, asJSON bool) error {
	d, err := c.openDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	runs, err := d.threads.RecentRuns(ctx, limit)
	if err != nil {
		return err
	}
	views := make([]runView, 0, len(runs))
	for _, u := range runs {
		views = append(views, viewRun(u))
	}
	if asJSON {
		return c.printJSON(map[string]any{"runs": views})
	}
	if len(views) == 0 {
		fmt.Fprintln(c.Stdout, "There are no runs yet.")
		return nil
	}
	var rows [][]string
	for _, v := range views {
		rows = append(rows, []string{v.ID, v.Started.Format("2006-01-02 15:04"), v.State, v.StopCause, plural(v.Turns, "turn", "turns"), plural(v.Calls, "call", "calls"), v.Model, v.Thread})
	}
	return c.table(rows)
}

func (c *cli) sessionsShowCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "One run: what was asked, called and answered",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := c.openDesk(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			run, err := d.run(ctx, args[0])
			if err != nil {
				return err
			}
			th, err := d.threads.Thread(ctx, run.Thread)
			if err != nil {
				return err
			}
			tr, err := d.transcript(ctx, th)
			if err != nil {
				return err
			}
			tr.Runs = []runView{viewRun(run)}
			only := tr.Messages[:0]
			for _, m := range tr.Messages {
				if m.Run == run.ID {
					only = append(only, m)
				}
			}
			tr.Messages = only
			if asJSON {
				return c.printJSON(tr)
			}
			return c.writeTranscript(c.Stdout, tr)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// run finds a run by any unambiguous beginning of its id.
func (d *desk) run(ctx context.Context, prefix string) (threads.RunInfo, error) {
	list, err := d.threads.RunsNamed(ctx, prefix)
	switch {
	case err != nil:
		return threads.RunInfo{}, err
	case len(list) == 0:
		return threads.RunInfo{}, fmt.Errorf("there is no run %q; `mecha-slack sessions list` shows them", prefix)
	case len(list) > 1 && list[0].ID != prefix:
		return threads.RunInfo{}, refusedf("%q is the beginning of several runs", prefix)
	}
	return list[0], nil
}

func (c *cli) sessionsSearchCmd() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "search WORDS",
		Short: "Find words in everything that was said",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			d, err := c.openDesk(ctx)
			if err != nil {
				return err
			}
			defer d.close()
			hits, err := d.threads.Search(ctx, args, limit)
			if err != nil {
				return err
			}
			type hit struct {
				Thread  string    `json:"thread"`
				Run     string    `json:"run"`
				Turn    int       `json:"turn"`
				Author  string    `json:"author"`
				Excerpt string    `json:"excerpt"`
				At      time.Time `json:"at"`
			}
			views := make([]hit, 0, len(hits))
			for _, h := range hits {
				views = append(views, hit{h.Thread, h.Run, h.Turn, h.Author, h.Excerpt, h.At})
			}
			if asJSON {
				return c.printJSON(map[string]any{"hits": views})
			}
			if len(views) == 0 {
				fmt.Fprintln(c.Stdout, "Nothing was found.")
				return nil
			}
			var rows [][]string
			for _, h := range views {
				rows = append(rows, []string{h.At.Format("2006-01-02 15:04"), h.Thread, "turn " + strconv.Itoa(h.Turn), h.Author, plain(h.Excerpt, 160)})
			}
			return c.table(rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().IntVar(&limit, "limit", 50, "at most this many")
	return cmd
}
