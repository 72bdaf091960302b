package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// Whatever a server sends, and in whatever pieces it comes, the SDK reads it unchanged, and what is noted is a result
// that stands in it.
func FuzzOverheard(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"n":9007199254740993}}`,
		"data: {\"result\":{}}\n\n", "data: {\"result\":\ndata: 1}\r\n\r\ndata: {\"method\":\"x\",\"result\":2}\n\n",
		": c\n\nid: 7\ndata:{\"result\":null}\n\n", "data: {", "", "{}", "[1]",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, body string, stream bool) {
		var noted []json.RawMessage
		for _, in := range []io.Reader{strings.NewReader(body), iotest.OneByteReader(strings.NewReader(body)), iotest.DataErrReader(strings.NewReader(body))} {
			x := &exchange{}
			got, err := io.ReadAll(&overheard{ReadCloser: io.NopCloser(in), x: x, stream: stream})
			if err != nil || string(got) != body {
				t.Fatalf("%q was read as %q, %v", body, got, err)
			}
			if x.result != nil && !json.Valid(x.result) {
				t.Fatalf("%q: noted %q", body, x.result)
			}
			noted = append(noted, x.result)
		}
		if !bytes.Equal(noted[0], noted[1]) || !bytes.Equal(noted[0], noted[2]) {
			t.Fatalf("%q: in pieces %q, whole %q", body, noted[1:], noted[0])
		}
	})
}
