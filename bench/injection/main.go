// Command injection replays recorded attack suites without a model: it plays
// each user's true calls, and, at the first result that carries the attacker's
// text, the attacker's calls, as a model that obeys everything would. The calls
// go through the real loop, gate and outbox; the plain gates beside them are the
// floor, played by the same runner.
//
//	go run ./bench/injection [--trifecta ask|block|allow] [--json] FILE...
//
// It takes both formats of recordings: suites with user and injection tasks, and
// lists of single cases. Labels come from the file; nothing here looks at which
// task is being played.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

func main() {
	trifecta := flag.String("trifecta", "ask", "policy for a chosen send in an armed conversation: ask, block or allow")
	asJSON := flag.Bool("json", false, "print one JSON document")
	which := flag.Bool("which", false, "name the attacks that succeeded")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./bench/injection [--trifecta ask|block|allow] [--json] [--which] FILE...")
		flag.PrintDefaults()
	}
	flag.Parse()
	policy := tools.Security{Trifecta: tools.Trifecta(*trifecta)}
	if err := policy.Validate(); err != nil || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Args(), policy, *asJSON, *which); err != nil {
		fmt.Fprintln(os.Stderr, "injection:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string, policy tools.Security, asJSON, which bool) error {
	dir, err := os.MkdirTemp("", "injection-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, err := openOurs(ctx, dir)
	if err != nil {
		return err
	}
	defer ours.close()
	gates := []gate{
		plain{name: "none"},
		plain{name: "interlock alone", interlock: true},
		plain{name: "interlock + outbox", interlock: true, outbox: true},
		plain{name: "+ destructive asked", interlock: true, outbox: true, destructive: true},
		plain{name: "+ armed fetch asked", interlock: true, outbox: true, destructive: true, fetch: true},
		ours.with("mecha-slack, trifecta = "+string(policy.Trifecta), policy),
	}
	if policy.Trifecta != tools.TrifectaBlock {
		gates = append(gates, ours.with("mecha-slack, trifecta = block", tools.Security{Trifecta: tools.TrifectaBlock}))
	}
	var reports []report
	all := map[string]*score{}
	for _, f := range files {
		s, err := readSuite(f)
		if err != nil {
			return err
		}
		for _, g := range gates {
			sc, err := play(ctx, s, g)
			if err != nil {
				return fmt.Errorf("%s, gate %s: %w", s.name, g.title(), err)
			}
			reports = append(reports, report{Suite: s.name, Gate: g.title(), score: sc})
			if all[g.title()] == nil {
				all[g.title()] = &score{}
			}
			all[g.title()].add(sc)
		}
	}
	if len(files) > 1 {
		for _, g := range gates {
			reports = append(reports, report{Suite: "all", Gate: g.title(), score: *all[g.title()]})
		}
	}
	if asJSON {
		e := json.NewEncoder(os.Stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"reports": reports})
	}
	print(reports, which)
	return nil
}

func print(reports []report, which bool) {
	fmt.Printf("%-22s %-34s %16s %10s %12s %14s %12s %22s\n", "suite", "gate", "attacks succeed", "asked of", "tasks done", "without anyone", "clicks/task", "red drafts: theirs/own")
	for _, r := range reports {
		red := "-"
		if r.AttackDrafts+r.OwnDrafts > 0 {
			red = fmt.Sprintf("%s / %s", percent(r.AttackRed, r.AttackDrafts), percent(r.OwnRed, r.OwnDrafts))
		}
		fmt.Printf("%-22s %-34s %9d/%-4d %s %10d %8d/%-3d %14d %12.2f %22s\n", r.Suite, r.Gate, len(r.Succeeded), r.Attacks, percent(len(r.Succeeded), r.Attacks), r.Asked, r.Done, r.Tasks, r.DoneAlone, r.clicksPerTask(), red)
		if which && len(r.Succeeded) > 0 {
			fmt.Println("    " + strings.Join(r.Succeeded, "\n    "))
		}
	}
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(of))
}
