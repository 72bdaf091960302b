package tools

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

const pngBytes = "\x89PNG\r\n\x1a\nrest of a picture"

func TestImageGenerate(t *testing.T) {
	var asked []string
	answer := func(w http.ResponseWriter) {
		json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"b64_json": base64.StdEncoding.EncodeToString([]byte(pngBytes))}}})
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked = append(asked, r.URL.Path+" "+string(b))
		switch {
		case strings.Contains(string(b), "too much"):
			http.Error(w, "out of memory", http.StatusServiceUnavailable)
		case strings.Contains(string(b), "a page"):
			json.NewEncoder(w).Encode(map[string]any{"data": []any{map[string]any{"b64_json": base64.StdEncoding.EncodeToString([]byte("<html>"))}}})
		case strings.Contains(string(b), "elsewhere"):
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		default:
			answer(w)
		}
	}))
	defer srv.Close()
	dir := t.TempDir()
	j, err := jail.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	g := newImageGenerate(ImageConfig{URL: srv.URL + "/v1", Model: "sd"})
	env := &Env{Workspace: j, Call: "c1", Run: "r1", Progress: func(string) {}}
	draw := func(args string) Output {
		t.Helper()
		out, err := g.Call(t.Context(), []byte(args), env)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	first := draw(`{"prompt":"a boat","size":"landscape","seed":7}`)
	if first.IsError || first.External || !strings.Contains(asked[0], `/v1/images/generations`) || !strings.Contains(asked[0], `"seed":7`) || !strings.Contains(asked[0], "1536x1024") {
		t.Errorf("%+v, asked %s", first, asked[0])
	}
	b, err := os.ReadFile(filepath.Join(dir, first.What))
	if err != nil || string(b) != pngBytes {
		t.Errorf("%q, %v", b, err)
	}
	about, err := os.ReadFile(filepath.Join(dir, first.What+".json"))
	if err != nil || !strings.Contains(string(about), `"prompt": "a boat"`) || !strings.Contains(string(about), `"call": "c1"`) {
		t.Errorf("%s, %v", about, err)
	}
	// The same again is another file: none is ever changed.
	if again := draw(`{"prompt":"a boat","size":"landscape","seed":7}`); again.IsError || again.What == first.What {
		t.Errorf("%+v", again)
	}
	if edit := draw(`{"prompt":"in red","images":["` + first.What + `"]}`); edit.IsError || !strings.Contains(asked[2], "/v1/images/edits") || !strings.Contains(asked[2], pngBytes) {
		t.Errorf("%+v", edit)
	}
	for args, says := range map[string]string{
		`{"prompt":"too much"}`:                               "out of memory",
		`{"prompt":"a page"}`:                                 "neither PNG",
		`{"prompt":"elsewhere"}`:                              "not followed",
		`{"prompt":"x","images":["../x.png"]}`:                "leads out of the workspace",
		`{"prompt":"x","images":["` + first.What + `.json"]}`: "is no PNG",
	} {
		if out := draw(args); !out.IsError || !strings.Contains(out.Content, says) {
			t.Errorf("%s: %+v, want %q", args, out, says)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := g.Call(ctx, []byte(`{"prompt":"a boat"}`), env); err != nil || !out.IsError {
		t.Errorf("cancelled: %+v, %v", out, err)
	}
}

func TestTheImageServerIsOnThisMachine(t *testing.T) {
	for _, ok := range []string{"http://127.0.0.1:8080/v1", "http://localhost/v1", "https://[::1]:1/v1"} {
		if err := (ImageConfig{URL: ok}).Validate(); err != nil {
			t.Error(err)
		}
	}
	for _, no := range []string{"https://api.openai.com/v1", "http://10.0.0.1/v1", "http://127.0.0.1.example.com/v1", "http://u:p@127.0.0.1/v1", "ftp://127.0.0.1", "127.0.0.1"} {
		if err := (ImageConfig{URL: no}).Validate(); err == nil {
			t.Errorf("%s was accepted", no)
		}
	}
	if err := (ImageConfig{}).Validate(); err != nil {
		t.Error(err)
	}
}
