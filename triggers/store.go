package triggers

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const qTriggerPut = `INSERT INTO triggers (name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, max_turns, max_output_tokens, max_cost, notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, schedule = excluded.schedule, timezone = excluded.timezone, prompt = excluded.prompt, channel = excluded.channel, state = excluded.state, mode = excluded.mode, tools = excluded.tools, catch_up = excluded.catch_up, timeout = excluded.timeout, max_turns = excluded.max_turns, max_output_tokens = excluded.max_output_tokens, max_cost = excluded.max_cost, notify = excluded.notify, on_event = excluded.on_event, pattern = excluded.pattern, private = excluded.private, untrusted = excluded.untrusted, sources = excluded.sources, proposed_in = excluded.proposed_in, by = excluded.by, accounted = excluded.accounted, updated = excluded.updated, version = triggers.version + 1`

const qTriggerGet = `SELECT name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, coalesce(max_turns, 0), coalesce(max_output_tokens, 0), coalesce(max_cost, 0), notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, version, created, updated FROM triggers WHERE name = ?`

const qTriggerList = `SELECT name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, coalesce(max_turns, 0), coalesce(max_output_tokens, 0), coalesce(max_cost, 0), notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, version, created, updated FROM triggers WHERE name >= '' ORDER BY name`

const qTriggerState = `UPDATE triggers SET state = ?, by = ?, accounted = ?, updated = ?, version = version + 1 WHERE name = ?`

const qTriggerAccounted = `UPDATE triggers SET accounted = ? WHERE name = ? AND accounted < ?`

const qFireInsert = `INSERT INTO fires (trigger, slot, status, reason, started, finished) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (trigger, slot) DO NOTHING`

const qFireEnd = `UPDATE fires SET status = ?, reason = ?, thread = ?, run = ?, turns = ?, calls = ?, call_errors = ?, staged = ?, blocked = ?, stop_cause = ?, silent = ?, summary = ?, notify_error = ?, finished = ? WHERE id = ? AND status = 'running'`

const qFireThread = `UPDATE fires SET thread = ?, run = ? WHERE id = ?`

const qFiresOpen = `SELECT id, trigger, coalesce(slot, 0), status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE status = 'running' ORDER BY trigger`

const qFiresOf = `SELECT id, trigger, coalesce(slot, 0), status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE trigger = ? ORDER BY started DESC LIMIT ?`

const qFiresSince = `SELECT id, trigger, coalesce(slot, 0), status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE started >= ? ORDER BY started DESC LIMIT ?`

const qActionInsert = `INSERT INTO actions (at, team, user, surface, verb, kind, ref, outcome) VALUES (?, ?, ?, ?, ?, 'trigger', ?, ?)`

// ErrNotFound: no such trigger.
var ErrNotFound = errors.New("no such trigger")

func scanTrigger(r record.Scanner) (t Trigger, err error) {
	var tools, sources string
	var timeout, accounted, created, updated int64
	err = r.Scan(&t.Name, &t.Kind, &t.Schedule, &t.Zone, &t.Prompt, &t.Channel, &t.State, &t.Mode, &tools, &t.CatchUp, &timeout, &t.MaxTurns, &t.MaxOutputTokens, &t.MaxCost, &t.Notify, &t.OnEvent, &t.Pattern, &t.Private, &t.Untrusted, &sources, &t.ProposedIn, &t.By, &accounted, &t.Version, &created, &updated)
	if err != nil {
		return t, err
	}
	t.Timeout = time.Duration(timeout) * time.Millisecond
	t.Accounted, t.Created, t.Updated = record.Time(accounted), record.Time(created), record.Time(updated)
	return t, errors.Join(json.Unmarshal([]byte(tools), &t.Tools), json.Unmarshal([]byte(sources), &t.Sources))
}

func scanFire(r record.Scanner) (f Fire, err error) {
	var slot, started, finished int64
	err = r.Scan(&f.ID, &f.Trigger, &slot, &f.Status, &f.Reason, &f.Thread, &f.Run, &f.Turns, &f.Calls, &f.CallErrors, &f.Staged, &f.Blocked, &f.StopCause, &f.Silent, &f.Summary, &f.NotifyError, &started, &finished)
	f.Slot, f.Started, f.Finished = record.Time(slot), record.Time(started), record.Time(finished)
	return f, err
}

func get(tx *record.Tx, name string) (Trigger, error) {
	list, err := record.Collect(tx, scanTrigger, qTriggerGet, name)
	if err != nil {
		return Trigger{}, fmt.Errorf("cannot read trigger %s: %w", name, err)
	}
	if len(list) == 0 || list[0].State == "deleted" {
		return Trigger{}, fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	return list[0], nil
}

func put(tx *record.Tx, t Trigger) error {
	tools, err := json.Marshal(append([]string{}, t.Tools...))
	if err != nil {
		return err
	}
	sources, err := json.Marshal(append([]Source{}, t.Sources...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(qTriggerPut, t.Name, t.Kind, t.Schedule, t.Zone, t.Prompt, t.Channel, t.State, t.Mode, string(tools), t.CatchUp, t.Timeout.Milliseconds(), nullInt(t.MaxTurns), nullInt(t.MaxOutputTokens), nullFloat(t.MaxCost), t.Notify, t.OnEvent, t.Pattern, t.Private, t.Untrusted, string(sources), t.ProposedIn, t.By, record.MS(t.Accounted), tx.NowMS(), tx.NowMS())
	return err
}

func nullInt(n int) any {
	if n == 0 {
		return nil
	}
	return n
}

func nullFloat(f float64) any {
	if f == 0 {
		return nil
	}
	return f
}

// insertFire takes a slot: false where the ledger has it already.
func insertFire(tx *record.Tx, trigger string, slot time.Time, status, reason string) (id int64, fresh bool, err error) {
	var at, finished any
	if !slot.IsZero() {
		at = slot.UnixMilli()
	}
	if status != "running" {
		finished = tx.NowMS()
	}
	id, err = tx.Insert(qFireInsert, trigger, at, status, reason, tx.NowMS(), finished)
	if err != nil {
		return 0, false, err
	}
	var n int64
	err = tx.Row(qChanges, nil, &n)
	return id, n > 0, err
}

const qChanges = `SELECT changes()`
