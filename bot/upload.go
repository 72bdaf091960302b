package bot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/threads"
)

// upload brings bytes into a thread by Slack's three steps: ask for an address,
// send the bytes, have the file shared. Only the last shows anything, and a file
// is shared under one id: by that id a lost answer is settled. about, where it
// is not nil, is told the id before the file is shared; known is what an earlier
// try told it, "" where there was none.
func (b *Bot) upload(ctx context.Context, at threads.Place, a Attachment, known string, about func(id string) error) error {
	if len(a.Data) == 0 {
		return errors.New("the file is empty, and Slack takes no empty files")
	}
	if int64(len(a.Data)) > b.cfg.MaxUploadBytes {
		return fmt.Errorf("the file has %d bytes; [slack] max_upload_mb allows %d", len(a.Data), b.cfg.MaxUploadBytes)
	}
	if known != "" {
		if shared, err := b.isShared(ctx, known, at.Channel); err != nil || shared {
			return err
		}
	}
	id, err := b.putBytes(ctx, a)
	if err != nil {
		return fmt.Errorf("Slack did not take the file: %w", err)
	}
	if about != nil {
		if err := about(id); err != nil {
			return err
		}
	}
	err = b.share(ctx, at, id, or(a.Title, a.Name))
	var lost *lostError
	if errors.As(err, &lost) && ctx.Err() == nil {
		err = b.settleShare(ctx, at, id, or(a.Title, a.Name), err)
	}
	if err != nil {
		return fmt.Errorf("Slack did not share the file: %w", err)
	}
	return nil
}

// putBytes asks for an address and sends the bytes there: nobody sees them yet,
// so that both may be done again.
func (b *Bot) putBytes(ctx context.Context, a Attachment) (id string, err error) {
	const method = "files.getUploadURLExternal"
	if err := b.budget.wait(ctx, method, ""); err != nil {
		return "", err
	}
	var to struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	if err := b.fetchJSON(ctx, method, url.Values{"filename": {a.Name}, "length": {strconv.Itoa(len(a.Data))}}, &to); err != nil {
		return "", b.obeyed(err)
	}
	u, err := url.Parse(to.URL)
	if err != nil || !b.slackHost(u) {
		return "", fmt.Errorf("Slack names an address of somebody else for the upload: %q", to.URL)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout+time.Duration(len(a.Data))*time.Microsecond) // a megabyte a second, at least
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.URL, bytes.NewReader(a.Data))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	record.Point("upload: about to be sent")
	res, err := b.HTTP.Do(req)
	if err != nil {
		return "", &lostError{"upload", err}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", &lostError{"upload", fmt.Errorf("HTTP %d", res.StatusCode)}
	}
	return to.ID, nil
}

// share has a file that was sent appear in a thread.
func (b *Bot) share(ctx context.Context, at threads.Place, id, title string) error {
	const method = "files.completeUploadExternal"
	files, err := encodeJSON([]any{map[string]string{"id": id, "title": title}})
	if err != nil {
		return err
	}
	args := url.Values{"files": {string(files)}, "channel_id": {at.Channel}}
	if at.ThreadTS != "" {
		args.Set("thread_ts", at.ThreadTS)
	}
	if err := b.budget.wait(ctx, method, at.Channel); err != nil {
		return err
	}
	_, err = b.call(ctx, method, args)
	return b.obeyed(err)
}

// shareLooks is how often a share whose answer was lost is looked for, a second
// apart: Slack shares after its answer.
const shareLooks = 5

// settleShare finds out whether a share whose answer was lost has come about.
// Where it has not, it is asked for once more: the same id is not shared twice.
func (b *Bot) settleShare(ctx context.Context, at threads.Place, id, title string, err error) error {
	for again := range 2 {
		for range shareLooks {
			shared, lookErr := b.isShared(ctx, id, at.Channel)
			if shared {
				return nil
			}
			if lookErr != nil {
				err = errors.Join(err, lookErr)
			}
			if pause(ctx, time.Second) != nil {
				return err
			}
		}
		if again == 0 {
			err = b.share(ctx, at, id, title)
			if err == nil {
				return nil
			}
		}
	}
	return err
}

// isShared tells whether a file of ours stands in a channel.
func (b *Bot) isShared(ctx context.Context, id, channel string) (bool, error) {
	var a struct {
		File struct {
			Channels []string `json:"channels"`
			Groups   []string `json:"groups"`
			IMs      []string `json:"ims"`
			Shares   map[string]map[string][]struct {
				TS string `json:"ts"`
			} `json:"shares"`
		} `json:"file"`
	}
	if err := b.budget.wait(ctx, "files.info", ""); err != nil {
		return false, err
	}
	err := b.fetchJSON(ctx, "files.info", url.Values{"file": {id}}, &a)
	if refusedAs(err, "file_not_found", "file_deleted") {
		return false, nil
	}
	if err != nil {
		return false, b.obeyed(err)
	}
	for _, of := range a.File.Shares {
		if len(of[channel]) > 0 {
			return true, nil
		}
	}
	return slices.Contains(slices.Concat(a.File.Channels, a.File.Groups, a.File.IMs), channel), nil
}

// obeyed notes a Retry-After, if err brings one, and answers err.
func (b *Bot) obeyed(err error) error {
	var no *slackError
	if errors.As(err, &no) && no.Code == "ratelimited" {
		b.budget.obey(no.Method, no.After)
	}
	return err
}
