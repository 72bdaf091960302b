package bot

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"net/url"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// errNotYet: a post is due, and what it shows is not ready; a change of the
// record tells when.
var errNotYet = errors.New("not yet")

// finishOrphan settles a stream whose run nobody shows any more: an earlier
// process died with it open, its run was taken up and a newer stream goes on,
// or Slack gave no answer at its end.
func (b *Bot) finishOrphan(ctx context.Context, p threads.Post) error {
	p, err := b.Threads.Post(ctx, p.ID)
	if err != nil {
		return err
	}
	if p.Want <= p.Shown || p.State == threads.PostGone {
		return nil
	}
	if b.handedToSink(p) {
		return errNotYet
	}
	run, err := b.Threads.RunInfo(ctx, p.Ref)
	if err != nil {
		return err
	}
	th, err := b.Threads.Thread(ctx, run.Thread)
	if err != nil {
		return err
	}
	all, err := b.Threads.PostsOf(ctx, threads.PostStream, p.Ref)
	if err != nil {
		return err
	}
	newest := len(all) > 0 && all[len(all)-1].ID == p.ID
	switch {
	case p.State == threads.PostClosed:
		return b.closeStream(ctx, p, th, nil) // its run's end asks every stream of it
	case newest && run.Ended.IsZero():
		return errNotYet // its thread will take it up
	case !newest && p.State == threads.PostIntent && p.TS == "":
		return b.closeStream(ctx, p, th, nil)
	}
	var body streamBody
	if err := json.Unmarshal(p.Body, &body); err != nil {
		return err
	}
	stands := ""
	if p.State != threads.PostIntent {
		msgs, err := b.readBack(ctx, p.Place, before(p.Created))
		if err != nil {
			return err
		}
		if p.TS == "" {
			if i := slices.IndexFunc(all, func(q threads.Post) bool { return q.ID == p.ID }); !newest {
				next := stamp(all[i+1].Created) // what is younger is the next stream's
				msgs = slices.DeleteFunc(msgs, func(m theirs) bool { return m.TS > next })
			}
			m, ok := b.unclaimed(ctx, msgs, p, body.Rolled)
			if body.Edits {
				m, ok = posted(msgs, p.ID, body.Rolled)
			}
			if ok {
				p.TS = m.TS
			}
		}
		for _, m := range msgs {
			if m.TS == p.TS {
				stands = m.Text
			}
		}
	}
	s := &stream{b: b, th: th, run: run.ID, post: p, body: body}
	if body.Edits {
		s.msg = blockkit.SafeMarkdown(html.UnescapeString(stands))
	}
	if !newest {
		if p.TS != "" {
			if err := s.interrupt(ctx); err != nil {
				return err
			}
		}
		return b.closeStream(ctx, p, th, nil)
	}
	texts, err := b.Threads.Texts(ctx, run.ID)
	if err != nil {
		return err
	}
	missing := missing(texts, body, stands)
	foot := b.footer(ctx, run)
	if p.TS != "" {
		here := foot
		if missing != "" {
			here = ""
		} else {
			foot = ""
		}
		stands, err := s.stop(ctx, here)
		if err != nil {
			return err
		}
		if !stands {
			foot = here
		}
	}
	s.body.Shown = len(texts)
	s.post.Body = json.RawMessage(encode(s.body))
	return b.closeStream(ctx, s.post, th, parts(missing, foot))
}

// interrupt closes a stream that a newer one of the same run goes on from.
func (s *stream) interrupt(ctx context.Context) error {
	const tail = "\n\n_interrupted; the answer follows_"
	if s.body.Edits {
		err := s.write(ctx, &frame{text: tail}, "", false)
		if refusedAs(err, "message_not_found") {
			return nil
		}
		return err
	}
	args := url.Values{"channel": {s.post.Place.Channel}, "ts": {s.post.TS}, "metadata": {metadata(s.post.ID)},
		"chunks": {encode([]chunk{{Type: "markdown_text", Text: tail}})}}
	if err := s.b.budget.wait(ctx, "chat.stopStream", ""); err != nil {
		return err
	}
	_, err := s.b.send(ctx, "chat.stopStream", args)
	if refusedAs(err, "message_not_in_streaming_state", "message_not_found", "msg_too_long") {
		return nil
	}
	return err
}

// missing is what of an ended run's words stands nowhere: stands is the text of
// its last message, which began where body says.
func missing(texts []threads.TurnText, body streamBody, stands string) string {
	var list []string
	have := squash(stands)
	for i := body.From; i < len(texts); i++ {
		text := blockkit.SafeMarkdown(texts[i].Text)
		if i == body.From && body.Offset <= len(text) {
			text = text[body.Offset:]
		}
		want := squash(text)
		if at := strings.Index(have, want); at >= 0 {
			have = have[at+len(want):]
			continue
		}
		if i < body.Shown {
			continue // it stood whole once: Slack shows it in another way
		}
		if n := overlap(have, want); n > 0 {
			text = text[after(text, n):]
		}
		have = ""
		list = append(list, strings.Trim(text, "\n"))
	}
	return strings.Join(list, "\n\n")
}

// sure is how many characters must agree before they are taken for the beginning
// of a text that stands in part, where other text stands before it.
const sure = 24

// overlap is how much of the beginning of want stands at the end of have.
func overlap(have, want string) int {
	for n := min(len(have), len(want)); n > 0; n-- {
		if strings.HasSuffix(have, want[:n]) {
			if n == len(have) || n >= sure {
				return n
			}
			return 0
		}
	}
	return 0
}

// after is where in text its first n squashed bytes end.
func after(text string, n int) int {
	at := sort.Search(len(text), func(i int) bool {
		for i < len(text) && !utf8.RuneStart(text[i]) {
			i++ // half a letter is none
		}
		return len(squash(text[:i])) >= n
	})
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return at
}
