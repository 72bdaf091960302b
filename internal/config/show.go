package config

import (
	"cmp"
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
	yes := true
	c.Approval.StrictInlineEval = cmp.Or(c.Approval.StrictInlineEval, &yes)
	c.Security.BlockPrivateIPs = cmp.Or(c.Security.BlockPrivateIPs, &yes)
	c.Security.MarkUntrustedOutput = cmp.Or(c.Security.MarkUntrustedOutput, &yes)
	c.Slack.DefaultMode = cmp.Or(c.Slack.DefaultMode, c.Tools.PermissionMode)
	c.Slack.MaxTurns = cmp.Or(c.Slack.MaxTurns, c.Agent.MaxTurns)
	c.Slack.MaxCostUSD = cmp.Or(c.Slack.MaxCostUSD, c.Agent.MaxCostUSD)
	c.Outbox.Policies = slices.Clone(c.Outbox.Policies)
	for i := range c.Outbox.Policies {
		p := &c.Outbox.Policies[i]
		p.RequesterMayApprove = cmp.Or(p.RequesterMayApprove, &yes)
		p.MinApprovals = cmp.Or(p.MinApprovals, 1)
	}
	c.MCP = slices.Clone(c.MCP)
	for i := range c.MCP {
		m := &c.MCP[i]
		m.PrefixTools = cmp.Or(m.PrefixTools, &yes)
		m.Network = cmp.Or(m.Network, &c.Sandbox.Network)
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

// Tree is what Show wrote as plain values, tables as maps, for JSON.
func Tree(shown string) (tree map[string]any, err error) {
	_, err = toml.Decode(shown, &tree)
	return tree, err
}

func hide(s *string) {
	if *s != "" {
		*s = hidden
	}
}
