package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpServer serves MCP on loopback; wrap sees every request first.
func httpServer(t *testing.T, wrap func(next http.Handler) http.Handler) *httptest.Server {
	t.Helper()
	srv := sdk.NewServer(&sdk.Implementation{Name: "remote", Version: "1"}, nil)
	type in struct {
		Text string `json:"text"`
	}
	sdk.AddTool(srv, &sdk.Tool{Name: "echo", Description: "Echoes."}, func(ctx context.Context, r *sdk.CallToolRequest, a in) (*sdk.CallToolResult, any, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: 1, Message: "on my way"})
		}
		key, _ := r.Params.Meta[keyMeta].(string)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: a.Text + key}}}, nil, nil
	})
	h := http.Handler(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil))
	if wrap != nil {
		h = wrap(h)
	}
	hs := httptest.NewServer(h)
	t.Cleanup(hs.Close)
	return hs
}

// isCall reports whether a request posts a tools/call, and leaves its body readable.
func isCall(r *http.Request) bool {
	b, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	return strings.Contains(string(b), `"tools/call"`)
}

func TestHTTPServer(t *testing.T) {
	t.Parallel()
	var calls, bare atomic.Int32
	hs := httpServer(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				bare.Add(1)
			}
			if r.Method == http.MethodPost && isCall(r) {
				calls.Add(1)
			}
			next.ServeHTTP(w, r)
		})
	})
	deps := testDeps(t)
	deps.Env = func(name string) (string, bool) { return "Bearer s3cret", name == "REMOTE_AUTH" }
	cfg := Config{Name: "far", URL: hs.URL, HeadersEnv: map[string]string{"Authorization": "REMOTE_AUTH"}}
	s := start(t, deps, cfg)
	env := thread(t)
	env.IdempotencyKey = "-k"
	if out := call(t, find(t, s, "far__echo"), env, `{"text":"hi"}`); out.Content != "hi-k" || !out.External || out.IsError {
		t.Errorf("echo = %+v", out)
	}
	if n := calls.Load(); n != 1 {
		t.Errorf("the call was posted %d times", n)
	}
	if n := bare.Load(); n != 0 {
		t.Errorf("%d requests came without the header", n)
	}
	if st := status(t, s, "far"); st.Transport != "http" || st.Scope != ScopeShared || st.State != Ready {
		t.Errorf("status %+v", st)
	}
}

// What becomes of a call whose answer is lost, and how often the server sees it.
func TestHTTPCallIsPostedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answer  func(w http.ResponseWriter, r *http.Request)
		unknown bool
	}{
		{"server error", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "boom", 500) }, true},
		{"bad gateway", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "boom", 502) }, true},
		{"turned away", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "who are you", 401) }, false},
		{"connection cut", func(w http.ResponseWriter, r *http.Request) {
			c, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				c.Close()
			}
		}, true},
		{"answer cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, `{"jsonrpc":"2.0","id":`)
		}, true},
		{"event stream cut", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: {\"jsonrpc\"")
		}, true},
		{"redirected", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", 307) }, true},
		{"no MCP", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>Sign in</html>") }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int32
			hs := httpServer(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && isCall(r) {
						calls.Add(1)
						tt.answer(w, r)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			deps := testDeps(t)
			deps.CallTimeout = 2 * time.Second
			s := start(t, deps, Config{Name: "far", URL: hs.URL})
			out := call(t, find(t, s, "far__echo"), thread(t), `{"text":"hi"}`)
			if !out.IsError || out.Unknown != tt.unknown || !strings.HasPrefix(out.Content, "MCP call failed: ") {
				t.Errorf("outcome %+v, want unknown %v", out, tt.unknown)
			}
			if n := calls.Load(); n != 1 {
				t.Errorf("the call was posted %d times", n)
			}
		})
	}
}

func TestHTTPServerThatIsOff(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + l.Addr().String()
	l.Close()
	s := start(t, testDeps(t), Config{Name: "off", URL: url}, fakeServer(t, "on", "good"))
	if st := status(t, s, "off"); st.State != Failed || !strings.Contains(st.LastError, "refused") {
		t.Errorf("status %+v", st)
	}
	if why := s.Absent("off__echo"); !strings.Contains(why, "not running") {
		t.Errorf("Absent = %q", why)
	}
	find(t, s, "on__echo")
}

func TestDialRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		url, address string
		ok           bool
	}{
		{"http://127.0.0.1:8080/mcp", "127.0.0.1:8080", true},
		{"http://localhost:8080/mcp", "[::1]:8080", true},
		{"http://10.0.0.7/mcp", "10.0.0.7:80", true},
		{"https://mcp.example.com/", "93.184.216.34:443", true},
		{"https://mcp.corp.example/", "10.1.2.3:443", true}, // a host of the owner's own network
		{"https://mcp.example.com/", "127.0.0.1:443", false},
		{"https://mcp.example.com/", "[::ffff:127.0.0.1]:443", false},
		{"https://mcp.example.com/", "169.254.169.254:80", false},
		{"http://169.254.169.254/", "169.254.169.254:80", false},
		{"https://mcp.example.com/", "0.0.0.0:443", false},
	} {
		err := dialRule(tt.url)("tcp", tt.address, nil)
		if (err == nil) != tt.ok {
			t.Errorf("%s at %s: %v", tt.url, tt.address, err)
		}
	}
}

// A number of more than 53 bits is still that number, whichever way the answer comes.
func TestHTTPResultIsExact(t *testing.T) {
	t.Parallel()
	const result = `{"content":[],"structuredContent":{"n":9007199254740993,"f":1.10}}`
	for _, tt := range []struct{ name, kind, body string }{
		{"document", "application/json", `{"jsonrpc":"2.0","id":%s,"result":` + result + `}`},
		{"events", "text/event-stream", ": hello\r\n\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\r\n\r\n" +
			`data: {"jsonrpc":"2.0","id":%s,` + "\ndata: " + `"result":` + result + "}\n\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hs := httpServer(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					b, _ := io.ReadAll(r.Body)
					r.Body = io.NopCloser(strings.NewReader(string(b)))
					var m struct {
						ID     json.RawMessage
						Method string
					}
					if json.Unmarshal(b, &m) == nil && m.Method == "tools/call" {
						w.Header().Set("Content-Type", tt.kind)
						fmt.Fprintf(w, tt.body, m.ID)
						return
					}
					next.ServeHTTP(w, r)
				})
			})
			s := start(t, testDeps(t), Config{Name: "far", URL: hs.URL})
			if out := call(t, find(t, s, "far__echo"), thread(t), `{"text":"hi"}`); out.Content != `{"n":9007199254740993,"f":1.10}` || out.IsError {
				t.Errorf("the answer became %+v", out)
			}
		})
	}
}
