package threads

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// ErrNotFound: no such row.
var ErrNotFound = errors.New("not found")

func notFound(what string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s: %w", what, ErrNotFound)
	}
	return err
}

// ---- threads

const qThreadGet = `SELECT key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, kind, state, mode, workspace, private, untrusted, fence, turn, latch, note, created, updated, planning FROM threads WHERE key = ?`

const qThreadList = `SELECT key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, kind, state, mode, workspace, private, untrusted, fence, turn, latch, note, created, updated, planning FROM threads WHERE kind <> 'subagent' ORDER BY updated DESC LIMIT ?`

const qThreadsLive = `SELECT key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, kind, state, mode, workspace, private, untrusted, fence, turn, latch, note, created, updated, planning FROM threads WHERE state IN ('queued', 'running', 'awaiting', 'interrupted') ORDER BY updated`

const qThreadInsert = `INSERT INTO threads (key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, kind, state, mode, workspace, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING`

const qThreadState = `UPDATE threads SET state = ?, note = ?, updated = ? WHERE key = ?`

const qThreadFence = `UPDATE threads SET fence = fence + 1 WHERE key = ? RETURNING fence`

const qThreadTurn = `UPDATE threads SET turn = ?, updated = ? WHERE key = ?`

const qThreadTaint = `UPDATE threads SET private = max(private, ?), untrusted = max(untrusted, ?) WHERE key = ?`

const qThreadMode = `UPDATE threads SET mode = ?, updated = ? WHERE key = ?`

const qThreadLatch = `UPDATE threads SET latch = ? WHERE key = ?`

const qThreadSurface = `UPDATE threads SET surface_channel = ?, surface_ts = ?, updated = ? WHERE key = ?`

const qAliasInsert = `INSERT INTO aliases (team, channel, thread_ts, thread) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

const qAliasGet = `SELECT thread FROM aliases WHERE team = ? AND channel = ? AND thread_ts = ?`

const qMarkInsert = `INSERT INTO taint_marks (thread, leg, call, tool, what, turn, at) VALUES (?, ?, ?, ?, ?, ?, ?)`

const qMarks = `SELECT leg, call, tool, what, turn FROM taint_marks WHERE thread = ? ORDER BY id`

func scanThread(r record.Scanner) (t Thread, err error) {
	var created, updated int64
	err = r.Scan(&t.Key, &t.Team, &t.Channel, &t.ThreadTS, &t.Surface.Channel, &t.Surface.ThreadTS, &t.Owner, &t.Title, &t.Kind, &t.State, &t.Mode, &t.Workspace, &t.Taint.Private, &t.Taint.Untrusted, &t.Fence, &t.Turn, &t.Latch, &t.Note, &created, &updated, &t.Planning)
	t.Surface.Team = t.Team
	t.Created, t.Updated = record.Time(created), record.Time(updated)
	return t, err
}

func getThread(tx *record.Tx, key string) (Thread, error) {
	list, err := record.Collect(tx, scanThread, qThreadGet, key)
	if err != nil {
		return Thread{}, fmt.Errorf("cannot read thread %s: %w", key, err)
	}
	if len(list) == 0 {
		return Thread{}, fmt.Errorf("thread %s: %w", key, ErrNotFound)
	}
	t := list[0]
	marks, err := record.Collect(tx, func(r record.Scanner) (m tools.Mark, err error) {
		err = r.Scan(&m.Leg, &m.Call, &m.Tool, &m.What, &m.Turn)
		return m, err
	}, qMarks, key)
	if err != nil {
		return Thread{}, fmt.Errorf("cannot read the taint of thread %s: %w", key, err)
	}
	t.Taint.Marks = marks
	return t, nil
}

func insertThread(tx *record.Tx, t Thread) (made bool, err error) {
	n, err := tx.Exec(qThreadInsert, t.Key, t.Team, t.Channel, t.ThreadTS, t.Surface.Channel, t.Surface.ThreadTS, t.Owner, t.Title, t.Kind, t.State, t.Mode, t.Workspace, tx.NowMS(), tx.NowMS())
	return n > 0, err
}

// move applies ev to the thread's state; what does not apply changes nothing
// and is not an error (the table decides).
func move(tx *record.Tx, key string, ev event, note string) (State, error) {
	t, err := record.Collect(tx, scanThread, qThreadGet, key)
	if err != nil || len(t) == 0 {
		return "", errors.Join(err, notFoundIf(len(t) == 0, key))
	}
	next, ok := t[0].State.next(ev)
	if !ok {
		return t[0].State, nil
	}
	_, err = tx.Exec(qThreadState, next, note, tx.NowMS(), key)
	return next, err
}

func notFoundIf(missing bool, key string) error {
	if missing {
		return fmt.Errorf("thread %s: %w", key, ErrNotFound)
	}
	return nil
}

func insertMarks(tx *record.Tx, key string, marks []tools.Mark) error {
	for _, m := range marks {
		if _, err := tx.Exec(qMarkInsert, key, m.Leg, m.Call, m.Tool, m.What, m.Turn, tx.NowMS()); err != nil {
			return err
		}
		if _, err := tx.Exec(qThreadTaint, m.Leg == tools.Private, m.Leg == tools.Untrusted, key); err != nil {
			return err
		}
	}
	return nil
}

// ---- inbox

const qEventInsert = `INSERT INTO events (app, team, event, received) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`

const qEventsOld = `DELETE FROM events WHERE received < ?`

const qInboxInsert = `INSERT INTO inbox (app, team, channel, ts, thread, user, text, extra, state, received) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, team, channel, ts) DO NOTHING`

const qInboxQueued = `SELECT id, channel, ts, user, text, extra, received FROM inbox WHERE thread = ? AND state = 'queued' ORDER BY ts`

const qInboxWaiting = `SELECT DISTINCT thread FROM inbox WHERE state = 'queued' AND thread IS NOT NULL`

const qInboxTake = `UPDATE inbox SET state = 'taken', taken = ?, run = ? WHERE id = ? AND state = 'queued'`

const qInboxEdit = `UPDATE inbox SET text = ? WHERE team = ? AND channel = ? AND ts = ? AND state = 'queued'`

const qInboxWithdraw = `UPDATE inbox SET state = 'withdrawn', text = '', extra = NULL WHERE team = ? AND channel = ? AND ts = ? AND state IN ('queued', 'late')`

const qInboxRequeue = `UPDATE inbox SET state = 'queued' WHERE id = ? AND state = 'late' RETURNING thread`

const qInboxForget = `UPDATE inbox SET text = '', extra = NULL WHERE received < ? AND state = 'taken' AND text <> ''`

const qGesturesOpen = `SELECT id, app, team, ts, extra, received FROM inbox WHERE state = 'queued' AND thread IS NULL ORDER BY id`

const qGestureDone = `DELETE FROM inbox WHERE id = ? AND state = 'queued' AND thread IS NULL`

const qWatermarkSet = `INSERT INTO watermarks (team, channel, ts) VALUES (?, ?, ?) ON CONFLICT (team, channel) DO UPDATE SET ts = max(ts, excluded.ts)`

const qWatermarks = `SELECT channel, ts FROM watermarks WHERE team = ? ORDER BY ts DESC`

type inboxRow struct {
	id          int64
	channel, ts string
	user, text  string
	extra       extra
	received    int64
}

func scanInbox(r record.Scanner) (row inboxRow, err error) {
	var ex sql.NullString
	if err = r.Scan(&row.id, &row.channel, &row.ts, &row.user, &row.text, &ex, &row.received); err != nil {
		return row, err
	}
	if ex.Valid {
		err = json.Unmarshal([]byte(ex.String), &row.extra)
	}
	return row, err
}

// ---- settings

const qSettingGet = `SELECT value FROM settings WHERE key = ?`

const qSettingSet = `INSERT INTO settings (key, value, updated) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated = excluded.updated`

func getSetting(tx *record.Tx, key string) (string, error) {
	var v string
	err := tx.Row(qSettingGet, []any{key}, &v)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return v, err
}

func setSetting(tx *record.Tx, key, value string) error {
	_, err := tx.Exec(qSettingSet, key, value, tx.NowMS())
	return err
}

// ---- actions

const qActionInsert = `INSERT INTO actions (at, team, user, surface, verb, kind, ref, outcome) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

// Act is one row of the audit trail.
type Act struct {
	Team, User, Surface string
	Verb, Kind, Ref     string
	Outcome             string
}

func insertAct(tx *record.Tx, a Act) error {
	_, err := tx.Exec(qActionInsert, tx.NowMS(), a.Team, a.User, a.Surface, a.Verb, a.Kind, a.Ref, a.Outcome)
	return err
}
