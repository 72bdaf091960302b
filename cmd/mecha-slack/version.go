package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the module's version, or (devel).
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// commit is what the binary was built from, with +dirty where files had changed;
// empty where the build did not look.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	rev, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if rev == "" {
		return ""
	}
	return rev + dirty
}

func (c *cli) versionCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Version, commit and Go",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := struct {
				Version string `json:"version"`
				Commit  string `json:"commit"`
				Go      string `json:"go"`
			}{Version: version(), Commit: commit()}
			if info, ok := debug.ReadBuildInfo(); ok {
				v.Go = info.GoVersion
			}
			if asJSON {
				return c.printJSON(v)
			}
			if v.Commit == "" {
				v.Commit = "(unknown)"
			}
			fmt.Fprintf(c.Stdout, "mecha-slack %s\ncommit      %s\ngo          %s\n", v.Version, v.Commit, v.Go)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
