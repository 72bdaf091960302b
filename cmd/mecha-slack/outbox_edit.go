package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/outbox"
)

func (c *cli) outboxEditCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "edit ID",
		Short: "Change a draft in $EDITOR: its prose, or with --json all its arguments",
		Long: `Opens the draft's prose in $VISUAL or $EDITOR, with the message that it answers
below a marker line, or with --json its arguments as pretty JSON. Editing approves
nothing; what did not parse, or does not fit the tool's schema, changes nothing.`,
		Args: cobra.ExactArgs(1),
		RunE: c.byPerson(c.atDrafts(func(ctx context.Context, d *desk, args []string) error {
			dr, err := d.draft(ctx, args[0])
			if err != nil {
				return err
			}
			edited, err := c.editDraft(ctx, d, dr, asJSON)
			if err != nil {
				return verdict(err)
			}
			if edited.Revision == dr.Revision {
				fmt.Fprintf(c.Stdout, "Nothing was changed: draft %s is as it was.\n", dr.ID)
				return nil
			}
			fmt.Fprintf(c.Stdout, "Draft %s is at revision %d now, and waits for you.\n%s", edited.ID, edited.Revision, c.page().Changed(edited))
			return nil
		})),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "edit the arguments as JSON: recipients and all")
	return cmd
}

// editDraft opens a draft in the editor and keeps what comes back as a new
// revision. No transaction is open meanwhile; whoever decides first wins, and
// what was typed is kept in a file where it could not be taken.
func (c *cli) editDraft(ctx context.Context, d *desk, dr outbox.Draft, asJSON bool) (outbox.Draft, error) {
	if dr.State != outbox.Pending {
		return dr, &outbox.StateError{Draft: dr, Tried: "edit"}
	}
	if dr.Kind == outbox.Publish {
		return dr, refusedf("a publication is not edited here: change its source, render it again, and reject this draft (mecha-slack outbox reject %s)", dr.ID)
	}
	text, parse, err := c.editable(ctx, d, dr, asJSON)
	if err != nil {
		return dr, err
	}
	if err := d.outbox.Opened(ctx, dr.ID, true); err != nil {
		return dr, err
	}
	open := true
	defer func() {
		if open {
			if err := d.outbox.Opened(context.WithoutCancel(ctx), dr.ID, false); err != nil {
				d.log.Warn("cannot note that the editor is closed", "draft", dr.ID, "error", err)
			}
		}
	}()
	suffix := ".txt"
	if asJSON {
		suffix = ".json"
	}
	path, edited, err := c.inEditor(ctx, dr.ID+"-*"+suffix, text)
	if err != nil {
		return dr, err
	}
	args, err := parse(edited)
	if err != nil {
		return dr, fmt.Errorf("%w; what you typed is kept in %s", err, path)
	}
	room := d.app
	if d.builtins == nil && string(args) != string(dr.Args) {
		// The tool's schema judges the edit; looking starts it, and calls nothing. A
		// release starts it anew: it may need more than looking does.
		room = c.rooms(d.home, d.db, runFlags{})
		defer room.stop()
		if err := room.look(ctx, c); err != nil {
			return dr, fmt.Errorf("cannot check the edit: %w; what you typed is kept in %s", err, path)
		}
	}
	now, err := room.outbox.Edit(ctx, dr.ID, dr.Revision, args, me(), "terminal")
	if err != nil {
		return dr, fmt.Errorf("%w; what you typed is kept in %s", verdict(err), path)
	}
	open = now.Revision == dr.Revision
	os.Remove(path)
	return now, nil
}

// editable is what the editor opens, and how to read it back.
func (c *cli) editable(ctx context.Context, d *desk, dr outbox.Draft, asJSON bool) (text string, parse func(string) (json.RawMessage, error), err error) {
	if asJSON {
		text, err = outbox.FormatJSON(dr)
		return text, func(s string) (json.RawMessage, error) { return outbox.ParseJSON(dr, s) }, err
	}
	prose, err := outbox.ProseOf(dr)
	if err != nil {
		return "", nil, err
	}
	src, err := d.outbox.Source(ctx, dr)
	if err != nil {
		return "", nil, err
	}
	page := c.page()
	below := fmt.Sprintf("%s %s\n%s%s", dr.Tool, plain(dr.Summary, 200), page.Answered(src), page.Warnings(dr))
	return prose.Format(below), prose.Parse, nil
}

// inEditor lets a person change a text, and answers it with the file that holds
// it; the file is the caller's.
func (c *cli) inEditor(ctx context.Context, pattern, text string) (path, edited string, err error) {
	editor := c.env("VISUAL")
	if editor == "" {
		editor = c.env("EDITOR")
	}
	if editor == "" {
		for _, name := range []string{"nano", "vi"} {
			if p, err := exec.LookPath(name); err == nil {
				editor = p
				break
			}
		}
	}
	if editor == "" {
		return "", "", errors.New("no editor is set: put its command into EDITOR")
	}
	f, err := os.CreateTemp(c.env("TMPDIR"), "mecha-"+pattern)
	if err != nil {
		return "", "", fmt.Errorf("cannot make a file to edit: %w", err)
	}
	path = f.Name()
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", "", fmt.Errorf("cannot write %s: %w", path, err)
	}
	// A shell, as git does: EDITOR may hold arguments.
	run := exec.CommandContext(ctx, "/bin/sh", "-c", editor+` "$1"`, filepath.Base(editor), path)
	run.Stdin, run.Stdout, run.Stderr = c.Stdin, c.screen(), c.Stderr
	run.Env = c.Env
	back := c.interrupts.lend()
	failed := run.Run()
	back()
	b, err := os.ReadFile(path)
	if failed != nil {
		kept := "; what you typed is kept in " + path
		if err != nil || string(b) == text {
			kept = ""
			os.Remove(path)
		}
		return "", "", fmt.Errorf("the editor (%s) failed: %w; nothing was changed%s", editor, failed, kept)
	}
	if err != nil {
		return "", "", fmt.Errorf("cannot read what the editor left: %w", err)
	}
	return path, string(b), nil
}
