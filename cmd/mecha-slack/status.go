package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// statusView is how everything stands, at one glance.
type statusView struct {
	Bot       string         `json:"bot"` // running, stopped
	PID       int            `json:"pid,omitempty"`
	Paused    bool           `json:"paused"`
	Home      string         `json:"home"`
	Record    string         `json:"record"`
	Owners    []string       `json:"owners"`
	Threads   map[string]int `json:"threads"` // by state
	Uncertain int            `json:"uncertain"`
	Drafts    int            `json:"drafts"`
	Calls     int            `json:"calls"` // that wait for approval
	Questions int            `json:"questions"`
	Proposed  int            `json:"proposed_triggers"`
	Rules     int            `json:"proposed_rules"`
	NextFires []nextFire     `json:"next"`
	Used      []usedView     `json:"used"` // of the limits of a day
	At        time.Time      `json:"at"`
}

type nextFire struct {
	Trigger string    `json:"trigger"`
	At      time.Time `json:"at"`
}

// usedView is how far a limit is used.
type usedView struct {
	threads.Spending
	Text string `json:"text"`
}

func (c *cli) statusCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "What runs, what waits for you, what comes next",
		Args:  cobra.NoArgs,
		RunE: c.atDesk(func(ctx context.Context, d *desk, _ []string) error {
			s, err := d.status(ctx)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(s)
			}
			c.printStatus(s)
			return nil
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (d *desk) status(ctx context.Context) (statusView, error) {
	s := statusView{Bot: "stopped", Home: d.home.dir, Record: d.home.recordPath(), Owners: []string{}, Threads: map[string]int{}, NextFires: []nextFire{}, Used: []usedView{}, At: time.Now()}
	if pid, ok := d.botPID(); ok {
		s.Bot, s.PID = "running", pid
	}
	var err error
	if s.Paused, err = d.threads.Paused(ctx); err != nil {
		return s, err
	}
	owners, err := bot.People{DB: d.db}.Owners(ctx, "")
	if err != nil {
		return s, err
	}
	for _, o := range owners {
		s.Owners = append(s.Owners, firstOf(o.Name, o.User))
	}
	zone, err := d.home.zone(ctx, bot.People{DB: d.db})
	if err != nil {
		return s, err
	}
	d.inZone(zone)
	spent, err := d.threads.Spent(ctx, "")
	if err != nil {
		return s, err
	}
	for _, u := range spent {
		s.Used = append(s.Used, usedView{u, u.String()})
	}
	list, err := d.threads.List(ctx, maxListed)
	if err != nil {
		return s, err
	}
	for _, th := range list {
		s.Threads[string(th.State)]++
	}
	drafts, err := d.outbox.List(ctx, outbox.Filter{})
	if err != nil {
		return s, err
	}
	for _, dr := range drafts {
		if dr.State == outbox.Uncertain {
			s.Uncertain++
		} else {
			s.Drafts++
		}
	}
	calls, err := d.threads.PendingApprovals(ctx)
	if err != nil {
		return s, err
	}
	questions, err := d.threads.OpenQuestions(ctx)
	if err != nil {
		return s, err
	}
	forms, err := d.threads.OpenForms(ctx)
	if err != nil {
		return s, err
	}
	s.Calls, s.Questions = len(calls), len(questions)+len(forms)
	rules, err := d.outbox.WritingRules(ctx, outbox.RuleProposed)
	if err != nil {
		return s, err
	}
	s.Rules = len(rules)
	all, err := d.triggers.List(ctx)
	if err != nil {
		return s, err
	}
	for _, t := range all {
		switch t.State {
		case "proposed":
			s.Proposed++
		case "enabled":
			for _, at := range d.triggers.Next(t, 1, s.At) {
				s.NextFires = append(s.NextFires, nextFire{t.Name, at})
			}
		}
	}
	return s, nil
}

func (c *cli) printStatus(s statusView) {
	w := c.Stdout
	bot := "no bot runs on this home (mecha-slack local, or connect)"
	if s.PID != 0 {
		bot = fmt.Sprintf("running, process %d", s.PID)
	}
	if s.Paused {
		bot += " · everything is paused: mecha-slack resume goes on"
	}
	fmt.Fprintf(w, "bot        %s\n", bot)
	fmt.Fprintf(w, "record     %s\n", c.short(s.Record))
	owner := "nobody yet: mecha-slack link"
	if len(s.Owners) > 0 {
		owner = ""
		for i, o := range s.Owners {
			if i > 0 {
				owner += ", "
			}
			owner += plain(o, 60)
		}
	}
	fmt.Fprintf(w, "owner      %s\n", owner)
	threads := ""
	for _, st := range []string{"running", "awaiting", "queued", "interrupted", "staged", "failed", "cancelled", "done", "idle"} {
		if n := s.Threads[st]; n > 0 {
			if threads != "" {
				threads += ", "
			}
			threads += fmt.Sprintf("%d %s", n, st)
		}
	}
	fmt.Fprintf(w, "threads    %s\n", firstOf(threads, "none"))
	for _, wait := range []struct {
		n              int
		mark, one, all string
		how            string
	}{
		{s.Uncertain, "?", "unknown outcome", "unknown outcomes", "mecha-slack outbox"},
		{s.Drafts, "✉", "draft", "drafts", "mecha-slack outbox review"},
		{s.Calls, "◌", "call that needs you", "calls that need you", "its card in the thread"},
		{s.Questions, "◌", "question", "questions", "mecha-slack questions"},
		{s.Proposed, "◌", "proposed trigger", "proposed triggers", "mecha-slack trigger list"},
		{s.Rules, "◌", "proposed writing rule", "proposed writing rules", "mecha-slack rules"},
	} {
		if wait.n > 0 {
			fmt.Fprintf(w, "waits      %s %s   → %s\n", wait.mark, plural(wait.n, wait.one, wait.all), wait.how)
		}
	}
	for _, u := range s.Used {
		mark := ""
		if u.Share() >= 1 {
			mark = ": used up, no run begins ([agent.day])"
		}
		fmt.Fprintf(w, "used       %s%s\n", u.Text, mark)
	}
	for _, n := range s.NextFires {
		fmt.Fprintf(w, "next       %s  %s\n", n.At.Format("Mon 2 Jan 15:04 MST"), n.Trigger)
	}
}

// firstOf is the first text that is not empty.
func firstOf(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}
