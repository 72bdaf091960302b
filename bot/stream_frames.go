package bot

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/threads"
)

// errNoRoom: the budget has no room for a preview now, or, of a last frame, not
// soon enough.
var errNoRoom = errors.New("no room in the budget")

// patience is how long a last frame waits for its place before it goes out as a
// message instead. Where no stream is open nothing is lost by that: who writes
// fast is not answered late because Slack lets few streams begin a minute.
const (
	patience      = 5 * time.Second
	startPatience = 250 * time.Millisecond
)

// put sends one frame, once: the first opens the message.
func (s *stream) put(ctx context.Context, f *frame, final bool) error {
	if s.body.Edits {
		return s.write(ctx, f, "", !final && s.open())
	}
	args := url.Values{"channel": {s.post.Place.Channel}, "chunks": {f.chunks()}}
	method, wait := "chat.appendStream", patience
	if s.open() {
		args.Set("ts", s.post.TS)
	} else {
		method, wait = "chat.startStream", startPatience
		args.Set("thread_ts", s.post.Place.ThreadTS)
		args.Set("task_display_mode", "timeline")
		args.Set("recipient_team_id", s.th.Team)
		args.Set("recipient_user_id", s.th.Owner)
	}
	switch {
	case !final && !s.b.budget.preview(method):
		return errNoRoom
	case final && s.b.budget.delay(method) > wait:
		s.plain = true
		return errNoRoom
	case final:
		if err := s.b.budget.wait(ctx, method, ""); err != nil {
			return err
		}
	}
	if !s.open() {
		s.opening(ctx)
	}
	a, err := s.b.send(ctx, method, args)
	if err == nil && !s.open() {
		s.begun(ctx, a.TS)
	}
	return err
}

// opening notes that a message is about to be opened, and from where on it goes.
func (s *stream) opening(ctx context.Context) {
	s.post.State = threads.PostPosting
	s.body.From, s.body.Offset = s.base+s.text.shown(), s.text.offset()
	s.save(ctx)
}

// begun notes the message that a start has made.
func (s *stream) begun(ctx context.Context, ts string) {
	s.post.TS, s.post.State = ts, threads.PostPosted
	s.opened = time.Now()
	s.save(ctx)
}

// recover decides what an error of a frame means; true: try on.
func (s *stream) recover(ctx context.Context, f *frame, err error) bool {
	var no *slackError
	var lost *lostError
	switch {
	case errors.Is(err, errNoRoom):
		return false
	case errors.As(err, &lost):
		s.lost = f
		return true
	case !errors.As(err, &no):
		return false
	case no.Code == "ratelimited":
		s.b.budget.obey(no.Method, no.After)
		return true
	case refusedAs(err, "message_not_in_streaming_state", "msg_too_long", "msg_blocks_too_long", "msg_blocks_too_many", "message_not_found", "streaming_state_conflict") && s.open():
		// Closed by Slack: the rest goes into a fresh message, from the last
		// confirmed piece on.
		s.fresh(ctx)
		return true
	case no.Code == "stopped_by_user":
	case no.Code == "unknown_method" || no.Code == "method_deprecated":
		s.b.noStreams.Store(true)
		fallthrough
	default:
		if !s.open() && !s.body.Edits && s.b.cfg.Streaming == "auto" {
			s.b.Log.Warn("Slack takes no stream here; the answer is a message that is edited", "error", err)
			s.body.Edits = true
			return true
		}
		s.b.Log.Warn("Slack does not take what is shown of an answer; the rest goes out as messages", "error", err)
	}
	s.plain = true
	return false
}

// settle finds out what became of a frame whose answer was lost, by what stands
// in the thread: nothing is repeated blindly. false: nobody can tell yet.
func (s *stream) settle(ctx context.Context) bool {
	f := s.lost
	msgs, err := s.b.readBack(ctx, s.post.Place, before(s.post.Created))
	if err != nil {
		return false
	}
	if !s.open() {
		m, ok := s.b.unclaimed(ctx, msgs, s.post, s.body.Rolled)
		if s.body.Edits {
			m, ok = posted(msgs, s.post.ID, s.body.Rolled)
		}
		if ok {
			s.begun(ctx, m.TS)
			s.confirm(ctx, f)
		}
		s.lost = nil
		return true
	}
	i := slices.IndexFunc(msgs, func(m theirs) bool { return m.TS == s.post.TS })
	s.lost = nil
	switch {
	case i < 0:
		s.fresh(ctx)
	case s.body.Edits: // the next edit holds it again
	case f.text == "":
		// Titles may be said twice, outputs would be appended twice.
		for j, c := range s.tasks {
			if slices.Contains(f.tasks, c) {
				s.tasks[j].Output = ""
			}
		}
	case 2*len(squash(msgs[i].Text)) >= len(squash(s.msg))+len(squash(s.msg+f.text)):
		s.confirm(ctx, f)
	}
	return true
}

// before is a time as history takes it: early enough that clocks may differ.
func before(t time.Time) string { return stamp(t.Add(-time.Minute)) }

// stamp is a time as Slack writes it.
func stamp(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// unclaimed is our newest message that a post can have become and that no other
// post of ours is.
func (b *Bot) unclaimed(ctx context.Context, msgs []theirs, p threads.Post, not []string) (m theirs, ok bool) {
	least := before(p.Created)
	for i := len(msgs) - 1; i >= 0; i-- {
		m := msgs[i]
		ours := m.User == b.me.User || m.BotID == b.me.BotID && m.BotID != ""
		if ours && m.TS >= least && m.TS != p.Place.ThreadTS && m.Metadata.EventType == "" && len(m.Files) == 0 && !slices.Contains(not, m.TS) && !b.claimed(ctx, p.Place.Channel, m.TS) {
			return m, true
		}
	}
	return m, false
}

// claimed tells whether a message is one of our posts already.
func (b *Bot) claimed(ctx context.Context, channel, ts string) bool {
	_, err := b.Threads.PostAt(ctx, channel, ts)
	return err == nil
}

// squash keeps of a text what no way of showing it changes: its letters, digits
// and signs beyond ASCII. Of the beginning of a text it is the beginning.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return -1
		}
		return r
	}, html.UnescapeString(s))
}

// roll ends the message that is open and lets the next frame open another. A
// code block that it cuts is closed here and opened again there.
func (s *stream) roll(ctx context.Context) {
	reopen, tail := "", ""
	if fence := fenceOf(s.msg); fence != "" {
		tail, reopen = "\n"+fence[:3], fence+"\n"
	}
	s.end(ctx, tail)
	s.fresh(ctx)
	s.reopen = reopen
}

// leave is for a channel in which private things may not stand: the stream
// there ends, and goes on in the owner's DM.
func (s *stream) leave(ctx context.Context) {
	if s.b.trusted(ctx, s.post.Place.Channel) {
		return
	}
	s.flush(ctx, true)
	if s.open() {
		s.end(ctx, "\n\n"+goOn)
	}
	to, err := s.b.moved(ctx, s.th.Key, !s.open())
	if err != nil {
		// Nothing may be shown here any more, and there is no other place: the
		// answer stays in the record.
		if ctx.Err() == nil {
			s.b.Log.Error("cannot go on in the owner's DM; the answer waits", "thread", s.th.Key, "error", err)
		}
		s.plain = true
		return
	}
	if s.open() {
		s.fresh(ctx)
	}
	s.post.Place = to
	s.save(ctx)
}

// fresh lets the next frame open a message.
func (s *stream) fresh(ctx context.Context) {
	if s.open() {
		s.body.Rolled = append(s.body.Rolled, s.post.TS)
	}
	s.post.TS, s.post.State, s.msg, s.reopen, s.lines = "", threads.PostIntent, "", "", nil
	s.save(ctx)
}

// end closes the open message with a last word, as well as it can be had soon:
// Slack closes what we cannot.
func (s *stream) end(ctx context.Context, tail string) {
	if s.body.Edits {
		if tail == "" {
			return
		}
		if err := s.write(ctx, &frame{text: tail}, "", false); err != nil && ctx.Err() == nil {
			s.b.Log.Warn("cannot end a message that was edited", "run", s.run, "error", err)
		}
		return
	}
	args := url.Values{"channel": {s.post.Place.Channel}, "ts": {s.post.TS}, "metadata": {metadata(s.post.ID)}}
	if tail != "" {
		args.Set("chunks", encode([]chunk{{Type: "markdown_text", Text: tail}}))
	}
	if s.b.budget.delay("chat.stopStream") > patience {
		return
	}
	if err := s.b.budget.wait(ctx, "chat.stopStream", ""); err != nil {
		return
	}
	_, err := s.b.send(ctx, "chat.stopStream", args)
	var no *slackError
	if errors.As(err, &no) && no.Code == "ratelimited" {
		s.b.budget.obey(no.Method, no.After)
	}
	if err != nil && ctx.Err() == nil {
		s.b.Log.Debug("cannot close a stream's message", "error", err)
	}
}
