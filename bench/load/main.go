// Command load measures what the product costs, as whole processes over real
// sockets, a real record and a local workspace, and prints one table: each figure
// beside its floor from the same run, and their ratio. The measuring is done by
// the benchmarks beside the code; this runs them one after another, so that none
// disturbs another, and lays their figures side by side.
//
//	go run ./bench/load [--quick] [--json] [--only REGEXP]
//
// Run it in the repository's root, on a machine that does nothing else: the load
// at the beginning and at the end is printed with the figures.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	quick := flag.Bool("quick", false, "seconds instead of minutes a benchmark: for a look, not for a record")
	asJSON := flag.Bool("json", false, "print one JSON document")
	only := flag.String("only", "", "only rows whose name matches this regular expression")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./bench/load [--quick] [--json] [--only REGEXP]")
		flag.PrintDefaults()
	}
	flag.Parse()
	match, err := regexp.Compile("(?i)" + *only)
	if err != nil || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err = run(ctx, os.Stdout, match, *quick, *asJSON)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// figure is a line of the table.
type figure struct {
	What    string  `json:"what"`
	Value   float64 `json:"value"`
	Floor   float64 `json:"floor,omitempty"`
	Ratio   float64 `json:"ratio,omitempty"`
	Unit    string  `json:"unit"`
	FloorIs string  `json:"floor_is,omitempty"`
	Missing string  `json:"missing,omitempty"` // why there is no figure
}

func run(ctx context.Context, w io.Writer, match *regexp.Regexp, quick, asJSON bool) error {
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("run it in the repository's root: %w", err)
	}
	dir, err := os.MkdirTemp("", "mecha-load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin := filepath.Join(dir, "mecha-slack")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", bin, "./cmd/mecha-slack")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the product: %w\n%s", err, out)
	}
	began := machine()
	var figures []figure
	for _, g := range groups {
		if !g.wanted(match) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s -bench '%s' …\n", g.pkg, g.bench)
		metrics, err := g.measure(ctx, bin, quick)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		for _, r := range g.rows {
			if match.MatchString(r.what) {
				figures = append(figures, r.figure(metrics, err))
			}
		}
	}
	ended := machine()
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]any{"at": time.Now().UTC().Format(time.RFC3339), "machine": began, "load_after": ended.Load, "quick": quick, "figures": figures})
	}
	fmt.Fprintf(w, "%s, %s\nload %s before, %s after\n\n", time.Now().Format("2 January 2006"), began, began.Load, ended.Load)
	fmt.Fprintln(w, "| what | figure | floor | ratio | the floor is |\n|---|---|---|---|---|")
	missing := 0
	for _, f := range figures {
		if f.Missing != "" {
			missing++
			fmt.Fprintf(w, "| %s | not measured | | | %s |\n", f.What, oneLine(f.Missing))
			continue
		}
		floor, ratio := "", ""
		if f.FloorIs != "" && f.Floor > 0 {
			floor = number(f.Floor) + " " + f.Unit
		}
		if f.Ratio > 0 {
			ratio = number(f.Ratio)
		}
		fmt.Fprintf(w, "| %s | %s %s | %s | %s | %s |\n", f.What, number(f.Value), f.Unit, floor, ratio, f.FloorIs)
	}
	if missing > 0 {
		return fmt.Errorf("%d figures could not be measured", missing)
	}
	return nil
}

// number is a figure with three digits that mean something.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.3g", v)
	}
}

func oneLine(s string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "|", "/")
}
