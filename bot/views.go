package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// postArgs are a plain message of ours: no previews of what it links to.
func postArgs(channel, threadTS, text string) url.Values {
	v := url.Values{"channel": {channel}, "text": {text}, "unfurl_links": {"false"}, "unfurl_media": {"false"}}
	if threadTS != "" {
		v.Set("thread_ts", threadTS)
	}
	return v
}

// openView opens a modal: a trigger id lives three seconds and counts once, so
// this is the first call after the ack.
func (b *Bot) openView(ctx context.Context, trigger string, view json.RawMessage) (id, hash string, err error) {
	return b.view(ctx, "views.open", url.Values{"trigger_id": {trigger}, "view": {string(view)}})
}

// pushView puts a modal on top of the one that is open.
func (b *Bot) pushView(ctx context.Context, trigger string, view json.RawMessage) (id, hash string, err error) {
	return b.view(ctx, "views.push", url.Values{"trigger_id": {trigger}, "view": {string(view)}})
}

// updateView replaces a modal's content, if it is still the one with this hash.
func (b *Bot) updateView(ctx context.Context, id, hash string, view json.RawMessage) error {
	args := url.Values{"view_id": {id}, "view": {string(view)}}
	if hash != "" {
		args.Set("hash", hash)
	}
	_, _, err := b.view(ctx, "views.update", args)
	return err
}

// publishHome sets a person's Home tab.
func (b *Bot) publishHome(ctx context.Context, user string, view json.RawMessage) error {
	_, _, err := b.view(ctx, "views.publish", url.Values{"user_id": {user}, "view": {string(view)}})
	return err
}

func (b *Bot) view(ctx context.Context, method string, args url.Values) (id, hash string, err error) {
	if err := b.budget.wait(ctx, method, ""); err != nil {
		return "", "", err
	}
	a, err := b.send(ctx, method, args)
	return a.View.ID, a.View.Hash, err
}

// tell answers a press with a line that only its presser sees, or, where there
// is no channel to show it in, in their DM. A press is never silent.
func (b *Bot) tell(ctx context.Context, p Press, text string) {
	var err error
	if p.Channel != "" {
		args := postArgs(p.Channel, p.ThreadTS, text)
		args.Set("user", p.User)
		if err = b.budget.wait(ctx, "chat.postEphemeral", p.Channel); err == nil {
			if _, err = b.send(ctx, "chat.postEphemeral", args); err == nil {
				return
			}
		}
	}
	channel, dmErr := b.dm(ctx, p.User)
	if dmErr == nil {
		if dmErr = b.budget.wait(ctx, "chat.postMessage", channel); dmErr == nil {
			_, dmErr = b.send(ctx, "chat.postMessage", postArgs(channel, "", text))
		}
	}
	if dmErr != nil && ctx.Err() == nil {
		b.Log.Error("cannot answer a press", "user", p.User, "error", fmt.Errorf("%w; %w", errOr(err), dmErr))
	}
}

func errOr(err error) error {
	if err == nil {
		return fmt.Errorf("no channel")
	}
	return err
}

// dm answers a person's direct channel with us.
func (b *Bot) dm(ctx context.Context, user string) (string, error) {
	var known []Person
	err := b.DB.Read(ctx, func(tx *record.Tx) (err error) {
		known, err = record.Collect(tx, scanPerson, qPersonGet, b.me.Team, user)
		return err
	})
	if err == nil && len(known) > 0 && known[0].DM != "" {
		return known[0].DM, nil
	}
	if err := b.budget.wait(ctx, "conversations.open", ""); err != nil {
		return "", err
	}
	var a struct {
		Channel struct {
			ID string `json:"id"`
		} `json:"channel"`
	}
	if err := b.fetchJSON(ctx, "conversations.open", url.Values{"users": {user}}, &a); err != nil {
		return "", fmt.Errorf("cannot open the DM with %s: %w", user, err)
	}
	if len(known) > 0 {
		err = b.DB.Write(ctx, func(tx *record.Tx) error {
			_, err := tx.Exec(qPersonDM, a.Channel.ID, b.me.Team, user)
			return err
		})
	}
	return a.Channel.ID, err
}

// status shows "mecha is …" under a thread until something is posted there. It
// is a preview: where there is no room for it, it is left out.
func (b *Bot) status(ctx context.Context, thread, text string) {
	if !b.budget.preview("assistant.threads.setStatus") {
		return
	}
	th, err := b.Threads.Thread(ctx, thread)
	if err != nil {
		return
	}
	_, err = b.send(ctx, "assistant.threads.setStatus", url.Values{"channel_id": {th.Surface.Channel}, "thread_ts": {th.Surface.ThreadTS}, "status": {text}})
	if err != nil && ctx.Err() == nil {
		b.Log.Debug("cannot set a thread's status", "error", err)
	}
}

// trusted tells whether private data may be shown in a channel: a DM always, a
// channel where the configuration names it.
func (b *Bot) trusted(ctx context.Context, channel string) bool {
	if len(channel) > 0 && channel[0] == 'D' {
		return true
	}
	for _, t := range b.cfg.TrustedChannels {
		if t == channel {
			return true
		}
	}
	name := b.channelName(ctx, channel)
	for _, t := range b.cfg.TrustedChannels {
		if name != "" && (t == name || t == "#"+name) {
			return true
		}
	}
	return false
}

func (b *Bot) channelName(ctx context.Context, channel string) string {
	b.mu.Lock()
	name, ok := b.names[channel]
	b.mu.Unlock()
	if ok {
		return name
	}
	var a struct {
		Channel struct {
			Name string `json:"name"`
		} `json:"channel"`
	}
	if err := b.fetchJSON(ctx, "conversations.info", url.Values{"channel": {channel}}, &a); err != nil {
		return ""
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names[channel] = a.Channel.Name
	return a.Channel.Name
}
