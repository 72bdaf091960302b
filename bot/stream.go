package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
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

// chunk is one piece of a native stream.
type chunk struct {
	Type    string `json:"type"`
	Text    string `json:"text,omitempty"`
	ID      string `json:"id,omitempty"`
	Title   string `json:"title,omitempty"`
	Status  string `json:"status,omitempty"`
	Details string `json:"details,omitempty"`
	Output  string `json:"output,omitempty"`
}

// place is what a stream's post row remembers beyond its ts.
type streamBody struct {
	ShownTurn int      `json:"shown_turn"` // turns up to here stand whole
	Rolled    []string `json:"rolled,omitempty"`
}

// stream is one run's answer in Slack: a native stream that rolls over, or,
// where Slack takes none, plain messages at the end.
type stream struct {
	b    *Bot
	th   threads.Thread
	run  string
	post threads.Post
	body streamBody

	text   composer
	tasks  []chunk // updates that wait, the newest per call
	opened time.Time
	chars  int
	plain  bool // no native stream (any more): the rest goes out as messages
	last   time.Time
	first  bool // something was shown
}

func newStream(b *Bot, th threads.Thread, run string, post threads.Post) *stream {
	s := &stream{b: b, th: th, run: run, post: post, plain: b.cfg.Streaming == "off" || b.cfg.Streaming == "update"}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s.catchUp(ctx)
	return s
}

// catchUp takes over from earlier streams of the same run: what is journaled
// and was not shown whole comes first.
func (s *stream) catchUp(ctx context.Context) {
	posts, err := s.b.Threads.PostsOf(ctx, threads.PostStream, s.run)
	if err != nil {
		return
	}
	for _, p := range posts {
		var body streamBody
		if p.ID != s.post.ID && json.Unmarshal(p.Body, &body) == nil {
			s.body.ShownTurn = max(s.body.ShownTurn, body.ShownTurn)
		}
	}
	if len(posts) < 2 {
		return
	}
	texts, err := s.b.Threads.Texts(ctx, s.run)
	if err != nil {
		return
	}
	for _, t := range texts {
		if t.Turn > s.body.ShownTurn {
			s.text.whole(t.Turn, t.Text)
		}
	}
}

func (s *stream) event(ctx context.Context, e agent.Event) {
	switch e.Kind {
	case agent.TextDelta:
		s.text.delta(e.Turn, e.Text)
		if !s.first {
			s.flush(ctx, false)
		}
	case agent.TurnDone:
		s.text.whole(e.Turn, e.Text)
	case agent.CallStarted:
		s.task(chunk{Type: "task_update", ID: e.Call.ID, Title: taskTitle(e), Status: "in_progress"})
	case agent.CallProgress:
		s.task(chunk{Type: "task_update", ID: e.Call.ID, Title: taskTitle(e), Status: "in_progress", Output: short(blockkit.OneLine(e.Text, 200), 250)})
	case agent.CallWaiting:
		// The output of a task is appended to, its title replaced.
		s.task(chunk{Type: "task_update", ID: e.Call.ID, Title: taskTitle(e) + " · waits for you", Status: "pending"})
	case agent.CallDone:
		c := chunk{Type: "task_update", ID: e.Call.ID, Title: taskTitle(e), Status: "complete", Output: elapsed(e.Elapsed)}
		switch e.Outcome {
		case agent.CallOK, agent.CallParked:
		case agent.CallStaged:
			c.Output = "drafted, not sent"
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
		t += "  " + blockkit.OneLine(e.Headline, 160)
	}
	return short(blockkit.DefuseMarks(t), 220)
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
	return s.text.waiting() >= s.b.cfg.FlushChars || (s.text.waiting() > 0 || len(s.tasks) > 0) && time.Since(s.last) >= s.b.cfg.FlushEvery
}

// nextFlush is when to look again without being woken.
func (s *stream) nextFlush() time.Duration {
	if s.text.waiting() == 0 && len(s.tasks) == 0 {
		if s.post.TS != "" {
			return max(time.Second, streamLife-time.Since(s.opened))
		}
		return time.Hour
	}
	return max(20*time.Millisecond, s.b.cfg.FlushEvery-time.Since(s.last))
}

// flush sends what waits. A frame that is not the last may be left out where
// the budget is short; what it held goes with the next. It answers whether all
// went out.
func (s *stream) flush(ctx context.Context, final bool) bool {
	if s.plain {
		return false
	}
	if s.post.TS != "" && time.Since(s.opened) > streamLife {
		s.roll(ctx)
	}
	for ctx.Err() == nil {
		if !final && s.first && !s.due() {
			return false
		}
		piece, commit := s.text.next(appendMost, final)
		tasks := s.tasks
		if piece == "" && len(tasks) == 0 {
			return true
		}
		if s.post.TS != "" && s.chars+len(piece) > streamChars {
			s.roll(ctx)
		}
		if err := s.put(ctx, piece, tasks, final); err != nil {
			if !s.recoverFrom(ctx, err) {
				return false
			}
			if !final {
				return false
			}
			continue
		}
		commit()
		s.first = true
		s.tasks = s.tasks[len(tasks):]
		s.chars += len(piece)
		s.last = time.Now()
		if turn := s.text.complete(); turn > s.body.ShownTurn {
			s.body.ShownTurn = turn
			s.save(ctx)
		}
	}
	return false
}

// errNoRoom: the budget has no room for a preview now.
var errNoRoom = errors.New("no room for a preview")

// put sends one frame: the first opens the stream.
func (s *stream) put(ctx context.Context, piece string, tasks []chunk, must bool) error {
	chunks := make([]chunk, 0, len(tasks)+1)
	chunks = append(chunks, tasks...)
	if piece != "" {
		chunks = append(chunks, chunk{Type: "markdown_text", Text: piece})
	}
	args := url.Values{"channel": {s.post.Place.Channel}, "chunks": {encode(chunks)}}
	method := "chat.appendStream"
	if s.post.TS == "" {
		method = "chat.startStream"
		args.Set("thread_ts", s.post.Place.ThreadTS)
		args.Set("task_display_mode", "timeline")
		args.Set("recipient_team_id", s.th.Team)
		args.Set("recipient_user_id", s.th.Owner)
	} else {
		args.Set("ts", s.post.TS)
	}
	switch {
	case must:
		if err := s.b.budget.wait(ctx, method, ""); err != nil {
			return err
		}
	case !s.b.budget.preview(method):
		s.last = time.Now()
		return errNoRoom
	}
	if s.post.TS == "" {
		s.post.State = threads.PostPosting
		if err := s.b.Threads.SetPost(ctx, s.post); err != nil {
			return err
		}
	}
	a, err := s.b.send(ctx, method, args)
	if err != nil {
		return err
	}
	if s.post.TS == "" {
		s.post.TS, s.post.State = a.TS, threads.PostPosted
		s.opened, s.chars = time.Now(), 0
		s.save(ctx)
	}
	return nil
}

func (s *stream) save(ctx context.Context) {
	s.post.Body = json.RawMessage(encode(s.body))
	if err := s.b.Threads.SetPost(context.WithoutCancel(ctx), s.post); err != nil {
		s.b.Log.Error("cannot note where a stream stands", "run", s.run, "error", err)
	}
}

// recoverFrom decides what an error of a frame means; true: try on.
func (s *stream) recoverFrom(ctx context.Context, err error) bool {
	var no *slackError
	var lost *lostError
	switch {
	case errors.Is(err, errNoRoom):
		return false
	case errors.As(err, &no) && no.Code == "ratelimited":
		s.b.budget.obey(no.Method, no.After)
		return true
	case refusedAs(err, "message_not_in_streaming_state", "msg_too_long", "msg_blocks_too_long", "message_not_found", "streaming_state_conflict"):
		// Closed by Slack: the rest goes into a fresh message, from the last
		// confirmed piece on.
		s.fresh(ctx)
		return true
	case refusedAs(err, "stopped_by_user"):
		s.plain = true
		return false
	case errors.As(err, &no):
		s.b.Log.Warn("Slack takes no stream here; the answer goes out as messages", "error", err)
		s.plain = true
		return false
	case errors.As(err, &lost):
		return s.readBack(ctx)
	}
	return false
}

// readBack settles a lost answer by what stands in the thread: never repeated
// blindly.
func (s *stream) readBack(ctx context.Context) bool {
	msgs, err := s.b.readBack(ctx, s.post.Place, "")
	if err != nil {
		return false
	}
	if s.post.TS == "" {
		if m, ok := newestOfOurs(msgs, s.b.me, s.post.Created); ok && !s.b.claimed(ctx, s.post.Place.Channel, m.TS) {
			s.post.TS, s.post.State, s.opened = m.TS, threads.PostPosted, time.Now()
			s.save(ctx)
		} else {
			return true
		}
	}
	for _, m := range msgs {
		if m.TS == s.post.TS {
			piece, commit := s.text.next(appendMost, true)
			if piece != "" && strings.HasSuffix(squash(m.Text), squash(piece)) {
				commit()
				s.first = true
				s.chars += len(piece)
			}
			return true
		}
	}
	return true
}

// squash takes out what Slack's way of showing text may change.
func squash(s string) string {
	return strings.Join(strings.Fields(blockkit.PlainFallback(s)), "")
}

// newestOfOurs is our newest message that a post of this age can have become.
func newestOfOurs(msgs []theirs, me identity, since time.Time) (m theirs, ok bool) {
	least := fmt.Sprintf("%d.", since.Add(-2*time.Second).Unix())
	for i := len(msgs) - 1; i >= 0; i-- {
		m := msgs[i]
		if (m.User == me.User || m.BotID == me.BotID && m.BotID != "") && m.TS >= least && m.Metadata.EventType == "" {
			return m, true
		}
	}
	return m, false
}

// roll ends the message that is open and lets the next frame open another.
func (s *stream) roll(ctx context.Context) {
	args := url.Values{"channel": {s.post.Place.Channel}, "ts": {s.post.TS}}
	if err := s.b.budget.wait(ctx, "chat.stopStream", ""); err == nil {
		if _, err := s.b.send(ctx, "chat.stopStream", args); err != nil && ctx.Err() == nil {
			s.b.Log.Debug("cannot stop a stream that rolls over", "error", err)
		}
	}
	s.fresh(ctx)
}

func (s *stream) fresh(ctx context.Context) {
	if s.post.TS != "" {
		s.body.Rolled = append(s.body.Rolled, s.post.TS)
	}
	s.post.TS, s.post.State, s.chars = "", threads.PostIntent, 0
	s.save(ctx)
}

// finish brings the run's last words out, whole, and closes the stream with a
// footer.
func (s *stream) finish(ctx context.Context) error {
	texts, err := s.b.Threads.Texts(ctx, s.run)
	if err != nil {
		return err
	}
	for _, t := range texts {
		if t.Turn > s.body.ShownTurn {
			s.text.whole(t.Turn, t.Text)
		}
	}
	run, err := s.b.Threads.RunInfo(ctx, s.run)
	if err != nil {
		return err
	}
	if run.Ended.IsZero() {
		return nil // taken up elsewhere: the next stream goes on
	}
	s.flush(ctx, true)
	if ctx.Err() != nil {
		return nil
	}
	foot := s.b.footer(ctx, run)
	if s.post.TS != "" && !s.plain {
		if err := s.stop(ctx, foot); err != nil {
			return err
		}
	} else if err := s.asMessages(ctx, foot); err != nil {
		return err
	}
	p, err := s.b.Threads.Post(ctx, s.post.ID)
	if err != nil {
		return err
	}
	s.post.State, s.post.Shown = threads.PostClosed, p.Want
	s.post.Body = json.RawMessage(encode(s.body))
	return s.b.Threads.SetPost(context.WithoutCancel(ctx), s.post)
}

func (s *stream) stop(ctx context.Context, foot string) error {
	args := url.Values{"channel": {s.post.Place.Channel}, "ts": {s.post.TS}}
	if foot != "" {
		args.Set("blocks", string(blockkit.BlocksJSON([]blockkit.Block{blockkit.Context(blockkit.Mrkdwn(foot))})))
	}
	for try := 0; ; try++ {
		if err := s.b.budget.wait(ctx, "chat.stopStream", ""); err != nil {
			return err
		}
		_, err := s.b.send(ctx, "chat.stopStream", args)
		var no *slackError
		switch {
		case err == nil, refusedAs(err, "message_not_in_streaming_state"):
			return nil // closed already is closed
		case errors.As(err, &no) && no.Code == "ratelimited":
			s.b.budget.obey(no.Method, no.After)
			continue
		case errors.As(err, &no) && args.Has("blocks"):
			args.Del("blocks")
		case try >= 2:
			return err
		}
	}
}

// asMessages posts what no stream has shown, split at paragraph ends.
func (s *stream) asMessages(ctx context.Context, foot string) error {
	rest, commit := s.text.next(1<<30, true)
	if rest == "" && s.first {
		return nil
	}
	if rest == "" {
		rest = "_" + foot + "_"
		foot = ""
	}
	parts := blockkit.SplitMarkdown(rest, 3500)
	for i, part := range parts {
		if i == len(parts)-1 && foot != "" {
			part += "\n\n_" + foot + "_"
		}
		if err := s.b.say(ctx, s.post.Place, s.th.Key, part); err != nil {
			return err
		}
	}
	commit()
	s.body.ShownTurn = max(s.body.ShownTurn, s.text.complete())
	return nil
}

// footer is the line under an answer.
func (b *Bot) footer(ctx context.Context, r threads.RunInfo) string {
	var parts []string
	add := func(f string, a ...any) { parts = append(parts, fmt.Sprintf(f, a...)) }
	add("%s", count(r.Turns, "turn", "turns"))
	if n := r.Usage.In + r.Usage.Out; n > 0 {
		add("%s tokens", grouped(n))
	}
	if r.Usage.Cost != nil {
		add("$%.2f", *r.Usage.Cost)
	}
	if r.Blocked > 0 {
		add("%d refused", r.Blocked)
	}
	switch r.Cause {
	case agent.Completed, agent.Failed, "":
	case agent.Stopped:
		add("stopped")
	case agent.ParkedCause:
		add("waits for your answer")
	default:
		add("ended: %s", strings.ReplaceAll(string(r.Cause), "_", " "))
	}
	if th, err := b.Threads.Thread(ctx, r.Thread); err == nil {
		for _, leg := range []struct{ leg, word string }{{"private", "private"}, {"untrusted", "third-party"}} {
			for _, m := range th.Taint.Marks {
				if string(m.Leg) == leg.leg {
					add("%s: %s", leg.word, blockkit.Escape(blockkit.OneLine(or(m.What, m.Tool), 60)))
					break
				}
			}
		}
	}
	return strings.Join(parts, " · ")
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("our own value does not encode: " + err.Error())
	}
	return strings.TrimRight(b.String(), "\n")
}
