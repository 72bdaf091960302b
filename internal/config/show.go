package config

import (
	"strings"

	"github.com/BurntSushi/toml"
)

// Show is the configuration as it is in force, defaults filled in and secrets
// hidden.
func (c Config) Show() (string, error) {
	for name, p := range c.Providers {
		if p.APIKey != "" {
			p.APIKey = "[secret]"
		}
		c.Providers[name] = p
	}
	for i := range c.Search {
		if c.Search[i].APIKey != "" {
			c.Search[i].APIKey = "[secret]"
		}
	}
	var b strings.Builder
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		return "", err
	}
	return b.String(), nil
}
