package localslack

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of streamed messages. The cumulative cap and the life are not in
// Slack's documents; apps have measured them.
const (
	maxStreamCall  = 12000 // characters of markdown_text in one call
	maxStreamTotal = 12000 // characters in one streamed message
	maxTaskField   = 256   // characters of one field of a task_update
	streamLife     = 5 * time.Minute
)

// stream is what makes a message a streamed one.
type stream struct {
	State   streamState `json:"state"`
	Chunks  []chunk     `json:"chunks"`
	Display string      `json:"display,omitempty"` // task_display_mode
	Started int64       `json:"started"`           // Unix milliseconds, real time
	Owner   string      `json:"owner"`             // the user that may append
	NoStop  bool        `json:"no_stop,omitempty"` // the app wouldn't hear of it, so nobody is offered to

	chars  int
	expiry *timer
}

type streamState string

const (
	streaming     streamState = "streaming"
	streamDone    streamState = "done"
	streamStopped streamState = "stopped" // by a person; the app may still close it
	streamExpired streamState = "expired" // outlived Slack's patience
)

// chunk is one chunk as shown: adjacent text is joined, a task is one entry.
type chunk struct {
	Type    string          `json:"type"`
	Text    string          `json:"text,omitempty"`
	ID      string          `json:"id,omitempty"`
	Title   string          `json:"title,omitempty"`
	Status  string          `json:"status,omitempty"`
	Details string          `json:"details,omitempty"`
	Output  string          `json:"output,omitempty"`
	Sources json.RawMessage `json:"sources,omitempty"`
	Blocks  json.RawMessage `json:"blocks,omitempty"`
}

type wireStream struct {
	State   streamState `json:"state"`
	Chunks  []chunk     `json:"chunks"`
	Display string      `json:"task_display_mode,omitempty"`
	NoStop  bool        `json:"no_stop,omitempty"`
}

func (s *stream) wire() *wireStream {
	state := s.State
	if state == streamExpired {
		state = streamStopped
	}
	return &wireStream{State: state, Chunks: append([]chunk{}, s.Chunks...), Display: s.Display, NoStop: s.NoStop}
}

// text is the whole text so far.
func (s *stream) text() string {
	var b strings.Builder
	for _, c := range s.Chunks {
		if c.Type == "markdown_text" {
			b.WriteString(c.Text)
		}
	}
	return b.String()
}

// add merges chunks as Slack shows them: text is appended, a task's title and
// status are replaced and its details and output appended, a plan has one title.
func (s *stream) add(chunks []chunk) {
	for _, c := range chunks {
		s.chars += utf8.RuneCountInString(c.Text)
		switch last := len(s.Chunks) - 1; {
		case c.Type == "markdown_text" && last >= 0 && s.Chunks[last].Type == "markdown_text":
			s.Chunks[last].Text += c.Text
		case c.Type == "markdown_text" && c.Text == "":
		case c.Type == "task_update" && s.mergeTask(c):
		case c.Type == "plan_update" && s.mergePlan(c):
		default:
			s.Chunks = append(s.Chunks, c)
		}
	}
}

func (s *stream) mergeTask(c chunk) bool {
	for i := range s.Chunks {
		t := &s.Chunks[i]
		if t.Type != "task_update" || t.ID != c.ID {
			continue
		}
		if c.Title != "" {
			t.Title = c.Title
		}
		if c.Status != "" {
			t.Status = c.Status
		}
		if c.Sources != nil {
			t.Sources = c.Sources
		}
		t.Details += c.Details
		t.Output += c.Output
		return true
	}
	return false
}

func (s *stream) mergePlan(c chunk) bool {
	for i := range s.Chunks {
		if s.Chunks[i].Type == "plan_update" {
			s.Chunks[i].Title = c.Title
			return true
		}
	}
	return false
}

func textLength(chunks []chunk) (n int) {
	for _, c := range chunks {
		n += utf8.RuneCountInString(c.Text)
	}
	return n
}
