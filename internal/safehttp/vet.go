package safehttp

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxURL is the longest URL taken; browsers and servers agree on about this much.
const maxURL = 8 << 10

// Refusal means that our own guard said no. Nothing was sent, and nothing in the text came from outside but the URL.
type Refusal struct {
	URL    string
	Reason string // a clause: "it leads to 127.0.0.1, which is not a public address"
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("refused to fetch %s: %s", clip(r.URL), r.Reason)
}

// Vet judges a URL without touching the network and returns it in its one canonical spelling: ASCII host, lower case,
// no default port. Only http and https, no user or password, no spelling on which two parsers could disagree, no
// literal address that is not public.
func (c *Client) Vet(rawURL string) (*url.URL, error) {
	u, reason := vet(rawURL)
	if reason == "" {
		reason = c.domains.judge(u.Hostname())
	}
	if reason == "" && !c.policy.AllowPrivate {
		if h := u.Hostname(); isLocalName(h) {
			reason = h + " is a name for this machine or its own network"
		} else if a, err := netip.ParseAddr(h); err == nil {
			if err := c.permit(a); err != nil {
				reason = err.(*Refusal).Reason
			}
		}
	}
	if reason != "" {
		return nil, &Refusal{URL: withoutUser(rawURL), Reason: reason}
	}
	return u, nil
}

// Vet judges a URL under the zero Policy: any public host.
func Vet(rawURL string) (*url.URL, error) { return New(Policy{}).Vet(rawURL) }

func vet(raw string) (u *url.URL, reason string) {
	if len(raw) > maxURL {
		return nil, fmt.Sprintf("it is longer than %d bytes", maxURL)
	}
	if !utf8.ValidString(raw) {
		return nil, "it is not valid UTF-8"
	}
	for _, r := range raw {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\\' || unicode.Is(unicode.Cf, r) {
			return nil, fmt.Sprintf("it holds the character %U, which has no place in a URL", r)
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, "it is not a well-formed URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, "only http and https are fetched"
	case u.Opaque != "" || u.Host == "":
		return nil, "it names no host"
	case u.User != nil || strings.Contains(authority(raw), "@"):
		return nil, "it carries a user name or password"
	}
	host, reason := canonicalHost(u)
	if reason != "" {
		return nil, reason
	}
	port := u.Port()
	if strings.HasSuffix(u.Host, ":") && port == "" {
		port = ""
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, "its port is not one"
		}
		if badPorts[uint16(n)] {
			return nil, fmt.Sprintf("port %d belongs to another protocol", n)
		}
		if port = strconv.FormatUint(n, 10); u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443 {
			port = ""
		}
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	out := *u
	out.Host = host
	if port != "" {
		out.Host += ":" + port
	}
	return &out, ""
}

// authority is what stands between "//" and the path, as the laziest parser would cut it.
func authority(raw string) string {
	_, rest, ok := strings.Cut(raw, "//")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// canonicalHost maps a host to the one ASCII spelling that every resolver reads alike, or says why there is none.
func canonicalHost(u *url.URL) (host, reason string) {
	h := u.Hostname()
	if strings.HasPrefix(u.Host, "[") {
		if strings.Contains(h, "%") {
			return "", "its address carries a zone, which exists on this machine's own networks only"
		}
		a, err := netip.ParseAddr(h)
		if err != nil || !a.Is6() {
			return "", "the address in brackets is not an IPv6 address"
		}
		if a.Is4In6() {
			return "", "it spells an IPv4 address as an IPv6 one"
		}
		return a.String(), ""
	}
	if strings.ContainsAny(h, ":%") {
		return "", "its host is not a name"
	}
	h = strings.TrimSuffix(h, ".") // the root's; a second one is no name
	ascii, err := idna.Lookup.ToASCII(h)
	if err != nil || ascii == "" {
		// Lookup refuses the underscore, which real hosts use; nothing else is taken back.
		if !plainHost(h) {
			return "", "its host is not a name"
		}
		ascii = h
	}
	ascii = strings.ToLower(ascii)
	if !plainHost(ascii) || len(ascii) > 253 {
		return "", "its host is not a name"
	}
	if numericHost(ascii) {
		// 2130706433, 0x7f.1, 0177.0.0.1: half of the resolvers of the world read an address in these.
		if a, err := netip.ParseAddr(ascii); err != nil || a.String() != ascii {
			return "", "its host is a number that is not a plainly written IPv4 address"
		}
	}
	return ascii, ""
}

func plainHost(h string) bool {
	if h == "" || strings.HasPrefix(h, ".") || strings.HasSuffix(h, ".") || strings.Contains(h, "..") {
		return false
	}
	for i := range len(h) {
		switch b := h[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '-', b == '.', b == '_':
		default:
			return false
		}
	}
	return true
}

// numericHost is the rule of the URL standard: a host whose last label is a number is an IPv4 address or nothing.
func numericHost(h string) bool {
	last := h[strings.LastIndexByte(h, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// isLocalName holds the names that never lead to the public internet. They would be refused by their addresses too;
// here they are refused without asking a resolver and in clearer words.
func isLocalName(h string) bool {
	for _, s := range [...]string{"localhost", "localdomain", "local", "internal", "home.arpa"} {
		if h == s || strings.HasSuffix(h, "."+s) {
			return true
		}
	}
	return false
}

// badPorts are those at which an HTTP request would be read as another protocol's commands.
var badPorts = map[uint16]bool{
	1: true, 7: true, 9: true, 11: true, 13: true, 15: true, 17: true, 19: true, 20: true, 21: true, 22: true, 23: true,
	25: true, 37: true, 42: true, 43: true, 53: true, 69: true, 77: true, 79: true, 87: true, 95: true, 101: true,
	102: true, 103: true, 104: true, 109: true, 110: true, 111: true, 113: true, 115: true, 117: true, 119: true,
	123: true, 135: true, 137: true, 139: true, 143: true, 161: true, 179: true, 389: true, 427: true, 465: true,
	512: true, 513: true, 514: true, 515: true, 526: true, 530: true, 531: true, 532: true, 540: true, 548: true,
	554: true, 556: true, 563: true, 587: true, 601: true, 636: true, 993: true, 995: true, 1719: true, 1720: true,
	1723: true, 2049: true, 3659: true, 4045: true, 5060: true, 5061: true, 6000: true, 6379: true, 6566: true,
	6665: true, 6666: true, 6667: true, 6668: true, 6669: true, 6697: true, 11211: true,
}

// withoutUser keeps a password out of an error.
func withoutUser(raw string) string {
	a := authority(raw)
	if i := strings.LastIndexByte(a, '@'); i >= 0 {
		return strings.Replace(raw, a[:i+1], "…@", 1)
	}
	return raw
}

// clip bounds a foreign string that goes into a sentence.
func clip(s string) string {
	const most = 300
	s = printable(s)
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}
