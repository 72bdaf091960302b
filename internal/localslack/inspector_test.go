package localslack

import (
	"fmt"
	"testing"
)

// TestInspectorRing fills the log past each of its bounds and wants the newest entries, in order, from any number on.
func TestInspectorRing(t *testing.T) {
	for _, tt := range []struct {
		name       string
		body, adds int
		kept       int
	}{
		{"few", 10, 100, 100},
		{"by number", 10, maxEntries*2 + 17, maxEntries},
		{"by bytes", maxEntryBody, 3 * maxEntryBytes / maxEntryBody, maxEntryBytes / maxEntryBody},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := newInspector()
			for n := range tt.adds {
				e := entry{Kind: "call", Method: fmt.Sprint(n), response: make([]byte, tt.body)}
				i.add(e)
			}
			all, cursor := i.since(0, tt.adds)
			if len(all) != tt.kept || cursor != uint64(tt.adds) {
				t.Fatalf("%d entries up to %d, want %d up to %d", len(all), cursor, tt.kept, tt.adds)
			}
			for k, e := range all {
				if want := tt.adds - tt.kept + k; e.Method != fmt.Sprint(want) || e.Seq != uint64(want+1) {
					t.Fatalf("entry %d is %s (%d), want %d", k, e.Method, e.Seq, want)
				}
			}
			if last, cursor := i.since(uint64(tt.adds-3), 2); len(last) != 2 || cursor != uint64(tt.adds-1) || last[0].Seq != uint64(tt.adds-2) {
				t.Errorf("the two after the fourth last are %v up to %d", last, cursor)
			}
			if none, cursor := i.since(uint64(tt.adds+5), 10); len(none) != 0 || cursor != uint64(tt.adds+5) {
				t.Errorf("after the end there is %v up to %d", none, cursor)
			}
		})
	}
}

// TestLogLast asks for the newest entries alone, as a page does that opens late.
func TestLogLast(t *testing.T) {
	t.Parallel()
	b := start(t, Config{RateScale: -1})
	for range 20 {
		b.api("", "api.test", nil)
	}
	all := b.local("log", nil)["entries"].([]any)
	out := b.local("log?last=3", nil)
	got := out["entries"].([]any)
	if len(all) != 20 || len(got) != 3 || got[0].(map[string]any)["seq"] != 18.0 || out["cursor"] != 20.0 {
		t.Errorf("of %d entries the last 3 are %v, up to %v", len(all), got, out["cursor"])
	}
	if got := b.local("log?last=3&since=19", nil)["entries"].([]any); len(got) != 1 {
		t.Errorf("after the 19th there are %d", len(got))
	}
}
