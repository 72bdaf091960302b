package bot

import (
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// A tool's complaint stands on the card without a loaded secret in it.
func TestADraftCardTellsNoSecret(t *testing.T) {
	b := newBench(t)
	hide := func(s string) string { return strings.ReplaceAll(s, "xoxb-1", "[secret]") }
	b.desk.outbox = outbox.New(b.db, outbox.Config{}, outbox.Deps{Surface: mailSurface{}, Log: b.log, Redact: hide})
	id := b.stage(`{"to":["dean@example.edu"],"subject":"s","body":"b"}`, nil)
	err := b.db.Write(t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(`UPDATE drafts SET last_error = 'login failed for xoxb-1' WHERE id = ?`, id)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if body := string(b.show(threads.PostDraft, id).Body); strings.Contains(body, "xoxb-1") || !strings.Contains(body, "login failed for [secret]") {
		t.Errorf("%s", body)
	}
}
