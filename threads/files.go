package threads

import (
	"context"
	"path"
	"strings"
	"unicode"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// safeName is a file's name as it is kept in the workspace: one element, no
// control or format characters, at most 120 of them.
func safeName(name string) string {
	name = path.Base(strings.ReplaceAll(name, "\\", "/"))
	var b strings.Builder
	n := 0
	for _, r := range name {
		if n == 120 {
			break
		}
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune("-_. ()", r):
			b.WriteRune(r)
		default:
			b.WriteRune('_')
		}
		n++
	}
	s := strings.TrimLeft(b.String(), ".")
	if strings.TrimSpace(s) == "" {
		return "file"
	}
	return s
}

// fetch brings the files of what is queued into ./inbox before the run that
// reads of them begins. One that cannot be fetched is named in the message; the
// message still counts.
func (a *actor) fetch(ctx context.Context) error {
	if a.t.Fetch == nil {
		return nil
	}
	var rows []inboxRow
	err := a.t.db.Read(ctx, func(tx *record.Tx) (err error) {
		rows, err = record.Collect(tx, scanInbox, qInboxQueued, a.key)
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		for _, f := range r.extra.Files {
			f.Name = safeName(f.Name)
			delete(a.missing, f.ID)
			if err := a.fetchOne(ctx, f); err != nil {
				a.missing[f.ID] = err.Error()
				a.t.Log.Warn("cannot fetch a file that a message brought", "thread", a.key, "file", f.Name, "error", err)
			}
		}
	}
	return nil
}

func (a *actor) fetchOne(ctx context.Context, f InFile) error {
	at := path.Join(tools.Inbox, f.Name)
	if _, err := a.jail.Stat(at); err == nil {
		return nil // an earlier try of the same message
	}
	data, err := a.t.Fetch(ctx, f)
	if err != nil {
		return err
	}
	return a.jail.WriteFile(at, data)
}
