package main

import (
	"strings"
	"testing"
)

// The digest and new triggers take one zone, the owner's: as Slack tells it (UTC
// here), and the configured one only where it does not. [digest] timezone is its
// own.
func TestOneZoneForAllThatTheClockBegins(t *testing.T) {
	const berlin = "timezone = \"Europe/Berlin\"\n"
	for _, tc := range []struct{ name, config, digest, trigger string }{
		{"Slack tells it", "[agent]\n" + berlin, "zone UTC", "zone UTC"},
		{"the digest's own", "[digest]\n" + berlin, "zone Europe/Berlin", "zone UTC"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := newHome(t, "[sandbox]\nkind = \"none\"\n"+tc.config)
			defer h.local()()
			if out := h.must("trigger", "show", "digest"); !strings.Contains(out, tc.digest) {
				t.Error(out)
			}
			if out := h.must("trigger", "add", "x", "--schedule", "@daily", "--prompt", "hello"); !strings.Contains(out, tc.trigger) {
				t.Error(out)
			}
		})
	}
	h := newHome(t, "[agent]\n"+berlin) // whose owner's zone Slack has not told
	if out := h.must("trigger", "add", "x", "--schedule", "@daily", "--prompt", "hello"); !strings.Contains(out, "zone Europe/Berlin") {
		t.Error(out)
	}
}
