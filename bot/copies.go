package bot

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// copies puts the card of a draft that others have to decide into the DMs of
// those who cannot see its thread. The card's posts are all rendered from the
// same rows: a decision on one rewrites them all.
func (b *Bot) copies(ctx context.Context, p threads.Post) error {
	d, err := b.Outbox.Get(ctx, p.Ref)
	if err != nil || d.State != outbox.Pending {
		return err
	}
	people := b.needed(ctx, d)
	if len(people) == 0 {
		return nil
	}
	all, err := b.Threads.PostsOf(ctx, p.Kind, p.Ref)
	if err != nil || all[0].ID != p.ID {
		return err // itself a copy
	}
	members, err := b.members(ctx, p.Place.Channel)
	if err != nil {
		return err
	}
	for _, user := range people {
		if slices.Contains(members, user) {
			continue
		}
		dm, err := b.dm(ctx, user)
		var no *slackError
		if errors.As(err, &no) {
			b.Log.Warn("somebody who has to decide a draft cannot be reached in a DM", "user", user, "draft", d.ID, "error", err)
			continue
		}
		if err != nil {
			return err
		}
		if dm == p.Place.Channel || slices.ContainsFunc(all, func(q threads.Post) bool { return q.Place.Channel == dm }) {
			continue
		}
		if _, err := b.Threads.AddPost(ctx, threads.Post{Thread: p.Thread, Kind: p.Kind, Ref: p.Ref, Place: threads.Place{Team: p.Place.Team, Channel: dm}}); err != nil {
			return err
		}
	}
	return nil
}

// needed are the people without whom a draft cannot be released: those whom its
// policy names, or, where it only asks for others than the requester, everybody
// who decides its tool.
func (b *Bot) needed(ctx context.Context, d outbox.Draft) []string {
	policies := b.Outbox.Config().Policies
	i := slices.IndexFunc(policies, func(p outbox.Policy) bool { return p.Tool == d.Tool })
	if i < 0 {
		return nil
	}
	switch p := policies[i]; {
	case len(p.Approvers) > 0:
		return p.Approvers
	case p.Needs() < 2 && p.RequesterMay():
		return nil
	}
	var list []string
	if owners, err := b.people().Owners(ctx, d.Team); err == nil {
		for _, o := range owners {
			list = append(list, o.User)
		}
	}
	for user, tools := range b.cfg.Approvers {
		if slices.Contains(tools, d.Tool) || slices.Contains(tools, "*") {
			list = append(list, user)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// members are who can see a channel. A DM is seen by its person alone: dm tells
// whose it is.
func (b *Bot) members(ctx context.Context, channel string) (list []string, err error) {
	if strings.HasPrefix(channel, "D") {
		return nil, nil
	}
	for cursor := ""; ; {
		args := url.Values{"channel": {channel}, "limit": {"200"}}
		if cursor != "" {
			args.Set("cursor", cursor)
		}
		var page struct {
			Members []string `json:"members"`
			Meta    struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := b.budget.wait(ctx, "conversations.members", ""); err != nil {
			return nil, err
		}
		if err := b.fetchJSON(ctx, "conversations.members", args, &page); err != nil {
			return nil, err
		}
		list = append(list, page.Members...)
		if cursor = page.Meta.Next; cursor == "" || len(list) > 5000 {
			return list, nil
		}
	}
}
