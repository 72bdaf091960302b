package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/tools"
)

// surfaceView is the surface that a run would get, as `tools --json` tells it
// (CONTRACT.md).
type surfaceView struct {
	Sandbox    sandboxView      `json:"sandbox"`
	Tools      []toolView       `json:"tools"`
	Withheld   []tools.Withheld `json:"withheld"`
	Unlabelled int              `json:"unlabelled"` // nobody says whether they reach the open world
}

type sandboxView struct {
	Kind       string `json:"kind"` // "" where none works
	NetworkOff bool   `json:"network_off"`
	Describe   string `json:"describe"`
}

type toolView struct {
	Name         string             `json:"name"`
	Description  string             `json:"description"`
	Server       string             `json:"server"` // "" = built in
	ReadOnly     bool               `json:"read_only"`
	Routed       bool               `json:"routed"` // to the outbox
	Capabilities tools.Capabilities `json:"capabilities"`
	InputSchema  json.RawMessage    `json:"input_schema"`
}

func (c *cli) toolsCmd() *cobra.Command {
	var asJSON, schema bool
	var f runFlags
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "The tools that a run would get, with their dangers and the sandbox",
		Long: `Lists the surface that a run with the same flags would get: what each tool may do,
which are routed to the outbox, what is withheld and why. It starts the MCP servers for
looking, calls nothing, needs no model and no Slack, and works beside a running bot.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, end, err := c.lookAt(cmd.Context(), f)
			if err != nil {
				return err
			}
			defer end()
			v, err := a.surfaceView(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(v)
			}
			return c.printSurface(v, schema)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&schema, "schema", false, "with each tool's description and input schema")
	addRunFlags(cmd, &f)
	return cmd
}

func (a *app) surfaceView(ctx context.Context) (surfaceView, error) {
	v := surfaceView{Tools: []toolView{}, Withheld: slices.Clone(a.withheld), Sandbox: sandboxView{Describe: "no sandbox works here: " + a.noShell}}
	if a.sandbox != nil {
		v.Sandbox = sandboxView{a.sandbox.Name(), a.sandbox.NetworkOff(), a.sandbox.Describe()}
	}
	reg, err := a.surface(threadsNone, nil)
	if err != nil {
		return v, err
	}
	for _, name := range a.unknown(a.all(ctx)) {
		v.Withheld = append(v.Withheld, tools.Withheld{Name: name, Why: "--tool asks for it, and there is no such tool now"})
	}
	for _, t := range reg.All() {
		server := ""
		if s, ok := t.(tools.Sourced); ok {
			server = s.Source()
		}
		v.Tools = append(v.Tools, toolView{t.Name(), t.Description(), server, t.ReadOnly(), a.outbox.Routed(t), t.Capabilities(), t.InputSchema()})
	}
	if a.servers != nil {
		for _, s := range a.servers.Status() {
			v.Unlabelled += len(s.Unlabelled)
			for _, q := range s.Quarantined {
				v.Withheld = append(v.Withheld, tools.Withheld{Name: q.Name, Why: q.Why})
			}
			if s.State != mcp.Ready && s.State != mcp.Disabled {
				v.Withheld = append(v.Withheld, tools.Withheld{Name: s.Name, Why: strings.TrimSpace(fmt.Sprintf("MCP server `%s` is %s; %s", s.Name, s.State, s.LastError))})
			}
		}
	}
	if v.Withheld == nil {
		v.Withheld = []tools.Withheld{}
	}
	slices.SortFunc(v.Withheld, func(a, b tools.Withheld) int { return strings.Compare(a.Name, b.Name) })
	return v, nil
}

func (c *cli) printSurface(v surfaceView, schema bool) error {
	fmt.Fprintf(c.Stdout, "sandbox   %s\n\n", oneLine(v.Sandbox.Describe))
	var rows [][]string
	for _, t := range v.Tools {
		if schema {
			c.printTool(t)
			continue
		}
		rows = append(rows, []string{t.Name, toolWords(t), firstOf(t.Server, "built in")})
	}
	if err := c.table(rows); err != nil {
		return err
	}
	if len(v.Withheld) > 0 {
		fmt.Fprintln(c.Stdout, "\nwithheld")
		for _, w := range v.Withheld {
			fmt.Fprintf(c.Stdout, "  %s: %s\n", w.Name, plain(w.Why, 600))
		}
	}
	if v.Unlabelled > 0 {
		fmt.Fprintf(c.Stdout, "\n⚠ %s: nobody says whether they reach the open world (label them under [[mcp]] capabilities)\n", plural(v.Unlabelled, "tool is unlabelled", "tools are unlabelled"))
	}
	return nil
}

// toolWords are a tool's dangers.
func toolWords(t toolView) string {
	var list []string
	for _, w := range []struct {
		set  bool
		word string
	}{
		{t.Routed, "✉ drafted"}, {t.ReadOnly, "read-only"}, {t.Capabilities.PrivateData, "private data"}, {t.Capabilities.UntrustedInput, "third-party text"},
		{t.Capabilities.Egress == tools.Blind, "sends to where configuration points"}, {t.Capabilities.Egress == tools.Chosen, "sends to where the model says"}, {t.Capabilities.Destructive, "destructive"},
	} {
		if w.set {
			list = append(list, w.word)
		}
	}
	return strings.Join(list, ", ")
}

func (c *cli) printTool(t toolView) {
	fmt.Fprintf(c.Stdout, "%s   %s   %s\n", t.Name, firstOf(t.Server, "built in"), toolWords(t))
	description, _ := visible(strings.TrimSpace(t.Description))
	for line := range strings.Lines(description) {
		fmt.Fprintf(c.Stdout, "  %s\n", strings.TrimRight(line, "\r\n"))
	}
	var b bytes.Buffer
	if json.Indent(&b, t.InputSchema, "  ", "  ") == nil {
		shown, _ := visible(b.String())
		fmt.Fprintf(c.Stdout, "  %s\n", shown)
	}
	fmt.Fprintln(c.Stdout)
}
