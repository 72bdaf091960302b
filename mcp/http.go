package mcp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport is streamable HTTP to the one place that the configuration names: no proxy, no redirect, and no address
// that a name was made to lead to. The SDK reads a broken answer on, by GET and its last event id; it never posts a call
// again, and neither does net/http, which repeats a POST only if not one byte of it went out.
func httpTransport(cfg Config, deps Deps) (t sdk.Transport, stop func()) {
	base := &http.Transport{
		Proxy:                 nil,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, Control: dialRule(cfg.URL)}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: deps.CallTimeout,
		MaxIdleConnsPerHost:   4,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
	}
	client := &http.Client{
		Transport:     &headers{next: base, cfg: cfg, env: deps.Env},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &sdk.StreamableClientTransport{Endpoint: cfg.URL, HTTPClient: client, MaxEventSize: maxLine}, base.CloseIdleConnections
}

// headers adds the configured headers and bounds what comes back.
type headers struct {
	next http.RoundTripper
	cfg  Config
	env  func(string) (string, bool)
}

func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	x := exchangeOf(req.Context())
	ctx := req.Context()
	if x != nil && req.Method == http.MethodPost {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: x.hand})
	}
	req = req.Clone(ctx)
	for name, variable := range h.cfg.HeadersEnv {
		if v, ok := h.env(variable); ok {
			req.Header.Set(name, v)
		}
	}
	resp, err := h.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if x != nil && req.Method == http.MethodPost {
		x.mu.Lock()
		x.status = resp.StatusCode
		x.mu.Unlock()
	}
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if !stream { // whose events the SDK bounds
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxLine}
	}
	if x != nil && req.Method == http.MethodPost && resp.StatusCode == http.StatusOK {
		resp.Body = &overheard{ReadCloser: resp.Body, x: x, stream: stream}
	}
	return resp, nil
}

// bounded fails a body that is too long; a cut one could be taken for a whole.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// dialRule judges the address of every connection at the socket itself. The owner wrote the host, so addresses of this
// machine or its network are fine where that is what was written; a name on the internet must not lead to this machine,
// and nothing may lead to the addresses from which clouds hand out credentials.
func dialRule(rawURL string) func(network, address string, c syscall.RawConn) error {
	host := hostOf(rawURL)
	literal, err := netip.ParseAddr(host)
	local := host == "localhost" || strings.HasSuffix(host, ".localhost") || (err == nil && literal.IsLoopback())
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("the address %s cannot be read", address)
		}
		a := ap.Addr().Unmap()
		switch {
		case a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || a.IsMulticast() || a.IsUnspecified():
			return fmt.Errorf("%s leads to %s, which is no address of a server", host, a)
		case a.IsLoopback() && !local:
			return fmt.Errorf("%s leads to %s, this machine; if that is meant, write the address into url", host, a)
		}
		return nil
	}
}

func hostOf(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}
