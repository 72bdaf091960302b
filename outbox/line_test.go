package outbox

import (
	"strings"
	"testing"
	"time"
)

// What is drafted stands in one column, however long the tools' names are.
func TestLinesAreAligned(t *testing.T) {
	now := time.Date(2026, 12, 1, 9, 0, 0, 0, time.UTC)
	p := Page{Now: now, Visible: func(s string) (string, int) { return s, 0 }, ToolWidth: len("mail__mail_reply")}
	at := -1
	for _, tool := range []string{"mail__mail_reply", "mail__mail_send"} {
		line := p.Line(Draft{ID: "20261201-00000001", State: Pending, Tool: tool, Summary: "SUMMARY", Created: now})
		i := strings.Index(line, "SUMMARY")
		if i < 0 || at >= 0 && i != at {
			t.Errorf("%q: the summary is at %d, in the line before at %d", line, i, at)
		}
		at = i
	}
}
