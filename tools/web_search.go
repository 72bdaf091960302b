package tools

import (
	"context"
	_ "embed" // the description
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// webSearch asks a chain of backends; the first that answers wins. A query is
// a way out, but a blind one: it reaches only what the configuration names.
type webSearch struct {
	chain   []searchBackend
	handles Handles
	narrows bool // in an armed conversation: blind backends, quick
}

// found is one result of a search.
type found struct{ Title, URL, Text string }

// searchBackend is one configured search API.
type searchBackend interface {
	name() string
	// egress says who picks where a query ends up: Blind where only the service
	// itself sees it, Chosen where it goes out and fetches what others can steer.
	egress(deep bool) Egress
	prefersDeep() bool
	// search answers what it found, which may be nothing; an error means that
	// it did not answer. No error quotes bytes of the service.
	search(ctx context.Context, query string, limit int, deep bool) ([]found, error)
}

const (
	searchTime    = 20 * time.Second // of one backend
	searchLimit   = 5
	searchMost    = 20
	searchSnippet = 1_200
)

//go:embed text/web_search.md
var webSearchText string

func (*webSearch) Name() string        { return "web_search" }
func (*webSearch) Description() string { return describe(webSearchText) }
func (*webSearch) ReadOnly() bool      { return true }

// Close lets go of the backends' idle connections.
func (w *webSearch) Close() error {
	for _, b := range w.chain {
		if c, ok := b.(interface{ close() }); ok {
			c.close()
		}
	}
	return nil
}

func (*webSearch) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"query":{"type":"string","minLength":1,"maxLength":400,"description":"What to search for"},` +
		`"limit":{"type":"integer","minimum":1,"maximum":20,"default":5,"description":"How many results"},` +
		`"depth":{"enum":["quick","deep"],"default":"quick"}` +
		`},"required":["query"],"additionalProperties":false}`)
}

// Capabilities: blind as soon as one backend is, because an armed conversation
// is kept to those.
func (w *webSearch) Capabilities() Capabilities {
	c := Capabilities{UntrustedInput: true, Egress: Chosen}
	if w.narrows && len(w.blind()) > 0 || !slices.ContainsFunc(w.chain, func(b searchBackend) bool { return b.egress(false) != Blind || b.egress(true) != Blind }) {
		c.Egress = Blind
	}
	return c
}

func (w *webSearch) blind() []searchBackend {
	var out []searchBackend
	for _, b := range w.chain {
		if b.egress(false) == Blind {
			out = append(out, b)
		}
	}
	return out
}

func (w *webSearch) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	args := struct {
		Query string
		Limit whole
		Depth string
	}{Limit: searchLimit}
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	deep := args.Depth == "deep"
	chain, note := w.chain, ""
	if w.narrows && env.Taint.Armed() {
		chain = w.blind()
		if deep {
			note = "(searched quickly: this conversation holds private data and third-party text, so only searches that fetch no page of others' choosing are made)\n"
		}
		deep = false
	}
	if deep { // those that are good at it first, otherwise in the order written
		chain = slices.Clone(chain)
		slices.SortStableFunc(chain, func(a, b searchBackend) int { return order(b.prefersDeep()) - order(a.prefersDeep()) })
	}
	results, from, failures := w.ask(ctx, chain, args.Query, min(max(int(args.Limit), 1), searchMost), deep)
	out := Output{What: args.Query}
	switch {
	case from == "":
		out.IsError = true
		out.Content = "no search backend answered: " + strings.Join(failures, "; ") + ". Try once more later, or go on without it"
	case len(results) == 0:
		out.Content = note + "no results; other words may find some"
	default:
		text, err := w.print(ctx, env, results)
		if err != nil {
			return Fail(fmt.Sprintf("the results could not be kept for web_open: %v", err)), nil
		}
		out.External = true
		out.Content = note + text
	}
	return out, nil
}

func order(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ask goes down the chain to the first results. from is the last backend that
// answered, empty where none did: all empty is not the same as nobody there.
func (w *webSearch) ask(ctx context.Context, chain []searchBackend, query string, limit int, deep bool) (results []found, from string, failures []string) {
	for _, b := range chain {
		one, cancel := context.WithTimeoutCause(ctx, searchTime, fmt.Errorf("no answer within %v", searchTime))
		got, err := b.search(one, query, limit, deep)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, "", append(failures, "interrupted")
		case err != nil:
			failures = append(failures, b.name()+": "+line(err.Error(), 160))
		case len(got) > 0:
			return got[:min(len(got), limit)], b.name(), failures
		default:
			from = b.name()
		}
	}
	return nil, from, failures
}

func (w *webSearch) print(ctx context.Context, env *Env, results []found) (string, error) {
	var b strings.Builder
	for i, r := range results {
		handle, err := w.handles.Put(ctx, env.Thread, r.URL, r.Title)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%d. handle: %s\n   %s\n   %s\n", i+1, handle, or(line(r.Title, 200), "(no title)"), line(r.URL, 500))
		if text := line(r.Text, searchSnippet); text != "" {
			fmt.Fprintf(&b, "   %s\n", text)
		}
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
