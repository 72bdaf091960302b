package bot

import (
	"context"
	"net/url"
	"slices"

	"github.com/mecha-slack/mecha-slack/outbox"
)

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

// members are who can see a channel.
func (b *Bot) members(ctx context.Context, channel string) (list []string, err error) {
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
