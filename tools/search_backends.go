package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/safehttp"
)

// searchAPI is what the four backends have in common: one request, one JSON
// answer. Nothing is retried; the chain's next backend is the retry.
type searchAPI struct {
	client *safehttp.Client
	base   string
	key    string
	deep   bool // prefer_deep
}

func (a searchAPI) prefersDeep() bool { return a.deep }
func (a searchAPI) close()            { a.client.Close() }

const searchBody = 4 << 20

func (a searchAPI) get(ctx context.Context, path string, query url.Values, header http.Header, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	return a.do(req, header, into)
}

func (a searchAPI) post(ctx context.Context, path string, body any, header http.Header, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.base+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return a.do(req, header, into)
}

// do keeps a service's own words out of the errors: they are not ours.
func (a searchAPI) do(req *http.Request, header http.Header, into any) error {
	for k, v := range header {
		req.Header[k] = v
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.HTTPClient().Do(req)
	if err != nil {
		var refusal *safehttp.Refusal
		switch {
		case errors.As(err, &refusal):
			return errors.New(refusal.Reason)
		case req.Context().Err() != nil:
			return context.Cause(req.Context())
		}
		return errors.New("it could not be reached")
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP %d%s", resp.StatusCode, statusHint(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, searchBody))
	if err != nil {
		return errors.New("its answer broke off")
	}
	if json.Unmarshal(body, into) != nil {
		return errors.New("its answer is not the JSON that was expected")
	}
	return nil
}

func statusHint(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return " (its key is refused, or JSON is not enabled)"
	case http.StatusPaymentRequired, http.StatusTooManyRequests:
		return " (its limit is used up)"
	}
	return ""
}

// usable keeps the results that have a web address, once each.
func usable(in []found) []found {
	seen := map[string]bool{}
	out := in[:0]
	for _, r := range in {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || seen[r.URL] {
			continue
		}
		seen[r.URL] = true
		out = append(out, r)
	}
	return out
}

// searxng is an instance of one's own; no key.
type searxng struct{ searchAPI }

func (searxng) name() string       { return "searxng" }
func (searxng) egress(bool) Egress { return Blind }
func (s searxng) search(ctx context.Context, query string, _ int, _ bool) ([]found, error) {
	var got struct {
		Results      []struct{ Title, URL, Content string }
		Unresponsive [][]any `json:"unresponsive_engines"`
	}
	if err := s.get(ctx, "/search", url.Values{"q": {query}, "format": {"json"}}, nil, &got); err != nil {
		return nil, err
	}
	var out []found
	for _, r := range got.Results {
		out = append(out, found{r.Title, r.URL, r.Content})
	}
	if out = usable(out); len(out) == 0 && len(got.Unresponsive) > 0 {
		return nil, fmt.Errorf("%s did not respond", count(len(got.Unresponsive), "engine"))
	}
	return out, nil
}

// brave searches an index of its own.
type brave struct{ searchAPI }

func (brave) name() string       { return "brave" }
func (brave) egress(bool) Egress { return Blind }
func (b brave) search(ctx context.Context, query string, limit int, _ bool) ([]found, error) {
	var got struct {
		Web struct {
			Results []struct{ Title, URL, Description string }
		}
	}
	err := b.get(ctx, "/res/v1/web/search", url.Values{"q": {query}, "count": {strconv.Itoa(min(limit, 20))}, "text_decorations": {"false"}},
		http.Header{"X-Subscription-Token": {b.key}}, &got)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, r := range got.Web.Results {
		out = append(out, found{r.Title, r.URL, r.Description})
	}
	return usable(out), nil
}

// exa searches an index of its own, and deep goes out and crawls pages, which
// those pages' owners can watch and steer.
type exa struct{ searchAPI }

func (exa) name() string { return "exa" }
func (exa) egress(deep bool) Egress {
	if deep {
		return Chosen
	}
	return Blind
}
func (e exa) search(ctx context.Context, query string, limit int, deep bool) ([]found, error) {
	kind, crawl := "fast", "never"
	if deep {
		kind, crawl = "deep", "preferred"
	}
	var got struct {
		Results []struct{ Title, URL, Text string }
	}
	err := e.post(ctx, "/search", map[string]any{
		"query": query, "numResults": min(limit, 10), "type": kind,
		"contents": map[string]any{"text": map[string]any{"maxCharacters": searchSnippet}, "livecrawl": crawl},
	}, http.Header{"X-Api-Key": {e.key}}, &got)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, r := range got.Results {
		out = append(out, found{r.Title, r.URL, r.Text})
	}
	return usable(out), nil
}

// tavily answers from its own crawl at either depth.
type tavily struct{ searchAPI }

func (tavily) name() string       { return "tavily" }
func (tavily) egress(bool) Egress { return Blind }
func (t tavily) search(ctx context.Context, query string, limit int, deep bool) ([]found, error) {
	depth := "basic"
	if deep {
		depth = "advanced"
	}
	var got struct {
		Results []struct{ Title, URL, Content string }
	}
	err := t.post(ctx, "/search", map[string]any{"query": query, "max_results": min(limit, 20), "search_depth": depth},
		http.Header{"Authorization": {"Bearer " + t.key}}, &got)
	if err != nil {
		return nil, err
	}
	var out []found
	for _, r := range got.Results {
		out = append(out, found{r.Title, r.URL, r.Content})
	}
	return usable(out), nil
}

// newSearchBackend makes a configured backend over the guarded client. A base
// address of one's own may be private; the client then reaches that host and
// no other.
func newSearchBackend(c SearchConfig, key string) (searchBackend, error) {
	base := strings.TrimRight(c.BaseURL, "/")
	if base == "" {
		base = searchBases[c.Kind]
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("[[search]] kind = %q: base_url %q is no address", c.Kind, c.BaseURL)
	}
	client := safehttp.New(safehttp.Policy{AllowPrivate: c.BaseURL != "", AllowedDomains: []string{u.Hostname()}, Timeout: searchTime})
	api := searchAPI{client: client, base: base, key: key, deep: c.PreferDeep}
	switch c.Kind {
	case "searxng":
		return searxng{api}, nil
	case "brave":
		return brave{api}, nil
	case "exa":
		return exa{api}, nil
	default:
		return tavily{api}, nil
	}
}

var searchBases = map[string]string{
	"brave": "https://api.search.brave.com", "exa": "https://api.exa.ai", "tavily": "https://api.tavily.com",
}
