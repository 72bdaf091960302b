package bot

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// finishOrphan settles a stream whose run nobody shows any more: an earlier
// process died with it open, or its run was taken up and a newer stream goes on.
func (b *Bot) finishOrphan(ctx context.Context, p threads.Post) {
	p, err := b.Threads.Post(ctx, p.ID)
	if err != nil || p.Want <= p.Shown || b.handedToSink(p) {
		return
	}
	run, err := b.Threads.RunInfo(ctx, p.Ref)
	if err != nil {
		return
	}
	all, err := b.Threads.PostsOf(ctx, threads.PostStream, p.Ref)
	if err != nil {
		return
	}
	newest := len(all) > 0 && all[len(all)-1].ID == p.ID
	if newest && run.Ended.IsZero() {
		return // its thread will take it up, or it waits to
	}
	if p.State == threads.PostPosting && p.TS == "" {
		msgs, err := b.readBack(ctx, p.Place, "")
		if err != nil {
			return
		}
		if m, ok := newestOfOurs(msgs, b.me, p.Created); ok && !b.claimed(ctx, p.Place.Channel, m.TS) {
			p.TS = m.TS
		}
	}
	if newest {
		b.finishEnded(ctx, p, run)
		return
	}
	if p.TS != "" {
		args := url.Values{"channel": {p.Place.Channel}, "ts": {p.TS}, "chunks": {encode([]chunk{{Type: "markdown_text", Text: "\n\n_interrupted; the answer follows_"}})}}
		if err := b.budget.wait(ctx, "chat.stopStream", ""); err != nil {
			return
		}
		if _, err := b.send(ctx, "chat.stopStream", args); err != nil && !refusedAs(err, "message_not_in_streaming_state", "message_not_found") {
			b.failed(ctx, p, err)
			return
		}
	}
	b.closePost(ctx, p)
}

// finishEnded brings out what an ended run has said and nobody has shown.
func (b *Bot) finishEnded(ctx context.Context, p threads.Post, run threads.RunInfo) {
	th, err := b.Threads.Thread(ctx, run.Thread)
	if err != nil {
		return
	}
	s := newStream(b, th, run.ID, p)
	var body streamBody
	if json.Unmarshal(p.Body, &body) == nil {
		s.body.ShownTurn = max(s.body.ShownTurn, body.ShownTurn)
		s.body.Rolled = body.Rolled
	}
	texts, err := b.Threads.Texts(ctx, run.ID)
	if err != nil {
		return
	}
	stands := ""
	if p.TS != "" {
		msgs, err := b.readBack(ctx, p.Place, "")
		if err != nil {
			return
		}
		for _, m := range msgs {
			if m.TS == p.TS {
				stands = squash(m.Text)
			}
		}
	}
	s.text = composer{}
	for _, t := range texts {
		if t.Turn <= s.body.ShownTurn || stands != "" && strings.Contains(stands, squash(blockkit.SafeMarkdown(t.Text))) {
			continue
		}
		s.text.whole(t.Turn, t.Text)
	}
	foot := b.footer(ctx, run)
	if p.TS != "" {
		s.first = true // whatever is missing goes into messages of its own
		if err := s.stop(ctx, foot); err != nil {
			b.failed(ctx, p, err)
			return
		}
		foot = ""
	}
	if s.text.waiting() > 0 || p.TS == "" {
		if err := s.asMessages(ctx, foot); err != nil {
			b.failed(ctx, p, err)
			return
		}
	}
	b.closePost(ctx, p)
}

func (b *Bot) closePost(ctx context.Context, p threads.Post) {
	p.State, p.Shown = threads.PostClosed, p.Want
	if err := b.Threads.SetPost(context.WithoutCancel(ctx), p); err != nil {
		b.Log.Error("cannot note that a stream is closed", "error", err)
	}
}

// claimed tells whether a message is one of our posts already.
func (b *Bot) claimed(ctx context.Context, channel, ts string) bool {
	_, err := b.Threads.PostAt(ctx, channel, ts)
	return err == nil
}

// say posts one part of an answer as a message of its own, as a row like any
// card: it neither gets lost nor repeated.
func (b *Bot) say(ctx context.Context, at threads.Place, thread, markdown string) error {
	_, err := b.Threads.AddPost(ctx, threads.Post{Thread: thread, Kind: threads.PostNote, Ref: "s" + b.NewID(), Place: at, Body: json.RawMessage(encode(map[string]string{"markdown": markdown}))})
	b.kick()
	return err
}
