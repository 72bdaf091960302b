package outbox

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Config is the [outbox] table.
type Config struct {
	Tools        []string             `toml:"tools"`         // routed by exact name
	PublishTools []string             `toml:"publish_tools"` // of these, publications
	Capabilities []string             `toml:"capabilities"`  // routes MCP tools by declaration: chosen, destructive
	Exclude      []string             `toml:"exclude"`       // never routed by declaration
	StaleAfter   Duration             `toml:"stale_after"`   // marked as stale; default 48h
	ExpireAfter  Duration             `toml:"expire_after"`  // 0: never
	Dir          string               `toml:"dir"`           // where export writes by default
	Policies     []Policy             `toml:"policy"`
	Reconcile    map[string]Reconcile `toml:"reconcile"` // by tool
}

// Policy says who decides about a tool's drafts, and within which limits.
type Policy struct {
	Tool                string   `toml:"tool"`
	Approvers           []string `toml:"approvers"`     // users; empty: owners
	MinApprovals        int      `toml:"min_approvals"` // 1
	RequesterMayApprove *bool    `toml:"requester_may_approve"`
	Hold                Duration `toml:"hold"` // an approved draft waits that long, with Cancel
	PerRecipientDay     int      `toml:"per_recipient_day"`
	PerDay              int      `toml:"per_day"`
	Files               []string `toml:"files"`    // arguments that hold paths
	KeyArg              string   `toml:"key_arg"`  // argument that takes the idempotency key
	OnError             string   `toml:"on_error"` // failed (default), unknown
}

// Reconcile names a read-only tool that can look for a delivery. Args may hold
// {{key}}, {{message_id}} and {{args.NAME}}.
type Reconcile struct {
	Tool string            `toml:"tool"`
	Args map[string]string `toml:"args"`
}

// Duration reads "60s" from TOML.
type Duration time.Duration

func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("a duration is written like 60s, 10m or 48h, not %q", b)
	}
	if v < 0 {
		return fmt.Errorf("a duration cannot be negative (%q)", b)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// Validate refuses what cannot work, naming the key.
func (c Config) Validate() error {
	for _, w := range c.Capabilities {
		if w != "chosen" && w != "destructive" {
			return fmt.Errorf("[outbox] capabilities holds chosen or destructive, not %q", w)
		}
	}
	seen := map[string]bool{}
	for i, p := range c.Policies {
		switch {
		case p.Tool == "":
			return fmt.Errorf("[[outbox.policy]] number %d names no tool", i+1)
		case seen[p.Tool]:
			return fmt.Errorf("two [[outbox.policy]] tables name the tool %s", p.Tool)
		case p.MinApprovals < 0:
			return fmt.Errorf("[[outbox.policy]] %s: min_approvals cannot be negative", p.Tool)
		case len(p.Approvers) > 0 && p.MinApprovals > different(p.Approvers):
			return fmt.Errorf("[[outbox.policy]] %s: min_approvals is %d, but only %d may approve", p.Tool, p.MinApprovals, different(p.Approvers))
		case p.PerDay < 0 || p.PerRecipientDay < 0:
			return fmt.Errorf("[[outbox.policy]] %s: a limit cannot be negative", p.Tool)
		case p.OnError != "" && p.OnError != "failed" && p.OnError != "unknown":
			return fmt.Errorf("[[outbox.policy]] %s: on_error is failed or unknown, not %q", p.Tool, p.OnError)
		}
		seen[p.Tool] = true
	}
	for tool, r := range c.Reconcile {
		if r.Tool == "" {
			return fmt.Errorf("[outbox.reconcile.%s] names no tool to look with", tool)
		}
		for arg, v := range r.Args {
			for _, m := range placeholder.FindAllStringSubmatch(v, -1) {
				if what := m[1]; what != "key" && what != "message_id" && !strings.HasPrefix(what, "args.") {
					return fmt.Errorf("[outbox.reconcile.%s] %s: %s stands for nothing; there are {{key}}, {{message_id}} and {{args.NAME}}", tool, arg, m[0])
				}
			}
		}
	}
	return nil
}

func different(list []string) int { return len(slices.Compact(slices.Sorted(slices.Values(list)))) }

// policy of a tool; the zero policy where none is written.
func (c Config) policy(tool string) Policy {
	for _, p := range c.Policies {
		if p.Tool == tool {
			return p
		}
	}
	return Policy{Tool: tool}
}

// Needs is how many people have to say yes.
func (p Policy) Needs() int { return max(1, p.MinApprovals) }

// RequesterMay tells whether who asked for a draft, or edited it last, may
// approve it.
func (p Policy) RequesterMay() bool { return p.RequesterMayApprove == nil || *p.RequesterMayApprove }
