package provider

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/agent"
)

// overflowWords tell that the context window is full, in every dialect met so
// far. Providers answer it as 400, 413, 422, 429 and 500, and inside streams.
var overflowWords = []string{
	"context_length_exceeded",
	"context length",
	"maximum context",
	"max context",
	"context window",
	"available context size",
	"exceed_context_size",
	"context size has been exceeded",
	"exceeds the context size",
	"exceed context limit",
	"prompt is too long",
	"prompt too long",
	"input is too long",
	"input length exceeds",
	"maximum prompt length",
	"max_model_len",
	"reduce the length of the messages",
	"reduce the length of your",
	"input token count",
	"too many input tokens",
	"too large for model with",
	"max_prompt_tokens",
	"model_max_prompt_tokens_exceeded",
	"request_too_large",
	"string_above_max_length",
}

// brokenArgsWords are llama-server's 500 for arguments that are no JSON, in the
// answer or anywhere in the history: asking again gives the same.
var brokenArgsWords = []string{
	"failed to parse tool call arguments",
	"parse_error.101",
	"invalid json in tool call",
	"parse error at line",
}

var billingWords = []string{"insufficient_quota", "billing", "credit balance", "payment required", "insufficient credits", "exceeded your current quota"}

func containsAny(lower string, words []string) bool {
	for _, w := range words {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// words says how to name this endpoint and what its owner can do.
type words struct {
	model   string // "openai/gpt-5-mini"
	keyFrom string // "OPENAI_API_KEY", "api_key", ""
	key     string // never printed
	base    string
}

// classify turns an answer that is none into an error with a way out. text is
// what the provider said; status 0 means that it came inside a stream.
func (w words) classify(status int, text string, header http.Header, now time.Time) *agent.ModelError {
	lower := strings.ToLower(text)
	said := w.quote(text)
	e := &agent.ModelError{Model: w.model, Status: status}
	in := "answered"
	if status > 0 {
		in = fmt.Sprintf("answered %d %s", status, http.StatusText(status))
		if http.StatusText(status) == "" {
			in = fmt.Sprintf("answered %d", status)
		}
	}
	if header != nil {
		e.RetryAfter = retryAfter(header, now)
	}
	rate := status == http.StatusTooManyRequests || strings.Contains(lower, "rate limit") || strings.Contains(lower, "rate_limit") || strings.Contains(lower, "per minute")
	switch {
	case !rate && containsAny(lower, overflowWords), status == http.StatusRequestEntityTooLarge && !rate:
		e.Kind = agent.ErrOverflow
		e.What = "the conversation is longer than the model's context window" + said
	case rate && strings.Contains(lower, "context_length_exceeded"):
		e.Kind = agent.ErrOverflow
		e.What = "the conversation is longer than the model's context window" + said
	case containsAny(lower, brokenArgsWords):
		e.Kind = agent.ErrInvalid
		e.What = in + ": it could not read the arguments of a tool call" + said
	case status == http.StatusUnauthorized || status == http.StatusForbidden || strings.Contains(lower, "authentication_error") || strings.Contains(lower, "invalid_api_key"):
		e.Kind = agent.ErrAuth
		e.What = in + said + ". " + w.keyRemedy()
	case status == http.StatusPaymentRequired || status != http.StatusOK && containsAny(lower, billingWords) && (status == 0 || status == 429 || status == 400 || status == 403):
		e.Kind = agent.ErrAuth
		e.What = in + said + ". The account behind the key has no credit left: top it up, or choose another provider"
	case status == http.StatusNotFound:
		e.Kind = agent.ErrInvalid
		e.What = in + said + fmt.Sprintf(". Does %s end where the API begins (usually /v1), and does `models` list this model?", w.base)
	case rate, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly, status >= 500,
		strings.Contains(lower, "overloaded"), status == 0 && !strings.Contains(lower, "invalid_request"):
		e.Kind = agent.ErrTransient
		e.What = in + said
	case status >= 300 && status < 400:
		e.Kind = agent.ErrInvalid
		e.What = fmt.Sprintf("%s a redirect to %q, which is not followed because the key would go along: set base_url to that address", in, w.quoteOnly(header.Get("Location")))
	default:
		e.Kind = agent.ErrInvalid
		e.What = in + said
	}
	return e
}

func (w words) keyRemedy() string {
	switch w.keyFrom {
	case "":
		return "No key is configured: set api_key_env to the name of the variable that holds it"
	case "api_key":
		return "The key in api_key is not accepted: replace it"
	}
	return fmt.Sprintf("The key in %s is not accepted: set it anew where this process starts (a service has its own environment)", w.keyFrom)
}

func (w words) quote(text string) string {
	if text = w.quoteOnly(text); text == "" {
		return ""
	}
	return ": " + text
}

// quoteOnly makes a foreign text fit for one line, without the key.
func (w words) quoteOnly(text string) string {
	if w.key != "" {
		text = strings.ReplaceAll(text, w.key, "[key]")
	}
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || !strconv.IsPrint(r) }), " ")
	if len(text) > 400 {
		cut := 400
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return strings.TrimSuffix(text, ".")
}

var tags = regexp.MustCompile(`(?s)<(script|style).*?</(script|style)>|<[^>]*>`)

// errorText finds the sentence in an error's body, whatever its shape.
func errorText(body []byte) string {
	var shaped struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	body = bytes.TrimSpace(body)
	if len(body) > 0 && body[0] == '[' { // Gemini wraps it in a list
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	if json.Unmarshal(body, &shaped) == nil {
		for _, raw := range []json.RawMessage{shaped.Error, shaped.Message, shaped.Detail} {
			if t := errorValue(raw); t != "" {
				return t
			}
		}
	}
	if len(body) > 0 && body[0] == '<' {
		return strings.TrimSpace(tags.ReplaceAllString(string(body), " "))
	}
	return string(body)
}

// errorValue reads an error that is a string or an object with a message; type
// and code are kept because the kinds are told by them.
func errorValue(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var o struct {
		Message  string          `json:"message"`
		Type     string          `json:"type"`
		Code     json.RawMessage `json:"code"`
		Metadata struct {
			Raw json.RawMessage `json:"raw"` // OpenRouter: what the provider behind it said
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return string(raw)
	}
	parts := []string{}
	for _, p := range []string{o.Message, strings.Trim(string(o.Metadata.Raw), `"`), o.Type, strings.Trim(string(o.Code), `"`)} {
		if p != "" && p != "null" && (len(parts) == 0 || !strings.Contains(parts[0], p)) {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return string(raw)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return parts[0] + " (" + strings.Join(parts[1:], ", ") + ")"
}

// errorStatus reads a numeric code inside an error object: gateways answer 200
// and put the real status there.
func errorStatus(raw json.RawMessage) int {
	var o struct {
		Code   json.RawMessage `json:"code"`
		Status json.RawMessage `json:"status"`
	}
	if json.Unmarshal(raw, &o) != nil {
		return 0
	}
	for _, v := range []json.RawMessage{o.Code, o.Status} {
		if n, err := strconv.Atoi(strings.Trim(string(v), `"`)); err == nil && n >= 400 && n < 600 {
			return n
		}
	}
	return 0
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.Atoi(h.Get("Retry-After-Ms")); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if secs, err := strconv.ParseFloat(v, 64); err == nil && secs > 0 && secs < 1e6 {
		return time.Duration(secs * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil && t.After(now) {
		return t.Sub(now)
	}
	return 0
}
