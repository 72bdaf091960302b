package config

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnknownKeys(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"typo", "[outbox]\ntols = [\"x\"]\n", []string{"line 2", `"outbox.tols"`, `did you mean "tools"`}},
		{"in an array of tables", "[[mcp]]\nname = \"a\"\ncommand = \"b\"\nsandbx = true\n", []string{"line 4", "sandbx", `"sandbox"`}},
		{"in a map", "[providers.mine]\nkind = \"openai\"\nbase_ulr = \"x\"\n", []string{"line 3", `"base_url"`}},
		{"under the wrong table", "[slack]\nwhen_empty = \"say\"\n", []string{"line 2", "belongs to [digest]"}},
		{"a whole table", "[nothing]\nx = 1\n", []string{"nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("config.toml", c.text)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
		})
	}
}

func TestBadValuesNameTheirKey(t *testing.T) {
	for text, want := range map[string]string{
		"[security]\ntrifecta = \"maybe\"\n":    "trifecta",
		"[outbox]\nstale_after = \"soon\"\n":    "line 2",
		"[digest]\nschedule = \"61 * * * *\"\n": "schedule",
		"[digest]\nwhen_empty = \"shout\"\n":    "when_empty",
		"default_provider = \"x\"\n":            "default_provider",
		"[slack]\nmax_concurrent = \"three\"\n": "max_concurrent",
		"[slack\n":                              "table name",
		// The decoder passes over these in silence.
		"providers = 3\n": "line 1: providers is a table",
		"[[mcp]]\nname = \"a\"\ncommand = \"b\"\nenv = [\"A=b\"]\n":             "line 4: mcp.env is a table",
		"[[mcp]]\nname = \"a\"\nurl = \"https://a.example\"\nheaders_env = 1\n": "mcp.headers_env is a table",
		"[slack]\napprovers = \"U1\"\n":                                         "approvers is a table",
		"[slack]\napprovers = [1]\n":                                            "1 is no string",
		"[slack.approvers]\nU1 = \"mail__mail_send\"\n":                         "U1 is a list of tools",
	} {
		_, err := Parse("config.toml", text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want an error that names %s", text, err, want)
		}
	}
}

// Approvers are a table of tools, or plainly who decides everything.
func TestApproversAreATableOrAList(t *testing.T) {
	for text, want := range map[string]Approvers{
		"[slack]\napprovers = [\"U1\", \"U2\"]\n":                        {"U1": {"*"}, "U2": {"*"}},
		"[slack]\napprovers = { U1 = [\"mail__mail_send\"] }\n":          {"U1": {"mail__mail_send"}},
		"[slack.approvers]\nU1 = [\"*\"]\nU2 = [\"a\", \"b\"]\n":         {"U1": {"*"}, "U2": {"a", "b"}},
		"[slack]\nmax_concurrent = 2\n[slack.approvers]\nU1 = [\"a\"]\n": {"U1": {"a"}},
	} {
		c, err := Parse("config.toml", text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, c.Slack.Approvers); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}

func TestAMissingFileIsTheDefaults(t *testing.T) {
	c, err := Load(filepath.Join(t.TempDir(), "config.toml"))
	if err != nil {
		t.Fatal(err)
	}
	if c.Slack.MaxConcurrent != 3 || c.Digest.Schedule != "0 8 * * *" || c.Sandbox.Kind != "auto" {
		t.Errorf("defaults are %+v", c)
	}
	shown, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse("shown", shown); err != nil {
		t.Errorf("what config show prints is not accepted again: %v\n%s", err, shown)
	}
}

func TestShowHidesSecrets(t *testing.T) {
	const text = `[providers.x]
base_url = "http://me:basic-verysecret@127.0.0.1:1/v1"
model = "m"
api_key = "sk-verysecret"
[[search]]
kind = "searxng"
base_url = "http://127.0.0.1:2"
api_key = "search-verysecret"
[[mcp]]
name = "files"
command = "true"
env = { TOKEN = "mcp-verysecret" }
`
	c, err := Parse("config.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Show()
	if err != nil || strings.Contains(shown, "verysecret") || !strings.Contains(shown, "TOKEN") {
		t.Errorf("%v\n%s", err, shown)
	}
	// What is shown is a copy: the bot goes on with the keys.
	was, err := Parse("config.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(was, c, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("showing it changed it:\n%s", diff)
	}
}

// What is left out is shown as what it means, and what is written as written.
func TestShowFillsDefaultsIn(t *testing.T) {
	const text = `[slack]
max_turns = 7
[security]
mark_untrusted_output = false
[[mcp]]
name = "files"
command = "true"
[[outbox.policy]]
tool = "a"
requester_may_approve = false
`
	c, err := Parse("config.toml", text)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"strict_inline_eval = true", "block_private_ips = true", "mark_untrusted_output = false", `default_mode = "ask"`, "max_turns = 40", "max_turns = 7", "prefix_tools = true", "requester_may_approve = false", "min_approvals = 1"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if _, err := Parse("config.toml", shown); err != nil {
		t.Errorf("what is shown is no configuration: %v", err)
	}
	if c.Approval.StrictInlineEval != nil || c.MCP[0].PrefixTools != nil {
		t.Error("showing it changed it")
	}
}
