package outbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/tools"
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
		{"beside a word that is a directory's name", `{"bundle":"site","about":"docs"}`, "site", "site/index.html", false},
		{"without a first page", `{"bundle":"docs"}`, "docs", "", false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
			b.write("site/index.html", "<p>hello")
			b.write("site/a.css", "")
			b.write("docs/readme.txt", "")
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

// A server with a root of its own is handed the absolute path of a directory: all
// of it is in the digest, like what lies in its root.
func TestAPublicationOfASharedServer(t *testing.T) {
	b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
	b.mail.schema, b.mail.home = `{"type":"object"}`, t.TempDir()
	b.write("site/index.html", "<p>hello")
	b.write("site/img/a.svg", "<svg/>")
	site := filepath.Join(b.work, "site")
	s := b.staging(fmt.Sprintf(`{"bundle":%q}`, site))
	s.Workspace = b.mail.home
	d := b.stageAs(s)
	if len(d.Files) != 2 || d.Files[1].Path != filepath.Join(site, "index.html") {
		t.Fatalf("files %+v", d.Files)
	}
	if got, _ := BundleOf(d); got.Dir != site || got.Index != filepath.Join(site, "index.html") || got.Gone != "" {
		t.Errorf("%+v", got)
	}
	b.write("site/img/evil.js", "x")
	d = b.dispatch(b.approve(d))
	want(t, d, Pending)
	if b.mail.count() != 0 || !strings.Contains(d.LastError, "evil.js has come to exist") {
		t.Fatalf("%d published: %s", b.mail.count(), d.LastError)
	}
	if err := os.RemoveAll(site); err != nil {
		t.Fatal(err)
	}
	if got, _ := BundleOf(d); got.Gone == "" || got.Dir != site {
		t.Errorf("%+v", got)
	}
}

// What a reader of a terminal sees of a publication.
func TestAPublicationInTheTerminal(t *testing.T) {
	b := newBench(t, Config{PublishTools: []string{"mail__mail_send"}})
	b.mail.schema = `{"type":"object"}`
	b.write("site/index.html", "<script>alert(1)</script>")
	d := b.stage(`{"bundle":"site"}`)
	page := Page{Now: b.clock.now(), Visible: func(s string) (string, int) { return s, 0 }}
	site := filepath.Join(b.work, "site")
	text := page.Show(d, Source{Status: "none"})
	for _, want := range []string{"Ready for you to publish", "directory  " + site + "\n", "index      " + filepath.Join(site, "index.html") + "\n", "site/index.html"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "alert(1)") || strings.Contains(text, "gone") {
		t.Errorf("%s", text)
	}
	if err := os.RemoveAll(site); err != nil {
		t.Fatal(err)
	}
	if text := page.Show(d, Source{Status: "none"}); !strings.Contains(text, "what this would publish is gone") || !strings.Contains(text, "directory  "+site) {
		t.Errorf("%s", text)
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
	b.mail.call = answers(tools.Fail("550 bad token xoxb-1"), nil)
	b.Redact = func(s string) string { return strings.ReplaceAll(s, "xoxb-1", "***") }
	d = b.dispatch(b.approve(d))
	if _, err := b.Export(t.Context(), dir); err != nil || !strings.Contains(d.LastError, "xoxb-1") {
		t.Fatalf("%v: %s", err, d.LastError)
	}
	if raw, err = os.ReadFile(filepath.Join(dir, d.ID+".json")); err != nil || strings.Contains(string(raw), "xoxb-1") || strings.Count(string(raw), "550 bad token ***") != 2 {
		t.Errorf("%v: %s", err, raw)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
