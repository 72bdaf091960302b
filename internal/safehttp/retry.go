package safehttp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	maxTries      = 3
	maxRetryAfter = 10 * time.Second
)

// fetch sends one GET, at most three times within the context's deadline: again after a failure of the transport and
// after 429, 502, 503 and 504, never once a body has begun. A server's Retry-After is honoured up to ten seconds; a
// longer one is an answer.
func (c *Client) fetch(ctx context.Context, u *url.URL) (*http.Response, error) {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = c.retryBase
	tries := 0
	resp, err := backoff.Retry(ctx, func() (*http.Response, error) {
		tries++
		resp, err := c.once(ctx, u)
		if err != nil {
			if !retryable(ctx, err) {
				return nil, backoff.Permanent(err)
			}
			return nil, err
		}
		wait, again := asksAgain(resp)
		if !again || tries == maxTries || !inTime(ctx, wait) {
			return resp, nil
		}
		_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // a short body read to its end gives the connection back
		_ = resp.Body.Close()
		later := fmt.Errorf("the server answered %s", statusText(resp))
		if wait > 0 {
			later = errors.Join(later, &backoff.RetryAfterError{Duration: wait})
		}
		return nil, later
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(0))
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (c *Client) once(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.8,*/*;q=0.5")
	return c.http.Do(req)
}

// retryable tells a hiccup from an answer: a refusal, a bad certificate, a server that speaks something else and an
// ended context stay what they are.
func retryable(ctx context.Context, err error) bool {
	var refusal *Refusal
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return ctx.Err() == nil && !errors.As(err, &refusal) && !errors.As(err, &cert) && !errors.As(err, &record) &&
		!errors.Is(err, http.ErrSchemeMismatch)
}

// asksAgain reports whether an answer asks for another try, and after how long (0: it does not say).
func asksAgain(resp *http.Response) (time.Duration, bool) {
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
	default:
		return 0, false
	}
	v := resp.Header.Get("Retry-After")
	if v == "" {
		return 0, true
	}
	var wait time.Duration
	if secs, err := strconv.Atoi(v); err == nil {
		if secs > int(maxRetryAfter/time.Second) {
			return 0, false
		}
		wait = time.Duration(max(secs, 0)) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		wait = max(time.Until(at), 0)
	}
	return wait, wait <= maxRetryAfter
}

// inTime reports whether the deadline leaves room for the wait.
func inTime(ctx context.Context, wait time.Duration) bool {
	d, ok := ctx.Deadline()
	return !ok || time.Until(d) > wait
}
