package outbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBundles(t *testing.T) {
	tests := []struct {
		name, args, dir, index string
		gone                   bool
	}{
		{"a directory", `{"bundle":"site"}`, "site", "site/index.html", false},
		{"its page", `{"page":"site/index.html"}`, "site", "site/index.html", false},
		{"the workspace itself", `{"dir":"."}`, "", "", false},
		{"absolute", `{"bundle":"WORK/site"}`, "site", "site/index.html", false},
		{"none", `{"bundle":"other"}`, "", "", true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
			b.write("site/index.html", "<p>hello")
			b.write("site/a.css", "")
			b.mail.schema = `{"type":"object"}`
			d := b.stage(strings.ReplaceAll(tc.args, "WORK", b.work))
			got, ok := BundleOf(d)
			index := ""
			if tc.index != "" {
				index = filepath.Join(b.work, tc.index)
			}
			if !ok || got.Dir != filepath.Join(b.work, tc.dir) || got.Index != index || (got.Gone != "") != tc.gone {
				t.Errorf("%+v", got)
			}
		})
	}
	if _, ok := BundleOf(Draft{Kind: Message}); ok {
		t.Error("a message has a bundle")
	}
}

// What was read is what is published: every file of the bundle is in the digest.
func TestAPublicationIsItsWholeBundle(t *testing.T) {
	b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
	b.mail.schema = `{"type":"object"}`
	b.write("site/index.html", "<p>hello")
	b.write("site/img/a.svg", "<svg/>")
	d := b.stage(`{"bundle":"site"}`)
	if len(d.Files) != 2 {
		t.Fatalf("files %+v", d.Files)
	}
	b.write("site/img/evil.js", "x")
	d = b.dispatch(b.approve(d))
	want(t, d, Pending)
	if b.mail.count() != 0 || !strings.Contains(d.LastError, "site/img/evil.js has come to exist") || len(d.Files) != 3 {
		t.Fatalf("%d published: %s", b.mail.count(), d.LastError)
	}
	if err := os.RemoveAll(filepath.Join(b.work, "site")); err != nil {
		t.Fatal(err)
	}
	if got, _ := BundleOf(d); got.Gone == "" || got.Dir != filepath.Join(b.work, "site") {
		t.Errorf("%+v", got)
	}
	if d = b.dispatch(b.approve(d)); d.State != Pending || b.mail.count() != 0 {
		t.Fatalf("%+v", d)
	}
}

func TestExport(t *testing.T) {
	b := newBench(t, Config{})
	dir := filepath.Join(t.TempDir(), "out")
	d := b.stage(`{"body":"<b> & \u00e9"}`)
	b.stage(`{"body":"two"}`)
	for range 2 {
		if n, err := b.Export(t.Context(), dir); n != 2 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, d.ID+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"body": "<b> & \u00e9"`) || got["source"].(map[string]any)["status"] != "pruned" || raw[len(raw)-1] != '\n' {
		t.Errorf("%s", raw)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
