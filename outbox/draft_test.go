package outbox

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/tools"
)

// A script reads a field without asking whether it is there: everything that
// CONTRACT.md names is, in an empty draft as in a full one.
func TestEveryFieldIsAlwaysThere(t *testing.T) {
	d := Draft{
		Files: []File{{}}, Taint: tools.Taint{Marks: []tools.Mark{{}}}, Destinations: []tools.Destination{{}}, Approvals: []Approval{{}},
		Source: &Source{}, Attempts: []Attempt{{}}, Reconciliations: []Reconciliation{{}},
	}
	b, err := Pretty(d)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(b, &top); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ in, fields string }{
		{"", "id state tool kind args_before args revision digest workspace thread run call_id edited filled_defaults files taint destinations tainted red approvals not_before supersedes superseded_by last_error source attempts reconciliations created resolved resolved_by reason proposal"},
		{"files", "path bytes sha256"},
		{"taint", "private untrusted sources"},
		{"taint sources", "leg call_id tool what turn"},
		{"destinations", "value origin call_id tool suspect kind arg"},
		{"approvals", "by at digest"},
		{"source", "status text tool call_id arg"},
		{"attempts", "started ended outcome error answer"},
		{"reconciliations", "outcome evidence by at"},
	} {
		at := top
		for _, name := range strings.Fields(c.in) {
			var list []map[string]json.RawMessage
			if json.Unmarshal(at[name], &list) != nil {
				list = make([]map[string]json.RawMessage, 1)
				if err := json.Unmarshal(at[name], &list[0]); err != nil {
					t.Fatalf("%s: %v", c.in, err)
				}
			}
			at = list[0]
		}
		for _, f := range strings.Fields(c.fields) {
			if _, ok := at[f]; !ok {
				t.Errorf("%q has no %q", c.in, f)
			}
		}
	}
}
