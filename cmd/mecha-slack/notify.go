package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
	"github.com/mecha-slack/mecha-slack/internal/blockkit"
	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

const (
	maxNotice   = 12_000         // characters of a message to the owner
	outgoingFor = 24 * time.Hour // how long a sent file is kept in the home
)

func (c *cli) notifyCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "notify",
		Short: "Standard input as a message to the owner's DM",
		Long:  "Leaves what stands on standard input for the bot to post into the owner's direct messages: at once where one runs, else with its next start.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b, err := c.input(cmd.Context(), 4*maxNotice)
			if err != nil {
				return fmt.Errorf("cannot read the message from standard input: %w", err)
			}
			text := strings.TrimSpace(strings.ToValidUTF8(string(b), "�"))
			if text == "" {
				return usagef("notify reads the message from standard input, and there is none")
			}
			if n := len([]rune(text)); n > maxNotice {
				return fmt.Errorf("the message has %d characters; %d is the most. Put it into a file, and use mecha-slack send", n, maxNotice)
			}
			// Whoever wrote it is not us: it gets no marks of ours and no live links.
			shown, _ := visible(text)
			body, err := outbox.Pretty(map[string]string{"text": blockkit.Escape(blockkit.DefuseMarks(shown))})
			if err != nil {
				return fmt.Errorf("cannot encode the message: %w", err)
			}
			return c.toOwner(cmd.Context(), threads.Post{Kind: threads.PostNote, Ref: "notify-" + rand.Text(), Body: body})
		},
	}
}

func (c *cli) sendCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "send FILE",
		Short: "A file to the owner's DM",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := c.openHome(false)
			if err != nil {
				return err
			}
			kept, err := h.keepOutgoing(args[0], int64(h.config.Slack.MaxUploadMB)<<20)
			if err != nil {
				return err
			}
			err = c.toOwner(cmd.Context(), threads.Post{Kind: bot.PostFile, Ref: kept, Body: json.RawMessage(`{}`)})
			if err != nil {
				os.RemoveAll(filepath.Dir(kept))
			}
			return err
		},
	}
}

// keepOutgoing copies a file into the home, where the bot finds it: what is sent
// is what it was when the command ran. Copies of earlier days go.
func (h *home) keepOutgoing(path string, most int64) (string, error) {
	in, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("cannot send the file: %w", err)
	}
	defer in.Close()
	st, err := in.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("cannot send the file: %w", err)
	case !st.Mode().IsRegular():
		return "", fmt.Errorf("cannot send %s: it is not a regular file", path)
	case st.Size() == 0:
		return "", fmt.Errorf("cannot send %s: it is empty, and Slack takes no empty files", path)
	case st.Size() > most:
		return "", fmt.Errorf("cannot send %s: it has %d bytes, and %d is the most ([slack] max_upload_mb)", path, st.Size(), most)
	}
	dir := h.path("outgoing")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("cannot make %s: %w", dir, err)
	}
	if old, err := os.ReadDir(dir); err == nil {
		for _, e := range old {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > outgoingFor {
				os.RemoveAll(filepath.Join(dir, e.Name()))
			}
		}
	}
	own := filepath.Join(dir, rand.Text()) // the name is the file's own
	if err := os.Mkdir(own, 0o700); err != nil {
		return "", fmt.Errorf("cannot keep the file for the bot: %w", err)
	}
	kept := filepath.Join(own, filepath.Base(path))
	out, err := os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", fmt.Errorf("cannot keep the file for the bot: %w", err)
	}
	_, err = io.Copy(out, io.LimitReader(in, most))
	if err := errors.Join(err, out.Sync(), out.Close()); err != nil {
		os.RemoveAll(own)
		return "", fmt.Errorf("cannot keep the file for the bot: %w", err)
	}
	return kept, nil
}

// toOwner leaves a post for the first owner's DM. The bot posts it, by the same
// way as everything else that it says.
func (c *cli) toOwner(ctx context.Context, p threads.Post) error {
	d, err := c.openDesk(ctx)
	if err != nil {
		return err
	}
	defer d.close()
	owners, err := bot.People{DB: d.db}.Owners(ctx, "")
	if err != nil {
		return err
	}
	if len(owners) == 0 {
		return errors.New("nobody owns this bot yet: run mecha-slack link")
	}
	owner := owners[0]
	for _, o := range owners {
		if o.DM != "" {
			owner = o
			break
		}
	}
	if owner.DM == "" {
		return fmt.Errorf("the bot has not talked with %s in a direct message yet: write to it once", firstOf(owner.Name, owner.User))
	}
	p.Place = threads.Place{Team: owner.Team, Channel: owner.DM}
	id, err := d.threads.AddPost(ctx, p)
	if err != nil {
		return err
	}
	if _, ok := d.botPID(); !ok {
		fmt.Fprintln(c.Stdout, "Kept: no bot runs on this home, so it is posted when one does.")
		return nil
	}
	return c.awaitPost(ctx, d, id)
}

// awaitPost waits until Slack has taken a post.
func (c *cli) awaitPost(ctx context.Context, d *desk, id int64) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		p, err := d.threads.Post(ctx, id)
		if err != nil {
			return err
		}
		switch {
		case p.TS != "" && p.Shown > 0:
			fmt.Fprintln(c.Stdout, "✓ Posted.")
			return nil
		case p.State == threads.PostGone:
			return fmt.Errorf("Slack did not take it: %s", plain(p.Error, 300))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.New("the bot has not posted it yet; it stays on record, and is posted as soon as Slack takes it")
		}
	}
}
