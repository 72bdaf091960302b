package tools

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config is the [tools] table.
type Config struct {
	Enabled           []string `toml:"enabled"`             // if any, only these built-ins
	Disabled          []string `toml:"disabled"`            // never these
	Workspace         string   `toml:"workspace"`           // holds every thread's directory; work in the home if empty
	PermissionMode    string   `toml:"permission_mode"`     // ask, allow, read-only; of a new thread where [slack] default_mode is silent
	ShellTimeoutSecs  int      `toml:"shell_timeout_secs"`  // 120 if 0
	OutputBudgetBytes int      `toml:"output_budget_bytes"` // from the model's window if 0
	UnannotatedMCP    string   `toml:"unannotated_mcp"`     // closed, open; closed if empty
}

// builtinNames are the tools that Builtins makes, sorted.
var builtinNames = [...]string{"fs_edit", "fs_list", "fs_read", "fs_write", "http_fetch", "shell", "show_file", "todo", "web_open", "web_search"}

// otherNames are tools of this product that other rooms make; a table may name
// them too.
var otherNames = [...]string{"ask_user", "compact", "goal_context", "image_generate", "message_send", "recall", "skill", "slack_read_thread", "trigger_propose"}

// Validate says what is wrong with the table, by key.
func (c Config) Validate() error {
	var errs []error
	for key, names := range map[string][]string{"enabled": c.Enabled, "disabled": c.Disabled} {
		for _, n := range names {
			if !slices.Contains(builtinNames[:], n) && !slices.Contains(otherNames[:], n) {
				errs = append(errs, fmt.Errorf("[tools] %s: there is no built-in tool %q; there are %s and %s", key, n,
					strings.Join(builtinNames[:], ", "), strings.Join(otherNames[:], ", ")))
			}
		}
	}
	if c.Workspace != "" && !filepath.IsAbs(c.Workspace) {
		errs = append(errs, fmt.Errorf("[tools] workspace = %q: write an absolute path", c.Workspace))
	}
	if !slices.Contains([]string{"", "ask", "allow", "read-only"}, c.PermissionMode) {
		errs = append(errs, fmt.Errorf("[tools] permission_mode is ask, allow or read-only, not %q", c.PermissionMode))
	}
	if !slices.Contains([]string{"", "closed", "open"}, c.UnannotatedMCP) {
		errs = append(errs, fmt.Errorf("[tools] unannotated_mcp is closed or open, not %q", c.UnannotatedMCP))
	}
	if c.ShellTimeoutSecs < 0 || c.ShellTimeoutSecs > 24*3600 {
		errs = append(errs, fmt.Errorf("[tools] shell_timeout_secs is between 1 and 86400, not %d", c.ShellTimeoutSecs))
	}
	if c.OutputBudgetBytes != 0 && c.OutputBudgetBytes < minCallShare {
		errs = append(errs, fmt.Errorf("[tools] output_budget_bytes is at least %d, not %d", minCallShare, c.OutputBudgetBytes))
	}
	return errors.Join(errs...)
}

// ShellTimeout is the time of one command.
func (c Config) ShellTimeout() time.Duration {
	if c.ShellTimeoutSecs == 0 {
		return ShellTimeout
	}
	return time.Duration(c.ShellTimeoutSecs) * time.Second
}

// Offers tells whether the table leaves a built-in in.
func (c Config) Offers(name string) bool {
	return (len(c.Enabled) == 0 || slices.Contains(c.Enabled, name)) && !slices.Contains(c.Disabled, name)
}

// SearchConfig is one [[search]] table; they are asked in the order written.
type SearchConfig struct {
	Kind       string `toml:"kind"` // searxng, brave, exa, tavily
	APIKeyEnv  string `toml:"api_key_env"`
	APIKey     string `toml:"api_key"`
	BaseURL    string `toml:"base_url"` // of searxng; of others only for a gateway of one's own
	PreferDeep bool   `toml:"prefer_deep"`
	Disabled   bool   `toml:"disabled"`
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Validate says what is wrong with the table, by key. It does not look at the
// environment.
func (c SearchConfig) Validate() error {
	switch c.Kind {
	case "searxng":
		if c.BaseURL == "" {
			return errors.New(`[[search]] kind = "searxng" needs base_url, the address of your instance`)
		}
	case "brave", "exa", "tavily":
		if c.APIKey == "" && c.APIKeyEnv == "" {
			return fmt.Errorf("[[search]] kind = %q needs api_key_env, the name of the variable that holds its key", c.Kind)
		}
	default:
		return fmt.Errorf("[[search]] kind is searxng, brave, exa or tavily, not %q", c.Kind)
	}
	if c.APIKeyEnv != "" && !envName.MatchString(c.APIKeyEnv) {
		return errors.New("[[search]] api_key_env is the name of a variable, not the key itself") // so it is not repeated here
	}
	if c.BaseURL != "" {
		if u, err := url.Parse(c.BaseURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return fmt.Errorf("[[search]] base_url is an http or https address, not %q", c.BaseURL)
		}
	}
	return nil
}
