package safehttp

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
)

// world is an internet in memory: a resolver, and servers behind public addresses. What a client dials is judged by
// the client's own last guard and then written down.
type world struct {
	t      testing.TB
	names  map[string][]string // host → addresses; several answers for one name come one after the other
	looked map[string]int
	other  []string // the answer for every other name

	mu     sync.Mutex
	dialed []string
	ln     *memListener
	broken int // so many connections fail
}

func newWorld(t testing.TB, h http.Handler) *world {
	w := &world{t: t, names: map[string][]string{}, looked: map[string]int{}, ln: &memListener{conns: make(chan net.Conn), done: make(chan struct{})}}
	srv := &http.Server{Handler: h}
	served := make(chan struct{})
	go func() { // ends with the listener
		defer close(served)
		_ = srv.Serve(w.ln)
	}()
	t.Cleanup(func() { _ = srv.Close(); _ = w.ln.Close(); <-served })
	return w
}

func (w *world) client(p Policy) *Client {
	if p.Resolver == nil {
		p.Resolver = w
	}
	c := New(p)
	c.connect = func(ctx context.Context, _, address string) (net.Conn, error) {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			w.t.Errorf("dialled %q, which is not an address", address)
			return nil, err
		}
		network := "tcp4"
		if ap.Addr().Is6() {
			network = "tcp6"
		}
		if err := c.control(network, address, nil); err != nil {
			return nil, err
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.dialed = append(w.dialed, address)
		if w.broken > 0 {
			w.broken--
			return nil, errors.New("connection refused")
		}
		return w.ln.dial(ctx)
	}
	w.t.Cleanup(c.Close)
	return c
}

func (w *world) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	answers, ok := w.names[host]
	if !ok {
		answers = w.other
	} else if len(answers) > 1 && strings.HasPrefix(answers[0], "then ") {
		n := min(w.looked[host], len(answers)-1)
		answers = []string{strings.TrimPrefix(answers[n], "then ")}
	}
	w.looked[host]++
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var out []netip.Addr
	for _, a := range answers {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// memListener hands out in-memory connections, so that tests with clocks can run in a synctest bubble.
type memListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (l *memListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, io.ErrClosedPipe
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memListener) Close() error   { l.once.Do(func() { close(l.done) }); return nil }
func (l *memListener) Addr() net.Addr { return &net.TCPAddr{} }

// notPublic is this test's own list, written from the IANA registries and not from the library under test.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",
	"::/8", "100::/64", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2001:db8::/32", "2002::/16", "3fff::/20",
	"5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(in ...string) (out []netip.Prefix) {
	for _, p := range in {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

func public(a netip.Addr) bool {
	if a.Zone() != "" || a.Is4In6() {
		return false
	}
	for _, p := range notPublic {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) }
}
