package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// workDir is a thread's directory, and why it stays.
type workDir struct {
	Path   string    `json:"path"`
	Thread string    `json:"thread"` // "" = no thread knows it
	State  string    `json:"state"`
	Bytes  int64     `json:"bytes"`
	Files  int       `json:"files"`
	Used   time.Time `json:"used"`
	Kept   string    `json:"kept,omitempty"` // why clean leaves it
}

func (c *cli) workCmd() *cobra.Command {
	list := func(cmd *cobra.Command) *cobra.Command {
		var asJSON bool
		cmd.Args = cobra.NoArgs
		cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
		cmd.RunE = c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.workList(ctx, d, asJSON) })
		return cmd
	}
	cmd := list(&cobra.Command{Use: "work", Short: "Threads' directories: what they hold, and what of it may go"})
	var dryRun bool
	var older time.Duration
	clean := &cobra.Command{
		Use:   "clean",
		Short: "Remove directories of threads that are done and have rested",
		Long: `Removes the directories of threads in which nothing runs, waits or is drafted, and
that have rested for --older-than (default: [work] keep, in days). One that a pending
draft or an unfinished run needs is never removed. The conversation stays on record.`,
		Args: cobra.NoArgs,
		RunE: c.atDesk(func(ctx context.Context, d *desk, _ []string) error { return c.workClean(ctx, d, older, dryRun) }),
	}
	clean.Flags().BoolVar(&dryRun, "dry-run", false, "only tell")
	clean.Flags().DurationVar(&older, "older-than", 0, "rested for at least this long, such as 720h")
	cmd.AddCommand(list(&cobra.Command{Use: "list", Short: "Directories, with size and state"}), clean)
	return cmd
}

// workDirs looks at every thread's directory.
func (d *desk) workDirs(ctx context.Context) ([]workDir, error) {
	root := d.home.work("slack")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cannot read the work directory: %w", err)
	}
	list, err := d.threads.List(ctx, maxListed)
	if err != nil {
		return nil, err
	}
	byPath := map[string]threads.Thread{}
	for _, th := range list {
		byPath[th.Workspace] = th
	}
	drafts, err := d.outbox.List(ctx, outbox.Filter{})
	if err != nil {
		return nil, err
	}
	dirs := []workDir{}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		w := workDir{Path: filepath.Join(root, e.Name())}
		w.measure()
		if th, ok := byPath[w.Path]; ok {
			w.Thread, w.State, w.Used = th.Key, string(th.State), th.Updated
			if th.State.Live() {
				w.Kept = "its run is not finished"
			}
		} else {
			w.Kept = "no thread of this record knows it"
		}
		for _, dr := range drafts {
			if dr.Workspace == w.Path || strings.HasPrefix(dr.Workspace, w.Path+string(filepath.Separator)) {
				w.Kept = "draft " + dr.ID + " needs it"
			}
		}
		dirs = append(dirs, w)
	}
	return dirs, nil
}

// measure counts files without following a link.
func (w *workDir) measure() {
	filepath.WalkDir(w.Path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // what cannot be read is not counted
		}
		if info, err := e.Info(); err == nil {
			w.Files++
			w.Bytes += info.Size()
			if info.ModTime().After(w.Used) {
				w.Used = info.ModTime()
			}
		}
		return nil
	})
}

func (c *cli) workList(ctx context.Context, d *desk, asJSON bool) error {
	dirs, err := d.workDirs(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(map[string]any{"work": dirs})
	}
	if len(dirs) == 0 {
		fmt.Fprintln(c.Stdout, "No thread has a directory yet.")
		return nil
	}
	var rows [][]string
	for _, w := range dirs {
		rows = append(rows, []string{c.short(w.Path), size(w.Bytes), plural(w.Files, "file", "files"), ago(w.Used), firstOf(w.State, "?"), w.Kept})
	}
	return c.table(rows)
}

func (c *cli) workClean(ctx context.Context, d *desk, older time.Duration, dryRun bool) error {
	if older == 0 {
		older = time.Duration(d.home.config.Work.Keep) * 24 * time.Hour
	}
	if older <= 0 {
		return usagef("work clean needs --older-than (720h, for example): [work] keep is not set, so directories are kept for ever")
	}
	if !dryRun {
		if err := c.aPerson(); err != nil {
			return err
		}
	}
	dirs, err := d.workDirs(ctx)
	if err != nil {
		return err
	}
	removed, failed, bytes := 0, 0, int64(0)
	for _, w := range dirs {
		if w.Kept != "" || time.Since(w.Used) < older {
			continue
		}
		if !dryRun {
			// RemoveAll follows no link out of the directory.
			if err := os.RemoveAll(w.Path); err != nil {
				failed++
				fmt.Fprintf(c.Stderr, "cannot remove %s: %v\n", w.Path, err)
				continue
			}
		}
		removed++
		bytes += w.Bytes
		fmt.Fprintf(c.Stdout, "%s   %s   %s\n", c.short(w.Path), size(w.Bytes), w.Thread)
	}
	verb := "removed"
	if dryRun {
		verb = "would be removed"
	}
	fmt.Fprintf(c.Stdout, "%s %s, %s\n", plural(removed, "directory", "directories"), verb, size(bytes))
	if failed > 0 {
		return fmt.Errorf("%s could not be removed", plural(failed, "directory", "directories"))
	}
	return nil
}

// size is a number of bytes in one unit.
func size(n int64) string {
	switch {
	case n < 10_000:
		return fmt.Sprintf("%d B", n)
	case n < 10_000_000:
		return fmt.Sprintf("%d kB", n/1000)
	}
	return fmt.Sprintf("%d MB", n/1_000_000)
}
