// Command fuzz runs every fuzz target of the repository, one after another, each
// for the same time, and prints the table of docs/PROOF.md: the target, what it
// parses, how long it ran, how many inputs it tried, and what it found.
//
//	go run ./bench/fuzz [--time 10m] [--parallel N] [--only REGEXP] [--keep N]
//
// --keep copies up to N of the smallest inputs that reached something new from
// Go's cache to the target's testdata/fuzz, where they run with every go test.
// A finding is kept there by Go itself, and ends this with exit 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"
)

func main() {
	each := flag.Duration("time", 10*time.Minute, "how long each target runs")
	parallel := flag.Int("parallel", runtime.NumCPU(), "workers of one target")
	only := flag.String("only", "", "only targets whose package and name match this regular expression")
	keep := flag.Int("keep", 0, "copy so many new inputs of each target to its testdata/fuzz")
	flag.Parse()
	match, err := regexp.Compile(*only)
	if err != nil || flag.NArg() > 0 || *each <= 0 || *parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	found, err := run(ctx, match, *each, *parallel, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
	}
	if err != nil || found > 0 {
		os.Exit(1)
	}
}

// target is one fuzz function.
type target struct{ dir, name, says string }

var declared = regexp.MustCompile(`(?m)((?://[^\n]*\n)*)func (Fuzz\w+)\(`)

// targets finds them all; says is the first sentence of the comment above.
func targets() (list []target, err error) {
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != "."):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
			says := strings.Join(strings.Fields(strings.ReplaceAll(m[1], "//", " ")), " ")
			says = strings.TrimLeft(strings.TrimPrefix(says, m[2]), ": ")
			says, _, _ = strings.Cut(says, ". ")
			list = append(list, target{filepath.Dir(path), m[2], strings.TrimSuffix(says, ".")})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.dir+a.name, b.dir+b.name) })
	return list, err
}

func run(ctx context.Context, match *regexp.Regexp, each time.Duration, parallel, keep int) (found int, err error) {
	list, err := targets()
	if err != nil {
		return 0, err
	}
	fmt.Printf("%s, %s a target, %d workers, %s\n\n| target | | ran | inputs | found |\n|---|---|---|---|---|\n", time.Now().Format("2 January 2006"), each, parallel, runtime.Version())
	for _, t := range list {
		if !match.MatchString(t.dir + " " + t.name) {
			continue
		}
		r := t.run(ctx, each, parallel)
		if ctx.Err() != nil {
			return found, context.Cause(ctx)
		}
		fmt.Printf("| `%s` %s | %s | %s | %s | %s |\n", t.dir, t.name, strings.ReplaceAll(t.says, "|", "/"), r.ran.Round(time.Second), r.inputs, r.found)
		if r.found != "nothing" {
			found++
			fmt.Fprintln(os.Stderr, r.out)
		}
		if keep > 0 {
			if err := t.keep(keep); err != nil {
				return found, err
			}
		}
	}
	return found, nil
}

// outcome of one target.
type outcome struct {
	ran                time.Duration
	inputs, found, out string
}

var execs = regexp.MustCompile(`execs: (\d+)`)

func (t target) run(ctx context.Context, each time.Duration, parallel int) outcome {
	began := time.Now()
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", each.String(), "-fuzzminimizetime", "2s", "-parallel", fmt.Sprint(parallel), "./"+t.dir)
	out, err := cmd.CombinedOutput()
	o := outcome{ran: time.Since(began), inputs: "none", found: "nothing", out: string(out)}
	if all := execs.FindAllStringSubmatch(string(out), -1); len(all) > 0 {
		o.inputs = all[len(all)-1][1]
	}
	switch {
	case err == nil:
	case strings.Contains(string(out), "Failing input written to"):
		o.found = "a failing input"
	case strings.Contains(string(out), "    context deadline exceeded\nFAIL") && o.inputs != "none":
		// Go's own: the time was over while a worker was busy. No input failed.
	default:
		o.found = "it broke off"
	}
	return o
}

// keep copies the smallest new inputs of the target from Go's cache.
func (t target) keep(most int) error {
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return fmt.Errorf("cannot find Go's cache: %w", err)
	}
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("cannot tell the module's name: %w", err)
	}
	from := filepath.Join(strings.TrimSpace(string(cache)), "fuzz", strings.TrimSpace(string(module)), t.dir, t.name)
	list, err := os.ReadDir(from)
	if os.IsNotExist(err) {
		return nil // nothing reached anything new
	}
	if err != nil {
		return fmt.Errorf("cannot read the inputs of %s: %w", t.name, err)
	}
	to := filepath.Join(t.dir, "testdata", "fuzz", t.name)
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	type input struct {
		name string
		body []byte
	}
	var all []input
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		all = append(all, input{e.Name(), b})
	}
	slices.SortFunc(all, func(a, b input) int { return len(a.body) - len(b.body) })
	for _, in := range all[:min(most, len(all))] {
		if err := os.WriteFile(filepath.Join(to, in.name), in.body, 0o644); err != nil {
			return fmt.Errorf("cannot keep an input of %s: %w", t.name, err)
		}
	}
	return nil
}
