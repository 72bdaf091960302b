package bot

import (
	"context"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/threads"
)

// goOn is what a channel hears last of a conversation that has turned private.
const goOn = "🔒 _I go on in our DM: what comes now is private, and this channel is not a trusted one._"

// turnsPrivate notes that a thread's run has called for private data, before
// anything of that call can be posted. It calls nobody.
func (b *Bot) turnsPrivate(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.private[key] = true
}

// placeOf is where a thread's next message may stand: where it is shown, or,
// once it is private, a trusted place.
func (b *Bot) placeOf(ctx context.Context, key string) (threads.Place, error) {
	th, err := b.Threads.Thread(ctx, key)
	if err != nil {
		return threads.Place{}, err
	}
	b.mu.Lock()
	private := b.private[key]
	b.mu.Unlock()
	if !private && !th.Taint.Private || b.trusted(ctx, th.Surface.Channel) {
		return th.Surface, nil
	}
	return b.moved(ctx, key, true)
}

// divert tells where a post that does not stand yet has to stand: the thread
// may have turned private, or moved, since its row was written.
func (b *Bot) divert(ctx context.Context, p threads.Post) (threads.Place, error) {
	switch p.Kind {
	case threads.PostApproval, threads.PostDraft, threads.PostQuestion, threads.PostForm:
	default:
		return p.Place, nil
	}
	if p.Thread == "" || b.trusted(ctx, p.Place.Channel) {
		return p.Place, nil
	}
	if p.Kind == threads.PostApproval {
		a, err := b.Threads.Approval(ctx, p.Ref)
		if err != nil {
			return p.Place, err
		}
		if a.Facts.Capabilities.PrivateData {
			b.turnsPrivate(p.Thread)
		}
	}
	return b.placeOf(ctx, p.Thread)
}

// moved lets a thread go on in its owner's DM, under a root message of its own
// there, and answers the place: an alias of the same session. announce says so
// in the channel, where no stream's end does. A thread that has moved stays.
func (b *Bot) moved(ctx context.Context, key string, announce bool) (threads.Place, error) {
	b.moving.Lock()
	defer b.moving.Unlock()
	th, err := b.Threads.Thread(ctx, key)
	if err != nil {
		return threads.Place{}, err
	}
	if b.trusted(ctx, th.Surface.Channel) {
		return th.Surface, nil
	}
	dm, err := b.dm(ctx, th.Owner)
	if err != nil {
		return threads.Place{}, err
	}
	text := fmt.Sprintf("🔒 We go on here, from <#%s>: %s", th.Surface.Channel, blockkit.Escape(blockkit.OneLine(th.Title, 120)))
	at, err := b.root(ctx, "root:move:"+key, threads.Place{Team: th.Team, Channel: dm}, text)
	if err != nil {
		return threads.Place{}, err
	}
	if err := b.Threads.Move(ctx, key, at); err != nil {
		return threads.Place{}, fmt.Errorf("cannot move thread %s to its owner's DM: %w", key, err)
	}
	if announce {
		if err := b.note(ctx, th.Surface, "", strings.Trim(goOn, " ")); err != nil {
			b.Log.Error("cannot say that a conversation goes on in a DM", "error", err)
		}
	}
	return at, nil
}

// root posts the message under which a thread of ours begins, once for each ref
// however often it is asked for, and answers its place.
func (b *Bot) root(ctx context.Context, ref string, at threads.Place, text string) (threads.Place, error) {
	b.mu.Lock()
	b.roots[ref] = true // the poster leaves it to us
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.roots, ref)
		b.mu.Unlock()
		b.kick()
	}()
	list, err := b.Threads.PostsOf(ctx, threads.PostNote, ref)
	if err != nil {
		return threads.Place{}, err
	}
	if len(list) == 0 {
		id, err := b.Threads.AddPost(ctx, threads.Post{Kind: threads.PostNote, Ref: ref, Place: at, Body: []byte(encode(noteBody{Text: text}))})
		if err != nil {
			return threads.Place{}, err
		}
		list = []threads.Post{{ID: id, Kind: threads.PostNote, Ref: ref, Place: at}}
	}
	p := list[0]
	for try := 0; p.TS == "" && try < maxTries; try++ {
		if try > 0 {
			if err := pause(ctx, b.backoff(p)); err != nil {
				return threads.Place{}, err
			}
		}
		b.put(ctx, p)
		if p, err = b.Threads.Post(ctx, p.ID); err != nil {
			return threads.Place{}, err
		}
		if p.State == threads.PostGone {
			break
		}
	}
	if p.TS == "" {
		return threads.Place{}, fmt.Errorf("cannot open a thread in %s: %s", at.Channel, or(p.Error, "Slack gave no answer"))
	}
	return threads.Place{Team: at.Team, Channel: p.Place.Channel, ThreadTS: p.TS}, nil
}

// rooting tells that a post is being made by root.
func (b *Bot) rooting(p threads.Post) bool {
	if p.Kind != threads.PostNote || !strings.HasPrefix(p.Ref, "root:") {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.roots[p.Ref]
}
