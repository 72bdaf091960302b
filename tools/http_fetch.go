package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/safehttp"
)

// httpFetch gets one address that the model names. It is read-only, since it
// touches nothing here, and still a chosen send: a query string is a way out.
type httpFetch struct{ client *safehttp.Client }

const (
	fetchBody = 2 << 20 // of a page, before it is made readable
	fetchText = 200_000 // of what is answered
)

//go:embed text/http_fetch.md
var httpFetchText string

func (*httpFetch) Name() string        { return "http_fetch" }
func (*httpFetch) Description() string { return describe(httpFetchText) }
func (*httpFetch) ReadOnly() bool      { return true }
func (h *httpFetch) Close() error      { h.client.Close(); return nil }
func (*httpFetch) Capabilities() Capabilities {
	return Capabilities{UntrustedInput: true, Egress: Chosen}
}
func (*httpFetch) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"url":{"type":"string","minLength":1,"maxLength":8192,"description":"The http or https address to get"}` +
		`},"required":["url"],"additionalProperties":false}`)
}

func (h *httpFetch) Call(ctx context.Context, in json.RawMessage, _ *Env) (Output, error) {
	var args struct{ URL string }
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	resp, err := h.client.Get(ctx, args.URL)
	if err != nil {
		return fetchFailed(err, args.URL), nil
	}
	out := page(resp)
	out.What = args.URL
	return out, nil
}

// fetchFailed tells our own guard's no, which is nobody else's words, from a
// failure on the way.
func fetchFailed(err error, what string) Output {
	out := Fail(err.Error())
	out.What = what
	var refusal *safehttp.Refusal
	var lookup *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &refusal):
		out.Refusal = true
	case errors.As(err, &lookup):
	case errors.As(err, &op) && op.Op == "dial":
	default:
		out.External = true // a malformed answer is quoted in its error
		out.Unknown = true  // the request may have arrived
	}
	return out
}

// page makes an answer readable: status line, title, text. Whatever the
// status, its bytes came from outside.
func page(resp *safehttp.Response) Output {
	out := Output{External: true, IsError: resp.Status >= 400}
	var b strings.Builder
	b.WriteString(line(resp.StatusText, 100))
	kind := line(resp.Header.Get("Content-Type"), 100)
	if resp.Redirect != "" {
		out.IsError = true
		fmt.Fprintf(&b, "\nit redirects to %s, which was not followed; fetch that address if it is the one you want", line(resp.Redirect, 2000))
		out.Content = b.String()
		return out
	}
	title, text, err := resp.Markdown()
	switch {
	case errors.Is(err, safehttp.ErrNotText):
		fmt.Fprintf(&b, "\n(%d bytes of %s: binary, not shown)", len(resp.Body), or(kind, "an unknown kind"))
		out.Content = b.String()
		return out
	case err != nil:
		fmt.Fprintf(&b, "\n(the page could not be read: %s)", line(err.Error(), 200))
		out.Content = b.String()
		return out
	}
	if title != "" {
		fmt.Fprintf(&b, "\nTitle: %s", line(title, 300))
	}
	b.WriteString("\n\n")
	body := cutAt(text, fetchText)
	switch {
	case strings.TrimSpace(text) == "":
		b.WriteString("(the body is empty)")
	case len(body) < len(text):
		fmt.Fprintf(&b, "%s\n\n[only the first %d of %d bytes]", body, len(body), len(text))
	case resp.Truncated:
		fmt.Fprintf(&b, "%s\n\n[the page is longer than the %d bytes that were read]", body, len(resp.Body))
	default:
		b.WriteString(body)
	}
	out.Content = b.String()
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
