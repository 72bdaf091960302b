package triggers

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Every write of a trigger takes the next number of change, by which a running
// bot finds what is new. accounted never goes back, whatever the clock does: a
// slot that has its row is never taken again.
const qTriggerPut = `INSERT INTO triggers (name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, max_turns, max_output_tokens, max_cost, notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, created, updated, change) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM triggers)) ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, schedule = excluded.schedule, timezone = excluded.timezone, prompt = excluded.prompt, channel = excluded.channel, state = excluded.state, mode = excluded.mode, tools = excluded.tools, catch_up = excluded.catch_up, timeout = excluded.timeout, max_turns = excluded.max_turns, max_output_tokens = excluded.max_output_tokens, max_cost = excluded.max_cost, notify = excluded.notify, on_event = excluded.on_event, pattern = excluded.pattern, private = excluded.private, untrusted = excluded.untrusted, sources = excluded.sources, proposed_in = excluded.proposed_in, by = excluded.by, created = excluded.created, updated = excluded.updated, accounted = max(triggers.accounted, excluded.accounted), change = excluded.change, version = triggers.version + 1`

const qTriggerGet = `SELECT name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, coalesce(max_turns, 0), coalesce(max_output_tokens, 0), coalesce(max_cost, 0), notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, version, created, updated FROM triggers WHERE name = ?`

const qTriggerList = `SELECT name, kind, schedule, timezone, prompt, channel, state, mode, tools, catch_up, timeout, coalesce(max_turns, 0), coalesce(max_output_tokens, 0), coalesce(max_cost, 0), notify, on_event, pattern, private, untrusted, sources, proposed_in, by, accounted, version, created, updated FROM triggers WHERE name >= '' ORDER BY name`

const qTriggerState = `UPDATE triggers SET state = ?, by = ?, accounted = max(accounted, ?), updated = ?, version = version + 1, change = (SELECT coalesce(max(change), 0) + 1 FROM triggers) WHERE name = ?`

const qTriggerAccounted = `UPDATE triggers SET accounted = ? WHERE name = ? AND accounted < ?`

const qTriggerAt = `SELECT version, accounted FROM triggers WHERE name = ?`

const qTriggersChanged = `SELECT name, kind, schedule, timezone, state, catch_up, on_event, channel, pattern, accounted, version, change FROM triggers WHERE change > ? ORDER BY change`

const qFireInsert = `INSERT INTO fires (trigger, slot, first, slots, event, status, reason, started, finished) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

const qFireEnd = `UPDATE fires SET status = ?, reason = ?, thread = ?, run = ?, turns = ?, calls = ?, call_errors = ?, staged = ?, blocked = ?, stop_cause = ?, silent = ?, summary = ?, notify_error = ?, finished = ? WHERE id = ? AND status = 'running'`

const qFireThread = `UPDATE fires SET thread = ?, run = ? WHERE id = ? AND status = 'running'`

// The reason of an open fire says how far it is: only who still finds it as it
// was may change it.
const qFireReason = `UPDATE fires SET reason = ? WHERE id = ? AND status = 'running' AND reason = ?`

const qFireCancel = `UPDATE fires SET reason = ? WHERE id = ? AND status = 'running'`

const qFiresOpenOf = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE trigger = ? AND status = 'running' ORDER BY id`

const qFiresOpen = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE status = 'running' ORDER BY trigger`

const qFiresOf = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE trigger = ? AND started >= ? ORDER BY started DESC, id DESC LIMIT ?`

const qFiresSince = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE started >= ? ORDER BY started DESC, id DESC LIMIT ?`

// What a trigger's own history is judged by: its runs that came to an end.
const qFiresRun = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE trigger = ? AND started >= ? AND status IN ('ok', 'error') ORDER BY started DESC, id DESC LIMIT ?`

const qFiresHeard = `SELECT count(*) FROM fires WHERE trigger = ? AND started > ? AND event <> '' AND status <> 'skipped'`

// The started of the nth newest row of a sort, and the removal of older ones.
const qFireNthRun = `SELECT started FROM fires WHERE trigger = ? AND status IN ('ok', 'error') ORDER BY started DESC LIMIT 1 OFFSET ?`

const qFireNthSkipped = `SELECT started FROM fires WHERE trigger = ? AND status = 'skipped' ORDER BY started DESC LIMIT 1 OFFSET ?`

const qFiresDropRuns = `DELETE FROM fires WHERE id IN (SELECT id FROM fires WHERE trigger = ? AND started < ? AND status IN ('ok', 'error') LIMIT ?)`

const qFiresDropSkipped = `DELETE FROM fires WHERE id IN (SELECT id FROM fires WHERE trigger = ? AND started < ? AND status = 'skipped' LIMIT ?)`

const qProposedCount = `SELECT count(*) FROM triggers WHERE name >= '' AND state = 'proposed'`

const qActionInsert = `INSERT INTO actions (at, team, user, surface, verb, kind, ref, outcome) VALUES (?, ?, ?, ?, ?, 'trigger', ?, ?)`

const qFireGet = `SELECT id, trigger, coalesce(slot, 0), coalesce(first, 0), slots, event, status, reason, thread, run, turns, calls, call_errors, staged, blocked, stop_cause, silent, summary, notify_error, started, coalesce(finished, 0) FROM fires WHERE id = ?`

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
	var slot, first, started, finished int64
	err = r.Scan(&f.ID, &f.Trigger, &slot, &first, &f.Slots, &f.Event, &f.Status, &f.Reason, &f.Thread, &f.Run, &f.Turns, &f.Calls, &f.CallErrors, &f.Staged, &f.Blocked, &f.StopCause, &f.Silent, &f.Summary, &f.NotifyError, &started, &finished)
	f.Slot, f.First, f.Started, f.Finished = record.Time(slot), record.Time(first), record.Time(started), record.Time(finished)
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
	_, err = tx.Exec(qTriggerPut, t.Name, t.Kind, t.Schedule, t.Zone, t.Prompt, t.Channel, t.State, t.Mode, string(tools), t.CatchUp, t.Timeout.Milliseconds(), orNull(t.MaxTurns), orNull(t.MaxOutputTokens), orNull(t.MaxCost), t.Notify, t.OnEvent, t.Pattern, t.Private, t.Untrusted, string(sources), t.ProposedIn, t.By, record.MS(t.Accounted), record.MS(t.Created), tx.NowMS())
	if err != nil {
		return fmt.Errorf("cannot keep trigger %s: %w", t.Name, err)
	}
	return nil
}

// orNull writes "no bound" as NULL.
func orNull[T int | int64 | float64](n T) any {
	if n == 0 {
		return nil
	}
	return n
}

// insertFire takes a slot, a message or a manual run: false where the ledger
// has it already.
func insertFire(tx *record.Tx, f Fire) (id int64, fresh bool, err error) {
	var finished any
	if f.Status != "running" {
		finished = tx.NowMS()
	}
	n, err := tx.Exec(qFireInsert, f.Trigger, orNull(record.MS(f.Slot)), orNull(record.MS(f.First)), max(1, f.Slots), f.Event, f.Status, f.Reason, tx.NowMS(), finished)
	if err != nil || n == 0 {
		return 0, false, err
	}
	err = tx.Row(qLastID, nil, &id)
	return id, true, err
}

const qLastID = `SELECT last_insert_rowid()`

func endFire(tx *record.Tx, id int64, r Result, v verdict) error {
	_, err := tx.Exec(qFireEnd, v.status, line(v.reason, 500), r.Thread, r.Run, r.Turns, r.Calls, r.CallErrors, r.Staged, r.Blocked, r.StopCause, r.Silent, line(r.Summary, 500), line(r.NotifyError, 500), tx.NowMS(), id)
	return err
}

func act(tx *record.Tx, w Who, verb, name, outcome string) error {
	_, err := tx.Exec(qActionInsert, tx.NowMS(), w.Team, w.User, w.Surface, verb, name, outcome)
	return err
}
