package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// envelope is one frame of Socket Mode that wants an ack, with the way to give
// it. Its payload is decoded by us: slack-go drops what it cannot parse.
type envelope struct {
	ID      string          `json:"envelope_id"`
	Type    string          `json:"type"`
	Payload json.RawMessage `json:"payload"`
	Retry   int             `json:"retry_attempt"`
	ack     func(payload json.RawMessage)
}

// socket keeps one connection open until ctx ends. The reader only enqueues:
// it never waits for the record or a model, or the socket would miss its pings.
// It answers an error only where no reconnecting will help.
func (b *Bot) socket(ctx context.Context, open func()) error {
	opts := []slack.Option{slack.OptionAppLevelToken(b.cfg.AppToken), slack.OptionHTTPClient(&http.Client{Transport: b.opens, Timeout: 15 * time.Second})}
	if b.cfg.APIURL != "" {
		opts = append(opts, slack.OptionAPIURL(b.cfg.APIURL))
	}
	sm := socketmode.New(slack.New(b.cfg.BotToken, opts...), socketmode.OptionReadLimit(8<<20), socketmode.OptionLog(log.New(io.Discard, "", 0)))
	run, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	done := make(chan error, 1)
	wg.Go(func() { done <- sm.RunContext(run) })
	defer wg.Wait()
	defer cancel()
	up := false
	down := func() {
		if up {
			up = false
			if b.closed() {
				b.deaf(ctx)
			}
		}
	}
	defer down()
	for {
		select {
		case <-ctx.Done():
			// The client may still want to send an event: let it.
			cancel()
			for {
				select {
				case <-sm.Events:
				case <-done:
					return nil
				}
			}
		case err := <-done:
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("Slack has closed the connection for good: %w", err)
		case ev := <-sm.Events:
			switch ev.Type {
			case socketmode.EventTypeHello:
				b.opens.worked()
				if !up {
					up = true
					if b.opened() {
						open()
					}
				}
			case socketmode.EventTypeConnecting:
				down()
			case socketmode.EventTypeErrorBadMessage:
				if e, ok := ev.Data.(*socketmode.ErrorBadMessage); ok {
					b.enqueue(ctx, sm, loose(e.Message))
				}
			case socketmode.EventTypeEventsAPI, socketmode.EventTypeInteractive, socketmode.EventTypeSlashCommand:
				if ev.Request != nil {
					b.enqueue(ctx, sm, envelope{ID: ev.Request.EnvelopeID, Type: ev.Request.Type, Payload: ev.Request.Payload, Retry: ev.Request.RetryAttempt})
				}
			}
		}
	}
}

// loose reads of a frame that slack-go could not parse what an ack and a
// message need.
func loose(frame json.RawMessage) envelope {
	var e envelope
	if json.Unmarshal(frame, &e) != nil {
		return envelope{}
	}
	return e
}

func (b *Bot) enqueue(ctx context.Context, sm *socketmode.Client, e envelope) {
	if e.ID == "" {
		return
	}
	e.ack = func(payload json.RawMessage) {
		var p any
		if len(payload) > 0 {
			p = payload
		}
		ack, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		record.Point("ack " + e.Type + ": about to be sent")
		if err := sm.AckCtx(ack, e.ID, p); err != nil && ctx.Err() == nil {
			b.Log.Warn("cannot acknowledge an envelope; Slack will send it again", "error", err)
		}
		record.Point("ack " + e.Type + ": sent")
	}
	select {
	case b.envelope <- e:
	default:
		// Not acknowledged: Slack sends it again, and by then we have caught up.
		b.Log.Warn("too many envelopes wait; one is left for its redelivery", "waiting", len(b.envelope))
	}
}

// throttle slows the opening of sockets: slack-go reopens without any delay
// when Slack closes a fresh socket at once (4,267 opens in three seconds were
// measured).
type throttle struct {
	next http.RoundTripper

	mu    sync.Mutex
	last  time.Time
	delay time.Duration
}

func (t *throttle) RoundTrip(r *http.Request) (*http.Response, error) {
	t.mu.Lock()
	wait := time.Until(t.last.Add(t.delay))
	t.delay = min(max(t.delay*2, 250*time.Millisecond), time.Minute)
	if wait > 0 {
		wait += time.Duration(rand.Int64N(int64(wait)/4 + 1))
	}
	t.last = time.Now().Add(max(wait, 0))
	t.mu.Unlock()
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		}
	}
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(r)
	if err != nil {
		return nil, errors.Join(errors.New("cannot open a socket"), err)
	}
	return res, nil
}

// worked: Slack has said hello, so the next open need not wait long.
func (t *throttle) worked() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delay = 0
}
