package bot

import (
	"context"
	"fmt"
	"net/url"
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

// catching is what catch-up knows. Its floor is how far each channel had been
// read when the last socket closed: what a new socket brings raises the marks in
// the record, not this one, so that nothing in between is skipped.
type catching struct {
	due   chan struct{}
	floor map[string]string // by channel; "" stands for the others
}

const (
	// catchEvery is how often the history is read at most.
	catchEvery = time.Minute
	// settingSeen holds until when everything was heard, for channels in which
	// nobody has said anything to us yet.
	settingSeen = "slack_heard"
	// unsure is how far before the floor is read: what was on its way when the
	// socket closed.
	unsure = 30 * time.Second
)

// remember takes the floor from the record, before any socket is open.
func (b *Bot) remember(ctx context.Context) error {
	b.catch.due = make(chan struct{}, 1)
	marks, err := b.Threads.Watermarks(ctx, b.me.Team)
	if err != nil {
		return fmt.Errorf("cannot read how far the channels were read: %w", err)
	}
	if marks[""], err = b.Threads.Setting(ctx, settingSeen); err != nil {
		return err
	}
	b.lower(marks)
	return nil
}

// lower sets the floor, unless an earlier one was not caught up with yet.
func (b *Bot) lower(marks map[string]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.catch.floor == nil {
		b.catch.floor = marks
	}
}

// missed says that no socket was open for a while.
func (b *Bot) missed() {
	select {
	case b.catch.due <- struct{}{}:
	default:
	}
}

// catchUps reads back after every time without a socket, at most once a minute.
func (b *Bot) catchUps(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.catch.due:
		}
		b.catchUp(ctx)
		if pause(ctx, catchEvery) != nil {
			return
		}
	}
}

// catchUp reads what was said while no socket was open: the history of channels
// that we are in and the replies of the newest threads, since the floor. What it
// finds goes the way of live messages, and is known by the same keys.
func (b *Bot) catchUp(ctx context.Context) {
	b.mu.Lock()
	floor := b.catch.floor
	b.catch.floor = nil // a socket that closes meanwhile sets another
	b.mu.Unlock()
	if floor == nil {
		return
	}
	began := b.Now()
	whole := true
	read := func(at threads.Place, since string) {
		if err := b.readSince(ctx, at, earlier(since)); err != nil {
			whole = false
		}
	}
	channels := b.channels(ctx, floor)
	for _, c := range channels[:min(len(channels), catchUpThreads)] {
		if since := or(floor[c], floor[""]); since != "" {
			read(threads.Place{Channel: c}, since)
		}
	}
	list, err := b.Threads.List(ctx, catchUpThreads)
	if err != nil {
		whole = false
	}
	for _, th := range list {
		// The two marks of a thread that has moved: the older one.
		since := or(floor[th.Channel], floor[""])
		if s := floor[th.Surface.Channel]; s != "" && s < since {
			since = s
		}
		if since != "" && th.Team == b.me.Team {
			read(threads.Place{Channel: th.Surface.Channel, ThreadTS: th.Surface.ThreadTS}, since)
		}
	}
	switch {
	case ctx.Err() != nil:
	case !whole:
		b.mu.Lock()
		b.catch.floor = floor // once more, with what may have been missed since
		b.mu.Unlock()
		b.missed()
	default:
		if err := b.Threads.SetSetting(ctx, settingSeen, stamp(began)); err != nil {
			b.Log.Error("cannot note until when everything was heard", "error", err)
		}
	}
}

// channels are those that may hold something for us, the newest known first.
func (b *Bot) channels(ctx context.Context, floor map[string]string) []string {
	var list []string
	for c := range floor {
		if c != "" {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(x, y string) int { return strings.Compare(floor[y], floor[x]) })
	if floor[""] == "" {
		return list // our first start: what was said before is not for us
	}
	var page struct {
		Channels []struct {
			ID string `json:"id"`
		} `json:"channels"`
	}
	args := url.Values{"types": {"im,public_channel,private_channel"}, "exclude_archived": {"true"}, "limit": {"200"}}
	if err := b.fetchJSON(ctx, "users.conversations", args, &page); err != nil {
		b.Log.Warn("cannot list the channels that I am in; those that are known are read back", "error", err)
		return list
	}
	for _, c := range page.Channels {
		if !slices.Contains(list, c.ID) {
			list = append(list, c.ID)
		}
	}
	return list
}

// earlier is a mark with room for what was on its way.
func earlier(ts string) string { return stamp(tsTime(ts).Add(-unsure)) }

func (b *Bot) readSince(ctx context.Context, at threads.Place, oldest string) error {
	msgs, err := b.readBack(ctx, at, oldest)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		if refusedAs(err, "channel_not_found", "not_in_channel", "thread_not_found", "missing_scope") {
			return nil
		}
		b.Log.Warn("cannot read back what was said meanwhile; I try again", "channel", at.Channel, "error", err)
		return err
	}
	for _, m := range msgs {
		if m.TS < oldest {
			continue
		}
		if err := b.found(ctx, at, m); err != nil {
			if ctx.Err() == nil {
				b.Log.Error("cannot keep a message that catch-up found", "channel", at.Channel, "ts", m.TS, "error", err)
			}
			return err
		}
	}
	return nil
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
	late := b.Now().Sub(tsTime(m.TS)) > lateAfter
	switch d.admit(e) {
	case message:
	case keyOnly:
		if late {
			return nil
		}
		return b.heard(ctx, e)
	default:
		return nil
	}
	text := plain(m.Text, b.me.User)
	if p, ok := b.word(e, text); ok {
		if late {
			return nil
		}
		after, err := b.keep(ctx, wordKey(ev.Channel, ev.TS), p)
		if after != nil {
			b.putOff(ctx, after)
		}
		return err
	}
	in := b.incoming(e, text)
	in.Late = late
	_, err = b.Threads.Receive(ctx, in)
	return err
}

// wordKey is the event under which a command word is done once, whatever told
// of it.
func wordKey(channel, ts string) string { return "word:" + channel + ":" + ts }

// tsTime is when a message was written, by its ts.
func tsTime(ts string) time.Time {
	sec, _, _ := strings.Cut(ts, ".")
	n, err := strconv.ParseInt(sec, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(n, 0)
}

// deaf takes the floor when the last socket has closed.
func (b *Bot) deaf(ctx context.Context) {
	b.mu.Lock()
	set := b.catch.floor != nil
	b.mu.Unlock()
	if set || ctx.Err() != nil {
		return
	}
	marks, err := b.Threads.Watermarks(ctx, b.me.Team)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Error("cannot read how far the channels were read", "error", err)
		}
		return
	}
	marks[""] = stamp(b.Now())
	b.lower(marks)
}
