package threads

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/child"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/mcp"
	"github.com/mecha-slack/mecha-slack/tools"
)

const qPinGet = `SELECT hash, coalesce(next_hash, '') FROM tool_pins WHERE name = ?`

const qPinInsert = `INSERT INTO tool_pins (name, server, hash, def, created, changed) VALUES (?, ?, ?, ?, ?, ?)`

const qPinNext = `UPDATE tool_pins SET next = ?, next_hash = ?, changed = ? WHERE name = ? AND coalesce(next_hash, '') <> ?`

const qPinSettled = `UPDATE tool_pins SET next = NULL, next_hash = NULL WHERE name = ? AND next_hash IS NOT NULL`

const qHandlePut = `INSERT INTO handles (handle, thread, url, title, created) VALUES (?, ?, ?, ?, ?)`

const qHandleGet = `SELECT url FROM handles WHERE handle = ? AND thread = ?`

const qChildInsert = `INSERT INTO children (owner, pgid, started, boot, created) VALUES (?, ?, ?, ?, ?)`

const qChildDelete = `DELETE FROM children WHERE id = ?`

const qChildren = `SELECT id, owner, pgid, started, boot FROM children WHERE id > 0 ORDER BY id`

const qRecall = `SELECT m.turn, m.role, m.text FROM messages_fts f JOIN messages m ON m.id = f.rowid WHERE messages_fts MATCH ? AND m.thread = ? ORDER BY m.seq DESC LIMIT 200`

const qSkillCalls = `SELECT args FROM calls WHERE thread = ? AND tool = 'skill' AND outcome = 'ok' ORDER BY turn, ord`

const qTodoCall = `SELECT args FROM calls WHERE thread = ? AND tool = 'todo' AND outcome = 'ok' ORDER BY turn DESC, ord DESC LIMIT 1`

type pinHash struct{ hash, next string }

func scanPinHash(r record.Scanner) (p pinHash, err error) {
	err = r.Scan(&p.hash, &p.next)
	return p, err
}

// Check compares a tool with its pin (mcp.Pins): the first sight pins it, a
// change waits until somebody accepts it.
func (t *Threads) Check(ctx context.Context, server, name, hash string, def json.RawMessage) (state mcp.PinState, err error) {
	// A run looks at every tool: as long as nothing has changed, that costs no
	// commit.
	var same bool
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		pins, err := record.Collect(tx, scanPinHash, qPinGet, name)
		same = len(pins) > 0 && pins[0] == pinHash{hash: hash}
		return err
	})
	if err == nil && same {
		return mcp.PinSame, nil
	}
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		pins, err := record.Collect(tx, scanPinHash, qPinGet, name)
		switch {
		case err != nil:
			return err
		case len(pins) == 0:
			state = mcp.PinNew
			_, err = tx.Exec(qPinInsert, name, server, hash, string(def), tx.NowMS(), tx.NowMS())
			return err
		case pins[0].hash == hash:
			state = mcp.PinSame
			n, err := tx.Exec(qPinSettled, name)
			return redrawPins(tx, name, n, err)
		}
		state = mcp.PinChanged
		n, err := tx.Exec(qPinNext, string(def), hash, tx.NowMS(), name, hash)
		return redrawPins(tx, name, n, err)
	})
	if err != nil {
		return "", fmt.Errorf("cannot compare tool %s with its pin: %w", name, err)
	}
	return state, nil
}

// Put keeps a search result behind a handle that nobody can guess (tools.Handles).
func (t *Threads) Put(ctx context.Context, thread, url, title string) (string, error) {
	handle := "w" + strings.ToLower(rand.Text()[:16])
	err := t.db.Write(ctx, func(tx *record.Tx) error {
		_, err := tx.Exec(qHandlePut, handle, thread, url, title, tx.NowMS())
		return err
	})
	return handle, err
}

// Get answers the address behind a handle of that conversation.
func (t *Threads) Get(ctx context.Context, thread, handle string) (url string, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		urls, err := record.Collect(tx, scanString, qHandleGet, handle, thread)
		if err == nil && len(urls) == 0 {
			return errors.New("there is no such handle in this conversation; search again and take one that web_search prints")
		}
		if err == nil {
			url = urls[0]
		}
		return err
	})
	return url, err
}

// Todos answers a conversation's list: what its last todo call set
// (tools.TodoState).
func (t *Threads) Todos(thread string) []tools.TodoItem {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var args []string
	err := t.db.Read(ctx, func(tx *record.Tx) (err error) {
		args, err = record.Collect(tx, scanString, qTodoCall, thread)
		return err
	})
	if err != nil || len(args) == 0 {
		return nil
	}
	items, err := tools.TodosOf(json.RawMessage(args[0]))
	if err != nil {
		return nil
	}
	return items
}

// SetTodos needs to keep nothing: the call's own row holds the list.
func (t *Threads) SetTodos(context.Context, string, []tools.TodoItem) error { return nil }

// Child keeps a process group's row while it lives: whoever finds the row after
// we were killed ends the group.
func (t *Threads) Child(owner string, id child.Ident) (done func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	var row int64
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		row, err = tx.Insert(qChildInsert, owner, id.PGID, id.Started, id.BootID, tx.NowMS())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot note the process %d: %w", id.PGID, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
		defer cancel()
		err := t.db.Write(ctx, func(tx *record.Tx) error {
			_, err := tx.Exec(qChildDelete, row)
			return err
		})
		if err != nil && !errors.Is(err, record.ErrClosed) {
			t.Log.Warn("cannot note that a process has ended", "owner", owner, "error", err)
		}
	}, nil
}

// Sweep ends the process groups that an earlier process of ours left behind.
// The holder of the home's lock calls it before any server starts.
func (t *Threads) Sweep(ctx context.Context) (ended int, err error) {
	type left struct {
		row   int64
		owner string
		id    child.Ident
	}
	var all []left
	err = t.db.Read(ctx, func(tx *record.Tx) (err error) {
		all, err = record.Collect(tx, func(r record.Scanner) (l left, err error) {
			err = r.Scan(&l.row, &l.owner, &l.id.PGID, &l.id.Started, &l.id.BootID)
			return l, err
		}, qChildren)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, l := range all {
		switch err := child.KillIdent(l.id); {
		case err == nil:
			ended++
			t.Log.Warn("ended a process that an earlier run left behind", "owner", l.owner, "pgid", l.id.PGID)
		case !errors.Is(err, child.ErrNotOurs):
			t.Log.Warn("cannot end a process that an earlier run left behind", "owner", l.owner, "pgid", l.id.PGID, "error", err)
		}
	}
	return ended, t.db.Write(ctx, func(tx *record.Tx) error {
		for _, l := range all {
			if _, err := tx.Exec(qChildDelete, l.row); err != nil {
				return err
			}
		}
		return nil
	})
}

// Recall finds text in one conversation's own record (agent.Recaller): literal
// and without regard to case; the index narrows, the text decides.
func (t *Threads) Recall(ctx context.Context, thread, query string, most int) ([]string, error) {
	words := strings.FieldsFunc(query, func(r rune) bool { return !isWord(r) })
	if len(words) == 0 {
		return nil, nil
	}
	for i, w := range words {
		words[i] = `"` + w + `"` + map[bool]string{true: "*", false: ""}[i == len(words)-1]
	}
	var found []string
	err := t.db.Read(ctx, func(tx *record.Tx) error {
		found = nil
		needle := strings.ToLower(query)
		_, err := record.Collect(tx, func(r record.Scanner) (struct{}, error) {
			var turn int
			var role, text string
			if err := r.Scan(&turn, &role, &text); err != nil {
				return struct{}{}, err
			}
			if i := strings.Index(strings.ToLower(text), needle); i >= 0 && len(found) < most {
				found = append(found, fmt.Sprintf("turn %d, %s: %s", turn, role, around(text, i, len(query))))
			}
			return struct{}{}, nil
		}, qRecall, strings.Join(words, " AND "), thread)
		return err
	})
	return found, err
}

// History is the conversation as the model sees it now (agent.Historian).
func (j *journal) History(ctx context.Context) (list []agent.Message, err error) {
	err = j.t.db.Read(ctx, func(tx *record.Tx) error {
		all, err := messagesOf(tx, j.thread)
		list = visible(all)
		return err
	})
	return list, err
}
