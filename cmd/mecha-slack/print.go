package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
)

// printJSON prints one document: without HTML escaping, and nothing else.
func (c *cli) printJSON(v any) error {
	b, err := outbox.Pretty(v)
	if err != nil {
		return fmt.Errorf("cannot write this as JSON: %w", err)
	}
	if _, err := c.Stdout.Write(b); err != nil {
		return fmt.Errorf("cannot write to standard output: %w", err)
	}
	return nil
}

// table prints rows in aligned columns.
func (c *cli) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(r, "\t"), "\t"))
	}
	return w.Flush()
}

// visible spells out what a reader of a terminal would not see; escape
// sequences are among it.
func visible(s string) (string, int) {
	return blockkit.Visible(s, blockkit.VisibleOptions{Spaces: 40, BlankLines: 5})
}

// plain is foreign text on one line of at most n characters.
func plain(s string, n int) string { return blockkit.OneLine(s, n) }

func (c *cli) page() outbox.Page { return outbox.Page{Now: time.Now(), Visible: visible} }

// ago is how long ago something was, in one unit.
func ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := time.Since(t); {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// rfc is an instant for JSON; null where there is none.
func rfc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// long is a path with ~ spelled out.
func (c *cli) long(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && c.env("HOME") != "" {
		return c.env("HOME") + "/" + rest
	}
	return path
}
