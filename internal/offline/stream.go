package offline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"
)

// stream writes one answer as server-sent events, at the pace and in the
// fragments of a real server.
type stream struct {
	w       http.ResponseWriter
	id      string
	model   string
	created int64
	usage   *Usage
	answer  scripted

	sent int  // frames with content so far; a fault may end the stream at one
	over bool // nothing more may be written
}

func (s *stream) run(ctx context.Context) {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)

	empty := ""
	s.chunk(ctx, delta{Role: "assistant", Content: &empty})
	for _, piece := range s.answer.reasoning {
		s.content(ctx, delta{ReasoningContent: piece})
	}
	for _, piece := range s.answer.textPieces() {
		s.content(ctx, delta{Content: &piece})
	}
	for i, c := range s.answer.turn.Calls {
		// The first fragment names the call; later ones carry arguments alone.
		s.content(ctx, delta{ToolCalls: []callDelta{{Index: i, ID: c.ID, Type: "function", Function: functionCallDelta{Name: c.Name}}}})
		for _, fragment := range pieces(string(c.Args), 24) {
			s.content(ctx, delta{ToolCalls: []callDelta{{Index: i, Function: functionCallDelta{Arguments: fragment}}}})
		}
	}
	if f := s.answer.fault; f != nil && !s.over { // a fault later than the last piece
		s.strike(f)
	}
	if s.over {
		return
	}
	finish := s.answer.finish
	s.write(completion{Choices: []choice{{Delta: &delta{}, FinishReason: &finish}}})
	if s.usage != nil {
		s.write(completion{Choices: []choice{}, Usage: s.usage})
	}
	s.raw("data: [DONE]\n\n")
}

// content sends a piece after its pause, unless the fault's turn has come.
func (s *stream) content(ctx context.Context, d delta) {
	if f := s.answer.fault; f != nil && s.sent >= f.After && !s.over {
		s.strike(f)
	}
	s.sent++
	if s.over || !wait(ctx, nil, s.answer.delay) {
		s.over = true
		return
	}
	s.chunk(ctx, d)
}

func (s *stream) chunk(ctx context.Context, d delta) {
	if ctx.Err() != nil {
		s.over = true
	}
	s.write(completion{Choices: []choice{{Delta: &d}}})
}

func (s *stream) write(c completion) {
	c.ID, c.Object, c.Created, c.Model = s.id, "chat.completion.chunk", s.created, s.model
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		s.over = true
		return
	}
	s.raw("data: " + strings.TrimSuffix(b.String(), "\n") + "\n\n")
}

func (s *stream) raw(frame string) {
	if s.over {
		return
	}
	if _, err := fmt.Fprint(s.w, frame); err != nil {
		s.over = true
		return
	}
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// strike carries out a fault inside the stream.
func (s *stream) strike(f *Fault) {
	switch {
	case f.Frame != "":
		s.raw("data: " + f.Frame + "\n\n")
	case f.Raw != "":
		s.raw(f.Raw)
	}
	if f.GoOn {
		s.answer.fault = nil
		return
	}
	s.over = true
	if f.Reset {
		// Not a clean end: the client sees an unexpected EOF.
		panic(http.ErrAbortHandler)
	}
}

// pieces cuts text after spaces into pieces of about n bytes, never inside a
// character. Joined they are the text.
func pieces(text string, n int) []string {
	var out []string
	for len(text) > n {
		cut := n
		if at := strings.LastIndexByte(text[:n], ' '); at > n/3 {
			cut = at + 1
		}
		for cut > 0 && !utf8.RuneStart(text[cut]) {
			cut--
		}
		if cut == 0 {
			_, cut = utf8.DecodeRuneInString(text)
		}
		out = append(out, text[:cut])
		text = text[cut:]
	}
	if text != "" {
		out = append(out, text)
	}
	return out
}
