package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

const (
	// A stream is closed by Slack after about five minutes and about 12,000
	// characters: we roll over to a fresh message before (reference: reports on
	// chat.appendStream).
	streamLife  = 4 * time.Minute
	streamChars = 10_000
	// appendMost bounds one append.
	appendMost = 4_000
)

// chunk is one piece of a native stream. Slack replaces a task's title and
// status, and appends to its details and output: what changes stands in the
// title.
type chunk struct {
	Type   string `json:"type"`
	Text   string `json:"text,omitempty"`
	ID     string `json:"id,omitempty"`
	Title  string `json:"title,omitempty"`
	Status string `json:"status,omitempty"`
	Output string `json:"output,omitempty"`
}

// streamBody is what a stream's post row remembers beyond its ts.
type streamBody struct {
	Shown  int      `json:"shown"`  // journaled turns that stand whole
	From   int      `json:"from"`   // journaled turns that stood whole before the open message began
	Offset int      `json:"offset"` // bytes of the next turn's safe text that stood before it began
	Rolled []string `json:"rolled,omitempty"`
	Edits  bool     `json:"edits,omitempty"` // its messages are edited in place (stream_edit.go)
}

// stream is one run's answer in Slack: a native stream that rolls over; where
// Slack takes none, a message that is edited; or messages at the end. One
// goroutine owns it.
type stream struct {
	b    *Bot
	th   threads.Thread
	run  string
	post threads.Post
	body streamBody

	text  composer
	base  int     // journaled turns that earlier streams of the run have shown
	given int     // journaled turns that the composer has got, base included
	tasks []chunk // updates that wait, the newest per call

	opened time.Time // of the open message
	msg    string    // the text that is confirmed to stand in it
	reopen string    // opens a code block again in a fresh message
	lost   *frame    // a frame whose answer was lost: settled before the next
	lines  []chunk   // of an edited message: the calls that it shows
	plain  bool      // nothing is shown while it comes (any more): the rest goes out as messages
	first  bool      // something was shown
	last   time.Time // of the last attempt that counts
	empty  time.Time // of the last attempt that brought nothing
}

// newStream takes over from earlier streams of the same run: what is journaled
// and was not shown whole comes first.
func newStream(ctx context.Context, b *Bot, th threads.Thread, run string, post threads.Post) *stream {
	s := &stream{b: b, th: th, run: run, post: post, plain: b.cfg.Streaming == "off"}
	s.body.Edits = !b.streams()
	posts, err := b.Threads.PostsOf(ctx, threads.PostStream, run)
	if err != nil {
		b.Log.Error("cannot read what an earlier stream has shown", "run", run, "error", err)
		return s
	}
	for _, p := range posts {
		var body streamBody
		if p.ID < post.ID && json.Unmarshal(p.Body, &body) == nil {
			s.base = max(s.base, body.Shown)
		}
	}
	s.given = s.base
	s.body.Shown, s.body.From = s.base, s.base
	if len(posts) > 1 {
		if err := s.takeUp(ctx); err != nil {
			b.Log.Error("cannot read what a run has said", "run", run, "error", err)
		}
	}
	return s
}

// takeUp gives the composer the journaled turns that it has not got.
func (s *stream) takeUp(ctx context.Context) error {
	texts, err := s.b.Threads.Texts(ctx, s.run)
	if err != nil {
		return err
	}
	for s.given < len(texts) {
		s.text.whole(texts[s.given].Text)
		s.given++
	}
	return nil
}

func (s *stream) event(ctx context.Context, e agent.Event) {
	if e.Private {
		s.leave(ctx)
	}
	switch e.Kind {
	case agent.TurnStarted:
		s.text.again()
	case agent.TextDelta:
		s.text.delta(e.Text)
		if !s.first && time.Since(s.empty) > pace {
			s.flush(ctx, false)
		}
	case agent.TurnDone:
		s.text.whole(e.Text)
		if e.Text != "" {
			s.given++
		}
	case agent.CallStarted, agent.CallProgress:
		title := taskTitle(e)
		if e.Kind == agent.CallProgress && e.Text != "" {
			title += " · " + blockkit.OneLine(e.Text, 60)
		}
		s.task(chunk{ID: e.Call.ID, Title: title, Status: "in_progress"})
	case agent.CallWaiting:
		s.task(chunk{ID: e.Call.ID, Title: taskTitle(e) + " · waits for you", Status: "pending"})
	case agent.CallDone:
		c := chunk{ID: e.Call.ID, Title: taskTitle(e), Status: "complete"}
		switch e.Outcome {
		case agent.CallOK, agent.CallParked:
			if t := elapsed(e.Elapsed); t != "" {
				c.Title += " · " + t
			}
		case agent.CallStaged:
			c.Title += " · drafted, not sent"
		default:
			c.Status, c.Output = "error", short(blockkit.OneLine(firstLine(e.Text), 240), 250)
		}
		s.task(c)
	case agent.Notice:
		s.text.notice("_" + blockkit.Escape(e.Text) + "_")
	}
}

func taskTitle(e agent.Event) string {
	t := e.Call.Tool
	if e.Headline != "" {
		t += "  " + blockkit.OneLine(e.Headline, 140)
	}
	return short(blockkit.DefuseMarks(t), 180)
}

func elapsed(d time.Duration) string {
	if d < 100*time.Millisecond {
		return ""
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// task keeps the newest update per call: an older one that has not gone out is
// replaced.
func (s *stream) task(c chunk) {
	c.Type = "task_update"
	for i, old := range s.tasks {
		if old.ID == c.ID {
			s.tasks[i] = c
			return
		}
	}
	s.tasks = append(s.tasks, c)
}

// due tells whether enough waits, for long enough, to be worth a call.
func (s *stream) due() bool {
	if s.lost == nil && len(s.tasks) == 0 && time.Since(s.empty) < pace {
		return false
	}
	return s.text.waiting() >= s.b.cfg.FlushChars || (s.text.waiting() > 0 || len(s.tasks) > 0) && time.Since(s.last) >= s.b.cfg.FlushEvery
}

// nextFlush is when to look again without being woken.
func (s *stream) nextFlush() time.Duration {
	if s.plain || s.text.waiting() == 0 && len(s.tasks) == 0 {
		if s.open() && !s.body.Edits {
			return max(time.Second, streamLife-time.Since(s.opened))
		}
		return time.Hour
	}
	return max(20*time.Millisecond, s.b.cfg.FlushEvery-time.Since(s.last))
}

// open tells that a message of this stream is open in Slack.
func (s *stream) open() bool { return s.post.TS != "" }

// flush sends what waits. A frame that is not the last may be left out where
// the budget is short; what it held goes with the next. It answers whether all
// went out.
func (s *stream) flush(ctx context.Context, final bool) bool {
	for ctx.Err() == nil {
		if s.lost != nil && !s.settle(ctx) {
			s.last = time.Now()
			return false
		}
		if s.plain {
			return false
		}
		if s.open() && !s.body.Edits && time.Since(s.opened) > streamLife {
			s.roll(ctx)
		}
		if !final && s.first && !s.due() {
			return false
		}
		f := s.next()
		if f == nil {
			s.last, s.empty = time.Now(), time.Now()
			return true
		}
		if s.open() && s.msg != "" && len(s.msg)+len(f.text) > s.chars() {
			s.roll(ctx)
			continue // the fresh message may have to open a code block again
		}
		if err := s.put(ctx, f, final); err != nil {
			if !s.recover(ctx, f, err) || !final {
				s.last = time.Now()
				return false
			}
			continue
		}
		s.confirm(ctx, f)
	}
	return false
}

// frame is what one call carries.
type frame struct {
	tasks  []chunk
	text   string
	commit func() // the composer's: its piece went out
}

// next is the frame that is due, nil where nothing is.
func (s *stream) next() *frame {
	piece, commit := s.text.next(min(appendMost, s.chars()))
	if piece == "" && len(s.tasks) == 0 {
		return nil
	}
	f := &frame{tasks: slices.Clone(s.tasks), text: piece, commit: commit}
	if piece != "" && s.msg == "" {
		f.text = s.reopen + strings.TrimLeft(piece, "\n")
		if s.reopen != "" {
			f.text = s.reopen + piece
		}
	}
	return f
}

func (f *frame) chunks() string {
	list := slices.Clone(f.tasks)
	if f.text != "" {
		list = append(list, chunk{Type: "markdown_text", Text: f.text})
	}
	return encode(list)
}

// confirm notes that a frame stands.
func (s *stream) confirm(ctx context.Context, f *frame) {
	f.commit()
	s.lines = merged(s.lines, f.tasks)
	s.tasks = slices.DeleteFunc(s.tasks, func(c chunk) bool { return slices.Contains(f.tasks, c) })
	if f.text != "" {
		s.msg += f.text
		s.reopen = ""
	}
	s.first, s.last = true, time.Now()
	if n := s.base + s.text.shown(); n > s.body.Shown {
		s.body.Shown = n
		s.save(ctx)
	}
}

func (s *stream) save(ctx context.Context) {
	s.post.Body = json.RawMessage(encode(s.body))
	if err := s.b.Threads.SetPost(context.WithoutCancel(ctx), s.post); err != nil {
		s.b.Log.Error("cannot note where a stream stands", "run", s.run, "error", err)
	}
}
