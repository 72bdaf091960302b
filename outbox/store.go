package outbox

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

const qDraftInsert = `INSERT INTO drafts (id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, supersedes, created) VALUES (?, 'pending', ?, ?, ?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const qDraftGet = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE id = ?`

const qDraftsWaiting = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE state IN ('pending', 'approved', 'releasing', 'uncertain') ORDER BY created`

const qDraftsAll = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts ORDER BY created`

const qDraftsOf = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE thread = ? ORDER BY created`

const qDraftIDs = `SELECT id FROM drafts WHERE id >= ? AND id < ? ORDER BY id LIMIT 20`

const qDraftReleasing = `UPDATE drafts SET state = 'releasing', version = version + 1 WHERE id = ? AND state = 'approved' AND revision = ? AND digest = ?`

const qDraftUncertain = `UPDATE drafts SET state = 'uncertain', told = 0, version = version + 1 WHERE id = ? AND state = 'releasing'`

const qDraftCancel = `UPDATE drafts SET state = 'pending', hold_until = NULL, not_before = NULL, resolved_by = '', version = version + 1 WHERE id = ? AND state = 'approved'`

const qDraftNotBefore = `UPDATE drafts SET not_before = ?, version = version + 1 WHERE id = ?`

const qDraftRefresh = `UPDATE drafts SET state = 'pending', revision = ?, digest = ?, files = ?, pin = ?, last_error = ?, hold_until = NULL, not_before = NULL, resolved_by = '', told = 0, version = version + 1 WHERE id = ? AND state = 'approved' AND revision = ?`

const qDraftsExpired = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE state IN ('pending', 'approved', 'releasing', 'uncertain') AND state = 'pending' AND (opened IS NULL OR opened <= ?) AND created <= ? AND (SELECT r.created FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) <= ? ORDER BY created LIMIT 100`

const qDraftsStale = `UPDATE drafts SET version = version + 1 WHERE state IN ('pending', 'approved', 'releasing', 'uncertain') AND state = 'pending' AND created > ? AND created <= ?`

const qStaleNext = `SELECT min(created) FROM drafts WHERE state IN ('pending', 'approved', 'releasing', 'uncertain') AND state = 'pending' AND created > ? AND created <= ?`

const qStaleGet = `SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'outbox.stale'`

const qStalePut = `INSERT INTO settings (key, value, updated) VALUES ('outbox.stale', ?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated = excluded.updated`

const qDraftsDue = `SELECT id, max(coalesce(hold_until, 0), coalesce(not_before, 0)) FROM drafts WHERE state = 'approved' ORDER BY created`

const qDraftsUncertain = `SELECT id FROM drafts WHERE state IN ('pending', 'approved', 'releasing', 'uncertain') AND state = 'uncertain' AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.draft = drafts.id AND p.outcome = 'delivered') ORDER BY created`

const qDraftResolve = `UPDATE drafts SET state = ?, resolved = ?, resolved_by = ?, reason = ?, told = 0, hold_until = NULL, version = version + 1 WHERE id = ? AND state = ?`

const qDraftBack = `UPDATE drafts SET state = 'pending', last_error = ?, hold_until = NULL, not_before = NULL, resolved_by = '', told = 0, version = version + 1 WHERE id = ? AND state = ?`

const qDraftApproved = `UPDATE drafts SET state = 'approved', hold_until = ?, not_before = ?, resolved_by = ?, version = version + 1 WHERE id = ? AND state = 'pending' AND revision = ? AND digest = ?`

const qDraftTouch = `UPDATE drafts SET version = version + 1 WHERE id = ?`

const qDraftWarn = `UPDATE drafts SET last_error = ?, told = 0, version = version + 1 WHERE id = ?`

const qDraftRevise = `UPDATE drafts SET revision = ?, digest = ?, files = ?, summary = ?, destinations = ?, red = ?, pin = ?, requester = ?, opened = NULL, not_before = NULL, version = version + 1 WHERE id = ? AND state = 'pending' AND revision = ?`

const qDraftOpened = `UPDATE drafts SET opened = ? WHERE id = ? AND state = 'pending'`

const qDraftSupersede = `UPDATE drafts SET state = 'superseded', superseded_by = ?, resolved = ?, resolved_by = 'the agent', told = 1, version = version + 1 WHERE id = ? AND state = 'pending'`

const qDraftLink = `UPDATE drafts SET superseded_by = ?, version = version + 1 WHERE id = ?`

const qDraftsOpen = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE thread = ? AND tool = ? AND state IN ('pending', 'approved', 'releasing', 'uncertain') ORDER BY created DESC`

const qDraftByCall = `SELECT id FROM drafts WHERE call = ?`

const qDraftsUntold = `SELECT id FROM drafts WHERE thread = ? AND told = 0 ORDER BY created`

const qDraftTold = `UPDATE drafts SET told = 1 WHERE id = ?`

const qDraftsPendingOf = `SELECT count(*) FROM drafts WHERE thread = ? AND state IN ('pending', 'approved', 'releasing', 'uncertain')`

const qRevisionInsert = `INSERT INTO draft_revisions (draft, revision, args, digest, files, by, created) VALUES (?, ?, ?, ?, ?, ?, ?)`

const qApprovalInsert = `INSERT INTO draft_approvals (draft, revision, digest, by, surface, attempts, at) VALUES (?, ?, ?, ?, ?, ?, ?)`

const qApprovalVoid = `UPDATE draft_approvals SET void = 1 WHERE draft = ? AND by = ? AND void = 0`

const qApprovalsVoid = `UPDATE draft_approvals SET void = 1 WHERE draft = ? AND void = 0`

const qAttemptInsert = `INSERT INTO attempts (draft, revision, digest, started) VALUES (?, ?, ?, ?)`

const qAttemptEnd = `UPDATE attempts SET ended = ?, outcome = ?, error = ?, answer = ? WHERE id = ?`

const qAttemptsOpen = `SELECT id, draft FROM attempts WHERE outcome IS NULL ORDER BY id`

const qAttemptNewest = `SELECT max(id) FROM attempts WHERE draft = ?`

const qAttemptsSince = `SELECT d.destinations FROM attempts a JOIN drafts d ON d.id = a.draft WHERE a.started >= ? AND d.tool = ? AND a.outcome IS NOT 'failed' AND NOT (a.outcome IS 'unknown' AND EXISTS (SELECT 1 FROM reconciliations r WHERE r.draft = a.draft AND r.outcome = 'not-delivered' AND r.at >= a.ended))`

const qReconcileInsert = `INSERT INTO reconciliations (draft, outcome, evidence, by, at) VALUES (?, ?, ?, ?, ?)`

const qProposalPut = `INSERT INTO proposals (draft, outcome, evidence, at) VALUES (?, ?, ?, ?) ON CONFLICT (draft) DO UPDATE SET outcome = excluded.outcome, evidence = excluded.evidence, at = excluded.at`

const qHistoryOf = `SELECT 1 AS k, id, draft, by, digest, '', at, NULL FROM draft_approvals WHERE draft = ?1 AND void = 0 UNION ALL SELECT 2, id, draft, coalesce(outcome, ''), error, answer, started, ended FROM attempts WHERE draft = ?1 UNION ALL SELECT 3, id, draft, outcome, evidence, by, at, NULL FROM reconciliations WHERE draft = ?1 UNION ALL SELECT 4, 0, draft, outcome, evidence, '', at, NULL FROM proposals WHERE draft = ?1 ORDER BY k, id`

const qHistoryOfAll = `SELECT 1 AS k, id, draft, by, digest, '', at, NULL FROM draft_approvals WHERE draft IN (SELECT value FROM json_each(?1)) AND void = 0 UNION ALL SELECT 2, id, draft, coalesce(outcome, ''), error, answer, started, ended FROM attempts WHERE draft IN (SELECT value FROM json_each(?1)) UNION ALL SELECT 3, id, draft, outcome, evidence, by, at, NULL FROM reconciliations WHERE draft IN (SELECT value FROM json_each(?1)) UNION ALL SELECT 4, 0, draft, outcome, evidence, '', at, NULL FROM proposals WHERE draft IN (SELECT value FROM json_each(?1)) ORDER BY k, id`

const qProposalDrop = `DELETE FROM proposals WHERE draft = ?`

const qActionInsert = `INSERT INTO actions (at, team, user, surface, verb, kind, ref, revision, digest, outcome) VALUES (?, ?, ?, ?, ?, 'draft', ?, ?, ?, ?)`

// row is a draft with what its JSON does not show.
type row struct {
	Draft
	pin    string
	opened int64
}

func scanDraft(r record.Scanner) (d row, err error) {
	var before, filled, files, sources, dests string
	var args sql.NullString // none: still as drafted
	var hold, notBefore, opened, resolved sql.NullInt64
	var supersedes, by sql.NullString
	var created int64
	err = r.Scan(&d.ID, &d.State, &d.Kind, &d.Tool, &d.pin, &before, &filled, &d.Revision, &d.Digest, &files, &d.Summary, &d.Workspace, &d.Team, &d.Thread, &d.Run, &d.CallID, &d.Requester, &d.Taint.Private, &d.Taint.Untrusted, &d.Red, &sources, &dests, &d.IdempotencyKey, &hold, &notBefore, &opened, &supersedes, &by, &d.LastError, &d.Reason, &d.ResolvedBy, &d.Version, &created, &resolved, &args)
	if err != nil {
		return d, err
	}
	d.ArgsBefore = json.RawMessage(before)
	if d.Args = d.ArgsBefore; args.Valid {
		d.Args = json.RawMessage(args.String)
	}
	d.Supersedes, d.SupersededBy, d.opened = supersedes.String, by.String, opened.Int64
	d.Created = record.Time(created)
	d.HoldUntil, d.NotBefore, d.Resolved = when(hold), when(notBefore), when(resolved)
	d.Tainted = d.Taint.Armed()
	d.Edited = args.Valid && before != args.String
	d.Taint.Marks, d.Approvals, d.Attempts, d.Reconciliations = []tools.Mark{}, []Approval{}, []Attempt{}, []Reconciliation{}
	d.FilledDefaults, d.Files, d.Destinations = []string{}, []File{}, []tools.Destination{}
	return d, errors.Join(
		parse(d.ID, "filled", filled, &d.FilledDefaults),
		parse(d.ID, "files", files, &d.Files),
		parse(d.ID, "sources", sources, &d.Taint.Marks),
		parse(d.ID, "destinations", dests, &d.Destinations),
	)
}

// parse refuses a row that does not read: an unreadable draft is an error,
// never one with empty arguments.
func parse(id, what, s string, v any) error {
	if s == "[]" {
		return nil
	}
	if err := json.Unmarshal([]byte(s), v); err != nil {
		return fmt.Errorf("draft %s: its %s do not parse: %w", id, what, err)
	}
	return nil
}

func when(n sql.NullInt64) *time.Time {
	if !n.Valid {
		return nil
	}
	t := record.Time(n.Int64)
	return &t
}

// event is a line of a draft's history: an approval, an attempt, a
// reconciliation or a proposal.
type event struct {
	kind     int
	draft    string
	a, b, c  string
	from     int64
	to       sql.NullInt64
	sequence int64
}

func scanEvent(r record.Scanner) (e event, err error) {
	return e, r.Scan(&e.kind, &e.sequence, &e.draft, &e.a, &e.b, &e.c, &e.from, &e.to)
}

func (d *row) add(e event) {
	at := record.Time(e.from)
	switch e.kind {
	case 1:
		d.Approvals = append(d.Approvals, Approval{By: e.a, Digest: e.b, At: at})
	case 2:
		d.Attempts = append(d.Attempts, Attempt{Outcome: e.a, Error: e.b, Answer: e.c, Started: at, Ended: when(e.to)})
	case 3:
		d.Reconciliations = append(d.Reconciliations, Reconciliation{Outcome: e.a, Evidence: e.b, By: e.c, At: at})
	case 4:
		if d.State == Uncertain {
			d.Proposal = &Proposal{Outcome: e.a, Evidence: e.b, At: at}
		}
	}
}

// fill reads the history that hangs on a draft.
func (o *Outbox) fill(tx *record.Tx, d *row) error {
	list, err := record.Collect(tx, scanEvent, qHistoryOf, d.ID)
	if err != nil {
		return fmt.Errorf("cannot read the history of draft %s: %w", d.ID, err)
	}
	for _, e := range list {
		d.add(e)
	}
	o.judge(tx, d)
	return nil
}

// judge adds what follows from the configuration and the time.
func (o *Outbox) judge(tx *record.Tx, d *row) {
	d.NeedsApprovals = o.cfg.policy(d.Tool).Needs()
	d.Stale = d.State == Pending && tx.Now().Sub(d.Created) > time.Duration(o.cfg.StaleAfter)
}

func (o *Outbox) get(tx *record.Tx, id string) (row, error) {
	list, err := record.Collect(tx, scanDraft, qDraftGet, id)
	if err != nil {
		return row{}, fmt.Errorf("cannot read draft %s: %w", id, err)
	}
	if len(list) == 0 {
		return row{}, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return list[0], o.fill(tx, &list[0])
}

// note commits who did what to a draft.
func note(tx *record.Tx, d row, by, surface, verb, outcome string) error {
	_, err := tx.Exec(qActionInsert, tx.NowMS(), d.Team, by, surface, verb, d.ID, d.Revision, d.Digest, outcome)
	return err
}
