package provider

import (
	"context"
	"errors"
	"io"
	"strings"
)

// arriving is an answer that is put together as its pieces come. Errors are
// *errIn, or JSON's.
type arriving interface {
	feed(event []byte) error   // one event of a stream
	whole(answer []byte) error // an answer that was not streamed
	soFar() *progress
}

// progress is how far an answer has come.
type progress struct {
	finished bool // it was said why it ends: nothing that matters is missing
	over     bool // nothing comes any more
}

func (p *progress) soFar() *progress { return p }

// read feeds an answer to a: a stream, or a whole JSON answer from a server that
// does not stream, or that answers 200 with an error in it.
func (e *endpoint) read(ctx context.Context, b *body, a arriving) error {
	p := a.soFar()
	if strings.HasPrefix(b.Header.Get("Content-Type"), "application/json") {
		text, err := io.ReadAll(b)
		if err != nil {
			return e.cut(ctx, err)
		}
		if err := a.whole(text); err != nil {
			return e.fed(ctx, err)
		}
		if !p.finished {
			return e.cut(ctx, nil)
		}
		return nil
	}
	ev := newEvents(b)
	for {
		data, err := ev.next()
		switch {
		case err != nil && p.finished:
			return nil // whole; only the end of the transport was untidy
		case err != nil:
			return e.cut(ctx, err)
		}
		was := p.finished
		if err := a.feed(data); err != nil {
			if p.finished && ev.eof {
				return nil // a piece of an event that no longer matters
			}
			return e.fed(ctx, err)
		}
		if p.over {
			return nil
		}
		if p.finished && !was {
			b.complete()
		}
	}
}

// fed names an error of what was fed.
func (e *endpoint) fed(ctx context.Context, err error) error {
	var in *errIn
	if errors.As(err, &in) {
		me := e.classify(in.status, in.text, nil, e.now())
		me.Err = err
		return me
	}
	return e.cut(ctx, err)
}
