package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// manifest is the Slack app that this binary wants: scopes, events, commands.
//
//go:embed manifest.json
var manifest []byte

func (c *cli) manifestCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "manifest",
		Short: "The Slack app to paste into api.slack.com",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := c.Stdout.Write(manifest); err != nil {
				return err
			}
			if !asJSON {
				fmt.Fprintln(c.Stderr, `
Paste this at https://api.slack.com/apps → Create New App → From a manifest.
Then, in the app's settings:
  Basic Information → App-Level Tokens → one with the scope connections:write (xapp-…)
  Install App → Bot User OAuth Token (xoxb-…)
and run: mecha-slack auth, mecha-slack connect, mecha-slack link`)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, and nothing else")
	return cmd
}

// missingScopes are those of the manifest that an installed app lacks.
func missingScopes(have []string) []string {
	var m struct {
		OAuth struct {
			Scopes struct {
				Bot []string `json:"bot"`
			} `json:"scopes"`
		} `json:"oauth_config"`
	}
	if err := json.Unmarshal(manifest, &m); err != nil {
		panic("the embedded manifest does not parse: " + err.Error())
	}
	var missing []string
	for _, s := range m.OAuth.Scopes.Bot {
		if !slices.Contains(have, s) {
			missing = append(missing, s)
		}
	}
	return missing
}
