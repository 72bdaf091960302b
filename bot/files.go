package bot

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/mecha-slack/mecha-slack/threads"
)

// Fetch answers the bytes of a file that a message brought. It is
// threads.Deps.Fetch. Three guards: the token goes to Slack's own hosts only
// and follows no redirect, a sign-in page is not taken for the file, and the
// size is bounded.
func (b *Bot) Fetch(ctx context.Context, f threads.InFile) ([]byte, error) {
	if f.Size > b.cfg.MaxUploadBytes {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are fetched", f.Name, f.Size, b.cfg.MaxUploadBytes)
	}
	u, err := url.Parse(f.URL)
	if err != nil || !b.slackHost(u) {
		return nil, fmt.Errorf("%s is not kept by Slack (%s): the token does not go there", f.Name, f.URL)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+b.cfg.BotToken)
	client := &http.Client{Transport: b.HTTP.Transport, Timeout: callTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s: %w", f.Name, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		return nil, fmt.Errorf("Slack sent us to its sign-in page for %s: the app lacks the scope files:read, or was not installed again after it got it", f.Name)
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("cannot fetch %s: HTTP %d", f.Name, res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, b.cfg.MaxUploadBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cannot fetch %s: %w", f.Name, err)
	}
	html := strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || bytes.HasPrefix(bytes.TrimSpace(bytes.ToLower(data[:min(len(data), 64)])), []byte("<!doctype html"))
	switch {
	case int64(len(data)) > b.cfg.MaxUploadBytes:
		return nil, fmt.Errorf("%s is larger than %d bytes", f.Name, b.cfg.MaxUploadBytes)
	case html && f.MIME != "text/html":
		return nil, fmt.Errorf("what came for %s is a web page, not the file: Slack's sign-in page; check the scope files:read", f.Name)
	case f.Size > 0 && int64(len(data)) != f.Size:
		return nil, fmt.Errorf("%s came with %d bytes, and Slack had said %d", f.Name, len(data), f.Size)
	}
	return data, nil
}

// slackHost tells whether the token may go to a URL: Slack itself, or the
// workspace that we were told to use.
func (b *Bot) slackHost(u *url.URL) bool {
	if b.cfg.APIURL != "" {
		api, err := url.Parse(b.cfg.APIURL)
		return err == nil && api.Scheme == u.Scheme && api.Host == u.Host
	}
	return u.Scheme == "https" && (u.Host == "files.slack.com" || strings.HasSuffix(u.Host, ".slack.com"))
}
