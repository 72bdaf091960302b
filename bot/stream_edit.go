package bot

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
)

// Where Slack takes no stream, or the configuration wants none, a run's answer is
// a message that is edited in place. Every edit carries all of it, so that one
// whose answer was lost is simply made again.

// editChars bounds an edited message: what chat.update takes as text, with room
// for what Slack's escapes add.
const editChars = 3_000

// chars bounds the text of the open message.
func (s *stream) chars() int {
	if s.body.Edits {
		return editChars
	}
	return streamChars
}

// write posts the message that is edited, or edits it: it then holds what is
// confirmed, the frame, and foot. A preview is left out where there is no room.
func (s *stream) write(ctx context.Context, f *frame, foot string, preview bool) error {
	method := "chat.postMessage"
	if s.open() {
		method = "chat.update"
	}
	if preview {
		if !s.b.budget.preview(method) {
			return errNoRoom
		}
	} else if err := s.b.budget.wait(ctx, method, s.post.Place.Channel); err != nil {
		return err
	}
	args := s.edited(f, foot)
	if !s.open() {
		s.opening(ctx)
		args.Set("metadata", metadata(s.post.ID))
		if s.post.Place.ThreadTS != "" {
			args.Set("thread_ts", s.post.Place.ThreadTS)
		}
	} else {
		args.Set("ts", s.post.TS)
	}
	a, err := s.b.send(ctx, method, args)
	if err == nil && !s.open() {
		s.begun(ctx, a.TS)
	}
	return err
}

// edited is the whole message: the calls, a line each, the text, the footer.
func (s *stream) edited(f *frame, foot string) url.Values {
	text := s.msg + f.text
	var parts []string
	if lines := taskLines(merged(s.lines, f.tasks), foot != ""); lines != "" {
		parts = append(parts, lines)
	}
	if t := strings.Trim(text, "\n"); t != "" {
		parts = append(parts, t)
	}
	shown := strings.Join(parts, "\n\n")
	blocks := []blockkit.Block{blockkit.Markdown(orWord(shown, "▸"))}
	if foot != "" {
		blocks = append(blocks, blockkit.Context(blockkit.Mrkdwn(blockkit.Escape(foot))))
	}
	fallback, _ := blockkit.Fit(orWord(blockkit.PlainFallback(orWord(text, shown)), blockkit.Empty), blockkit.MaxUpdateText)
	return url.Values{"channel": {s.post.Place.Channel}, "text": {fallback}, "blocks": {string(blockkit.BlocksJSON(blocks))},
		"unfurl_links": {"false"}, "unfurl_media": {"false"}}
}

// merged are the calls with what is new about them, in the order in which they
// began.
func merged(lines, news []chunk) []chunk {
	lines = slices.Clone(lines)
	for _, c := range news {
		if i := slices.IndexFunc(lines, func(o chunk) bool { return o.ID == c.ID }); i >= 0 {
			lines[i] = c
		} else {
			lines = append(lines, c)
		}
	}
	return lines
}

// posted finds the message that a post became, by our id in its metadata.
func posted(msgs []theirs, post int64, not []string) (m theirs, ok bool) {
	id := strconv.FormatInt(post, 10)
	i := slices.IndexFunc(msgs, func(m theirs) bool {
		got, _ := m.Metadata.EventPayload["post"].(string)
		return m.Metadata.EventType == "mecha_post" && got == id && !slices.Contains(not, m.TS)
	})
	if i < 0 {
		return theirs{}, false
	}
	return msgs[i], true
}
