package threads

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
)

// RunInfo is one run as people see it: the footer, the digest, `sessions`.
type RunInfo struct {
	ID         string
	Thread     string
	Fence      int64
	State      string
	Cause      agent.Cause
	Error      string
	Model      string
	Trigger    string
	Unattended bool
	FirstTurn  int
	Turns      int
	Resumes    int
	Usage      agent.Usage
	Calls      int
	CallErrors int
	Staged     int
	Blocked    int
	Started    time.Time
	Ended      time.Time
	Surface    string // hash of what it was told and offered
	Denied     int
	Quality    agent.Quality
	Wall       time.Duration // its own time: waiting for people excepted
}

const qRunInsert = `INSERT INTO runs (id, thread, fence, state, model, trigger, unattended, first_turn, config, started) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const qRunConfig = `SELECT coalesce(config, '{}') FROM runs WHERE id = ?`

const qRunStart = `UPDATE runs SET fence = ?, state = 'running', model = ? WHERE id = ?`

const qRunGet = `SELECT id, thread, fence, state, cause, error, model, trigger, unattended, first_turn, turns, resumes, in_tokens, out_tokens, cached_tokens, cost, calls, call_errors, staged, blocked, started, ended, surface, denied, unknown, bad_calls, nudges, repeats, compactions, retries, wall FROM runs WHERE id = ?`

const qRunOpen = `SELECT id, thread, fence, state, cause, error, model, trigger, unattended, first_turn, turns, resumes, in_tokens, out_tokens, cached_tokens, cost, calls, call_errors, staged, blocked, started, ended, surface, denied, unknown, bad_calls, nudges, repeats, compactions, retries, wall FROM runs WHERE thread = ? AND ended IS NULL ORDER BY started DESC LIMIT 1`

const qRunsOf = `SELECT id, thread, fence, state, cause, error, model, trigger, unattended, first_turn, turns, resumes, in_tokens, out_tokens, cached_tokens, cost, calls, call_errors, staged, blocked, started, ended, surface, denied, unknown, bad_calls, nudges, repeats, compactions, retries, wall FROM runs WHERE thread = ? ORDER BY started`

const qRunResume = `UPDATE runs SET fence = ?, state = 'running', resumes = resumes + ? WHERE id = ?`

const qRunState = `UPDATE runs SET state = ? WHERE id = ?`

const qRunTurn = `UPDATE runs SET turns = turns + ?, resumes = 0, wall = wall + ?, in_tokens = in_tokens + ?, out_tokens = out_tokens + ?, cached_tokens = cached_tokens + ?, cost = CASE WHEN ? IS NULL THEN cost ELSE coalesce(cost, 0) + ? END, model = ? WHERE id = ?`

const qRunCounts = `UPDATE runs SET calls = calls + 1, resumes = 0, call_errors = call_errors + ?, staged = staged + ?, blocked = blocked + ?, denied = denied + ?, unknown = unknown + ? WHERE id = ?`

const qRunEnd = `UPDATE runs SET state = ?, cause = ?, error = ?, ended = ? WHERE id = ?`

const qUsageAdd = `INSERT INTO usage (day, model, in_tokens, out_tokens, cached_tokens, cost, turns, wall) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (day, model) DO UPDATE SET turns = turns + excluded.turns, wall = wall + excluded.wall, in_tokens = in_tokens + excluded.in_tokens, out_tokens = out_tokens + excluded.out_tokens, cached_tokens = cached_tokens + excluded.cached_tokens, cost = cost + excluded.cost`

func scanRun(r record.Scanner) (u RunInfo, err error) {
	var trigger, surface sql.NullString
	var wall int64
	var cost sql.NullFloat64
	var started int64
	var ended sql.NullInt64
	err = r.Scan(&u.ID, &u.Thread, &u.Fence, &u.State, &u.Cause, &u.Error, &u.Model, &trigger, &u.Unattended, &u.FirstTurn, &u.Turns, &u.Resumes, &u.Usage.In, &u.Usage.Out, &u.Usage.Cached, &cost, &u.Calls, &u.CallErrors, &u.Staged, &u.Blocked, &started, &ended, &surface, &u.Denied, &u.Quality.Unknown, &u.Quality.BadCalls, &u.Quality.Nudges, &u.Quality.Repeats, &u.Quality.Compactions, &u.Quality.Retries, &wall)
	u.Trigger, u.Surface, u.Wall = trigger.String, surface.String, time.Duration(wall)*time.Millisecond
	if cost.Valid {
		u.Usage.Cost = &cost.Float64
	}
	u.Started, u.Ended = record.Time(started), record.Time(ended.Int64)
	return u, err
}

func getRun(tx *record.Tx, id string) (RunInfo, error) {
	list, err := record.Collect(tx, scanRun, qRunGet, id)
	if err != nil {
		return RunInfo{}, fmt.Errorf("cannot read run %s: %w", id, err)
	}
	if len(list) == 0 {
		return RunInfo{}, fmt.Errorf("run %s: %w", id, ErrNotFound)
	}
	return list[0], nil
}

// openRun answers the run of a thread that has no end yet, or ok = false.
func openRun(tx *record.Tx, thread string) (u RunInfo, ok bool, err error) {
	list, err := record.Collect(tx, scanRun, qRunOpen, thread)
	if err != nil || len(list) == 0 {
		return RunInfo{}, false, err
	}
	return list[0], true, nil
}

// ---- messages and calls

const qMessageInsert = `INSERT INTO messages (thread, run, seq, turn, role, author, person, text, data, call, tool, is_error, external, private, created) VALUES (?, ?, (SELECT (coalesce(max(seq), 0) / 1000 + 1) * 1000 FROM messages WHERE thread = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// A summary stands right behind the newest message that it replaces: sequence
// numbers leave room for that.
const qSummaryInsert = `INSERT INTO messages (thread, run, seq, turn, role, author, text, created) VALUES (?, ?, (SELECT coalesce(max(seq), 0) + 1 FROM messages WHERE thread = ? AND dropped = 1), ?, 'user', 'harness', ?, ?)`

const qMessages = `SELECT id, run, turn, role, author, person, text, data, call, tool, is_error, external, private, dropped, created FROM messages WHERE thread = ? ORDER BY seq`

const qMessageDrop = `UPDATE messages SET dropped = 1 WHERE id = ? AND thread = ?`

const qCallInsert = `INSERT INTO calls (id, thread, run, turn, ord, wire_id, tool, args, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'offered', ?)`

const qCallState = `UPDATE calls SET state = ?, args = ?, started = CASE WHEN ? = 'executing' THEN ? ELSE started END WHERE id = ?`

const qCallDone = `UPDATE calls SET state = 'done', outcome = ?, ended = ? WHERE id = ? AND state <> 'done'`

const qCallGet = `SELECT id, wire_id, tool, args, state, outcome, run, turn FROM calls WHERE id = ?`

const qCallsOf = `SELECT id, wire_id, tool, args, state, outcome, run, turn FROM calls WHERE run = ? AND thread = (SELECT thread FROM runs WHERE id = calls.run) ORDER BY turn, ord`

const qCallsOpen = `SELECT id, wire_id, tool, args, state, outcome, run, turn FROM calls WHERE thread = ? AND state <> 'done'`

type messageData struct {
	Calls     []callData      `json:"calls,omitempty"`
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	Images    []agent.Image   `json:"images,omitempty"`
	Summary   bool            `json:"summary,omitempty"`
	WireID    string          `json:"wire_id,omitempty"`
}

// callData keeps a call's arguments as text: a model's need not parse, and what
// it wrote keeps its bytes.
type callData struct {
	ID     string `json:"id"`
	WireID string `json:"wire_id"`
	Tool   string `json:"tool"`
	Args   string `json:"args"`
}

// stored is a message with what only the record knows of it.
type stored struct {
	agent.Message
	run     string
	dropped bool
	created time.Time
}

func insertMessage(tx *record.Tx, thread, run string, m agent.Message) error {
	var data any
	if len(m.Calls) > 0 || len(m.Reasoning) > 0 || len(m.Images) > 0 || m.WireID != "" {
		d := messageData{Reasoning: m.Reasoning, Images: m.Images, WireID: m.WireID}
		for _, c := range m.Calls {
			d.Calls = append(d.Calls, callData{c.ID, c.WireID, c.Tool, string(c.Args)})
		}
		b, err := encode(d)
		if err != nil {
			return fmt.Errorf("cannot encode a message: %w", err)
		}
		data = string(b)
	}
	_, err := tx.Exec(qMessageInsert, thread, null(run), thread, m.Turn, m.Role, m.Author, m.Person, m.Text, data, null(m.CallID), null(m.Tool), m.IsError, m.External, m.Private, tx.NowMS())
	return err
}

func scanMessage(r record.Scanner) (s stored, err error) {
	var run, data, call, tool sql.NullString
	var created int64
	if err = r.Scan(&s.ID, &run, &s.Turn, &s.Role, &s.Author, &s.Person, &s.Text, &data, &call, &tool, &s.IsError, &s.External, &s.Private, &s.dropped, &created); err != nil {
		return s, err
	}
	s.run, s.CallID, s.Tool, s.created = run.String, call.String, tool.String, record.Time(created)
	if data.Valid {
		var d messageData
		if err = json.Unmarshal([]byte(data.String), &d); err != nil {
			return s, fmt.Errorf("message %d does not parse: %w", s.ID, err)
		}
		for _, c := range d.Calls {
			s.Calls = append(s.Calls, agent.Call{ID: c.ID, WireID: c.WireID, Tool: c.Tool, Args: json.RawMessage(c.Args)})
		}
		s.Reasoning, s.Images, s.WireID = d.Reasoning, d.Images, d.WireID
	}
	return s, nil
}

func messagesOf(tx *record.Tx, thread string) ([]stored, error) {
	list, err := record.Collect(tx, scanMessage, qMessages, thread)
	if err != nil {
		return nil, fmt.Errorf("cannot read the messages of thread %s: %w", thread, err)
	}
	return list, nil
}

type callRow struct {
	agent.Call
	state   agent.CallState
	outcome agent.CallOutcome
	run     string
	turn    int
}

func scanCall(r record.Scanner) (c callRow, err error) {
	var args string
	err = r.Scan(&c.ID, &c.WireID, &c.Tool, &args, &c.state, &c.outcome, &c.run, &c.turn)
	c.Args = json.RawMessage(args)
	return c, err
}

func null(s string) any {
	if s == "" {
		return nil
	}
	return s
}
