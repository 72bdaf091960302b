package bot

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// A publication's card names its directory and first page, brings both, offers no
// Edit, and says so when they are gone.
func TestAPublicationIsLookedAt(t *testing.T) {
	b := newBench(t)
	b.desk.outbox = outbox.New(b.db, outbox.Config{PublishTools: []string{mailTool{}.Name()}}, outbox.Deps{Surface: mailSurface{}, Log: b.log})
	site := filepath.Join(b.dir, "out")
	page := "<script>alert(1)</script><h1>Hello"
	for name, text := range map[string]string{"index.html": page, "img/a.svg": "<svg/>"} {
		path := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j, err := jail.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	args := json.RawMessage(`{"to":["out"],"subject":"The site","body":"first version"}`)
	prepared, err := b.outbox.Prepare(t.Context(), mailTool{}, args, j)
	if err != nil {
		t.Fatal(err)
	}
	id := b.stage(string(args), func(s *outbox.Staging) { s.Prepared = prepared })
	p := b.show(threads.PostDraft, id)
	text := shownText(p.Body)
	for _, want := range []string{"Ready for you to publish", site, filepath.Join(site, "index.html"), "out/img/a.svg", "2 files"} {
		if !strings.Contains(text, want) && !strings.Contains(string(p.Body), want) {
			t.Errorf("the card does not say %q: %s", want, text)
		}
	}
	if action, _ := button(p.Body, "Edit"); action != "" {
		t.Error("a publication offers Edit")
	}
	if action, _ := button(p.Body, "Approve"); action == "" {
		t.Error("a publication offers no Approve")
	}

	v, err := b.draftView(t.Context(), id, true)
	if err != nil {
		t.Fatal(err)
	}
	files, err := b.bundleFiles(t.Context(), v)
	if err != nil || len(files) != 2 || files[0].Name != "index.html" || string(files[0].Data) != page {
		t.Fatalf("%+v, %v", files, err)
	}
	z, err := zip.NewReader(bytes.NewReader(files[1].Data), int64(len(files[1].Data)))
	if err != nil || len(z.File) != 2 {
		t.Fatalf("%d files, %v", len(z.File), err)
	}
	in, err := z.Open("img/a.svg")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(in); err != nil || string(got) != "<svg/>" {
		t.Errorf("%q, %v", got, err)
	}

	// What lies elsewhere is named, and does not go up by itself.
	elsewhere := v
	elsewhere.Workspace = filepath.Dir(b.dir)
	if files, err := b.bundleFiles(t.Context(), elsewhere); err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
	// Nobody looks at one thing and approves another.
	if err := os.WriteFile(filepath.Join(site, "index.html"), []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := b.bundleFiles(t.Context(), v); err == nil || len(files) != 0 || !strings.Contains(err.Error(), "out/index.html has changed") {
		t.Errorf("%+v, %v", files, err)
	}
	if err := os.RemoveAll(site); err != nil {
		t.Fatal(err)
	}
	p = b.show(threads.PostDraft, id)
	if text := shownText(p.Body); !strings.Contains(text, "What this would publish is gone") {
		t.Errorf("it is gone, and the card says %s", text)
	}
	if v, err = b.draftView(t.Context(), id, true); err != nil {
		t.Fatal(err)
	}
	if files, err := b.bundleFiles(t.Context(), v); err != nil || len(files) != 0 {
		t.Errorf("%+v, %v", files, err)
	}
	b.desk.edit(t.Context(), presser{Press: Press{Team: "T1", User: "UALICE"}}, threads.Token{}, v)
	if !strings.Contains(b.screen.said(), "change its source") {
		t.Errorf("editing is refused with %q", b.screen.said())
	}
}
