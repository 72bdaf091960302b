package localslack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen.
const patience = 10 * time.Second

// bench is a running workspace with the handles that tests need.
type workbench struct {
	testing.TB
	*Workspace
	ready Ready
	http  *http.Client
}

func start(t testing.TB, cfg Config) *workbench {
	t.Helper()
	if cfg.RateScale == 0 {
		cfg.RateScale = -1
	}
	w, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	tr := &http.Transport{}
	t.Cleanup(func() {
		tr.CloseIdleConnections()
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &workbench{TB: t, Workspace: w, ready: w.Ready(), http: &http.Client{Transport: tr}}
}

func (b *workbench) user(name string) ReadyUser {
	b.Helper()
	for _, u := range b.ready.Users {
		if u.Name == name {
			return u
		}
	}
	b.Fatalf("no user %s", name)
	return ReadyUser{}
}

func (b *workbench) channel(name string) string {
	b.Helper()
	for _, c := range b.ready.Channels {
		if c.Name == name {
			return c.ID
		}
	}
	b.Fatalf("no channel %s", name)
	return ""
}

func (b *workbench) client(token string) *slack.Client {
	return slack.New(token, slack.OptionAPIURL(b.ready.APIURL), slack.OptionAppLevelToken(b.ready.AppToken), slack.OptionHTTPClient(b.http))
}

func (b *workbench) bot() *slack.Client { return b.client(b.ready.BotToken) }

// api calls a method and returns the answer, whose error must be one of the
// method's own.
func (b *workbench) api(token, method string, form map[string]string) map[string]any {
	b.Helper()
	return b.post(token, method, form)
}

// post is api with arguments of any kind.
func (b *workbench) post(token, method string, arguments any) map[string]any {
	b.Helper()
	body, _ := json.Marshal(arguments)
	req, _ := http.NewRequest("POST", b.ready.APIURL+method, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	out, status := b.do(req)
	if status != http.StatusOK && status != http.StatusTooManyRequests {
		b.Fatalf("%s: HTTP %d", method, status)
	}
	if e, failed := out["error"].(string); failed && !inCatalogue(b, method, e) {
		b.Errorf("%s answered %s, which is not in Slack's catalogue of its errors", method, e)
	}
	return out
}

func (b *workbench) do(req *http.Request) (map[string]any, int) {
	b.Helper()
	res, err := b.http.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		b.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		b.Fatalf("HTTP %d, not JSON: %.300s", res.StatusCode, raw)
	}
	return out, res.StatusCode
}

// local posts to, or with a nil body gets from, a /_local/ endpoint.
func (b *workbench) local(path string, body any) map[string]any {
	b.Helper()
	out, status := b.tryLocal(path, body)
	if status != http.StatusOK {
		b.Fatalf("%s: HTTP %d: %v", path, status, out)
	}
	return out
}

func (b *workbench) tryLocal(path string, body any) (map[string]any, int) {
	b.Helper()
	req, _ := http.NewRequest("GET", b.ready.URL+"/_local/"+path, nil)
	if body != nil {
		raw, _ := json.Marshal(body)
		req, _ = http.NewRequest("POST", b.ready.URL+"/_local/"+path, bytes.NewReader(raw))
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Authorization", "Bearer "+b.ready.ControlToken)
	return b.do(req)
}

func (b *workbench) messages(channel, thread string) []any {
	b.Helper()
	out, _ := b.local("messages?channel="+channel+"&thread_ts="+thread, nil)["messages"].([]any)
	return out
}

// connect runs slack-go's Socket Mode client until the test ends and returns
// once its socket is open.
func (b *workbench) connect(opts ...socketmode.Option) *socketmode.Client {
	b.Helper()
	c := socketmode.New(b.bot(), opts...)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.RunContext(ctx)
	}()
	b.Cleanup(func() {
		cancel()
		for {
			select {
			case <-done:
				return
			case <-c.Events: // it blocks on its events when nobody reads
			}
		}
	})
	b.await(c, socketmode.EventTypeHello)
	return c
}

// await is the next event of that type; what comes before is skipped, and
// acked where it can be.
func (b *workbench) await(c *socketmode.Client, kind socketmode.EventType) socketmode.Event {
	b.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-c.Events:
			if e.Type == kind {
				return e
			}
			if e.Type == socketmode.EventTypeErrorBadMessage {
				b.Errorf("slack-go can't decode what came: %v", e.Data)
			}
			if e.Request != nil && e.Request.EnvelopeID != "" {
				c.Ack(*e.Request)
			}
		case <-deadline:
			b.Fatalf("no %s came", kind)
		}
	}
}

// event is the next Events API event for which want is true; all are acked.
func event[T any](b *workbench, c *socketmode.Client, want func(T) bool) (T, slackevents.EventsAPIEvent) {
	b.Helper()
	for {
		e := b.await(c, socketmode.EventTypeEventsAPI)
		c.Ack(*e.Request)
		outer := e.Data.(slackevents.EventsAPIEvent)
		if inner, ok := outer.InnerEvent.Data.(T); ok && (want == nil || want(inner)) {
			return inner, outer
		}
	}
}

// eventually waits for cond, which another goroutine's progress makes true.
func (b *workbench) eventually(what string, cond func() bool) {
	b.Helper()
	deadline := time.Now().Add(patience)
	for !cond() {
		if time.Now().After(deadline) {
			b.Fatalf("never: %s", what)
		}
		time.Sleep(time.Millisecond) // polling, not synchronisation: the condition decides
	}
}

func contextWithTimeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.Context(), d)
}
