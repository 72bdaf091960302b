package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/safehttp"
)

// Handles stand for the results of searches. They are unguessable, belong to
// one conversation and outlive a restart: an armed conversation may open a
// result, and must not be able to write an address by way of one.
type Handles interface {
	Put(ctx context.Context, thread, url, title string) (handle string, err error)
	// Get answers the address behind a handle of that conversation; an error
	// says in words that there is none.
	Get(ctx context.Context, thread, handle string) (url string, err error)
}

// webOpen reads the page behind a search result. All that a conversation can
// leak with it is which result it opened.
type webOpen struct {
	client  *safehttp.Client // follows redirects, vetting every hop
	handles Handles
}

const openRedirects = 5

//go:embed text/web_open.md
var webOpenText string

func (*webOpen) Name() string               { return "web_open" }
func (*webOpen) Description() string        { return describe(webOpenText) }
func (*webOpen) ReadOnly() bool             { return true }
func (w *webOpen) Close() error             { w.client.Close(); return nil }
func (*webOpen) Capabilities() Capabilities { return Capabilities{UntrustedInput: true, Egress: Blind} }
func (*webOpen) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"handle":{"type":"string","minLength":1,"maxLength":100,"description":"The handle that web_search printed beside the result"}` +
		`},"required":["handle"],"additionalProperties":false}`)
}

func (w *webOpen) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct{ Handle string }
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	handle := strings.TrimPrefix(strings.TrimSpace(args.Handle), "handle: ")
	address, err := w.handles.Get(ctx, env.Thread, handle)
	if err != nil {
		return Fail(fmt.Sprintf("cannot open %q: %v; web_search prints a handle beside each result", line(handle, 60), err)), nil
	}
	resp, err := w.client.Get(ctx, address)
	if err != nil {
		return fetchFailed(err, address), nil
	}
	out := page(resp)
	out.Content = "URL: " + line(resp.URL, 2000) + "\n" + out.Content
	out.What = address
	return out, nil
}
