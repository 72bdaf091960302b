package localslack

import (
	"crypto/subtle"
	"mime"
	"net"
	"net/http"
	"strings"
)

// The page is a door to Approve, so every way in has a lock. What each keeps
// out is written beside it; doors_test.go tries them.

// loopbackName reports whether host, without a port, can only mean this machine.
func loopbackName(host string) bool {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// lockHost keeps out names that were rebound to a loopback address, and marks
// every answer as unfit for embedding elsewhere.
func lockHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(r.Host); err == nil {
			host = h
		}
		h := rw.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		if !loopbackName(host) {
			http.Error(rw, "this workspace answers to a loopback name only", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(rw, r)
	})
}

// lockOrigin keeps out requests that another origin's page makes, another port
// of this machine included. Those who send no Origin aren't browsers, or
// navigate.
func lockOrigin(next http.HandlerFunc) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if o := r.Header.Get("Origin"); o != "" && o != "http://"+r.Host {
			http.Error(rw, "this page is not of the workspace's own origin", http.StatusForbidden)
			return
		}
		next(rw, r)
	}
}

// lockLocal guards /_local/: a same-origin page or no browser at all, the
// control token in a header that no form can set, JSON that no form can send.
func (w *Workspace) lockLocal(next http.HandlerFunc) http.HandlerFunc {
	return lockOrigin(func(rw http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Sec-Fetch-Site") {
		case "", "same-origin", "none":
		default:
			w.localAnswer(rw, nil, &localError{http.StatusForbidden, "cross_site", "the request came from another site's page"})
			return
		}
		if subtle.ConstantTimeCompare([]byte(bearer(r)), []byte(w.controlKey)) != 1 {
			rw.Header().Set("WWW-Authenticate", "Bearer")
			w.localAnswer(rw, nil, &localError{http.StatusUnauthorized, "invalid_auth",
				"the control token is missing or not of this start; open the address that was printed at the start again"})
			return
		}
		if r.Method == http.MethodPost {
			if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
				w.localAnswer(rw, nil, &localError{http.StatusUnsupportedMediaType, "json_only", "the body must be application/json"})
				return
			}
		}
		rw.Header().Set("Cache-Control", "no-store")
		next(rw, r)
	})
}

// pagePolicy is the page's Content-Security-Policy: its own files and nothing else.
const pagePolicy = "default-src 'self'; img-src 'self' data: blob:; script-src 'self'; style-src 'self'; connect-src 'self'; " +
	"object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
