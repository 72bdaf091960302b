package config

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// hidden stands for a value that is there and not shown.
const hidden = "[secret]"

// Show is the configuration as it is in force, defaults filled in and secrets
// hidden: keys, a password in an address, and whatever a server is handed in its
// environment, since nobody can tell a token from a path there. c stays as it is.
func (c Config) Show() (string, error) {
	c.Providers = maps.Clone(c.Providers)
	for name, p := range c.Providers {
		hide(&p.APIKey)
		if u, err := url.Parse(p.BaseURL); err == nil && u.User != nil {
			p.BaseURL = u.Redacted()
		}
		c.Providers[name] = p
	}
	c.Search = slices.Clone(c.Search)
	for i := range c.Search {
		hide(&c.Search[i].APIKey)
	}
	c.MCP = slices.Clone(c.MCP)
	for i := range c.MCP {
		m := &c.MCP[i]
		m.Env = maps.Clone(m.Env)
		for name := range m.Env {
			m.Env[name] = hidden
		}
	}
	var b strings.Builder
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		return "", err
	}
	return b.String(), nil
}

func hide(s *string) {
	if *s != "" {
		*s = hidden
	}
}
