package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// maxAnswer bounds what is read of one answer of Slack's.
const maxAnswer = 16 << 20

// callTimeout of one Web API call.
const callTimeout = 30 * time.Second

// slackError is a definite no: Slack has understood the call and has not done it.
type slackError struct {
	Method   string
	Code     string        // Slack's error name; ratelimited
	After    time.Duration // of ratelimited
	Messages []string      // response_metadata.messages
}

func (e *slackError) Error() string {
	s := fmt.Sprintf("Slack refused %s: %s", e.Method, e.Code)
	if len(e.Messages) > 0 {
		s += " (" + strings.Join(e.Messages, "; ") + ")"
	}
	return s
}

// lostError is no trustworthy answer: the call may have been done.
type lostError struct {
	Method string
	Err    error
}

func (e *lostError) Error() string {
	return fmt.Sprintf("no answer of Slack to %s: %v", e.Method, e.Err)
}
func (e *lostError) Unwrap() error { return e.Err }

// refusedAs tells whether err is Slack's definite no with one of these names.
func refusedAs(err error, codes ...string) bool {
	var e *slackError
	if !errors.As(err, &e) {
		return false
	}
	for _, c := range codes {
		if e.Code == c {
			return true
		}
	}
	return false
}

// answer is what we want to know of the answer of a method that did something.
type answer struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	View    struct {
		ID   string `json:"id"`
		Hash string `json:"hash"`
	} `json:"view"`
}

// send makes one Web API call, once, with arguments whose JSON is ours to the
// byte. It answers a *slackError where Slack says no, a *lostError where nobody
// can tell. It never retries: what may be repeated is known by its caller.
func (b *Bot) send(ctx context.Context, method string, args url.Values) (answer, error) {
	body, err := b.call(ctx, method, args)
	if err != nil {
		return answer{}, err
	}
	var a answer
	if json.Unmarshal(body, &a) != nil {
		// channel is an object in some answers: what matters is the rest.
		var short struct {
			TS string `json:"ts"`
		}
		if err := json.Unmarshal(body, &short); err != nil {
			return answer{}, &lostError{method, err}
		}
		a.TS = short.TS
	}
	return a, nil
}

// fetchJSON makes one reading call and decodes the whole answer into out.
func (b *Bot) fetchJSON(ctx context.Context, method string, args url.Values, out any) error {
	body, err := b.call(ctx, method, args)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer of Slack to %s does not parse: %w", method, err)
	}
	return nil
}

// call is the one door to the Web API: it answers the body of an ok.
func (b *Bot) call(ctx context.Context, method string, args url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	base := b.cfg.APIURL
	if base == "" {
		base = "https://slack.com/api/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+method, strings.NewReader(args.Encode()))
	if err != nil {
		return nil, fmt.Errorf("cannot call %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+b.cfg.BotToken)
	record.Point(method + ": about to be called")
	res, err := b.HTTP.Do(req)
	if err != nil {
		return nil, &lostError{method, err}
	}
	defer res.Body.Close()
	record.Point(method + ": called")
	if res.StatusCode == http.StatusTooManyRequests {
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || after < 1 {
			after = 30
		}
		return nil, &slackError{Method: method, Code: "ratelimited", After: time.Duration(after) * time.Second}
	}
	if res.StatusCode != http.StatusOK {
		return nil, &lostError{method, fmt.Errorf("HTTP %d", res.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, &lostError{method, err}
	}
	var a struct {
		OK       bool   `json:"ok"`
		Error    string `json:"error"`
		Metadata struct {
			Messages []string `json:"messages"`
		} `json:"response_metadata"`
	}
	if json.Unmarshal(body, &a) != nil {
		return nil, &lostError{method, errors.New("the answer is no JSON")}
	}
	if !a.OK {
		e := &slackError{Method: method, Code: a.Error, Messages: a.Metadata.Messages}
		if a.Error == "ratelimited" || a.Error == "rate_limited" {
			e.Code, e.After = "ratelimited", 30*time.Second
		}
		return nil, e
	}
	return body, nil
}
