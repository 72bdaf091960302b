package safehttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// dialTimeout bounds one attempt at one address.
const dialTimeout = 10 * time.Second

// dial resolves once, keeps the public addresses and connects to one of exactly those: a name that answers differently
// a moment later is not asked again. Control judges the address once more at the socket itself, so that even a mistake
// above it cannot connect.
func (c *Client) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	addrs, err := c.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		conn, err := c.connect(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// maxAddrs bounds how many addresses of one name are tried.
const maxAddrs = 4

func (c *Client) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	var found []netip.Addr
	if a, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{a}
	} else {
		found, err = c.policy.Resolver.LookupNetIP(ctx, "ip", host)
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", host, err)
		}
	}
	var ok []netip.Addr
	var refused error
	for _, a := range found {
		if err := c.permit(a); err != nil {
			refused = err
			continue
		}
		ok = append(ok, a.Unmap())
	}
	switch {
	case len(ok) > 0:
		return ok[:min(len(ok), maxAddrs)], nil
	case refused != nil:
		return nil, refused
	default:
		return nil, fmt.Errorf("looking up %s: no address", host)
	}
}

// permit refuses every address that is not public.
func (c *Client) permit(a netip.Addr) error {
	if c.policy.AllowPrivate {
		return nil
	}
	if a.Zone() != "" {
		return &Refusal{Reason: "it leads to " + a.String() + ", an address with a zone, which exists on this machine's own networks only"}
	}
	a = a.Unmap()
	if err := c.guard.SafeAddr(a); err != nil || !a.IsGlobalUnicast() {
		return &Refusal{Reason: "it leads to " + a.String() + ", which is not a public address"}
	}
	return nil
}

// control is called for the socket, after every resolution, with what is really dialled.
func (c *Client) control(network, address string, _ syscall.RawConn) error {
	if c.policy.AllowPrivate {
		return nil
	}
	if network != "tcp4" && network != "tcp6" {
		return &Refusal{Reason: "it would be dialled over " + network}
	}
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return &Refusal{Reason: "its address cannot be read: " + address}
	}
	return c.permit(ap.Addr())
}

// roundTripper vets every request, so that no caller of HTTPClient can forget to.
type roundTripper struct{ c *Client }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	u, err := t.c.Vet(req.URL.String())
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close()
		}
		return nil, err
	}
	out := req.Clone(req.Context())
	out.URL = u
	if out.Host == "" || sameHost(out.Host, req.URL) {
		out.Host = u.Host
	}
	if out.Header.Get("User-Agent") == "" {
		out.Header.Set("User-Agent", t.c.policy.UserAgent)
	}
	return t.c.transport.RoundTrip(out)
}

func sameHost(host string, u *url.URL) bool { return host == u.Host }
