package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// maxTries of a post that Slack refuses; then it is given up, and the log and
// the record say why.
const maxTries = 8

// lookEvery bounds how often the record is asked which posts are due: while a
// hundred commits a second go by, one look answers many of them.
const lookEvery = 20 * time.Millisecond

// kick says that posts may be due.
func (b *Bot) kick() {
	select {
	case b.kicked <- struct{}{}:
	default:
	}
}

// poster keeps Slack like the record: every post that is due is rendered and
// sent, one after another in each place, until ctx ends. What waits wakes it:
// a change of the record, a kick, a place that is free again, the end of the
// shortest back-off. It never looks around by itself.
func (b *Bot) poster(ctx context.Context) {
	changed, cancel := b.DB.Subscribe()
	defer cancel()
	type lap struct {
		lane   string
		parked []int64
	}
	lanes := map[string]bool{}
	parked := map[int64]bool{} // due, and not ready before the record changes
	free := make(chan lap)
	retry := time.NewTimer(time.Hour)
	defer retry.Stop()
	busy := 0
	var looked time.Time
	for {
		_ = pause(ctx, lookEvery-time.Since(looked)) // where ctx ends, the select below says so
		looked = time.Now()
		due, err := b.Threads.DuePosts(ctx, 500)
		if err != nil && ctx.Err() == nil {
			b.Log.Error("cannot read which posts are due", "error", err)
		}
		byLane := map[string][]threads.Post{}
		var order []string
		next := time.Hour
		for _, p := range due {
			if parked[p.ID] || b.rooting(p) || b.handedToSink(p) {
				continue
			}
			lane := p.Place.Channel + "/" + p.Place.ThreadTS
			if lanes[lane] {
				continue
			}
			if wait := b.backoff(p); wait > 0 {
				next = min(next, wait)
				continue
			}
			if byLane[lane] == nil {
				order = append(order, lane)
			}
			byLane[lane] = append(byLane[lane], p)
		}
		for _, lane := range order {
			lanes[lane] = true
			busy++
			list := byLane[lane]
			go func() { // waited for below, by free
				l := lap{lane: lane}
				for _, p := range list {
					if ctx.Err() == nil && !b.put(ctx, p) {
						l.parked = append(l.parked, p.ID)
					}
				}
				free <- l
			}()
		}
		retry.Reset(max(next, 10*time.Millisecond))
		select {
		case <-changed:
			clear(parked)
		case <-b.kicked:
			clear(parked)
		case <-retry.C:
		case l := <-free:
			delete(lanes, l.lane)
			busy--
			for _, id := range l.parked {
				parked[id] = true
			}
		case <-ctx.Done():
			for ; busy > 0; busy-- {
				<-free
			}
			return
		}
	}
}

// backoff is how long a post that was refused still waits.
func (b *Bot) backoff(p threads.Post) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Until(b.after[p.ID])
}

func (b *Bot) setBackoff(id int64, tries int, least time.Duration) {
	d := max(least, time.Second<<min(tries, 6))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.after[id] = time.Now().Add(d)
}

// tried forgets the back-off of a post that needs no other try.
func (b *Bot) tried(id int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.after, id)
}

// put brings one post into Slack and notes what came of it; false: it is not
// ready, and a change of the record will tell.
func (b *Bot) put(ctx context.Context, p threads.Post) (done bool) {
	// The row is read again: it may have changed while the lane was busy.
	now, err := b.Threads.Post(ctx, p.ID)
	if err != nil || now.Want <= now.Shown || now.State == threads.PostGone {
		return true
	}
	p = now
	if p.Kind == threads.PostStream {
		err = b.finishOrphan(ctx, p)
	} else {
		err = b.putCard(ctx, &p)
	}
	switch {
	case err == nil:
		b.tried(p.ID)
	case errors.Is(err, errNotYet):
		return false
	case ctx.Err() == nil:
		b.failed(ctx, p, err)
	}
	return true
}

// putCard renders one post and sends it: a new message with an intent row before
// it, or an update of the one that stands.
func (b *Bot) putCard(ctx context.Context, p *threads.Post) error {
	if p.State == threads.PostPosting && p.TS == "" {
		if err := b.settlePost(ctx, p); err != nil {
			return err
		}
	}
	want := p.Want
	r, err := b.render(ctx, *p)
	if err != nil {
		return err
	}
	if p.TS == "" {
		if p.Place, err = b.divert(ctx, *p); err != nil {
			return err
		}
		if err := b.attach(ctx, p, r.Attach); err != nil {
			return err
		}
	}
	for i := range r.Tokens {
		r.Tokens[i].Post = p.ID
		r.Tokens[i].Channel, r.Tokens[i].TS = p.Place.Channel, p.TS
		if err := b.Threads.PutToken(ctx, r.Tokens[i]); err != nil {
			return fmt.Errorf("cannot keep a button: %w", err)
		}
	}
	if p.TS == "" {
		p.State = threads.PostPosting
		if err := b.Threads.SetPost(ctx, *p); err != nil {
			return err
		}
	}
	landed := b.flies(r.Tokens)
	defer landed()
	if err = b.sendCard(ctx, p, r); err != nil {
		return err
	}
	p.State, p.Shown, p.Error, p.Tries = threads.PostPosted, want, "", 0
	return b.Threads.Shown(context.WithoutCancel(ctx), *p, r.Tokens)
}

// flies notes that buttons are on their way: they can be pressed before Slack
// has told us where they stand. landed says that their rows know.
func (b *Bot) flies(tokens []threads.Token) (landed func()) {
	down := make(chan struct{})
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range tokens {
		b.flying[k.Token] = down
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, k := range tokens {
			delete(b.flying, k.Token)
		}
		close(down)
	}
}

// landed waits until a button that is on its way stands where it was put. Where
// Slack's answer was lost, the press itself tells: nobody but the message that
// we posted carries the token.
func (b *Bot) landed(ctx context.Context, p Press) {
	b.mu.Lock()
	down := b.flying[p.Value]
	b.mu.Unlock()
	if down != nil {
		t := time.NewTimer(callTimeout)
		defer t.Stop()
		select {
		case <-down:
		case <-t.C:
		case <-ctx.Done():
		}
	}
	k, err := b.Threads.TokenRow(ctx, p.Value)
	if err != nil || k.Post == 0 || k.TS != "" || k.View != "" || p.TS == "" || p.ViewID != "" || k.Channel != p.Channel {
		return
	}
	if post, err := b.Threads.Post(ctx, k.Post); err != nil || post.TS != "" && post.TS != p.TS {
		return
	}
	if err := b.Threads.PlaceToken(ctx, k.Token, p.Channel, p.TS, ""); err != nil {
		b.Log.Error("cannot place a button", "error", err)
	}
}

// uploads is what the body of a card's post remembers of its files.
type uploads struct {
	Attached int    `json:"attached,omitempty"`
	File     string `json:"file,omitempty"` // the one that we were about to share
	For      string `json:"for,omitempty"`  // of an approver's copy: whose it is (approver_copies.go)
}

// attach brings up what does not fit the card, before it; each file once.
func (b *Bot) attach(ctx context.Context, p *threads.Post, files []Attachment) error {
	if len(files) == 0 {
		return nil
	}
	var have uploads
	if err := json.Unmarshal(p.Body, &have); err != nil {
		return err
	}
	for have.Attached < len(files) {
		note := func(file string) error {
			have.File = file
			p.Body = json.RawMessage(encode(have))
			return b.Threads.SetPost(ctx, *p)
		}
		if err := b.upload(ctx, p.Place, files[have.Attached], have.File, note); err != nil {
			return fmt.Errorf("cannot attach what does not fit a card: %w", err)
		}
		have.Attached++
		if err := note(""); err != nil {
			return err
		}
	}
	return nil
}

// sendCard posts or updates the message, with the blocks' bytes as rendered. A
// card whose blocks Slack refuses goes out as plain text: never silent.
func (b *Bot) sendCard(ctx context.Context, p *threads.Post, r Rendering) error {
	method := "chat.postMessage"
	if p.TS != "" {
		method = "chat.update"
	}
	args := url.Values{"channel": {p.Place.Channel}, "text": {r.Text}, "unfurl_links": {"false"}, "unfurl_media": {"false"}}
	if len(r.Blocks) > 0 {
		blocks, err := r.Blocks.MarshalJSON()
		if err != nil {
			return fmt.Errorf("cannot encode a card: %w", err)
		}
		args.Set("blocks", string(blocks))
	}
	if p.TS != "" {
		args.Set("ts", p.TS)
	} else {
		if p.Place.ThreadTS != "" {
			args.Set("thread_ts", p.Place.ThreadTS)
		}
		args.Set("metadata", metadata(p.ID))
	}
	if err := b.budget.wait(ctx, method, p.Place.Channel); err != nil {
		return err
	}
	a, err := b.send(ctx, method, args)
	if refusedAs(err, "block_mismatch") {
		// A message that has had rich text keeps some, whatever it shows now.
		r.Blocks = append(slices.Clone(r.Blocks), blockkit.RichSection(blockkit.Run{Text: "\u2063"}))
		if blocks, err := r.Blocks.MarshalJSON(); err == nil {
			args.Set("blocks", string(blocks))
		}
		a, err = b.send(ctx, method, args)
	}
	if refusedAs(err, "invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long") {
		b.Log.Error("Slack refused a card's blocks; it goes out as text", "kind", p.Kind, "ref", p.Ref, "error", err)
		args.Del("blocks")
		a, err = b.send(ctx, method, args)
	}
	if err == nil && p.TS == "" {
		p.TS = a.TS
	}
	return err
}

// metadata marks a message of ours with its post, by which a lost answer is
// settled.
func metadata(post int64) string {
	return `{"event_type":"mecha_post","event_payload":{"post":"` + strconv.FormatInt(post, 10) + `"}}`
}

// failed notes why a post did not go out, and when it is tried again.
func (b *Bot) failed(ctx context.Context, p threads.Post, err error) {
	if ctx.Err() != nil {
		return
	}
	var no *slackError
	var lost *lostError
	p.Error = err.Error()
	switch {
	case errors.As(err, &no) && no.Code == "ratelimited":
		b.budget.obey(no.Method, no.After)
		b.setBackoff(p.ID, 0, no.After)
		if p.TS == "" {
			p.State = threads.PostIntent // a definite no: it may be posted again
		}
	case errors.As(err, &no) && (no.Code == "message_not_found" || no.Code == "channel_not_found" || no.Code == "is_archived" || no.Code == "not_in_channel" || no.Code == "cant_update_message"):
		p.State = threads.PostGone
	case errors.As(err, &lost) || !errors.As(err, &no):
		// It stays "posting" where it was handed over: settled by looking, not by
		// repeating.
		b.setBackoff(p.ID, p.Tries, 0)
		p.Tries++
	default:
		p.Tries++
		b.setBackoff(p.ID, p.Tries, 0)
		if p.TS == "" {
			p.State = threads.PostIntent
		}
		if p.Tries >= maxTries {
			p.State = threads.PostGone
		}
	}
	if p.State == threads.PostGone {
		b.Log.Error("a post is given up", "kind", p.Kind, "ref", p.Ref, "channel", p.Place.Channel, "error", err)
	}
	if err := b.Threads.SetPost(context.WithoutCancel(ctx), p); err != nil {
		b.Log.Error("cannot note that a post failed", "error", err)
	}
}

// settlePost finds out whether a message whose answer was lost stands: by our
// id in its metadata. Not found, it may be posted again.
func (b *Bot) settlePost(ctx context.Context, p *threads.Post) error {
	msgs, err := b.readBack(ctx, p.Place, before(p.Created))
	if err != nil {
		return &lostError{"chat.postMessage", err}
	}
	id := strconv.FormatInt(p.ID, 10)
	p.State = threads.PostIntent
	for _, m := range msgs {
		if m.Metadata.EventType == "mecha_post" && fmt.Sprint(m.Metadata.EventPayload["post"]) == id {
			p.TS, p.State = m.TS, threads.PostPosted
			break
		}
	}
	return b.Threads.SetPost(ctx, *p)
}

// theirs is a message as history tells it.
type theirs struct {
	TS       string `json:"ts"`
	ThreadTS string `json:"thread_ts"`
	User     string `json:"user"`
	BotID    string `json:"bot_id"`
	Text     string `json:"text"`
	Subtype  string `json:"subtype"`
	Metadata struct {
		EventType    string         `json:"event_type"`
		EventPayload map[string]any `json:"event_payload"`
	} `json:"metadata"`
	Blocks      json.RawMessage   `json:"blocks"`
	Files       []slackFile       `json:"files"`
	Attachments []slackAttachment `json:"attachments"`
	Edited      json.RawMessage   `json:"edited"`
}

// readBack reads the newest messages of a thread (or, without one, of a
// channel), oldest first.
func (b *Bot) readBack(ctx context.Context, at threads.Place, oldest string) ([]theirs, error) {
	method, args := "conversations.history", url.Values{"channel": {at.Channel}, "limit": {"200"}, "include_all_metadata": {"true"}}
	if at.ThreadTS != "" {
		method = "conversations.replies"
		args.Set("ts", at.ThreadTS)
	}
	if oldest != "" {
		args.Set("oldest", oldest)
		args.Set("inclusive", "true")
	}
	var all []theirs
	for cursor := ""; ; {
		if cursor != "" {
			args.Set("cursor", cursor)
		}
		if err := b.budget.wait(ctx, method, ""); err != nil {
			return nil, err
		}
		var page struct {
			Messages []theirs `json:"messages"`
			Meta     struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err := b.fetchJSON(ctx, method, args, &page)
		var no *slackError
		if errors.As(err, &no) && no.Code == "ratelimited" {
			b.budget.obey(no.Method, no.After)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page.Messages...)
		if cursor = page.Meta.Next; cursor == "" || len(all) > 2000 {
			break
		}
	}
	sortByTS(all)
	return all, nil
}

// note puts a line of ours, in mrkdwn, into a place: as a row like any other.
func (b *Bot) note(ctx context.Context, at threads.Place, thread, text string) error {
	_, err := b.Threads.AddPost(ctx, threads.Post{Thread: thread, Kind: threads.PostNote, Ref: "n" + b.NewID(), Place: at, Body: json.RawMessage(encode(noteBody{Text: text}))})
	b.kick()
	return err
}

// noteOnce is note for an answer that may be given again after a crash: what was
// answered under the same id stands already.
func (b *Bot) noteOnce(ctx context.Context, at threads.Place, id, text string) error {
	if id == "" {
		return b.note(ctx, at, "", text)
	}
	have, err := b.Threads.PostsOf(ctx, threads.PostNote, id)
	if err != nil || len(have) > 0 {
		return err
	}
	_, err = b.Threads.AddPost(ctx, threads.Post{Kind: threads.PostNote, Ref: id, Place: at, Body: json.RawMessage(encode(noteBody{Text: text}))})
	b.kick()
	return err
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
