package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// approverCopies brings cards to approvers who cannot see where they stand:
// whoever the configuration names for a tool gets its drafts and calls in their
// own DM as well. A copy is a post like any other; all of them follow the
// record. It belongs to the one goroutine that follows the record. (Those whom
// a draft's policy needs have theirs with its first card: copies.go.)
type approverCopies struct {
	done    map[string]bool        // what an approver has, or can see: kind, ref, user, channel
	dms     map[string]string      // by user
	members map[string]memberSince // by channel
}

type memberSince struct {
	list []string
	at   time.Time
}

// membership is how long what Slack said of a channel's members is believed.
const membership = 10 * time.Minute

func newApproverCopies() *approverCopies {
	return &approverCopies{done: map[string]bool{}, dms: map[string]string{}, members: map[string]memberSince{}}
}

// asks is something that waits for whoever decides a tool.
type asks struct {
	kind              threads.PostKind
	ref, tool, thread string
	needed            []string // whom the draft's policy wants, owners among them
}

// followApprovers posts the copies that are missing. What it cannot find out now
// it looks at again with the next change of the record.
func (b *Bot) followApprovers(ctx context.Context, c *approverCopies) {
	list, err := b.askedNow(ctx)
	if err != nil {
		if ctx.Err() == nil {
			b.Log.Error("cannot read what waits for approvers", "error", err)
		}
		return
	}
	posted := false
	for _, a := range list {
		people := slices.Clone(a.needed)
		for user, tools := range b.cfg.Approvers {
			if slices.Contains(tools, a.tool) || slices.Contains(tools, "*") {
				people = append(people, user)
			}
		}
		slices.Sort(people)
		for _, user := range slices.Compact(people) {
			fresh, err := b.copyTo(ctx, c, user, a)
			if err != nil && ctx.Err() == nil {
				b.Log.Warn("cannot bring a card to somebody who decides it", "user", user, "kind", a.kind, "ref", a.ref, "error", err)
			}
			posted = posted || fresh
		}
	}
	if posted {
		b.kick()
	}
}

// askedNow are the team's calls and drafts that a person can decide now.
func (b *Bot) askedNow(ctx context.Context) (list []asks, err error) {
	calls, err := b.Threads.PendingApprovals(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range calls {
		if strings.HasPrefix(a.Thread, b.me.Team+"/") {
			list = append(list, asks{threads.PostApproval, a.Call, a.Tool, a.Thread, nil})
		}
	}
	drafts, err := b.Outbox.List(ctx, outbox.Filter{Team: b.me.Team})
	if err != nil {
		return nil, err
	}
	for _, d := range drafts {
		if d.State == outbox.Pending || d.State == outbox.Uncertain {
			list = append(list, asks{threads.PostDraft, d.ID, d.Tool, d.Thread, b.needed(ctx, d)})
		}
	}
	return list, nil
}

// copyTo posts one copy where it is missing; fresh tells that it did.
func (b *Bot) copyTo(ctx context.Context, c *approverCopies, user string, a asks) (fresh bool, err error) {
	if r, err := b.role(ctx, b.me.Team, user); err != nil || r == Stranger || r == Owner && !slices.Contains(a.needed, user) {
		return false, err
	}
	th, err := b.Threads.Thread(ctx, a.thread)
	if err != nil {
		return false, err
	}
	key := fmt.Sprint(a.kind, " ", a.ref, " ", user, " ", th.Surface.Channel)
	if c.done[key] {
		return false, nil
	}
	dm := c.dms[user]
	if dm == "" {
		if dm, err = b.dm(ctx, user); err != nil {
			return false, err
		}
		c.dms[user] = dm
	}
	sees, err := b.sees(ctx, c, user, dm, th.Surface.Channel)
	if err != nil {
		return false, err
	}
	if sees {
		c.done[key] = true
		return false, nil
	}
	have, err := b.Threads.PostsOf(ctx, a.kind, a.ref)
	if err != nil {
		return false, err
	}
	if !slices.ContainsFunc(have, func(p threads.Post) bool { return p.Place.Channel == dm }) {
		_, err = b.Threads.AddPost(ctx, threads.Post{Kind: a.kind, Ref: a.ref, Place: threads.Place{Team: b.me.Team, Channel: dm}, Body: json.RawMessage(encode(uploads{For: user}))})
		fresh = err == nil
	}
	c.done[key] = err == nil
	return fresh, err
}

// sees tells whether a person reads what is posted in a channel. Somebody else's
// direct messages are nobody's; of a channel Slack is asked.
func (b *Bot) sees(ctx context.Context, c *approverCopies, user, dm, channel string) (bool, error) {
	if strings.HasPrefix(channel, "D") {
		return channel == dm, nil
	}
	m, ok := c.members[channel]
	if !ok || b.Now().Sub(m.at) > membership {
		list, err := b.members(ctx, channel)
		if err != nil {
			return false, fmt.Errorf("cannot ask who is in %s: %w", channel, err)
		}
		m = memberSince{list, b.Now()}
		c.members[channel] = m
	}
	return slices.Contains(m.list, user), nil
}

// copyLead is the line on an approver's copy; "" where the post is none.
func (b *Bot) copyLead(ctx context.Context, p threads.Post, thread, tool string) string {
	var body uploads
	if json.Unmarshal(p.Body, &body) != nil || body.For == "" {
		return ""
	}
	whose := "somebody"
	if th, err := b.Threads.Thread(ctx, thread); err == nil {
		whose = who(th.Owner)
	}
	return fmt.Sprintf("from a conversation of %s; you decide %s", whose, inCode(tool))
}
