package safehttp

import (
	"strings"

	"golang.org/x/net/idna"
)

// domains is a policy's two lists in canonical spelling.
type domains struct{ allowed, blocked []string }

func newDomains(p Policy) domains {
	return domains{allowed: canonicalDomains(p.AllowedDomains), blocked: canonicalDomains(p.BlockedDomains)}
}

// canonicalDomains takes "example.com", ".example.com" and "*.example.com" alike: the domain and what is below it.
func canonicalDomains(in []string) []string {
	out := make([]string, 0, len(in))
	for _, d := range in {
		d = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(d), "*"), "."), ".")
		if a, err := idna.Lookup.ToASCII(d); err == nil {
			d = a
		}
		out = append(out, strings.ToLower(d)) // an empty one stays: a list that was written is a list
	}
	return out
}

func (d domains) judge(host string) (reason string) {
	if within(host, d.blocked) {
		return host + " is blocked by the configuration (blocked_domains)"
	}
	if len(d.allowed) > 0 && !within(host, d.allowed) {
		return host + " is not among the domains that the configuration allows (allowed_domains)"
	}
	return ""
}

func within(host string, list []string) bool {
	for _, d := range list {
		if d != "" && (host == d || strings.HasSuffix(host, "."+d)) {
			return true
		}
	}
	return false
}
