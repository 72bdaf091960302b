package localslack

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/localslack/page"
)

// handler is everything that the origin serves.
func (w *Workspace) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/", w.api)
	mux.HandleFunc("GET /link/", w.link)
	mux.HandleFunc("POST /hooks/{kind}/{team}/{number}/{secret}", lockOrigin(w.faulty("response_url", w.hookPost)))
	mux.HandleFunc("POST /upload/v1/{ticket}", lockOrigin(w.faulty("upload", w.receive)))
	mux.HandleFunc("GET /files-pri/{file}/{name...}", lockOrigin(w.faulty("download", w.download)))
	mux.HandleFunc("GET /file/{file}", lockOrigin(w.pageFile))
	mux.HandleFunc("GET /signin", signIn)

	for pattern, h := range w.localRoutes() {
		mux.HandleFunc(pattern, w.lockLocal(h))
	}
	mux.HandleFunc("/_local/", w.lockLocal(func(rw http.ResponseWriter, r *http.Request) {
		w.localAnswer(rw, nil, &localError{http.StatusNotFound, "unknown_endpoint", "there is no " + r.Method + " " + r.URL.Path})
	}))

	files := page.Files()
	index := func(rw http.ResponseWriter, r *http.Request) { servePage(rw, r, files, "index.html") }
	mux.HandleFunc("GET /{$}", lockOrigin(index))
	mux.HandleFunc("GET /archives/", lockOrigin(index)) // permalinks
	mux.HandleFunc("GET /files/", lockOrigin(index))    // those of files
	mux.HandleFunc("GET /static/{name...}", lockOrigin(func(rw http.ResponseWriter, r *http.Request) {
		servePage(rw, r, files, path.Clean(r.PathValue("name")))
	}))
	return lockHost(mux)
}

// servePage sends one of the page's own files.
func servePage(rw http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	h := rw.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	b, err := fs.ReadFile(files, name)
	if err != nil {
		if name != "index.html" {
			http.NotFound(rw, r)
			return
		}
		b = []byte("<!DOCTYPE html><html lang=\"en\"><title>No page</title><p>This build has no page; the API works.</p></html>")
	}
	kind := mime.TypeByExtension(path.Ext(name))
	if strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".mjs") {
		kind = "text/javascript; charset=utf-8" // whatever this machine's table says
	}
	sum := sha256.Sum256(b)
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-cache")
	h.Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(rw, r, "", time.Time{}, bytes.NewReader(b))
}
