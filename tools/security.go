package tools

import (
	"errors"
	"fmt"
)

// Trifecta is the policy for a chosen send once both legs are set.
type Trifecta string

const (
	TrifectaBlock Trifecta = "block" // refused; the default
	TrifectaAsk   Trifecta = "ask"   // a person must see this very call
	TrifectaAllow Trifecta = "allow" // waived
)

// Security is the [security] table. Its zero value is the safe default.
type Security struct {
	Trifecta               Trifecta `toml:"trifecta"`
	BlockSendsAfterPrivate bool     `toml:"block_sends_after_private"`
	// BlockPrivateIPs is true unless written false (closed networks only).
	BlockPrivateIPs     *bool    `toml:"block_private_ips"`
	AllowedDomains      []string `toml:"allowed_domains"`
	BlockedDomains      []string `toml:"blocked_domains"`
	MarkUntrustedOutput *bool    `toml:"mark_untrusted_output"`
}

// Validate refuses an unknown policy.
func (s Security) Validate() error {
	switch s.Trifecta {
	case "", TrifectaBlock, TrifectaAsk, TrifectaAllow:
	default:
		return fmt.Errorf("[security] trifecta is block, ask or allow, not %q", s.Trifecta)
	}
	for _, d := range append(append([]string(nil), s.AllowedDomains...), s.BlockedDomains...) {
		if d == "" {
			return errors.New("[security] a domain is empty")
		}
	}
	return nil
}

// Marks tells whether external results are wrapped with their source.
func (s Security) Marks() bool { return s.MarkUntrustedOutput == nil || *s.MarkUntrustedOutput }

// PrivateIPsBlocked tells whether the network tools refuse addresses that are
// not public.
func (s Security) PrivateIPsBlocked() bool { return s.BlockPrivateIPs == nil || *s.BlockPrivateIPs }
