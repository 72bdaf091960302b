package main

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/agent"
)

// What a replay does where the model does something else than the record says.
const (
	divergeStop   = "stop"
	divergeError  = "error"
	divergeFollow = "follow"
)

// replayView is what a replay came to.
type replayView struct {
	Run         string           `json:"run"`
	Recorded    string           `json:"recorded_model"`
	Model       string           `json:"model"`
	Turns       int              `json:"turns"`
	Same        int              `json:"same"`
	Whole       bool             `json:"whole"` // what was summarised is there again
	Divergences []divergenceView `json:"divergences"`
	InTokens    int              `json:"in_tokens"`
	OutTokens   int              `json:"out_tokens"`
	Cost        *float64         `json:"cost"`
}

type divergenceView struct {
	Turn     int    `json:"turn"`
	Kind     string `json:"kind"` // tool, args, extra, missing
	Recorded string `json:"recorded,omitempty"`
	Replayed string `json:"replayed,omitempty"`
}

func (c *cli) sessionsReplayCmd() *cobra.Command {
	var (
		asJSON bool
		on     string
		model  modelFlags
	)
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Ask a model for a recorded run anew, with the recorded results",
		Long: `replay asks a model for each turn of a recorded run anew and tells where it does
something else: another tool, other arguments, one call more or less. Earlier answers and all
results are the record's. No tool, server or hook is started, no fallback is asked, nothing is
staged and nothing is written. What the conversation held goes to the model that you name.`,
		Args: cobra.ExactArgs(1),
		RunE: c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			if on != divergeStop && on != divergeError && on != divergeFollow {
				return usagef("--on-divergence is stop, error or follow, not %q", on)
			}
			return c.replay(ctx, d, args[0], model, on, asJSON)
		}),
	}
	cmd.Flags().StringVar(&on, "on-divergence", divergeStop, "stop there; error: stop, and exit 1; follow: go on as if the model had done what the record says")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addModelFlags(cmd, &model)
	return cmd
}

func (c *cli) replay(ctx context.Context, d *desk, prefix string, mf modelFlags, on string, asJSON bool) error {
	run, err := d.run(ctx, prefix)
	if err != nil {
		return err
	}
	rec, whole, err := d.threads.Recording(ctx, run.ID)
	if err != nil {
		return err
	}
	h := *d.home
	h.config.Providers = maps.Clone(h.config.Providers)
	for name, p := range h.config.Providers {
		p.Fallbacks = nil
		h.config.Providers[name] = p
	}
	m, err := c.chooseModel(ctx, &h, mf, strings.HasPrefix(run.Model, "offline"))
	if err != nil {
		return err
	}
	defer m.close()
	out, err := agent.Replay(ctx, m.model, rec, on == divergeFollow)
	if err != nil {
		return err
	}
	v := replayView{Run: run.ID, Recorded: run.Model, Model: m.model.Name(), Turns: out.Turns, Same: out.Same, Whole: whole,
		Divergences: []divergenceView{}, InTokens: out.Usage.In, OutTokens: out.Usage.Out, Cost: out.Usage.Cost}
	for _, x := range out.Divergences {
		v.Divergences = append(v.Divergences, divergenceView{x.Turn, string(x.Kind), c.redact(x.Recorded), c.redact(x.Replayed)})
	}
	if asJSON {
		err = c.printJSON(v)
	} else {
		c.printReplay(v)
	}
	if err == nil && on == divergeError && len(v.Divergences) > 0 {
		return fmt.Errorf("%s diverges from the record", plural(len(v.Divergences), "call", "calls"))
	}
	return err
}

func (c *cli) printReplay(v replayView) {
	w := c.Stdout
	fmt.Fprintf(w, "run %s, recorded with %s, asked anew of %s\n", v.Run, v.Recorded, v.Model)
	if v.Whole {
		fmt.Fprintln(w, "  ⚠ it was summarised in between: the replay reads the whole conversation instead")
	}
	for _, x := range v.Divergences {
		fmt.Fprintf(w, "  ✕ turn %d, %s\n", x.Turn, x.Kind)
		if x.Recorded != "" {
			fmt.Fprintf(w, "      recorded %s\n", plain(x.Recorded, 300))
		}
		if x.Replayed != "" {
			fmt.Fprintf(w, "      replayed %s\n", plain(x.Replayed, 300))
		}
	}
	fmt.Fprintf(w, "%d of %s the same\n", v.Same, plural(v.Turns, "turn", "turns"))
}
