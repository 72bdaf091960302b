package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// protocolVersion is what we ask for; a server may answer with a newer one that the SDK knows. Naming it also keeps the
// SDK from probing with a method that older servers hang on or die of.
const protocolVersion = "2025-06-18"

// keyMeta carries a draft's idempotency key.
const keyMeta = "mecha-slack/idempotency-key"

const (
	maxPages    = 100 // of one list
	maxListed   = 512 // tools, resources or prompts of one server
	minProgress = 200 * time.Millisecond
)

// session is one initialized conversation with a server, over whatever transport.
type session struct {
	cs       *sdk.ClientSession
	pipe     *pipe // nil for HTTP
	log      *slog.Logger
	tokens   atomic.Int64
	ended    chan struct{} // closed when the connection is over
	timeout  time.Duration // of one request
	clocks   clocks
	mu       sync.Mutex
	watchers map[string]func(string) // progress of the calls that run, by token
}

// sessionOptions is what a session tells its owner.
type sessionOptions struct {
	Version     string // ours
	Server      string
	Log         *slog.Logger
	Timeout     time.Duration
	ListChanged func()
	Elicit      Elicitor
	// Asking is the conversation whose call runs, and what ends with it; empty where that is not one.
	Asking func() (thread string, over <-chan struct{})
}

// connect initializes a session. ctx bounds the handshake only.
func connect(ctx context.Context, t sdk.Transport, o sessionOptions) (*session, error) {
	s := &session{log: o.Log, ended: make(chan struct{}), timeout: o.Timeout, watchers: map[string]func(string){}}
	s.pipe, _ = t.(*pipe)
	caps := &sdk.ClientCapabilities{}
	if o.Elicit != nil {
		caps.Elicitation = &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "mecha-slack", Version: o.Version}, &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: caps,
		// It would send a tools/call a second time.
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			o.ListChanged()
		},
		//lint:ignore SA1019 servers of today still log this way, and the protocol keeps it for a year
		LoggingMessageHandler: func(_ context.Context, r *sdk.LoggingMessageRequest) {
			text, _ := json.Marshal(r.Params.Data)
			s.log.Debug("MCP server says", "level", string(r.Params.Level), "text", oneLine(string(text), 200))
		},
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			s.progress(r.Params)
		},
	})
	client.AddReceivingMiddleware(answerElicitations(o, &s.clocks))
	cs, err := client.Connect(ctx, t, &sdk.ClientSessionOptions{ProtocolVersion: protocolVersion})
	if err != nil {
		return nil, err
	}
	s.cs = cs
	go func() { // ends with the connection, which close ends
		_ = cs.Wait()
		close(s.ended)
	}()
	return s, nil
}

// close ends the connection and waits for it.
func (s *session) close() {
	if s.pipe != nil {
		_ = s.pipe.Close() // before the SDK's own close, which would wait for what is in flight
	}
	_ = s.cs.Close()
	<-s.ended
}

func (s *session) progress(p *sdk.ProgressNotificationParams) {
	s.mu.Lock()
	watch := s.watchers[fmt.Sprint(p.ProgressToken)]
	s.mu.Unlock()
	if watch == nil {
		return
	}
	var b strings.Builder
	b.WriteString(strconv.FormatFloat(p.Progress, 'g', 6, 64))
	if p.Total > 0 {
		b.WriteString("/" + strconv.FormatFloat(p.Total, 'g', 6, 64))
	}
	if p.Message != "" {
		b.WriteString(" " + p.Message)
	}
	watch(oneLine(b.String(), 200))
}

// errNoAnswer is a deadline of ours.
var errNoAnswer = errors.New("no answer")

// answer is what came of a call.
type answer struct {
	Result  json.RawMessage // a CallToolResult; nil if none came
	Refused *jsonrpc.Error  // the server's own error, an answer too
	Handed  bool            // the call went out
	Err     error           // why there is no answer
}

// call sends tools/call exactly once.
func (s *session) call(ctx context.Context, name string, args json.RawMessage, key string, progress func(string)) answer {
	ctx, stop := s.clocks.start(ctx, s.timeout, fmt.Errorf("%w within %s", errNoAnswer, s.timeout))
	defer stop()
	p := &sdk.CallToolParams{Name: name, Arguments: args}
	if key != "" {
		p.Meta = sdk.Meta{keyMeta: key}
	}
	if progress != nil {
		token := strconv.FormatInt(s.tokens.Add(1), 10)
		p.SetProgressToken("mecha-" + token)
		stop := s.watch("mecha-"+token, progress)
		defer stop()
	}
	x := &exchange{}
	res, err := s.cs.CallTool(withExchange(ctx, x), p)
	if s.pipe != nil {
		s.pipe.forget(x)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	a := answer{Result: x.result, Handed: x.handed}
	refused := x.err
	if s.pipe == nil {
		switch {
		case a.Result != nil: // as the server wrote it
		case err == nil: // what the SDK made of it goes through our own reading
			a.Result, err = json.Marshal(res)
		case !connectionError(err):
			refused = err
		}
		if x.status >= 400 && x.status < 500 {
			a.Handed = false // it was turned away at the door
		}
	}
	switch {
	case errors.As(refused, &a.Refused):
	case refused != nil:
		a.Err = refused
	case a.Result != nil:
	case ctx.Err() != nil:
		a.Err = context.Cause(ctx)
	case err != nil:
		a.Err = err
	default:
		a.Err = errors.New("the answer is empty")
	}
	return a
}

// connectionError reports whether an error comes from the SDK's own side of the connection. Its sentinels are of the
// type that a server's errors have too.
func connectionError(err error) bool {
	var w *jsonrpc.Error
	if !errors.As(err, &w) || errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, sdk.ErrSessionMissing) {
		return true
	}
	switch w.Code {
	case -32001, -32003, -32004, -32005:
		return true
	}
	return false
}

// watch hands the progress of one call on, not more often than people can read.
func (s *session) watch(token string, progress func(string)) (stop func()) {
	var mu sync.Mutex
	var last time.Time
	done := false
	s.mu.Lock()
	s.watchers[token] = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		if done || time.Since(last) < minProgress {
			return
		}
		last = time.Now()
		progress(text)
	}
	s.mu.Unlock()
	return func() {
		s.mu.Lock()
		delete(s.watchers, token)
		s.mu.Unlock()
		mu.Lock() // after this no progress of a call is shown that is over
		done = true
		mu.Unlock()
	}
}

// tools lists the tools as the server wrote them.
func (s *session) tools(ctx context.Context) ([]json.RawMessage, error) {
	var list []json.RawMessage
	err := s.pages(ctx, "tools", func(ctx context.Context, cursor string) (string, int, error) {
		x := &exchange{}
		res, err := s.cs.ListTools(withExchange(ctx, x), &sdk.ListToolsParams{Cursor: cursor})
		if s.pipe != nil {
			s.pipe.forget(x)
		}
		raw := x.answered()
		var page struct {
			Tools []json.RawMessage `json:"tools"`
			Next  string            `json:"nextCursor"`
		}
		switch {
		case raw != nil:
			// Read by us: one tool that the SDK cannot decode must not cost the others.
			if err := json.Unmarshal(raw, &page); err != nil {
				return "", 0, fmt.Errorf("its list of tools cannot be read: %w", err)
			}
		case err != nil:
			return "", 0, err
		default:
			page.Next = res.NextCursor
			for _, t := range res.Tools {
				raw, err := json.Marshal(t)
				if err != nil {
					return "", 0, err
				}
				page.Tools = append(page.Tools, raw)
			}
		}
		list = append(list, page.Tools...)
		return page.Next, len(list), nil
	})
	return list, err
}

// pages follows cursors. A list that does not end is cut: the tools that came until then are as good as any.
func (s *session) pages(ctx context.Context, what string, page func(context.Context, string) (string, int, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("its list of %s did not come within %s", what, s.timeout))
	defer cancel()
	seen := map[string]bool{}
	for cursor, n := "", 0; ; n++ {
		next, listed, err := page(ctx, cursor)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		if next == "" {
			return nil
		}
		if n+1 >= maxPages || listed >= maxListed || seen[next] {
			s.log.Warn("MCP server's list does not end; the rest is left out", "list", what, "pages", n+1, "listed", listed)
			return nil
		}
		seen[next], cursor = true, next
	}
}

// capabilities are what the server says it can do.
func (s *session) capabilities() sdk.ServerCapabilities {
	if r := s.cs.InitializeResult(); r != nil && r.Capabilities != nil {
		return *r.Capabilities
	}
	return sdk.ServerCapabilities{}
}

// serverName is the name that the server gives itself.
func (s *session) serverName() string {
	if r := s.cs.InitializeResult(); r != nil && r.ServerInfo != nil {
		return r.ServerInfo.Name
	}
	return ""
}
