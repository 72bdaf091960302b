// Package safehttp fetches what a model names from the public internet, and nothing else.
//
// It owns the vetting of URLs, the guarded dial, the retry of a GET and the turning of pages into Markdown. It promises
// that no connection is made to an address that is not public, however it was spelt, resolved, rebound or redirected
// to; that no proxy variable takes that promise away; that a body is bounded after decoding; and that a request ends
// with its context. Allowed domains narrow where it goes and never widen it to private addresses.
//
// It must never know who asks, send a cookie or a credential of ours, or retry anything but a GET whose answer has not
// begun. This is one of the three places where retries live.
//
//	c := safehttp.New(safehttp.Policy{MaxBody: 200 << 10})
//	resp, err := c.Get(ctx, url)          // *Refusal: our own guard said no, nothing was sent
//	title, md, err := resp.Markdown()
package safehttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"code.dny.dev/ssrf"
)

// Defaults of a Policy's zero fields.
const (
	DefaultMaxBody   = 5 << 20
	DefaultTimeout   = 30 * time.Second
	DefaultUserAgent = "Mozilla/5.0 (compatible; mecha-slack)"
)

// Resolver turns names into addresses; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Policy says what a Client may do. The zero value is the strictest: public addresses only, no redirects.
type Policy struct {
	AllowedDomains []string // if any, only these and what is below them
	BlockedDomains []string // never these, nor what is below them
	AllowPrivate   bool     // for tests and for loopback servers that the configuration names: the address guard is off
	Resolver       Resolver // nil: the system's
	MaxBody        int64    // decoded bytes kept of a body; DefaultMaxBody if 0
	Timeout        time.Duration
	MaxRedirects   int // 0: none is followed; the target is in Response.Redirect
	UserAgent      string
}

// Client fetches under one Policy. It has connections of its own, shared with nobody. It is safe for concurrent use.
type Client struct {
	policy    Policy
	domains   domains
	guard     *ssrf.Guardian
	http      *http.Client
	transport *http.Transport

	// connect makes one connection to one vetted address. It is a field so that tests can look at every address that
	// would be dialled, and answer for it, without a network.
	connect   func(ctx context.Context, network, address string) (net.Conn, error)
	retryBase time.Duration // the first pause before a retry
}

// New returns a Client.
func New(p Policy) *Client {
	if p.Resolver == nil {
		p.Resolver = net.DefaultResolver
	}
	if p.MaxBody <= 0 {
		p.MaxBody = DefaultMaxBody
	}
	if p.Timeout <= 0 {
		p.Timeout = DefaultTimeout
	}
	if p.UserAgent == "" {
		p.UserAgent = DefaultUserAgent
	}
	c := &Client{policy: p, domains: newDomains(p), guard: ssrf.New(ssrf.WithAnyPort()), retryBase: 250 * time.Millisecond}
	c.connect = (&net.Dialer{Timeout: dialTimeout, Control: c.control}).DialContext
	c.transport = &http.Transport{
		Proxy:                  nil, // a proxy would dial for us, past the guard
		DialContext:            c.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    2,
		MaxConnsPerHost:        8,
		MaxResponseHeaderBytes: 256 << 10,
	}
	c.http = &http.Client{
		Transport:     roundTripper{c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

// HTTPClient is the guarded client under Get, for callers that speak their own protocol over it (a search API's POST,
// MCP over HTTP): every request is vetted and pinned in the same way, no redirect is followed, nothing is retried, no
// deadline is set and no body is bounded.
func (c *Client) HTTPClient() *http.Client { return c.http }

// Close lets go of idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Response is an answer, whatever its status.
type Response struct {
	Status     int
	StatusText string // "404 Not Found"
	URL        string // where the answer came from, after redirects
	Header     http.Header
	Body       []byte // decoded from its transfer and content encoding, not from its character set
	Truncated  bool   // Body is the first MaxBody bytes of a longer one
	Redirect   string // the absolute target of a redirect that was not followed
}

// Get fetches rawURL. Redirects are followed as far as the policy says, each hop vetted and pinned like the first; one
// more is an answer with its Redirect set. A *Refusal means that our own guard said no.
func (c *Client) Get(ctx context.Context, rawURL string) (*Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.policy.Timeout, fmt.Errorf("no complete answer within %v", c.policy.Timeout))
	defer cancel()
	for hop := 0; ; hop++ {
		u, err := c.Vet(rawURL)
		if err != nil {
			return nil, err
		}
		resp, err := c.fetch(ctx, u)
		if err != nil {
			return nil, c.describe(ctx, u, err)
		}
		out, err := c.read(resp, u)
		if err != nil {
			return nil, c.describe(ctx, u, err)
		}
		if out.Redirect == "" || hop >= c.policy.MaxRedirects {
			return out, nil
		}
		rawURL = out.Redirect
	}
}

// read takes a response apart and closes it.
func (c *Client) read(resp *http.Response, u *url.URL) (*Response, error) {
	defer resp.Body.Close()
	out := &Response{Status: resp.StatusCode, StatusText: statusText(resp), URL: u.String(), Header: resp.Header}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return nil, fmt.Errorf("the server used the encoding %q, which was not asked for", enc)
	}
	if isRedirect(resp.StatusCode) {
		if loc := resp.Header.Get("Location"); loc != "" {
			to, err := u.Parse(loc)
			if err != nil {
				return nil, fmt.Errorf("the server redirects to %q, which is not a URL", clip(loc))
			}
			out.Redirect = to.String()
		}
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.policy.MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("reading the body after %d bytes: %w", len(body), err)
	}
	if int64(len(body)) > c.policy.MaxBody {
		body, out.Truncated = body[:c.policy.MaxBody], true
	}
	out.Body = body
	return out, nil
}

func isRedirect(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// statusText makes the status line from the code where the server's own words are unusable.
func statusText(resp *http.Response) string {
	if s := clip(printable(resp.Status)); s != "" {
		return s
	}
	return fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
}

// describe makes an error that says what was tried, and brings a refusal back to its own type.
func (c *Client) describe(ctx context.Context, u *url.URL, err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return &Refusal{URL: u.String(), Reason: r.Reason}
	}
	var ue *url.Error // says the URL a second time
	if errors.As(err, &ue) {
		err = ue.Err
	}
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		err = cause
	}
	return fmt.Errorf("fetching %s: %w", clip(u.String()), err)
}
