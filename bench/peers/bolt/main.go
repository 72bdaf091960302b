// Command bolt plays one conversation against two bots on the same local
// workspace, one after the other: mecha-slack, and a minimal app on Bolt, Slack's
// own framework. Both talk to the same model without latency. It prints their
// figures side by side.
//
//	npm ci --prefix bench/peers/bolt
//	go run ./bench/peers/bolt [--rounds 20]
//
// What it does not show: the Bolt app is two handlers that keep nothing, while
// mecha-slack commits every step to a record before anybody sees it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"
)

const dir = "bench/peers/bolt"

func main() {
	rounds := flag.Int("rounds", 20, "how often the conversation is held")
	rest := flag.Duration("rest", 5*time.Second, "between what alice types and what she types next; Slack's rule of one message a second and channel is kept by one of the two")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *rounds, *rest)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bolt:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, rounds int, rest time.Duration) error {
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "@slack", "bolt")); err != nil {
		return fmt.Errorf("Slack's packages are not here: run npm ci --prefix %s in the repository's root (%w)", dir, err)
	}
	tmp, err := os.MkdirTemp("", "mecha-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "mecha-slack")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", bin, "./cmd/mecha-slack")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the product: %w\n%s", err, out)
	}
	m := startModel()
	defer m.Close()
	var columns []*result
	for _, p := range []peer{ours{bin: bin}, bolt{}} {
		r, err := hold(ctx, p, m.URL+"/v1", filepath.Join(tmp, "home-"+p.name()), rounds, rest)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name(), err)
		}
		columns = append(columns, r)
	}
	print(os.Stdout, columns, rounds)
	return nil
}
