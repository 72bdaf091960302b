package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/time/rate"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

// reading is a pipe over text, on which the requests 1 to 3 wait for an answer.
func reading(text []byte, limit int) (*pipe, map[int64]*exchange, *[]string) {
	var notes []string
	p := &pipe{in: bufio.NewReaderSize(bytes.NewReader(text), 64), limit: limit, pending: map[int64]*exchange{},
		notes: rate.NewLimiter(rate.Inf, 1), noted: func(n noise) { notes = append(notes, n.What) }}
	waiting := map[int64]*exchange{1: {}, 2: {}, 3: {}}
	for id, x := range waiting {
		p.pending[id] = x
	}
	return p, waiting, &notes
}

func TestPipeReads(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 200)
	for _, tt := range []struct {
		name  string
		in    string
		want  []string
		notes int
	}{
		{"an answer", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", []string{"answer 1"}, 0},
		{"no newline at the end", `{"jsonrpc":"2.0","id":1,"result":{}}`, []string{"answer 1"}, 0},
		{"blank lines, CRLF and a byte order mark", "\n\r\n  \n\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\r\n", []string{"answer 1"}, 0},
		{"banners", "Hello!\n[1,2]\n\"x\"\n{\"level\":\"info\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n", []string{"answer 1"}, 4},
		{"an id that became a string", `{"jsonrpc":"2.0","id":"2","result":{}}` + "\n", []string{"answer 2"}, 0},
		{"an answer twice", strings.Repeat(`{"jsonrpc":"2.0","id":3,"result":{}}`+"\n", 2), []string{"answer 3"}, 1},
		{"an answer to nothing", `{"jsonrpc":"2.0","id":99,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":null,"result":{}}` + "\n", nil, 2},
		{"an error", `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}` + "\n", []string{"error 1 no"}, 0},
		{"a notification and a request", `{"jsonrpc":"2.0","method":"n"}` + "\n" + `{"jsonrpc":"2.0","id":"a","method":"ping"}` + "\n", []string{"notice n", "request ping"}, 0},
		{"pretty-printed", "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n", nil, 5},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]` + "\n", nil, 1},
		{"too long, id first", `{"jsonrpc":"2.0","id":2,"result":{"a":"` + long + long + `"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n",
			[]string{"error 2 " + errTooLong.Error(), "answer 1"}, 1},
		{"too long, id last", `{"jsonrpc":"2.0","result":{"id":3,"a":"` + strings.Repeat(long, 50) + `"},"id":2}` + "\n", []string{"error 2 " + errTooLong.Error()}, 1},
		{"too long for anybody", long + long + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", []string{"answer 1"}, 1},
	} {
		p, _, notes := reading([]byte(tt.in), 300)
		var got []string
		for {
			m, err := p.Read(t.Context())
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%s: %v", tt.name, err)
				}
				break
			}
			got = append(got, describe(m))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || len(*notes) != tt.notes {
			t.Errorf("%s: notes %q (-want +got):\n%s", tt.name, *notes, diff)
		}
	}
}

func describe(m jsonrpc.Message) string {
	switch m := m.(type) {
	case *jsonrpc.Response:
		if m.Error != nil {
			return fmt.Sprint("error ", m.ID.Raw(), " ", m.Error)
		}
		return fmt.Sprint("answer ", m.ID.Raw())
	case *jsonrpc.Request:
		if m.IsCall() {
			return "request " + m.Method
		}
		return "notice " + m.Method
	}
	return "?"
}

func FuzzPipe(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, "banner\n{\n", `{"jsonrpc":"2.0","id":"2","error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`, "\xff\xfe{}\n", `{"jsonrpc":"2.0","result":"` + strings.Repeat("y", 5000) + `","id":3}`,
	} {
		f.Add([]byte(s + "\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		p, waiting, _ := reading(in, 1000)
		answered := map[any]bool{}
		for {
			m, err := p.Read(context.Background())
			if err != nil {
				break
			}
			if r, ok := m.(*jsonrpc.Response); ok {
				if answered[r.ID.Raw()] {
					t.Fatalf("%v is answered twice", r.ID.Raw())
				}
				answered[r.ID.Raw()] = true
				if id, ok := r.ID.Raw().(int64); !ok || waiting[id] == nil {
					t.Fatalf("an answer to %v, which was not asked", r.ID.Raw())
				}
			}
		}
	})
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"content":[{"type":"text","text":"a"}]}`, `{"content":[{"type":"resource"}]}`, `{"structuredContent":{}}`, `{"content":[7]}`, `null`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := readResult(json.RawMessage(in), nil)
		if err == nil && (out.Content == "" || !out.External || out.Unknown) {
			t.Fatalf("%q is read as %+v", in, out)
		}
	})
}

// A call to a server that does not read is given up with its context, and one that was given up before a byte of it went
// out was not handed over.
func TestPipeWriteGivesUp(t *testing.T) {
	t.Parallel()
	c, err := child.StartPiped(t.Context(), child.Spec{Path: "sleep", Args: []string{"600"}, Env: child.Env(nil, nil, nil), Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := newPipe(c, func(noise) {})
	id, _ := jsonrpc.MakeID(float64(1))
	big, _ := json.Marshal(strings.Repeat("x", 1<<20))
	x := &exchange{}
	ctx, cancel := context.WithTimeout(withExchange(t.Context(), x), 2*time.Second)
	defer cancel()
	if err := p.Write(ctx, &jsonrpc.Request{ID: id, Method: "tools/call", Params: big}); err == nil {
		t.Error("a megabyte fits into a pipe that nobody reads")
	}
	if !x.handed {
		t.Error("a part of the call went out, and it counts as not handed over")
	}
	// The stream is broken now: nothing that comes later may be taken for a whole message.
	y := &exchange{}
	if err := p.Write(withExchange(t.Context(), y), &jsonrpc.Request{ID: id, Method: "tools/call"}); err == nil || y.handed {
		t.Errorf("after a cut message: %v, handed %v", err, y.handed)
	}
}
