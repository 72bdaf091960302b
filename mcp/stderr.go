package mcp

import (
	"bytes"
	"log/slog"
	"regexp"
	"sync"

	"golang.org/x/time/rate"
)

// stderrLog sends what a child writes to its standard error to our log, line by line and bounded, and keeps the last
// line: when a server dies at its start, that is where it says why.
type stderrLog struct {
	log   *slog.Logger
	limit *rate.Limiter

	mu   sync.Mutex
	part []byte
	last string // line
	why  string // the last line that looks like an error
}

func newStderrLog(log *slog.Logger) *stderrLog {
	return &stderrLog{log: log, limit: rate.NewLimiter(20, 200)}
}

// Write takes everything, always: a child must never wait for our log.
func (l *stderrLog) Write(b []byte) (int, error) {
	const longest = 2 << 10
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := b; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := longest - len(l.part); room > 0 {
			l.part = append(l.part, line[:min(len(line), room)]...)
		}
		rest = after
		if whole {
			l.line(string(l.part))
			l.part = l.part[:0]
		}
	}
	return len(b), nil
}

func (l *stderrLog) line(s string) {
	s = oneLine(s, 200)
	if s == "" {
		return
	}
	l.last = s
	if looksLikeError.MatchString(s) {
		l.why = s
	}
	if l.limit.Allow() {
		l.log.Debug("MCP server writes to stderr", "text", s)
	}
}

// looksLikeError finds the line that says what went wrong. The last line of all often is a version or a brace: what a
// runtime prints below its stack.
var looksLikeError = regexp.MustCompile(`(?i)error\b|exception\b|\bcannot\b|\bnot found\b|\bno such\b|\bdenied\b|\bfatal\b|\bpanic\b`)

// lastWords are the last line that looks like an error, or the last of all.
func (l *stderrLog) lastWords() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.line(string(l.part))
		l.part = l.part[:0]
	}
	if l.why != "" {
		return l.why
	}
	return l.last
}
