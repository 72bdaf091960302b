package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/agent"
)

// recording is one exchange with a real provider.
type recording struct {
	Cassette, Host, Model string
	Stream                bool
	Status                int
	Response              string
}

func (r recording) String() string { return r.Host + "/" + r.Cassette }

func recordings(t *testing.T, file string) []recording {
	t.Helper()
	dir := os.Getenv("MECHA_SHARED")
	if dir == "" {
		t.Skip("MECHA_SHARED is not set: recorded provider traffic is not part of the repository")
	}
	b, err := os.ReadFile(filepath.Join(dir, "wire", file))
	if err != nil {
		t.Fatal(err)
	}
	var list []recording
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) == 0 {
		t.Fatal("no recordings")
	}
	return list
}

// canned answers every request with one body.
type canned struct {
	kind string
	body func() io.Reader
}

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {c.kind}}, Body: io.NopCloser(c.body())}, nil
}

func one(n int) *int { return &n }

// ask sends one question, without retries, and answers what was streamed too.
func ask(t testing.TB, kind, contentType string, body func() io.Reader) (turn agent.Turn, streamed string, err error) {
	t.Helper()
	m, err := New("test", Config{Kind: kind, Model: "m", MaxRetries: one(1)}, Deps{Transport: canned{contentType, body}})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	turn, err = m.Stream(context.Background(), agent.Request{}, func(d agent.Delta) { all.WriteString(d.Text) })
	return turn, all.String(), err
}

const sseType = "text/event-stream; charset=utf-8"

func text(s string) func() io.Reader { return func() io.Reader { return strings.NewReader(s) } }

// wellFormed is what holds of every finished turn.
func wellFormed(t *testing.T, name string, turn agent.Turn, streamed string) {
	t.Helper()
	if turn.Text != streamed {
		t.Errorf("%s: the stream showed %q, the turn holds %q", name, streamed, turn.Text)
	}
	if turn.Text == "" && len(turn.Calls) == 0 && len(turn.Reasoning) == 0 {
		t.Errorf("%s: an answer without anything in it", name)
	}
	for _, c := range turn.Calls {
		if c.Tool == "" || !json.Valid(c.Args) || c.Args[0] != '{' {
			t.Errorf("%s: call %q with arguments %s", name, c.Tool, c.Args)
		}
	}
	if (len(turn.Calls) > 0) != (turn.Stop == agent.StopCalls) {
		t.Errorf("%s: %d calls but stop %q", name, len(turn.Calls), turn.Stop)
	}
}

// reference reads a recorded Chat Completions stream in the plainest way: all
// content one after the other, calls counted by their distinct ids.
func reference(stream string) (text string, calls int) {
	ids := map[string]bool{}
	for line := range strings.Lines(stream) {
		var c struct {
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
					Calls   []struct {
						ID string `json:"id"`
					} `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		data, ok := strings.CutPrefix(line, "data:")
		if !ok || json.Unmarshal([]byte(data), &c) != nil {
			continue
		}
		for _, ch := range c.Choices {
			text += ch.Delta.Content
			for _, call := range ch.Delta.Calls {
				if call.ID != "" {
					ids[call.ID] = true
				}
			}
		}
	}
	return text, len(ids)
}

func TestRecordedChatStreams(t *testing.T) {
	n, calls := 0, 0
	for _, r := range recordings(t, "chat-completions.json") {
		if !r.Stream {
			continue
		}
		n++
		want, streamed, err := ask(t, KindOpenAI, sseType, text(r.Response))
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		wellFormed(t, r.String(), want, streamed)
		refText, refCalls := reference(r.Response)
		if want.Text != refText || len(want.Calls) != refCalls {
			t.Errorf("%s: %d calls and %q, want %d and %q", r, len(want.Calls), want.Text, refCalls, refText)
		}
		calls += len(want.Calls)

		// All byte boundaries at once.
		got, _, err := ask(t, KindOpenAI, sseType, func() io.Reader { return iotest.OneByteReader(strings.NewReader(r.Response)) })
		if err != nil {
			t.Errorf("%s in single bytes: %v", r, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s in single bytes:\n%s", r, diff)
		}
		for _, ending := range []string{"\r\n", "\r"} {
			got, _, err := ask(t, KindOpenAI, sseType, text(strings.ReplaceAll(r.Response, "\n", ending)))
			if err != nil {
				t.Errorf("%s with %q: %v", r, ending, err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %q:\n%s", r, ending, diff)
			}
		}
		cuts(t, r, KindOpenAI, want)
	}
	if n < 100 || calls < 50 {
		t.Errorf("replayed %d streams with %d calls: the corpus is not whole", n, calls)
	}
	t.Logf("%d streams, %d calls", n, calls)
}

// cuts ends a stream at each event boundary, cleanly and by a reset: an honest
// error, or all calls; never some.
func cuts(t *testing.T, r recording, kind string, want agent.Turn) {
	t.Helper()
	finished := 0
	for at := 0; ; {
		i := strings.Index(r.Response[at:], "\n\n")
		if i < 0 {
			break
		}
		at += i + 2
		if at == len(r.Response) {
			break
		}
		for _, reset := range []bool{false, true} {
			part := r.Response[:at]
			got, _, err := ask(t, kind, sseType, func() io.Reader {
				if reset {
					return io.MultiReader(strings.NewReader(part), iotest.ErrReader(errors.New("connection reset by peer")))
				}
				return strings.NewReader(part)
			})
			var me *agent.ModelError
			switch {
			case err == nil:
				finished++
				// Usage comes after the end; everything else must be there.
				got.Usage, got.Model = want.Usage, want.Model
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s cut at %d passes for whole:\n%s", r, at, diff)
				}
			case !errors.As(err, &me) || me.Kind != agent.ErrCut:
				t.Errorf("%s cut at %d: %v, want a cut", r, at, err)
			case len(got.Calls) > 0 || got.Text != "":
				t.Errorf("%s cut at %d: an error with %d calls and text %q", r, at, len(got.Calls), got.Text)
			}
		}
	}
	if finished > 12 {
		t.Errorf("%s: %d cuts pass for whole answers", r, finished)
	}
}

// Every two-way split of a stream gives the same events, and so the same turn.
func TestSplitAtEachByte(t *testing.T) {
	read := func(r io.Reader) string {
		var all strings.Builder
		for ev := newEvents(r); ; all.WriteByte(0) {
			data, err := ev.next()
			if err != nil {
				return all.String()
			}
			all.Write(data)
		}
	}
	split := 0
	for _, r := range recordings(t, "chat-completions.json") {
		if !r.Stream || len(r.Response) > 8000 {
			continue
		}
		want := read(strings.NewReader(r.Response))
		for at := 1; at < len(r.Response); at++ {
			split++
			if got := read(&splitReader{[]byte(r.Response), at}); got != want {
				t.Fatalf("%s split at %d:\n%s", r, at, cmp.Diff(want, got))
			}
		}
	}
	if split == 0 {
		t.Error("nothing was split")
	}
}

func TestRecordedChatAnswers(t *testing.T) {
	n := 0
	for _, r := range recordings(t, "chat-completions.json") {
		if r.Stream {
			continue
		}
		n++
		turn, streamed, err := ask(t, KindOpenAI, "application/json", text(r.Response))
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		wellFormed(t, r.String(), turn, streamed)
		_, _, err = ask(t, KindOpenAI, "application/json", text(r.Response[:len(r.Response)/2]))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != agent.ErrCut {
			t.Errorf("%s, half of it: %v, want a cut", r, err)
		}
	}
	if n == 0 {
		t.Error("nothing was replayed")
	}
}

func TestRecordedMessages(t *testing.T) {
	calls, thoughts := 0, 0
	for _, r := range recordings(t, "anthropic-messages.json") {
		kind := "application/json"
		if r.Stream {
			kind = sseType
		}
		want, streamed, err := ask(t, KindAnthropic, kind, text(r.Response))
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		wellFormed(t, r.String(), want, streamed)
		if want.Usage.In == 0 || want.Usage.Out == 0 {
			t.Errorf("%s: usage %+v", r, want.Usage)
		}
		calls += len(want.Calls)
		thoughts += len(thoughtsOf(want.Reasoning))
		if !r.Stream {
			continue
		}
		got, _, err := ask(t, KindAnthropic, kind, func() io.Reader { return iotest.OneByteReader(strings.NewReader(r.Response)) })
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s in single bytes: %v\n%s", r, err, diff)
		}
		cuts(t, r, KindAnthropic, want)
	}
	if calls == 0 || thoughts == 0 {
		t.Errorf("%d calls, %d thoughts: the corpus is not whole", calls, thoughts)
	}
}

// The same over a real socket, chunked and flushed, with the request checked.
func TestReplayOverHTTP(t *testing.T) {
	list := recordings(t, "chat-completions.json")
	next := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		if req.URL.Path != "/v1/chat/completions" || req.Header.Get("Authorization") != "Bearer k" || !json.Valid(b) {
			t.Errorf("asked %s with %q: %s", req.URL.Path, req.Header.Get("Authorization"), b)
		}
		w.Header().Set("Content-Type", sseType)
		for _, ev := range bytes.SplitAfter([]byte(list[next].Response), []byte("\n\n")) {
			_, _ = w.Write(ev)
			w.(http.Flusher).Flush()
		}
	}))
	defer srv.Close()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	m, err := New("http", Config{BaseURL: srv.URL + "/v1", Model: "m", MaxRetries: one(1), APIKey: "k"}, Deps{Key: "k", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range list {
		if !r.Stream {
			continue
		}
		next = i
		want, _, err := ask(t, KindOpenAI, sseType, text(r.Response))
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Stream(t.Context(), agent.Request{System: "s", Messages: []agent.Message{{Role: agent.User, Text: "<hi> & bye"}}}, func(agent.Delta) {})
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", r, err, diff)
		}
	}
}
