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

// answer is what every method's answer has.
type answer struct {
	OK       bool   `json:"ok"`
	Error    string `json:"error"`
	Channel  string `json:"channel"`
	TS       string `json:"ts"`
	Metadata struct {
		Messages []string `json:"messages"`
	} `json:"response_metadata"`
	View struct {
		ID   string `json:"id"`
		Hash string `json:"hash"`
	} `json:"view"`
}

// send makes one Web API call, once, with arguments whose JSON is ours to the
// byte. It answers a *slackError where Slack says no, a *lostError where nobody
// can tell. It never retries: what may be repeated is known by its caller.
func (b *Bot) send(ctx context.Context, method string, args url.Values) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	base := b.cfg.APIURL
	if base == "" {
		base = "https://slack.com/api/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+method, strings.NewReader(args.Encode()))
	if err != nil {
		return answer{}, fmt.Errorf("cannot call %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+b.cfg.BotToken)
	res, err := b.HTTP.Do(req)
	if err != nil {
		return answer{}, &lostError{method, err}
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusTooManyRequests {
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if err != nil || after < 1 {
			after = 30
		}
		return answer{}, &slackError{Method: method, Code: "ratelimited", After: time.Duration(after) * time.Second}
	}
	if res.StatusCode != http.StatusOK {
		return answer{}, &lostError{method, fmt.Errorf("HTTP %d", res.StatusCode)}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer{}, &lostError{method, err}
	}
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		// channel is an object in some answers: what matters is ok.
		var short struct {
			OK    bool   `json:"ok"`
			Error string `json:"error"`
			TS    string `json:"ts"`
		}
		if json.Unmarshal(body, &short) != nil {
			return answer{}, &lostError{method, errors.New("the answer is no JSON")}
		}
		a.OK, a.Error, a.TS = short.OK, short.Error, short.TS
	}
	if !a.OK {
		e := &slackError{Method: method, Code: a.Error, Messages: a.Metadata.Messages}
		if a.Error == "ratelimited" || a.Error == "rate_limited" {
			e.Code, e.After = "ratelimited", 30*time.Second
		}
		return a, e
	}
	return a, nil
}
