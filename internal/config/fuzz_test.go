package config

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzParse: a configuration is accepted or refused with words; what was accepted
// can be shown.
func FuzzParse(f *testing.F) {
	if b, err := os.ReadFile(filepath.Join("..", "..", "config.example.toml")); err == nil {
		f.Add(string(b))
	}
	f.Add("default_provider = \"a\"\n[providers.a]\nkind = \"openai\"\nbase_url = \"http://127.0.0.1:1/v1\"\nmodel = \"m\"\n")
	f.Add("[outbox]\ntools = [\"x__y\"]\nstale_after = \"48h\"\n[[outbox.policy]]\ntool = \"x__y\"\nmin_approvals = 2\n")
	f.Add("[[mcp]]\nname = \"a\"\ncommand = \"b\"\nenv = { A = \"b\" }\n[mcp.tools.t]\nuntrusted_input = true\n")
	f.Add("[[rule]]\ntool = \"shell\"\npattern = [\"git\", [\"status\"]]\ndecision = \"allow\"\n")
	f.Add("[slack]\ntrusted_channels = [\"#general\"]\n[slack.approvers]\nU1 = [\"*\"]\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("config.toml", text)
		if err != nil {
			if err.Error() == "" {
				t.Error("refused without a word")
			}
			return
		}
		if _, err := c.Show(); err != nil {
			t.Errorf("accepted, and cannot be shown: %v", err)
		}
	})
}
