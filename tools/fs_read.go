package tools

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the description
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/jail"
)

// fsRead reads a text file of the workspace, or a spilled result, by lines. It
// streams: of a file of any size it holds what it answers and one buffer.
type fsRead struct {
	ceiling int // bytes of one answer; readCeiling where 0
}

// readCeiling is what one fs_read answers at most, before the turn's budget.
const readCeiling = 200_000

//go:embed text/fs_read.md
var fsReadText string

func (*fsRead) Name() string               { return "fs_read" }
func (*fsRead) Description() string        { return describe(fsReadText) }
func (*fsRead) ReadOnly() bool             { return true }
func (*fsRead) Repeatable() bool           { return true }
func (*fsRead) Capabilities() Capabilities { return Capabilities{PrivateData: true} }
func (*fsRead) Hints() Hints               { return Hints{Files: []string{"path"}} }
func (*fsRead) tellsProvenance()           {}
func (*fsRead) InputSchema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` +
		`"path":{"type":"string","minLength":1,"description":"File to read, relative to the workspace"},` +
		`"offset":{"type":"integer","minimum":1,"description":"First line to read; 1 is the first"},` +
		`"limit":{"type":"integer","minimum":1,"description":"How many lines to read at most"},` +
		`"column":{"type":"integer","minimum":1,"description":"Byte of the first line to begin at; only to go on inside a very long line"}` +
		`},"required":["path"],"additionalProperties":false}`)
}

func (r *fsRead) Call(ctx context.Context, in json.RawMessage, env *Env) (Output, error) {
	var args struct {
		Path                  string
		Offset, Limit, Column whole
	}
	if err := decodeArgs(in, &args); err != nil {
		return Fail(err.Error()), nil
	}
	f, from, err := openAnywhere(env, args.Path)
	if err != nil {
		out := Fail(err.Error())
		if jail.ReasonOf(err) == jail.IsDir {
			out.Content += "; fs_list shows what is in it"
		}
		return out, nil
	}
	defer f.Close()
	l := &lineReader{buf: bufio.NewReaderSize(f, 64<<10), ceiling: r.ceiling}
	if l.ceiling <= 0 {
		l.ceiling = readCeiling
	}
	text, err := l.read(ctx, f, args.Path, max(int(args.Offset), 1), int(args.Limit), max(int(args.Column), 1))
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("reading %s was interrupted: %w", line(args.Path, 200), context.Cause(ctx))
		}
		return Fail(err.Error()), nil
	}
	out := OK(text)
	out.What = args.Path
	from.mark(&out)
	return out, nil
}

// openAnywhere opens a file of the workspace, or one of the spill directory by
// the full path that a marker gave, and says whose words it holds.
func openAnywhere(env *Env, path string) (*os.File, Provenance, error) {
	if env.Spill != nil && strings.HasPrefix(path, env.Spill.Path()+"/") {
		f, err := env.Spill.Open(path)
		return f, provenanceOfSpilled(path), err
	}
	f, err := env.Workspace.Open(path)
	if err != nil {
		return nil, Ours, err
	}
	return f, provenanceOf(&env.Workspace.ReadOnly, f, path), nil
}

// lineReader selects lines while they stream by.
type lineReader struct {
	buf     *bufio.Reader
	ceiling int
	lines   int // passed completely
}

func (l *lineReader) read(ctx context.Context, f *os.File, path string, offset, limit, column int) (string, error) {
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	head, err := l.buf.Peek(8 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if len(head) == 0 {
		return "(the file is empty)", nil
	}
	if strings.IndexByte(string(head), 0) >= 0 || !utf8.Valid(wholeRunes(head)) {
		return "", fmt.Errorf("cannot read %s as text: it is binary (%s, %d bytes); show_file puts it into the thread for the owner to see",
			line(path, 200), kindOfBytes(head), fi.Size())
	}
	if err := l.skip(ctx, path, offset); err != nil {
		return "", err
	}
	if err := l.skipBytes(column - 1); err != nil {
		return "", err
	}
	text, next, nextColumn, err := l.take(path, offset, limit, column)
	if err != nil {
		return "", err
	}
	if next > 0 {
		text += "\n" + hint(path, offset, next, nextColumn, limit)
	}
	return text, nil
}

// skip passes everything before line offset, a buffer at a time.
func (l *lineReader) skip(ctx context.Context, path string, offset int) error {
	last := byte('\n')
	for l.lines < offset-1 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := l.buf.Peek(1); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		piece, _ := l.buf.Peek(l.buf.Buffered()) // what is there already
		if len(piece) == 0 {
			if last != '\n' {
				l.lines++
			}
			return fmt.Errorf("%s has only %s; nothing is at line %d", line(path, 200), count(l.lines, "line"), offset)
		}
		if n := bytes.Count(piece, newline); l.lines+n < offset-1 {
			l.lines += n
		} else {
			piece = piece[:l.endOf(piece, offset-1)]
		}
		last = piece[len(piece)-1]
		if _, err := l.buf.Discard(len(piece)); err != nil {
			return err
		}
	}
	if _, err := l.buf.Peek(1); errors.Is(err, io.EOF) && offset > 1 {
		return fmt.Errorf("%s has only %s; nothing is at line %d", line(path, 200), count(l.lines, "line"), offset)
	}
	return nil
}

var newline = []byte{'\n'}

// endOf is where in piece the line number upTo ends, which is known to be there.
func (l *lineReader) endOf(piece []byte, upTo int) int {
	end := 0
	for l.lines < upTo {
		end += bytes.IndexByte(piece[end:], '\n') + 1
		l.lines++
	}
	return end
}

func (l *lineReader) skipBytes(n int) error {
	if n == 0 {
		return nil
	}
	if _, err := l.buf.Discard(n); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// take collects lines up to the limit and the ceiling. next is the line to go
// on with, 0 at the end of the file.
func (l *lineReader) take(path string, at, limit, column int) (text string, next, nextColumn int, err error) {
	var b strings.Builder
	started := 0 // where the current line begins in b
	for taken := 0; ; {
		piece, err := l.buf.ReadSlice('\n')
		if len(piece) > l.ceiling-b.Len() {
			if started > 0 { // whole lines only, where there are any
				return cutAt(b.String(), started), at, 0, wellFormed(b.String(), path, at)
			}
			b.Write(piece[:l.ceiling-b.Len()])
			cut := cutAt(b.String(), len(wholeRunes([]byte(b.String()))))
			return cut, at, column + len(cut), wellFormed(cut, path, at)
		}
		b.Write(piece)
		switch {
		case err == nil:
			at, started, column = at+1, b.Len(), 1
			if taken++; taken == limit {
				if _, err := l.buf.Peek(1); errors.Is(err, io.EOF) {
					at = 0
				}
				return b.String(), at, 0, wellFormed(b.String(), path, at)
			}
		case errors.Is(err, io.EOF):
			return b.String(), 0, 0, wellFormed(b.String(), path, at)
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", 0, 0, err
		}
	}
}

func wellFormed(s, path string, at int) error {
	if !legible(s) {
		return fmt.Errorf("cannot read %s as text: there are bytes before line %d that are not UTF-8 text", line(path, 200), at+1)
	}
	return nil
}

// wholeRunes drops a character that was cut in half at the end.
func wholeRunes(b []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

func hint(path string, first, next, column, limit int) string {
	call := strings.TrimSuffix(readCall(path, next, column), "}")
	if limit > 0 {
		call += fmt.Sprintf(`, "limit": %d`, limit)
	}
	shown := fmt.Sprintf("lines %d to %d", first, next-1)
	if next-1 <= first {
		shown = fmt.Sprintf("line %d", first)
	}
	if column > 1 {
		shown = fmt.Sprintf("line %d up to byte %d", next, column-1)
	}
	return fmt.Sprintf("[%s; more follows: continue with fs_read %s}]", shown, call)
}
