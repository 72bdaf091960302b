package tools

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// FuzzSearchAnswers: whatever a search service answers, what comes out of it are
// web addresses, once each.
func FuzzSearchAnswers(f *testing.F) {
	for _, answer := range []string{
		`{"results":[{"title":"a","url":"https://example.org/a","content":"text"},{"title":"again","url":"https://example.org/a"}],"unresponsive_engines":[["x","timeout"]]}`,
		`{"web":{"results":[{"title":"a","url":"javascript:alert(1)","description":"d"},{"url":"http://example.org"}]}}`,
		`{"results":[{"title":null,"url":"https://","text":"t","highlights":["h"]}],"answer":7}`,
		`{"results":{}}`, `[]`, ``,
	} {
		f.Add([]byte(answer))
	}
	var answer atomic.Pointer[[]byte]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Write(*answer.Load())
	}))
	f.Cleanup(srv.Close)
	f.Fuzz(func(t *testing.T, body []byte) {
		answer.Store(&body)
		for _, kind := range []string{"searxng", "brave", "exa", "tavily"} {
			b, err := newSearchBackend(SearchConfig{Kind: kind, BaseURL: srv.URL}, "key")
			if err != nil {
				t.Fatal(kind, err)
			}
			list, err := b.search(t.Context(), "q", 5, false)
			b.(interface{ close() }).close()
			if err != nil {
				continue
			}
			seen := map[string]bool{}
			for _, r := range list {
				u, err := url.Parse(r.URL)
				if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || seen[r.URL] {
					t.Errorf("%s answers %q", kind, r.URL)
				}
				seen[r.URL] = true
			}
		}
	})
}
