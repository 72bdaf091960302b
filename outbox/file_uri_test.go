package outbox

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A file: URI names a file as a path does: what it holds is what was approved.
func TestAFileURIIsHashed(t *testing.T) {
	b := newBench(t, Config{})
	b.write("a.txt", "here")
	b.mail.hints.Files = []string{"attachments"}
	d := b.stage(fmt.Sprintf(`{"to":["dean@example.edu"],"body":"x","attachments":[%q]}`, "file://"+filepath.ToSlash(filepath.Join(b.work, "a.txt"))))
	d = b.approve(d)
	b.write("a.txt", "other")
	d = b.dispatch(d)
	if b.mail.count() != 0 || !strings.Contains(d.LastError, "has changed") {
		t.Fatalf("sent %d times: state %s, %q", b.mail.count(), d.State, d.LastError)
	}
}
