package provider

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/agent"
)

func frames(fs ...string) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString("data: " + f + "\n\n")
	}
	return b.String()
}

// tc is a chunk with tool_calls; end ends an answer.
func tc(calls string) string { return `{"choices":[{"delta":{"tool_calls":[` + calls + `]}}]}` }

const end = `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`

func TestCallsOfEveryDialect(t *testing.T) {
	type call struct{ ID, Tool, Args string }
	tests := []struct {
		name   string
		frames []string
		want   []call
	}{
		{"fragments by index", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), tc(`{"index":0,"function":{"arguments":"{\"x\""}}`), tc(`{"index":0,"function":{"arguments":":1}"}}`), end}, []call{{"a", "f", `{"x":1}`}}},
		{"two whole calls in one delta", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), end}, []call{{"a", "f", "{}"}, {"b", "g", "{}"}}},
		{"every index 0, new id is a new call", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), tc(`{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}`), end}, []call{{"a", "f", `{"x":1}`}, {"b", "f", `{"x":2}`}}},
		{"every index 0, fragments follow the newest", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), tc(`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"x\":"}}`), tc(`{"index":0,"function":{"arguments":"2}"}}`), end}, []call{{"a", "f", "{}"}, {"b", "g", `{"x":2}`}}},
		{"no index at all", []string{tc(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tc(`{"function":{"arguments":"1}"}}`), tc(`{"id":"b","function":{"name":"g","arguments":"{}"}}`), end}, []call{{"a", "f", `{"x":1}`}, {"b", "g", "{}"}}},
		{"index comes late", []string{tc(`{"id":"a","function":{"name":"f","arguments":""}}`), tc(`{"index":0,"function":{"arguments":"{\"x\":1}"}}`), tc(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), end}, []call{{"a", "f", `{"x":1}`}, {"b", "g", "{}"}}},
		{"interleaved by id", []string{tc(`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tc(`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`), tc(`{"id":"a","function":{"arguments":"1}"}}`), tc(`{"id":"b","function":{"arguments":"2}"}}`), end}, []call{{"a", "f", `{"x":1}`}, {"b", "g", `{"y":2}`}}},
		{"interleaved by index", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`), tc(`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`), tc(`{"index":0,"function":{"arguments":"1}"}}`), tc(`{"index":1,"function":{"arguments":"2}"}}`), end}, []call{{"a", "f", `{"x":1}`}, {"b", "g", `{"y":2}`}}},
		{"the name repeated in each fragment, id null", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), tc(`{"index":0,"id":null,"function":{"name":"f","arguments":":1}"}}`), end}, []call{{"a", "f", `{"x":1}`}}},
		{"name and id repeated", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), tc(`{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`), end}, []call{{"a", "f", `{"x":1}`}}},
		{"a fresh id in each fragment", []string{tc(`{"index":0,"id":"a1","function":{"name":"f","arguments":"{\"x\""}}`), tc(`{"index":0,"id":"a2","function":{"arguments":":1}"}}`), end}, []call{{"a1", "f", `{"x":1}`}}},
		{"no ids: the same tool twice, index 0", []string{tc(`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`), tc(`{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}`), end}, []call{{"", "f", `{"x":1}`}, {"", "f", `{"x":2}`}}},
		{"no ids, no indexes: two tools", []string{tc(`{"function":{"name":"f","arguments":"{}"}}`), tc(`{"function":{"name":"g","arguments":"{}"}}`), end}, []call{{"", "f", "{}"}, {"", "g", "{}"}}},
		{"arguments are an object", []string{tc(`{"id":"a","function":{"name":"f","arguments":{"x":12345678901234567890}}}`), end}, []call{{"a", "f", `{"x":12345678901234567890}`}}},
		{"arguments are empty, null or absent", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":1,"id":"b","function":{"name":"g","arguments":null}},{"index":2,"id":"c","function":{"name":"h"}}`), end}, []call{{"a", "f", "{}"}, {"b", "g", "{}"}, {"c", "h", "{}"}}},
		{"id is a number, index a string", []string{tc(`{"index":"0","id":7,"function":{"name":"f","arguments":"{"}}`), tc(`{"index":"0","function":{"arguments":"}"}}`), end}, []call{{"7", "f", "{}"}}},
		{"finish_reason stop with calls", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), `{"choices":[{"delta":{},"finish_reason":"stop"}]}`}, []call{{"a", "f", "{}"}}},
		{"calls in the last frame", []string{`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}`}, []call{{"a", "f", "{}"}}},
		{"a whole message in a stream", []string{`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`}, []call{{"a", "f", "{}"}}},
		{"arguments that are no JSON are kept", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\": oops"}}`), end}, []call{{"a", "f", `{"x": oops`}}},
		{"an empty end fragment", []string{tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`), tc(`{"index":0,"id":"","function":{"name":"","arguments":""}}`), end}, []call{{"a", "f", `{"x":1}`}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turn, _, err := ask(t, KindOpenAI, sseType, text(frames(tt.frames...)))
			if err != nil {
				t.Fatal(err)
			}
			var got []call
			for _, c := range turn.Calls {
				got = append(got, call{c.WireID, c.Tool, string(c.Args)})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if turn.Stop != agent.StopCalls {
				t.Errorf("stop %q", turn.Stop)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	hi := `{"choices":[{"delta":{"content":"hi"}}]}`
	stop := `{"choices":[{"delta":{},"finish_reason":"stop"}]}`
	tests := []struct {
		name, kind, body string
		want             agent.Turn
		err              agent.ErrorKind
		says             string
	}{
		{name: "comments, blank data, null deltas, empty choices", body: ": ping\n\ndata:\n\n: OPENROUTER PROCESSING\n\n" + frames(`{"choices":[]}`, `{"choices":[{"delta":{"content":null,"tool_calls":null}}]}`, `{"choices":[{"delta":null}]}`, hi, stop, "[DONE]"), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "no [DONE]", body: frames(hi, stop), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "no blank line at the end", body: strings.TrimRight(frames(hi, stop), "\n"), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "[DONE] without a finish_reason", body: frames(hi, "[DONE]"), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "usage-only chunk after the end, cached once", body: frames(hi, stop, `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":8}}}`, "[DONE]"), want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Usage: agent.Usage{In: 10, Out: 2, Cached: 8}}},
		{name: "usage frames replace each other", body: frames(`{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1}}`, hi, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2}}`), want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Usage: agent.Usage{In: 10, Out: 2}}},
		{name: "data without a space, several lines, CRLF", body: "data:{\"choices\":[{\"delta\":\r\ndata:{\"content\":\"hi\"}}]}\r\n\r\ndata:[DONE]\r\n\r\n", want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "byte order mark", body: "\ufeff" + frames(hi, "[DONE]"), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "content in parts", body: frames(`{"choices":[{"delta":{"content":[{"type":"text","text":"h"},{"type":"text","text":"i"}]}}]}`, stop), want: agent.Turn{Text: "hi", Stop: agent.StopEnd}},
		{name: "reasoning_content kept as it came", body: frames(`{"choices":[{"delta":{"reasoning_content":"a"}}]}`, `{"choices":[{"delta":{"reasoning_content":"<b>"}}]}`, hi, stop), want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Reasoning: json.RawMessage(`{"reasoning_content":"a<b>"}`)}},
		{name: "reasoning and its details", body: frames(`{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]}}]}`, `{"choices":[{"delta":{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","signature":"s","index":0}]}}]}`, hi, stop), want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Reasoning: json.RawMessage(`{"reasoning":"ab","reasoning_details":[{"index":0,"signature":"s","text":"ab","type":"reasoning.text"}]}`)}},
		{name: "think in pieces", body: frames(`{"choices":[{"delta":{"content":"\n<th"}}]}`, `{"choices":[{"delta":{"content":"ink>mm"}}]}`, `{"choices":[{"delta":{"content":"m</thi"}}]}`, `{"choices":[{"delta":{"content":"nk>\n\nhi"}}]}`, stop), want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Reasoning: json.RawMessage(`{"think":"mmm"}`)}},
		{name: "what only begins like think", body: frames(`{"choices":[{"delta":{"content":"<thin"}}]}`, `{"choices":[{"delta":{"content":" ice"}}]}`, stop), want: agent.Turn{Text: "<thin ice", Stop: agent.StopEnd}},
		{name: "think is never closed", body: frames(`{"choices":[{"delta":{"content":"<think>mm</thin"}}]}`, stop), want: agent.Turn{Stop: agent.StopEnd, Reasoning: json.RawMessage(`{"think":"mm</thin"}`)}},
		{name: "a refusal is text", body: frames(`{"choices":[{"delta":{"refusal":"no"}}]}`, stop), want: agent.Turn{Text: "no", Stop: agent.StopEnd}},
		{name: "a call cut off by the limit is no call", body: frames(tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{\"x"}}`), `{"choices":[{"delta":{},"finish_reason":"length"}]}`), want: agent.Turn{Stop: agent.StopLength, Cut: []string{"g"}, Calls: []agent.Call{{WireID: "a", Tool: "f", Args: json.RawMessage("{}")}}}},
		{name: "a whole answer where a stream was asked", kind: "application/json; charset=utf-8", body: `{"choices":[{"index":0,"message":{"role":"assistant","content":"hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, want: agent.Turn{Text: "hi", Stop: agent.StopEnd, Usage: agent.Usage{In: 3, Out: 1}}},

		{name: "end without an end", body: frames(hi), err: agent.ErrCut, says: "broke off"},
		{name: "nothing at all", body: "", err: agent.ErrCut},
		{name: "half a frame", body: frames(hi) + `data: {"choices":[{"delta":{},"finish_reason":"st`, err: agent.ErrCut},
		{name: "HTML", kind: "text/html", body: "<html>Bad gateway</html>", err: agent.ErrCut},
		{name: "error in the middle", body: frames(hi, `{"error":{"message":"upstream failed","code":502}}`), err: agent.ErrTransient, says: "upstream failed"},
		{name: "error beside choices", body: frames(hi, `{"error":{"message":"Provider returned error","code":429},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}`), err: agent.ErrTransient},
		{name: "finish_reason error", body: frames(hi, `{"choices":[{"delta":{},"finish_reason":"error"}]}`), err: agent.ErrTransient},
		{name: "an error line without the field's name", body: `{"error":{"message":"model not loaded"}}` + "\n", err: agent.ErrTransient, says: "model not loaded"},
		{name: "200 with an error body", kind: "application/json", body: `{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}`, err: agent.ErrAuth, says: "Incorrect API key"},
		{name: "overflow inside a stream", body: frames(`{"error":{"code":500,"message":"the request exceeds the available context size. try increasing it","type":"exceed_context_size_error"}}`), err: agent.ErrOverflow},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.kind == "" {
				tt.kind = sseType
			}
			turn, streamed, err := ask(t, KindOpenAI, tt.kind, text(tt.body))
			if tt.err != "" {
				var me *agent.ModelError
				if !errors.As(err, &me) || me.Kind != tt.err || !strings.Contains(me.What, tt.says) {
					t.Fatalf("got %v, want %s with %q", err, tt.err, tt.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Model = "m"
			if diff := cmp.Diff(tt.want, turn); diff != "" {
				t.Error(diff)
			}
			if streamed != turn.Text {
				t.Errorf("streamed %q, kept %q", streamed, turn.Text)
			}
		})
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(frames(`{"a":1}`, "[DONE]")), 3)
	f.Add([]byte("data: a\r\ndata:b\r\r: c\n\ndata: d"), 1)
	f.Add([]byte("\xef\xbb\xbfdata\n\n{\"x\"}\n\n"), 2)
	read := func(b []byte, at int) (all []string) {
		e := newEvents(&splitReader{b, at})
		for {
			d, err := e.next()
			if err != nil {
				return all
			}
			all = append(all, string(d))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, at int) {
		if diff := cmp.Diff(read(b, len(b)), read(b, at)); diff != "" {
			t.Errorf("split at %d:\n%s", at, diff)
		}
	})
}

func FuzzAssembler(f *testing.F) {
	f.Add(frames(tc(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), tc(`{"function":{"arguments":":1}"}}`), end))
	f.Add(frames(`{"choices":[{"delta":{"content":"<think>a</think>b"}}],"usage":{}}`, end))
	f.Add(frames(`{"choices":[{"delta":{"reasoning_details":[{"type":"x","index":null,"text":null}]},"finish_reason":"length"}]}`))
	f.Fuzz(func(t *testing.T, s string) {
		turn, streamed, err := ask(t, KindOpenAI, sseType, text(s))
		if err != nil {
			if len(turn.Calls) > 0 {
				t.Error("calls beside an error")
			}
			return
		}
		if turn.Text != streamed {
			t.Errorf("streamed %q, kept %q", streamed, turn.Text)
		}
		for _, c := range turn.Calls {
			if c.Tool == "" || len(c.Args) == 0 {
				t.Errorf("half a call: %+v", c)
			}
		}
		if _, err := json.Marshal(turn); err != nil {
			t.Errorf("the turn cannot be kept: %v", err)
		}
	})
}

// The short way out of a chunk and the long one agree.
func FuzzPlainText(f *testing.F) {
	for _, s := range []string{
		`{"id":"x","choices":[{"index":0,"delta":{"content":"a\nb"},"finish_reason":null}]}`,
		`{"choices":[{"finish_reason":null,"index":0,"delta":{"content":" the"}}],"created":1}`,
		`{"id":"x","choices":[{"index":0,"delta":{"content":"a"},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"id":"x","usage":{"prompt_tokens":1},"choices":[{"delta":{"content":"a"},"finish_reason":null}]}`,
		`{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"content":"b"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		short, ok := plainText(b)
		if !ok {
			return
		}
		var c chunk
		if json.Unmarshal(b, &c) != nil {
			return // broken frames are only met whole
		}
		if len(c.Choices) == 0 || c.Choices[0].Delta == nil || textOf(c.Choices[0].Delta.Content) != short || c.Usage != nil || c.Choices[0].FinishReason != nil || len(c.Choices[0].Delta.ToolCalls) > 0 {
			t.Errorf("%s\nshort way: %q\nlong way: %+v", b, short, c)
		}
	})
}

type splitReader struct {
	b  []byte
	at int
}

func (r *splitReader) Read(p []byte) (int, error) {
	n := len(r.b)
	if r.at > 0 && r.at < n {
		n, r.at = r.at, 0
	}
	n = copy(p, r.b[:n])
	r.b = r.b[n:]
	if n == 0 {
		return 0, errEOF
	}
	return n, nil
}
