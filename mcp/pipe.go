package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/time/rate"

	"github.com/mecha-slack/mecha-slack/internal/child"
)

const (
	// maxLine is the longest message taken. A longer one costs its call, not the connection.
	maxLine = 16 << 20
	// maxNoise is how much a server may write that is no message, without one in between, before it is taken for a
	// flood and ended.
	maxNoise = 64 << 20
	// maxAsked bounds the requests of a server that are answered at a time; a reader that is flooded with pings by a
	// peer which never reads would otherwise hold an answer for each.
	maxAsked = 32
	// wakeAfterExit is how long the last words of a child that is gone are waited for: only a process that has left
	// its group can still hold the pipe.
	wakeAfterExit = time.Second
)

var (
	errTooLong = errors.New("the answer is longer than 16 MiB")
	errFlood   = errors.New("it floods its standard output with text that is not MCP")
)

// pipe is the connection to a child: one JSON object a line, either way. Unlike the SDK's own, it forgives what servers
// do: a line that is no message is noted and skipped, an answer whose id has become a string is still the answer, a
// second answer is dropped, bad UTF-8 is replaced, and a message over the limit fails its own call only.
type pipe struct {
	child   *child.Piped
	in      *bufio.Reader
	limit   int // of a line
	noted   func(noise)
	writing chan struct{} // holds one token; a lock that a context can give up on
	notes   *rate.Limiter
	once    sync.Once

	mu      sync.Mutex
	pending map[int64]*exchange // requests of ours without an answer
	asked   int                 // requests of theirs without an answer
	noise   int64               // bytes since the last message
}

// noise is something on a server's standard output that is no message, or none that anybody waits for.
type noise struct {
	What string // one of the sentences below
	Text []byte // at most 200 bytes
}

const (
	strayText    = "it writes text that is not MCP to its standard output, which is skipped; logs belong on standard error"
	strayJSON    = "it writes JSON that is no MCP message to its standard output, which is skipped; logs belong on standard error"
	prettyJSON   = "it writes JSON over several lines, where MCP wants one object a line"
	strayAnswer  = "it answers twice, too late, or what was not asked; such answers are dropped"
	tooManyAsked = "it asks more at a time than is answered; the rest is dropped"
	tooLongLine  = "it writes lines of more than 16 MiB; they are dropped, and the calls that they answer fail"
)

// exchange is one request of ours and what came of it. It travels in the context of a call, because that is what the
// SDK hands to a transport unchanged.
type exchange struct {
	id     int64 // set by the pipe before it writes
	mu     sync.Mutex
	handed bool // bytes of the request went out: from here on it may have happened
	status int  // of an HTTP answer
	result json.RawMessage
	err    error // of an answer that is an error: *jsonrpc.Error, or errTooLong
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

func (x *exchange) hand() {
	if x != nil {
		x.mu.Lock()
		x.handed = true
		x.mu.Unlock()
	}
}

// answered is the result that came, if one did.
func (x *exchange) answered() json.RawMessage {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.result
}

// newPipe wraps a child that was just started. It owns a goroutine that ends with the child.
func newPipe(c *child.Piped, noted func(noise)) *pipe {
	p := &pipe{
		child: c, in: bufio.NewReaderSize(c.Stdout, 64<<10), limit: maxLine, noted: noted,
		writing: make(chan struct{}, 1), pending: map[int64]*exchange{},
		// A flood of notifications is slowed down to what we can handle: the server waits for us, not our memory for it.
		notes: rate.NewLimiter(500, 2000),
	}
	go func() {
		<-c.Done()
		_ = c.Stdout.SetReadDeadline(time.Now().Add(wakeAfterExit))
	}()
	return p
}

// Connect makes a pipe its own transport: it is good for one session.
func (p *pipe) Connect(context.Context) (sdk.Connection, error) { return p, nil }

// SessionID is part of the SDK's interface; a child has none.
func (p *pipe) SessionID() string { return "" }

// Close closes both ends. It ends the conversation, not the child.
func (p *pipe) Close() error {
	p.once.Do(func() {
		_ = p.child.CloseStdin()
		_ = p.child.Stdout.Close()
	})
	return nil
}

// Read returns the next message and skips everything that is none.
func (p *pipe) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, total, tail, err := p.line()
		switch {
		case errors.Is(err, errTooLong):
			if msg := p.tooLong(line, tail, total); msg != nil {
				return msg, nil
			}
		case err != nil && len(bytes.TrimSpace(line)) == 0:
			if errors.Is(err, os.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
				err = io.EOF
			}
			return nil, err
		default:
			if msg := p.message(ctx, line); msg != nil {
				return msg, nil
			}
		}
		p.mu.Lock()
		flood := p.noise > maxNoise
		p.mu.Unlock()
		if flood {
			return nil, errFlood
		}
	}
}

// line reads one line. Of one that is too long it keeps the beginning and the end.
func (p *pipe) line() (head []byte, total int64, tail []byte, err error) {
	const keep = 4 << 10
	var long bool
	for {
		part, err := p.in.ReadSlice('\n')
		total += int64(len(part))
		if !long {
			head = append(head, part...)
			if len(head) > p.limit {
				long = true
				tail = append(tail, head[max(0, len(head)-keep):]...)
				head = bytes.Clone(head[:min(len(head), keep)])
			}
		} else {
			tail = append(tail, part...)
			if len(tail) > keep {
				tail = append(tail[:0], tail[len(tail)-keep:]...)
			}
		}
		switch {
		case err == bufio.ErrBufferFull:
			if long && total > maxNoise {
				return nil, total, nil, errFlood
			}
			continue
		case long && err == nil:
			return head, total, tail, errTooLong
		case long:
			return nil, total, nil, err
		default:
			return head, total, nil, err
		}
	}
}

// message decodes a line, or returns nil for one that is not for the session.
func (p *pipe) message(ctx context.Context, line []byte) jsonrpc.Message {
	raw := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	if len(raw) == 0 {
		return nil // blank lines are nobody's fault
	}
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if raw[0] != '{' || !json.Valid(raw) {
		what := strayText
		if len(raw) == 1 && (raw[0] == '{' || raw[0] == '[') {
			what = prettyJSON
		}
		p.skip(what, raw)
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(raw)
	if err != nil {
		p.skip(strayJSON, raw)
		return nil
	}
	switch m := msg.(type) {
	case *jsonrpc.Response:
		if !p.answer(m) {
			p.skip(strayAnswer, raw)
			return nil
		}
	case *jsonrpc.Request:
		if !m.IsCall() {
			_ = p.notes.Wait(ctx)
			break
		}
		p.mu.Lock()
		p.asked++
		full := p.asked > maxAsked
		if full {
			p.asked--
		}
		p.mu.Unlock()
		if full {
			p.skip(tooManyAsked, raw)
			return nil
		}
	}
	p.mu.Lock()
	p.noise = 0
	p.mu.Unlock()
	return msg
}

// answer matches a response to its request, once.
func (p *pipe) answer(m *jsonrpc.Response) bool {
	id, ok := numericID(m.ID.Raw())
	if !ok {
		return false
	}
	p.mu.Lock()
	x, ok := p.pending[id]
	delete(p.pending, id)
	p.mu.Unlock()
	if !ok {
		return false
	}
	m.ID, _ = jsonrpc.MakeID(float64(id))
	if x != nil {
		x.mu.Lock()
		x.result, x.err = m.Result, m.Error
		x.mu.Unlock()
	}
	return true
}

// forget gives up on an exchange: an answer that comes later is to nothing that is asked.
func (p *pipe) forget(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pending[x.id] == x {
		delete(p.pending, x.id)
	}
}

func numericID(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// tooLong makes an error of an answer that cannot be kept, so that its call ends now and not at its deadline.
func (p *pipe) tooLong(head, tail []byte, total int64) jsonrpc.Message {
	if id, ok := findID(head, tail); ok {
		rid, _ := jsonrpc.MakeID(float64(id))
		m := &jsonrpc.Response{ID: rid, Error: errTooLong}
		if p.answer(m) {
			p.note(tooLongLine, head)
			return m
		}
	}
	p.skip(tooLongLine, head)
	p.mu.Lock()
	p.noise += total
	p.mu.Unlock()
	return nil
}

func (p *pipe) skip(what string, raw []byte) {
	p.mu.Lock()
	p.noise += int64(len(raw)) + 1
	p.mu.Unlock()
	p.note(what, raw)
}

func (p *pipe) note(what string, raw []byte) {
	p.noted(noise{What: what, Text: bytes.ToValidUTF8(raw[:min(len(raw), 200)], nil)})
}

// Write sends one message. A context that ends while the server does not read gives up; if a part of the message is out
// by then, the connection is no good any more and ends.
func (p *pipe) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	select {
	case p.writing <- struct{}{}:
		defer func() { <-p.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var x *exchange
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if id, ok := m.ID.Raw().(int64); ok {
			x = exchangeOf(ctx)
			p.mu.Lock()
			p.pending[id] = x
			p.mu.Unlock()
			if x != nil {
				x.id = id
			}
		}
	case *jsonrpc.Response:
		p.mu.Lock()
		p.asked--
		p.mu.Unlock()
	}
	n, err := p.write(ctx, data)
	if n > 0 {
		x.hand()
	}
	if err != nil && n > 0 {
		_ = p.Close()
		return fmt.Errorf("%d of %d bytes were written: %w", n, len(data), err)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (p *pipe) write(ctx context.Context, data []byte) (int, error) {
	if ctx.Done() == nil {
		return p.child.Stdin.Write(data)
	}
	gaveUp := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(gaveUp)
		_ = p.child.Stdin.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := p.child.Stdin.Write(data)
	if !stop() {
		<-gaveUp
		_ = p.child.Stdin.SetWriteDeadline(time.Time{})
	}
	return n, err
}

// findID looks for the id of a message of which only the two ends were kept.
func findID(head, tail []byte) (int64, bool) {
	dec := json.NewDecoder(bytes.NewReader(head))
	dec.UseNumber()
	if t, err := dec.Token(); err == nil && t == json.Delim('{') {
		for {
			key, err := dec.Token()
			if err != nil {
				break
			}
			if key == "id" {
				v, err := dec.Token()
				if err != nil {
					break
				}
				return parseID(fmt.Sprint(v))
			}
			var skip json.RawMessage
			if dec.Decode(&skip) != nil {
				break
			}
		}
	}
	// The id may stand last: {"jsonrpc":"2.0","result":{…},"id":3}
	rest := bytes.TrimSpace(tail)
	i := bytes.LastIndex(rest, []byte(`"id"`))
	if i < 0 {
		return 0, false
	}
	var end struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(append([]byte("{"), rest[i:]...), &end) != nil {
		return 0, false
	}
	return parseID(string(bytes.Trim(end.ID, `"`)))
}

func parseID(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
