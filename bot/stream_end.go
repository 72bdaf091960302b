package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// finish brings the run's last words out, whole, and closes the stream with a
// footer. After an error nothing is lost: the poster settles the post like one
// whose process died.
func (s *stream) finish(ctx context.Context) error {
	run, err := s.b.Threads.RunInfo(ctx, s.run)
	if err != nil {
		return err
	}
	if run.Ended.IsZero() {
		return nil // taken up elsewhere: the next stream goes on
	}
	if err := s.takeUp(ctx); err != nil {
		return err
	}
	s.text.close()
	all := s.flush(ctx, true)
	if ctx.Err() != nil {
		return nil
	}
	if s.lost != nil {
		return errors.New("nobody can tell yet whether its last piece stands")
	}
	foot := s.b.footer(ctx, run)
	switch {
	case all && s.open():
		stands, err := s.stop(ctx, foot)
		if err != nil {
			return err
		}
		if stands {
			foot = ""
		}
		return s.close(ctx, parts("", foot))
	case s.open():
		// The rest first: the stream's own end may have to wait.
		if err := s.close(ctx, s.rest(foot)); err != nil {
			return err
		}
		_, err := s.stop(ctx, "")
		return err
	}
	return s.close(ctx, s.rest(foot))
}

// stop ends the open message, and tells whether the footer stands under it: Slack
// ends a stream by itself that nobody writes to for minutes, and then takes
// nothing more. Doing it twice is harmless.
func (s *stream) stop(ctx context.Context, foot string) (stands bool, err error) {
	args := url.Values{"channel": {s.post.Place.Channel}, "ts": {s.post.TS}, "metadata": {metadata(s.post.ID)}}
	if foot != "" {
		args.Set("blocks", string(blockkit.BlocksJSON([]blockkit.Block{blockkit.Context(blockkit.Mrkdwn(blockkit.Escape(foot)))})))
	}
	for try := 0; ; try++ {
		if s.body.Edits {
			if foot == "" {
				return true, nil // it stands as it should
			}
			err = s.write(ctx, &frame{}, foot, false)
		} else {
			if err := s.b.budget.wait(ctx, "chat.stopStream", ""); err != nil {
				return false, err
			}
			_, err = s.b.send(ctx, "chat.stopStream", args)
		}
		var no *slackError
		switch {
		case err == nil:
			return foot == "" || s.body.Edits || args.Has("blocks"), nil
		case refusedAs(err, "message_not_found"):
			return true, nil // who took it away takes its footer with it
		case refusedAs(err, "message_not_in_streaming_state"):
			if foot == "" {
				return true, nil // closed already is closed
			}
			return s.footStands(ctx)
		case errors.As(err, &no) && no.Code == "ratelimited":
			s.b.budget.obey(no.Method, no.After)
			continue
		case errors.As(err, &no) && !s.body.Edits && args.Has("blocks"):
			args.Del("blocks")
			continue
		case try >= 2:
			return false, err
		}
		if err := pause(ctx, time.Second<<try); err != nil {
			return false, err
		}
	}
}

// footStands looks whether an earlier stop, whose answer was lost, put the footer
// under the message.
func (s *stream) footStands(ctx context.Context) (bool, error) {
	msgs, err := s.b.readBack(ctx, s.post.Place, before(s.post.Created))
	if err != nil {
		return false, err
	}
	for _, m := range msgs {
		if m.TS != s.post.TS {
			continue
		}
		var blocks []struct{ Type string }
		_ = json.Unmarshal(m.Blocks, &blocks) // what does not parse is no footer of ours
		return slices.ContainsFunc(blocks, func(b struct{ Type string }) bool { return b.Type == "context" }), nil
	}
	return true, nil // it is gone
}

// pause waits, as long as ctx lasts.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// rest is what no stream has shown, as messages split at paragraph ends.
func (s *stream) rest(foot string) []string {
	var text strings.Builder
	if lines := taskLines(s.tasks, true); lines != "" {
		text.WriteString(lines + "\n\n")
		s.tasks = nil
	}
	for {
		piece, commit := s.text.next(1 << 30)
		if piece == "" {
			break
		}
		commit()
		text.WriteString(piece)
	}
	s.body.Shown = s.base + s.text.shown()
	return parts(text.String(), foot)
}

// taskLines are a run's calls where no stream shows them, a line each. Of a run
// that has ended none runs or waits any more.
func taskLines(tasks []chunk, ended bool) string {
	marks := map[string]string{"complete": "✓ ", "error": "✕ "}
	if !ended {
		marks["in_progress"], marks["pending"] = "▸ ", "◌ "
	}
	var lines []string
	for _, c := range tasks {
		line := marks[c.Status] + inlineCode(c.Title)
		if c.Output != "" {
			line += ": " + blockkit.SafeMarkdown(c.Output)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// inlineCode is a name or an input in fixed width, in markdown.
func inlineCode(s string) string { return "`" + strings.ReplaceAll(s, "`", "ˋ") + "`" }

// messageChars bounds one message of an answer that no stream shows.
const messageChars = 3_500

func parts(text, foot string) []string {
	text = strings.Trim(text, "\n")
	if text == "" {
		if foot == "" {
			return nil
		}
		return []string{"_" + foot + "_"}
	}
	list := blockkit.SplitMarkdown(text, messageChars)
	if foot != "" {
		list[len(list)-1] += "\n\n_" + foot + "_"
	}
	return list
}

// close commits that the stream has its end, together with the messages that go
// on from it: after a crash there are both or neither.
func (s *stream) close(ctx context.Context, rest []string) error {
	s.post.Body = json.RawMessage(encode(s.body))
	return s.b.closeStream(ctx, s.post, s.th, rest)
}

func (b *Bot) closeStream(ctx context.Context, p threads.Post, th threads.Thread, rest []string) error {
	add := make([]threads.Post, 0, len(rest))
	for _, markdown := range rest {
		add = append(add, threads.Post{Thread: th.Key, Kind: threads.PostNote, Ref: "s" + b.NewID(), Place: p.Place, Body: json.RawMessage(encode(noteBody{Markdown: markdown}))})
	}
	if err := b.Threads.ClosePost(context.WithoutCancel(ctx), p, add...); err != nil {
		return fmt.Errorf("cannot note that a stream is closed: %w", err)
	}
	b.kick()
	return nil
}

// footer is the line under an answer, as plain words: whoever shows it escapes
// it once, as the place wants.
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
					add("%s: %s", leg.word, blockkit.OneLine(or(m.What, m.Tool), 60))
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
