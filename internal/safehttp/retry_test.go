package safehttp

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every wait here is on a fake clock.
func TestRetries(t *testing.T) {
	tests := []struct {
		name       string
		broken     int   // connections that fail first
		statuses   []int // what the server answers, the last one again and again
		retryAfter string
		timeout    time.Duration
		status     int // 0: an error
		requests   int
		wait       time.Duration // at least
		within     time.Duration
	}{
		{name: "at once", statuses: []int{200}, status: 200, requests: 1, within: time.Millisecond},
		{name: "after two 503", statuses: []int{503, 503, 200}, status: 200, requests: 3, within: 5 * time.Second},
		{name: "after a 429", statuses: []int{429, 200}, status: 200, requests: 2, within: 5 * time.Second},
		{name: "three at most, and the answer is kept", statuses: []int{502}, status: 502, requests: 3, within: 5 * time.Second},
		{name: "after a broken connection", broken: 2, statuses: []int{200}, status: 200, requests: 1, within: 5 * time.Second},
		{name: "three broken connections", broken: 3, statuses: []int{200}, requests: 0, within: 5 * time.Second},
		{name: "500 is an answer", statuses: []int{500, 200}, status: 500, requests: 1, within: time.Millisecond},
		{name: "404 is an answer", statuses: []int{404, 200}, status: 404, requests: 1, within: time.Millisecond},
		{name: "Retry-After is honoured", statuses: []int{503, 200}, retryAfter: "7", status: 200, requests: 2, wait: 7 * time.Second, within: 8 * time.Second},
		{name: "Retry-After up to ten seconds", statuses: []int{503, 200}, retryAfter: "10", status: 200, requests: 2, wait: 10 * time.Second, within: 11 * time.Second},
		{name: "a longer one is an answer", statuses: []int{503, 200}, retryAfter: "11", status: 503, requests: 1, within: time.Millisecond},
		{name: "an absurd one too", statuses: []int{503, 200}, retryAfter: "99999999999999999999", status: 200, requests: 2, within: 5 * time.Second},
		{name: "a date", statuses: []int{429, 200}, retryAfter: "date", status: 200, requests: 2, wait: 4 * time.Second, within: 6 * time.Second},
		{name: "not past the deadline", statuses: []int{503, 200}, retryAfter: "9", timeout: 5 * time.Second, status: 503, requests: 1, within: time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
					status := tt.statuses[min(requests, len(tt.statuses)-1)]
					requests++
					switch tt.retryAfter {
					case "":
					case "date":
						rw.Header().Set("Retry-After", time.Now().Add(5*time.Second).UTC().Format(http.TimeFormat))
					default:
						rw.Header().Set("Retry-After", tt.retryAfter)
					}
					rw.WriteHeader(status)
				}))
				w.other, w.broken = []string{somewhere}, tt.broken
				c := w.client(Policy{Timeout: tt.timeout})
				start := time.Now()
				r, err := c.Get(t.Context(), "http://example.com/")
				took := time.Since(start)
				switch {
				case tt.status == 0 && (err == nil || !strings.Contains(err.Error(), "connection refused")):
					t.Errorf("got %+v, %v; want the last failure", r, err)
				case tt.status != 0 && (err != nil || r.Status != tt.status):
					t.Errorf("got %+v, %v; want %d", r, err, tt.status)
				}
				if requests != tt.requests {
					t.Errorf("%d requests, want %d", requests, tt.requests)
				}
				if took < tt.wait || took > tt.within {
					t.Errorf("took %v, want between %v and %v", took, tt.wait, tt.within)
				}
				c.Close()
			})
		})
	}
}

func TestARefusalIsNotRetried(t *testing.T) {
	w := newWorld(t, text("x"))
	w.names["inside.example"] = []string{"10.0.0.1"}
	c := w.client(Policy{})
	if _, err := c.Get(t.Context(), "http://inside.example/"); err == nil || w.looked["inside.example"] != 1 {
		t.Errorf("%v after %d lookups", err, w.looked["inside.example"])
	}
}

// Once a body has begun, what breaks stays broken: the beginning may already have had its effect.
func TestABrokenBodyIsNotRetried(t *testing.T) {
	requests := 0
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		requests++
		rw.Header().Set("Content-Length", strconv.Itoa(1000))
		_, _ = rw.Write([]byte("beginning"))
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	}))
	w.other = []string{somewhere}
	c := w.client(Policy{})
	if _, err := c.Get(t.Context(), "http://example.com/"); err == nil || requests != 1 {
		t.Errorf("%v after %d requests, want an error after 1", err, requests)
	}
}
