package outbox

const qReflectable = `SELECT id, state, kind, tool, pin, args_before, filled, revision, digest, files, summary, workspace, team, thread, run, call, requester, private, untrusted, red, sources, destinations, idempotency_key, hold_until, not_before, opened, supersedes, superseded_by, last_error, reason, resolved_by, version, created, resolved, CASE revision WHEN 1 THEN NULL ELSE (SELECT args FROM draft_revisions r WHERE r.draft = drafts.id AND r.revision = drafts.revision) END FROM drafts WHERE state = 'released' AND kind = 'message' AND NOT EXISTS (SELECT 1 FROM reflections f WHERE f.draft = drafts.id) ORDER BY resolved LIMIT ?`

const qReflectionInsert = `INSERT INTO reflections (draft, origin, edited, diff, at) VALUES (?, ?, ?, ?, ?)`

const qReflections = `SELECT id, draft, origin, edited, diff, at FROM reflections WHERE id > 0 ORDER BY id DESC LIMIT ?`

const qReflectionCount = `SELECT count(*) FROM reflections WHERE edited = ?`

const qLessons = `SELECT f.draft, f.origin, f.edited, d.args_before, CASE d.revision WHEN 1 THEN d.args_before ELSE (SELECT args FROM draft_revisions r WHERE r.draft = d.id AND r.revision = d.revision) END, d.destinations FROM reflections f JOIN drafts d ON d.id = f.draft WHERE f.edited = ? ORDER BY f.id DESC LIMIT ?`

const qRuleInsert = `INSERT INTO writing_rules (text, state, origin, evidence, created) VALUES (?, 'proposed', ?, ?, ?) ON CONFLICT (text) DO NOTHING`

const qRulesOf = `SELECT id, text, state, origin, evidence, by, created, decided FROM writing_rules WHERE state = ? ORDER BY id`

const qRuleGet = `SELECT id, text, state, origin, evidence, by, created, decided FROM writing_rules WHERE id = ?`

const qRuleDecide = `UPDATE writing_rules SET state = ?, by = ?, decided = ? WHERE id = ?`

const qRuleAction = `INSERT INTO actions (at, team, user, surface, verb, kind, ref, outcome) VALUES (?, '', ?, ?, ?, 'rule', ?, 'done')`
