package mcp

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/tools"
)

// The scopes of Config.Scope.
const (
	ScopeThread = "thread" // a process for each thread, standing in its workspace
	ScopeShared = "shared" // one process for all, in a directory of its own
)

// Config is one [[mcp]] table.
type Config struct {
	Name           string            `toml:"name"`
	Command        string            `toml:"command"` // a bare name is looked up in PATH
	Args           []string          `toml:"args"`
	Env            map[string]string `toml:"env"`             // set literally; wins over everything
	EnvPassthrough []string          `toml:"env_passthrough"` // names copied from our own environment
	PrefixTools    *bool             `toml:"prefix_tools"`    // true if absent: NAME__tool
	Scope          string            `toml:"scope"`           // thread if absent; a server with a url is always shared
	Sandbox        bool              `toml:"sandbox"`         // confine the process, or refuse to start
	Network        *bool             `toml:"network"`         // of the sandbox; absent: as [sandbox] says
	Disabled       bool              `toml:"disabled"`
	URL            string            `toml:"url"`         // streamable HTTP instead of a command
	HeadersEnv     map[string]string `toml:"headers_env"` // header = name of the variable that holds its value
	Capabilities   Widening          `toml:"capabilities"`
	// Tools widens single tools further, by the name that the server gives them.
	Tools map[string]Widening `toml:"tools"`
}

// Widening forces capabilities on. A false forces nothing off: the configuration can distrust a server further, never
// less.
type Widening struct {
	PrivateData    bool `toml:"private_data"`
	UntrustedInput bool `toml:"untrusted_input"`
	ExternalSend   bool `toml:"external_send"`
	Destructive    bool `toml:"destructive"`
}

// Capabilities of a widening. A send is always Chosen: the server writes the schema, so nothing here can prove that no
// argument names a destination.
func (w Widening) Capabilities() tools.Capabilities {
	c := tools.Capabilities{PrivateData: w.PrivateData, UntrustedInput: w.UntrustedInput, Destructive: w.Destructive}
	if w.ExternalSend {
		c.Egress = tools.Chosen
	}
	return c
}

// labels reports whether the widening says anything about the outside world.
func (w Widening) labels() bool { return w.UntrustedInput || w.ExternalSend }

// Prefixed reports whether the tools are offered as NAME__tool.
func (c Config) Prefixed() bool { return c.PrefixTools == nil || *c.PrefixTools }

// Shared reports whether one process serves every thread.
func (c Config) Shared() bool { return c.Scope == ScopeShared || c.URL != "" }

var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// Validate says what is wrong with the table, by key, without trying anything.
func (c Config) Validate() error {
	var errs []error
	bad := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("MCP server `%s`: "+format, append([]any{c.Name}, args...)...))
	}
	// The two underscores divide a server from its tool, so a name that holds or ends in them could be read two ways.
	if !serverName.MatchString(c.Name) || strings.Contains(c.Name, "__") || strings.HasSuffix(c.Name, "_") {
		bad("name must be 1 to 32 of A-Z a-z 0-9 _ -, start with a letter or digit, hold no `__` and not end in `_`")
	}
	switch {
	case c.Command == "" && c.URL == "":
		bad("needs a command, or a url")
	case c.Command != "" && c.URL != "":
		bad("has a command and a url; it can have only one of them")
	}
	if !slices.Contains([]string{"", ScopeThread, ScopeShared}, c.Scope) {
		bad("scope is thread or shared, not %q", c.Scope)
	}
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") {
			bad("url must be http or https, with a host and without a user or password (use headers_env)")
		}
		for key, set := range map[string]bool{
			"sandbox": c.Sandbox, "network": c.Network != nil, "args": len(c.Args) > 0, "env": len(c.Env) > 0,
			"env_passthrough": len(c.EnvPassthrough) > 0, `scope = "thread"`: c.Scope == ScopeThread,
		} {
			if set {
				bad("%s has no meaning for a server with a url", key)
			}
		}
	} else if len(c.HeadersEnv) > 0 {
		bad("headers_env needs a url")
	}
	for _, name := range slices.Concat(c.EnvPassthrough, slices.Sorted(maps.Keys(c.Env))) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			bad("env: %q is no name of a variable", name)
		}
	}
	return errors.Join(errs...)
}

// validate judges all tables together. Disabled ones must be well-formed too: what is switched on again tomorrow should
// not fail then.
func validate(configs []Config) error {
	var errs []error
	seen := map[string]bool{}
	for _, c := range configs {
		errs = append(errs, c.Validate())
		if seen[c.Name] {
			errs = append(errs, fmt.Errorf("two MCP servers are named `%s`; rename one", c.Name))
		}
		seen[c.Name] = true
	}
	return errors.Join(errs...)
}
