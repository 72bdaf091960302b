package mcp

import (
	"bytes"
	"encoding/json"
	"io"
)

// overheard is the body of an HTTP answer that notes, while the SDK reads it, the result as the server wrote it. The SDK
// hands results on decoded, and a number of more than 53 bits is another one by then.
//
// It notes what it understands and never interferes: where it notes nothing (a broken answer that the SDK read on by
// another request), what the SDK decoded stands.
type overheard struct {
	io.ReadCloser
	x      *exchange
	stream bool // of server-sent events; otherwise one JSON document

	part  []byte // of a line, or the document so far
	event []byte // data of the event so far
	deaf  bool   // too much came without an end
}

func (o *overheard) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.hear(p[:n])
	if err == io.EOF && !o.stream && !o.deaf {
		o.message(o.part)
		o.deaf = true
	}
	return n, err
}

func (o *overheard) hear(b []byte) {
	if o.deaf {
		return
	}
	if len(o.part)+len(o.event)+len(b) > maxLine {
		o.deaf, o.part, o.event = true, nil, nil
		return
	}
	o.part = append(o.part, b...)
	for o.stream {
		i := bytes.IndexByte(o.part, '\n')
		if i < 0 {
			return
		}
		o.line(bytes.TrimSuffix(o.part[:i], []byte("\r")))
		o.part = append(o.part[:0], o.part[i+1:]...)
	}
}

// line is one of an event: an empty one ends it.
func (o *overheard) line(line []byte) {
	if len(line) == 0 {
		o.message(o.event)
		o.event = o.event[:0]
		return
	}
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok {
		return
	}
	if len(o.event) > 0 {
		o.event = append(o.event, '\n')
	}
	o.event = append(o.event, bytes.TrimPrefix(data, []byte(" "))...)
}

// message notes a result. The only answer on a POST's own body is the one to what it posted; what else comes there are
// requests and notifications of the server's, which have a method.
func (o *overheard) message(b []byte) {
	var m struct {
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	if len(b) == 0 || json.Unmarshal(b, &m) != nil || m.Method != nil || len(m.Result) == 0 {
		return
	}
	o.x.mu.Lock()
	o.x.result = bytes.Clone(m.Result)
	o.x.mu.Unlock()
}
