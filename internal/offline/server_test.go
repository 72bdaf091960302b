package offline

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	openai "github.com/sashabaranov/go-openai"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	if cfg.PieceDelay == 0 {
		cfg.PieceDelay = -1
	}
	s, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s
}

func post(t *testing.T, s *Server, body string) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		raw = append(raw, []byte("\nREAD: "+err.Error())...)
	}
	return res, string(raw)
}

const askFiles = `{"model":"offline-rules","stream":true,"stream_options":{"include_usage":true},
	"tools":[{"type":"function","function":{"name":"fs_list","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}],
	"messages":[{"role":"user","content":"what files are here?"}]}`

// frames are the data lines of an event stream.
func frames(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	sc := bufio.NewScanner(strings.NewReader(body))
	for sc.Scan() {
		if data, ok := strings.CutPrefix(sc.Text(), "data: "); ok {
			out = append(out, data)
		}
	}
	return out
}

func TestStreamsACallInFragments(t *testing.T) {
	s := start(t, Config{Script: NewScript(ScriptTurn{}.Calling("fs_list", `{"path":"a rather long directory/name that takes several fragments"}`).Calling("fs_read", `{}`))})
	res, body := post(t, s, askFiles)
	if ct := res.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") {
		t.Errorf("Content-Type %q", ct)
	}
	all := frames(t, body)
	if all[len(all)-1] != "[DONE]" {
		t.Fatalf("last frame %q", all[len(all)-1])
	}
	args := map[int]string{}
	var names, ids []string
	fragments, finish, usage := 0, "", 0
	for _, f := range all[:len(all)-1] {
		var c completion
		if err := json.Unmarshal([]byte(f), &c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		if c.Usage != nil {
			usage = c.Usage.TotalTokens
			if len(c.Choices) != 0 {
				t.Errorf("the usage chunk has choices: %s", f)
			}
			continue
		}
		for _, d := range c.Choices[0].Delta.ToolCalls {
			args[d.Index] += d.Function.Arguments
			if d.ID != "" {
				ids, names = append(ids, d.ID), append(names, d.Function.Name)
				if d.Function.Arguments != "" || d.Type != "function" {
					t.Errorf("first fragment %s", f)
				}
			} else if d.Function.Name != "" {
				t.Errorf("a later fragment repeats the name: %s", f)
			}
			fragments++
		}
		if c.Choices[0].FinishReason != nil {
			finish = *c.Choices[0].FinishReason
		}
	}
	if diff := cmp.Diff(map[int]string{0: `{"path":"a rather long directory/name that takes several fragments"}`, 1: `{}`}, args); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"fs_list", "fs_read"}, names); diff != "" {
		t.Error(diff)
	}
	if fragments < 6 || finish != "tool_calls" || usage < 50 || len(ids) != 2 || ids[0] == ids[1] {
		t.Errorf("%d fragments, finish %q, usage %d, ids %v", fragments, finish, usage, ids)
	}
}

func TestARealClientReadsAWholeConversation(t *testing.T) {
	s := start(t, Config{})
	cfg := openai.DefaultConfig("none")
	cfg.BaseURL = s.URL()
	c := openai.NewClientWithConfig(cfg)

	models, err := c.ListModels(t.Context())
	if err != nil || len(models.Models) != 1 || models.Models[0].ID != ModelName {
		t.Fatalf("models %+v, %v", models, err)
	}
	req := openai.ChatCompletionRequest{
		Model: ModelName, StreamOptions: &openai.StreamOptions{IncludeUsage: true},
		Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "what files are here?"}},
		Tools:    []openai.Tool{{Type: "function", Function: &openai.FunctionDefinition{Name: "fs_list", Parameters: json.RawMessage(`{"type":"object"}`)}}},
	}
	read := func() (string, []openai.ToolCall, string) {
		t.Helper()
		st, err := c.CreateChatCompletionStream(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		defer st.Close()
		text, finish := "", ""
		var calls []openai.ToolCall
		for {
			chunk, err := st.Recv()
			if errors.Is(err, io.EOF) {
				return text, calls, finish
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range chunk.Choices {
				text += ch.Delta.Content
				if ch.FinishReason != "" {
					finish = string(ch.FinishReason)
				}
				for _, d := range ch.Delta.ToolCalls {
					if d.ID != "" {
						calls = append(calls, d)
						continue
					}
					calls[*d.Index].Function.Arguments += d.Function.Arguments
				}
			}
		}
	}
	_, calls, finish := read()
	if len(calls) != 1 || calls[0].Function.Name != "fs_list" || calls[0].Function.Arguments != `{"path":"."}` || finish != "tool_calls" {
		t.Fatalf("calls %+v, finish %q", calls, finish)
	}
	calls[0].Index = nil
	req.Messages = append(req.Messages,
		openai.ChatCompletionMessage{Role: "assistant", ToolCalls: calls},
		openai.ChatCompletionMessage{Role: "tool", ToolCallID: calls[0].ID, Content: "budget.md\nnotes/"})
	text, _, finish := read()
	if !strings.Contains(text, "- `budget.md`\n- `notes/`") || finish != "stop" {
		t.Errorf("finish %q, text %q", finish, text)
	}

	// The same, in one piece.
	req.StreamOptions = nil
	whole, err := c.CreateChatCompletion(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if whole.Choices[0].Message.Content != text || whole.Usage.TotalTokens == 0 {
		t.Errorf("whole %+v", whole)
	}
}

func TestModelSaysItsWindow(t *testing.T) {
	s := start(t, Config{ContextWindow: 4096})
	res, err := http.Get(s.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var got struct {
		Data []struct {
			ID            string `json:"id"`
			ContextWindow int    `json:"context_window"`
		} `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if len(got.Data) != 1 || got.Data[0].ContextWindow != 4096 {
		t.Errorf("%+v", got)
	}
	_, body := post(t, s, `{"model":"offline-rules","messages":[{"role":"user","content":"`+strings.Repeat("long ", 4096)+`"}]}`)
	if !strings.Contains(body, "context_length_exceeded") || !strings.Contains(body, "maximum context length is 4096 tokens") {
		t.Errorf("overflow: %s", body)
	}
}

func TestScriptGivesExactTurns(t *testing.T) {
	hold := make(chan struct{})
	script := NewScript(
		Says("one ", "two ").Calling("broken", `{"a":`),
		ScriptTurn{Text: []string{"special"}, When: LastUserSays("magic")},
		ScriptTurn{Text: []string{"held"}, Hold: hold},
		FromRules(),
	)
	s := start(t, Config{Script: script})
	ask := func(text string) string {
		_, body := post(t, s, `{"model":"any","messages":[{"role":"user","content":"`+text+`"}]}`)
		return body
	}
	if got := ask("x"); !strings.Contains(got, `"content":"one two "`) || !strings.Contains(got, `"arguments":"{\"a\":"`) {
		t.Errorf("first: %s", got)
	}
	if got := ask("do magic"); !strings.Contains(got, "special") {
		t.Errorf("by predicate: %s", got)
	}
	held := make(chan string)
	go func() { held <- ask("y") }()
	close(hold)
	if got := <-held; !strings.Contains(got, "held") {
		t.Errorf("held: %s", got)
	}
	if got := ask("hello"); !strings.Contains(got, "Hello") {
		t.Errorf("from rules: %s", got)
	}
	if got := ask("z"); !strings.Contains(got, "the script has no turn for request 5") {
		t.Errorf("exhausted: %s", got)
	}
	if script.Left() != 0 || len(script.Requests()) != 5 || len(script.Refusals()) != 1 {
		t.Errorf("left %d, requests %d, refusals %v", script.Left(), len(script.Requests()), script.Refusals())
	}
}

func TestFaults(t *testing.T) {
	for name, tc := range map[string]struct {
		turn   ScriptTurn
		status int
		header string // Retry-After
		want   string
		done   bool // ends as a good stream does
	}{
		"rate limit":     {Fails(RateLimited(1500 * time.Millisecond)), 429, "2", "rate_limit_exceeded", false},
		"server error":   {Fails(ServerError()), 500, "", "server_error", false},
		"bad gateway":    {Fails(BadGateway()), 502, "", "<html>", false},
		"overflow":       {Fails(Overflow()), 400, "", "context_length_exceeded", false},
		"cut":            {Says("a ", "b ", "c ").Failing(CutAfter(2)), 200, "", `"content":"b "`, false},
		"reset":          {Says("a ", "b ", "c ").Failing(ResetAfter(2)), 200, "", "READ: unexpected EOF", false},
		"error frame":    {Says("a ", "b ").Failing(ErrorFrameAfter(1, "overloaded")), 200, "", `{"error":{"code":500,"message":"overloaded"`, false},
		"garbage":        {Says("a ", "b ").Failing(GarbageAfter(1)), 200, "", `data: {"choices":[{"delta":{"content":"` + "\n", false},
		"comments":       {Says("a ", "b ").Failing(CommentsAfter(1, 200)), 200, "", ": ping\n\n: ping", true},
		"late cut":       {Says("a ").Failing(CutAfter(99)), 200, "", `"content":"a "`, false},
		"reasoning":      {ScriptTurn{Reasoning: []string{"hm"}, Text: []string{"a"}}, 200, "", `"reasoning_content":"hm"`, true},
		"no finish":      {ScriptTurn{Text: []string{"a"}, FinishReason: "length"}, 200, "", `"finish_reason":"length"`, true},
		"fragment break": {Calls("fs_list", `{"path":"a long path that is cut into fragments"}`).Failing(CutAfter(2)), 200, "", `"name":"fs_list"`, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Config{Script: NewScript(tc.turn)})
			res, body := post(t, s, askFiles)
			if res.StatusCode != tc.status || res.Header.Get("Retry-After") != tc.header {
				t.Errorf("status %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
			}
			if !strings.Contains(body, tc.want) {
				t.Errorf("no %q in %s", tc.want, body)
			}
			if strings.Contains(body, "[DONE]") != tc.done || tc.status == 200 && strings.Contains(body, `"finish_reason":"`) != tc.done {
				t.Errorf("done is %v: %s", !tc.done, body)
			}
			if strings.Contains(body, `"content":"c "`) {
				t.Errorf("went on after the fault: %s", body)
			}
		})
	}
}

func TestTokenLimitEndsWithLength(t *testing.T) {
	s := start(t, Config{Script: NewScript(Says("four", "four", "four"))})
	_, body := post(t, s, `{"model":"m","max_tokens":2,"messages":[{"role":"user","content":"x"}]}`)
	if !strings.Contains(body, `"content":"fourfour"`) || !strings.Contains(body, `"finish_reason":"length"`) {
		t.Error(body)
	}
}

func TestCloseEndsAStreamThatIsUnderWay(t *testing.T) {
	s, err := Start(context.Background(), Config{PieceDelay: time.Hour, Script: NewScript(Says("never", "sent"))})
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(askFiles))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	s.Close()
	if rest, _ := io.ReadAll(res.Body); strings.Contains(string(rest), "[DONE]") {
		t.Errorf("ended well: %s", rest)
	}
	if _, err := http.Get(s.URL() + "/models"); err == nil {
		t.Error("still answers after Close")
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.org:80", "nonsense"} {
		if s, err := Start(t.Context(), Config{Addr: addr}); err == nil {
			s.Close()
			t.Errorf("listens on %q", addr)
		}
	}
}

func TestPiecesAreTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, n := rapid.String().Draw(t, "text"), rapid.IntRange(1, 40).Draw(t, "n")
		var b bytes.Buffer
		for _, p := range pieces(text, n) {
			if p == "" {
				t.Fatal("an empty piece")
			}
			b.WriteString(p)
		}
		if b.String() != text {
			t.Fatalf("got %q, want %q", b.String(), text)
		}
	})
}
