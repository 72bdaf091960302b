package provider

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// events reads a server-sent event stream as servers write it: LF, CRLF or CR,
// comments, several data lines, no space after the colon, no blank line at the
// end. What it holds at once is bounded.
type events struct {
	r      *bufio.Reader
	skipLF bool // the last line ended in CR; an LF right after belongs to it
	begun  bool
	line   []byte
	data   []byte
	// eof is set once the body ended: the event that comes with it had no
	// blank line behind it and may be a piece.
	eof bool
}

const maxEvent = 8 << 20

var errEventTooLarge = errors.New("one event is larger than 8 MiB")

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReaderSize(r, 16<<10)} }

// next answers the next event that has data. The bytes are good until the next
// call. io.EOF means that the body ended cleanly, which says nothing about
// whether the answer did.
func (e *events) next() ([]byte, error) {
	if e.eof {
		return nil, io.EOF
	}
	e.data = e.data[:0]
	has := false
	for {
		line, err := e.readLine()
		if err != nil && err != io.EOF {
			return nil, err
		}
		if err == io.EOF {
			e.eof = true
			if len(line) == 0 {
				if has {
					return e.data, nil
				}
				return nil, io.EOF
			}
		}
		switch value, ok := dataOf(line); {
		case len(line) == 0:
			if has {
				return e.data, nil
			}
		case ok:
			if has {
				e.data = append(e.data, '\n')
			}
			has = true
			if len(e.data)+len(value) > maxEvent {
				return nil, errEventTooLarge
			}
			e.data = append(e.data, value...)
		}
		if e.eof {
			if has {
				return e.data, nil
			}
			return nil, io.EOF
		}
	}
}

// dataOf answers the value of a data line. A bare JSON object counts as one:
// some gateways drop an error into the stream without the field's name.
func dataOf(line []byte) ([]byte, bool) {
	if v, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		return bytes.TrimPrefix(v, []byte(" ")), true
	}
	return line, len(line) > 0 && line[0] == '{'
}

func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		if e.r.Buffered() == 0 {
			if _, err := e.r.Peek(1); err != nil {
				return e.line, err
			}
		}
		buf, _ := e.r.Peek(e.r.Buffered())
		if e.skipLF {
			e.skipLF = false
			if buf[0] == '\n' {
				_, _ = e.r.Discard(1)
				continue
			}
		}
		if !e.begun {
			e.begun = true
			if rest, err := e.r.Peek(3); err == nil && bytes.Equal(rest, []byte("\xef\xbb\xbf")) {
				_, _ = e.r.Discard(3)
				continue
			}
			buf, _ = e.r.Peek(e.r.Buffered())
		}
		i := bytes.IndexByte(buf, '\n')
		if j := bytes.IndexByte(buf[:max(i, 0)], '\r'); j >= 0 {
			i = j
		} else if i < 0 {
			i = bytes.IndexByte(buf, '\r')
		}
		if i < 0 {
			if len(e.line)+len(buf) > maxEvent {
				return nil, errEventTooLarge
			}
			e.line = append(e.line, buf...)
			_, _ = e.r.Discard(len(buf))
			continue
		}
		e.line = append(e.line, buf[:i]...)
		e.skipLF = buf[i] == '\r'
		_, _ = e.r.Discard(i + 1)
		return e.line, nil
	}
}
