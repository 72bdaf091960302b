package bot

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/threads"
)

const (
	// lateAfter: what is older when it is found is listed with Answer, not
	// answered.
	lateAfter = time.Hour
	// catchUpThreads bounds how many conversations are read back.
	catchUpThreads = 20
)

// catchUp reads what was said while no socket was open: the history of channels
// that we know and the replies of the newest threads, since the watermark. What
// it finds goes the way of live messages, and is known by the same keys.
func (b *Bot) catchUp(ctx context.Context) {
	b.mu.Lock()
	if time.Since(b.caughtUp) < time.Minute {
		b.mu.Unlock()
		return
	}
	b.caughtUp = time.Now()
	b.mu.Unlock()
	marks, err := b.Threads.Watermarks(ctx, b.me.Team)
	if err != nil {
		b.Log.Error("cannot read how far the channels were read", "error", err)
		return
	}
	channels := make([]string, 0, len(marks))
	for c := range marks {
		channels = append(channels, c)
	}
	slices.SortFunc(channels, func(x, y string) int { return strings.Compare(marks[y], marks[x]) })
	for _, c := range channels[:min(len(channels), catchUpThreads)] {
		b.readSince(ctx, threads.Place{Channel: c}, marks[c])
	}
	list, err := b.Threads.List(ctx, catchUpThreads)
	if err != nil {
		return
	}
	for _, th := range list {
		if oldest := marks[th.Channel]; oldest != "" {
			b.readSince(ctx, threads.Place{Channel: th.Surface.Channel, ThreadTS: th.Surface.ThreadTS}, oldest)
		}
	}
	b.kick()
}

func (b *Bot) readSince(ctx context.Context, at threads.Place, oldest string) {
	msgs, err := b.readBack(ctx, at, oldest)
	if err != nil {
		if ctx.Err() == nil && !refusedAs(err, "channel_not_found", "not_in_channel", "thread_not_found") {
			b.Log.Warn("cannot read back what was said meanwhile", "channel", at.Channel, "error", err)
		}
		return
	}
	for _, m := range msgs {
		if m.TS <= oldest {
			continue
		}
		if err := b.found(ctx, at, m); err != nil && ctx.Err() == nil {
			b.Log.Error("cannot keep a message that catch-up found", "channel", at.Channel, "ts", m.TS, "error", err)
		}
	}
}

// found takes one message of the history through the gate, as if its event had
// come now.
func (b *Bot) found(ctx context.Context, at threads.Place, m theirs) error {
	var e event
	e.Team, e.App = b.me.Team, b.me.App
	ev := &e.Event
	ev.Type, ev.Subtype, ev.Channel, ev.User, ev.BotID, ev.Text, ev.TS, ev.ThreadTS = "message", m.Subtype, at.Channel, m.User, m.BotID, m.Text, m.TS, m.ThreadTS
	if ev.ThreadTS == m.TS {
		ev.ThreadTS = ""
	}
	ev.Files, ev.Attachments = m.Files, m.Attachments
	r, err := b.role(ctx, e.Team, m.User)
	if err != nil {
		return err
	}
	d := door{me: b.me, owner: r == Owner}
	if ev.ThreadTS != "" {
		if _, d.known, err = b.Threads.KeyOf(ctx, threads.Place{Team: e.Team, Channel: at.Channel, ThreadTS: ev.ThreadTS}); err != nil {
			return err
		}
	}
	if d.admit(e) != message {
		return nil
	}
	in := b.incoming(e, plain(m.Text, b.me.User))
	in.Late = b.Now().Sub(tsTime(m.TS)) > lateAfter
	_, err = b.Threads.Receive(ctx, in)
	if err != nil {
		return fmt.Errorf("%s: %w", m.TS, err)
	}
	return nil
}

// tsTime is when a message was written, by its ts.
func tsTime(ts string) time.Time {
	sec, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}
