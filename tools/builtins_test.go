package tools

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

func TestBuiltins(t *testing.T) {
	basic := []string{"fs_edit", "fs_list", "fs_read", "fs_write", "http_fetch", "show_file", "todo"}
	getenv := func(name string) string { return map[string]string{"EXA": "k"}[name] }
	tests := []struct {
		name     string
		deps     Deps
		want     []string
		withheld map[string]string
	}{
		{"alone", Deps{Withheld: "bwrap is not installed"}, basic, map[string]string{"shell": "bwrap is not installed", "web_search": "no [[search]] is configured", "web_open": "no [[search]] is configured"}},
		{"with everything", Deps{Sandbox: unconfined(t), Search: []SearchConfig{{Kind: "exa", APIKeyEnv: "EXA"}}, Getenv: getenv, Handles: &handleMap{}},
			append(slices.Clone(basic), "shell", "web_open", "web_search"), map[string]string{}},
		{"a key is missing", Deps{Sandbox: unconfined(t), Search: []SearchConfig{{Kind: "brave", APIKeyEnv: "BRAVE"}}, Getenv: getenv, Handles: &handleMap{}},
			append(slices.Clone(basic), "shell"), map[string]string{"web_search": "BRAVE is not set, so brave is left out", "web_open": "BRAVE is not set, so brave is left out"}},
		{"one is disabled", Deps{Sandbox: unconfined(t), Search: []SearchConfig{{Kind: "exa", Disabled: true}}, Config: Config{Disabled: []string{"shell", "todo"}}},
			[]string{"fs_edit", "fs_list", "fs_read", "fs_write", "http_fetch", "show_file"}, map[string]string{"shell": "[tools] leaves it out", "todo": "[tools] leaves it out", "web_search": "no [[search]] is configured", "web_open": "no [[search]] is configured"}},
		{"narrowed", Deps{Sandbox: unconfined(t), Config: Config{Enabled: []string{"fs_read"}}}, []string{"fs_read"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list, withheld, err := Builtins(tt.deps)
			if err != nil {
				t.Fatal(err)
			}
			r, err := NewRegistry(list...)
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(tt.want)
			if d := cmp.Diff(tt.want, r.Names()); d != "" {
				t.Error(d)
			}
			if tt.withheld == nil {
				return
			}
			got := map[string]string{}
			for _, w := range withheld {
				got[w.Name] = w.Why
			}
			if d := cmp.Diff(tt.withheld, got); d != "" {
				t.Error(d)
			}
		})
	}
	for _, d := range []Deps{
		{Config: Config{Enabled: []string{"fs_reed"}}}, {Security: Security{Trifecta: "maybe"}}, {Search: []SearchConfig{{Kind: "bing"}}},
	} {
		if _, _, err := Builtins(d); err == nil {
			t.Errorf("%+v was taken", d)
		}
	}
}

// The seed's table of what each built-in declares, and what a model is told.
func TestDeclarations(t *testing.T) {
	list, _, err := Builtins(Deps{Sandbox: unconfined(t), Search: []SearchConfig{{Kind: "exa", APIKey: "k"}}, Handles: &handleMap{}})
	if err != nil {
		t.Fatal(err)
	}
	type declared struct {
		readOnly   bool
		caps       Capabilities
		repeatable bool
	}
	want := map[string]declared{
		"fs_read":    {true, Capabilities{PrivateData: true}, true},
		"fs_list":    {true, Capabilities{PrivateData: true}, true},
		"fs_write":   {false, Capabilities{Destructive: true}, false},
		"fs_edit":    {false, Capabilities{Destructive: true}, false},
		"shell":      {false, Capabilities{PrivateData: true, Destructive: true, Egress: Chosen}, false},
		"http_fetch": {true, Capabilities{UntrustedInput: true, Egress: Chosen}, false},
		"web_search": {true, Capabilities{UntrustedInput: true, Egress: Blind}, false},
		"web_open":   {true, Capabilities{UntrustedInput: true, Egress: Blind}, false},
		"todo":       {true, Capabilities{}, true},
		"show_file":  {true, Capabilities{PrivateData: true}, false},
	}
	got := map[string]declared{}
	for _, tool := range list {
		r, ok := tool.(Repeatable)
		got[tool.Name()] = declared{tool.ReadOnly(), tool.Capabilities(), ok && r.Repeatable()}
		if c := Compile(tool.InputSchema()); c.Unchecked() != nil {
			t.Errorf("%s: %v", tool.Name(), c.Unchecked())
		}
		if !slices.Contains(builtinNames[:], tool.Name()) {
			t.Errorf("[tools] does not know %s", tool.Name())
		}
		if d := tool.Description(); len(d) < 40 || strings.TrimSpace(d) != d {
			t.Errorf("%s is described as %q", tool.Name(), d)
		}
		if again := tool.InputSchema(); string(again) != string(tool.InputSchema()) || !json.Valid(again) {
			t.Errorf("%s: its schema is not the same twice", tool.Name())
		}
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(declared{})); d != "" {
		t.Error(d)
	}
	if len(got) != len(builtinNames) {
		t.Errorf("%d tools, %d names", len(got), len(builtinNames))
	}
}

func TestConfig(t *testing.T) {
	var c struct {
		Tools  Config
		Search []SearchConfig
	}
	md, err := toml.Decode(`
[tools]
enabled = ["fs_read"]
disabled = []
workspace = "/x"
permission_mode = "read-only"
shell_timeout_secs = 5
output_budget_bytes = 9000
unannotated_mcp = "open"
[[search]]
kind = "exa"
api_key_env = "EXA_KEY"
api_key = ""
base_url = ""
prefer_deep = true
disabled = false
`, &c)
	if err != nil || len(md.Undecoded()) > 0 {
		t.Fatal(err, md.Undecoded())
	}
	if err := c.Tools.Validate(); err != nil {
		t.Error(err)
	}
	if err := c.Search[0].Validate(); err != nil {
		t.Error(err)
	}
	if c.Tools.ShellTimeout().Seconds() != 5 || (Config{}).ShellTimeout() != ShellTimeout {
		t.Error("shell_timeout_secs is not used")
	}
	if reflect.DeepEqual(c.Tools, Config{}) {
		t.Error("nothing was decoded")
	}
	for says, bad := range map[string]Config{
		"enabled": {Enabled: []string{"x"}}, "disabled": {Disabled: []string{"x"}}, "permission_mode": {PermissionMode: "yolo"}, "workspace": {Workspace: "work"},
		"unannotated_mcp": {UnannotatedMCP: "x"}, "shell_timeout_secs": {ShellTimeoutSecs: -1}, "output_budget_bytes": {OutputBudgetBytes: 5},
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	for says, bad := range map[string]SearchConfig{
		"kind": {Kind: "bing"}, "base_url": {Kind: "searxng"}, "api_key_env": {Kind: "exa"},
		"not the key itself": {Kind: "exa", APIKeyEnv: "sk-123-abc"}, "http or https": {Kind: "searxng", BaseURL: "ftp://x"},
	} {
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "sk-123") {
			t.Errorf("%s: %v", says, err)
		}
	}
}
