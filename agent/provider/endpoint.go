package provider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/mecha-slack/mecha-slack/agent"
)

// endpoint is one server: how to reach it, how patient to be with it, how to
// speak of it. Retries of the whole program's model traffic live here.
type endpoint struct {
	words
	header   http.Header
	client   *http.Client
	tries    uint
	retryCap time.Duration
	idle     time.Duration
	now      func() time.Time
}

const (
	maxAnswer = 64 << 20 // bytes of one answer
	// firstByte is how long a server may think before it says anything: a local
	// one reads a long prompt first.
	firstByte = 10 * time.Minute
	// afterEnd is how long we still listen once the answer is complete, for the
	// usage that some servers send last.
	afterEnd = 5 * time.Second
)

func newEndpoint(name, base string, c Config, d Deps) endpoint {
	e := endpoint{
		words:    words{model: name + "/" + c.Model, key: d.Key, base: strings.TrimRight(base, "/")},
		header:   http.Header{},
		client:   &http.Client{Transport: d.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		tries:    3,
		retryCap: 60 * time.Second,
		idle:     3 * time.Minute,
		now:      d.Now,
	}
	switch {
	case c.APIKeyEnv != "":
		e.keyFrom = c.APIKeyEnv
	case c.APIKey != "":
		e.keyFrom = "api_key"
	}
	if e.now == nil {
		e.now = time.Now
	}
	if c.MaxRetries != nil {
		e.tries = uint(*c.MaxRetries)
	}
	if c.RetryAfterCapSecs > 0 {
		e.retryCap = time.Duration(c.RetryAfterCapSecs) * time.Second
	}
	if c.IdleTimeoutSecs > 0 {
		e.idle = time.Duration(c.IdleTimeoutSecs) * time.Second
	}
	for h, v := range d.Headers {
		e.header.Set(h, v)
	}
	return e
}

var errSilent = errors.New("silence")

// body is an answer being read, under the idle timer.
type body struct {
	io.Reader
	Header http.Header
	timer  *time.Timer
	idle   time.Duration
	ctx    context.Context
	close  func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() != nil {
		err = context.Cause(b.ctx)
	}
	b.timer.Reset(b.idle)
	return n, err
}

// complete says that what matters has arrived.
func (b *body) complete() {
	b.idle = afterEnd
	b.timer.Reset(afterEnd)
}

// post sends one request and answers the opened body of a 2xx. Everything else
// is a *agent.ModelError, or ctx's cause. close must be called.
func (e *endpoint) post(ctx context.Context, method, path string, payload []byte) (*body, error) {
	rctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(firstByte, func() { cancel(errSilent) })
	done := func() {
		timer.Stop()
		cancel(context.Canceled)
	}
	req, err := http.NewRequestWithContext(rctx, method, e.base+path, bytes.NewReader(payload))
	if err != nil {
		done()
		return nil, &agent.ModelError{Kind: agent.ErrInvalid, Model: e.model, What: "cannot ask " + e.base + ": " + err.Error(), Err: err}
	}
	for h, v := range e.header {
		req.Header[h] = v
	}
	if payload != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := e.client.Do(req)
	if err != nil {
		defer done()
		return nil, e.lost(ctx, rctx, err)
	}
	b := &body{Reader: io.LimitReader(resp.Body, maxAnswer), Header: resp.Header, timer: timer, idle: e.idle, ctx: rctx}
	b.close = func() {
		// A short rest is read so that the connection can be used again.
		if rctx.Err() == nil {
			timer.Reset(time.Second)
			_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
		}
		done()
		_ = resp.Body.Close()
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		defer b.close()
		text, _ := io.ReadAll(io.LimitReader(b, 64<<10))
		return nil, e.classify(resp.StatusCode, errorText(text), resp.Header, e.now())
	}
	return b, nil
}

// lost names a transport's failure. outer is the caller's context.
func (e *endpoint) lost(outer, ctx context.Context, err error) error {
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	me := &agent.ModelError{Kind: agent.ErrTransient, Model: e.model, Err: err}
	switch {
	case errors.Is(context.Cause(ctx), errSilent), errors.Is(err, errSilent):
		me.What = fmt.Sprintf("%s went silent", e.base)
	default:
		me.What = fmt.Sprintf("cannot reach %s: %s", e.base, e.quoteOnly(plainError(err)))
	}
	return me
}

func plainError(err error) string {
	s := err.Error()
	if i := strings.Index(s, `": `); i >= 0 { // url.Error repeats method and address
		s = s[i+3:]
	}
	return s
}

// cut says that an answer broke off in the middle.
func (e *endpoint) cut(outer context.Context, err error) error {
	if outer.Err() != nil {
		return context.Cause(outer)
	}
	what := "the answer broke off before its end"
	switch {
	case errors.Is(err, errSilent):
		what = fmt.Sprintf("the answer broke off: nothing came for %s", e.idle)
	case err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF):
		what = "the answer broke off before its end: " + e.quoteOnly(plainError(err))
	}
	return &agent.ModelError{Kind: agent.ErrCut, Model: e.model, What: what, Err: err}
}

// retry runs try until it answers, its error is final, or the tries are used
// up. Once begun reports that something reached the caller nothing is tried
// again: a repeated answer would be told twice.
func (e *endpoint) retry(ctx context.Context, begun func() bool, notice func(string), try func() (agent.Turn, error)) (agent.Turn, error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.Multiplier, wait.MaxInterval = 2500*time.Millisecond, 2, 30*time.Second
	var asked time.Duration // what the provider wanted us to wait
	op := func() (agent.Turn, error) {
		turn, err := try()
		var me *agent.ModelError
		switch {
		case err == nil:
			return turn, nil
		case !errors.As(err, &me), begun(), me.Kind != agent.ErrTransient && me.Kind != agent.ErrCut:
			return turn, backoff.Permanent(err)
		case me.RetryAfter > e.retryCap:
			me.What += fmt.Sprintf(". It asks to wait %s, more than we do by ourselves (retry_after_cap_secs)", me.RetryAfter.Round(time.Second))
			return turn, backoff.Permanent(err)
		}
		asked = me.RetryAfter
		return turn, err
	}
	turn, err := backoff.Retry(ctx, op, backoff.WithMaxTries(e.tries), backoff.WithMaxElapsedTime(0),
		backoff.WithBackOff(patient{wait, &asked}),
		backoff.WithNotify(func(err error, d time.Duration) {
			notice(fmt.Sprintf("%v; asking again in %s", err, d.Round(time.Second)))
		}))
	if p, ok := err.(*backoff.PermanentError); ok { // the last try's comes wrapped
		err = p.Unwrap()
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return turn, err
}

// patient waits as long as its BackOff says, or as long as the provider asked.
type patient struct {
	backoff.BackOff
	asked *time.Duration
}

func (p patient) NextBackOff() time.Duration { return max(p.BackOff.NextBackOff(), *p.asked) }
