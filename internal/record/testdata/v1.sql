-- The record of mecha-slack: the whole current schema, version 1.
--
-- Read it as the table of contents of what the product knows. Every table is
-- STRICT; ids and times are INTEGERs or TEXT; a time is Unix milliseconds; a
-- column that holds JSON is checked by json_valid. A row is written before
-- anybody sees what it says ("durable before visible").
--
-- internal/record sets PRAGMA user_version to the number above and keeps the
-- numbered steps that lead here from older versions.

-- ---------------------------------------------------------------- people

-- A person who may drive (owner) or decide (approver) from one Slack team.
-- An owner is bound by a one-time code printed on the machine; 'seed' marks the
-- owner that the local workspace brings along.
CREATE TABLE people (
  team      TEXT NOT NULL,
  user      TEXT NOT NULL,
  role      TEXT NOT NULL CHECK (role IN ('owner', 'approver')),
  name      TEXT NOT NULL DEFAULT '',
  tz        TEXT NOT NULL DEFAULT '',
  dm        TEXT NOT NULL DEFAULT '',
  bound_by  TEXT NOT NULL CHECK (bound_by IN ('code', 'seed', 'config')),
  created   INTEGER NOT NULL,
  removed   INTEGER,
  PRIMARY KEY (team, user)
) STRICT;

-- A one-time code of `link`: only its hash, ten minutes, few tries.
CREATE TABLE link_codes (
  id       INTEGER PRIMARY KEY,
  hash     BLOB NOT NULL,
  expires  INTEGER NOT NULL,
  tries    INTEGER NOT NULL DEFAULT 0,
  used_by  TEXT,
  created  INTEGER NOT NULL
) STRICT;

-- Who pressed, typed or ran what, and what came of it: the audit trail.
CREATE TABLE actions (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  team     TEXT NOT NULL,
  user     TEXT NOT NULL,
  surface  TEXT NOT NULL,                    -- slack, terminal
  verb     TEXT NOT NULL,                    -- approve, edit, reject, stop, mode, …
  kind     TEXT NOT NULL,                    -- draft, call, question, thread, trigger, …
  ref      TEXT NOT NULL,
  revision INTEGER,
  digest   TEXT,
  outcome  TEXT NOT NULL                     -- done, refused: why, already: what
) STRICT;
CREATE INDEX actions_ref ON actions (kind, ref, id);

-- ---------------------------------------------------------------- intake

-- One message that reached us, before its ack. A message that is not ours to
-- answer leaves its key only (state 'ignored', no body). app_mention and
-- message of one post are one row, by (app, team, channel, ts).
CREATE TABLE inbox (
  id         INTEGER PRIMARY KEY,
  app        TEXT NOT NULL,
  team       TEXT NOT NULL,
  channel    TEXT NOT NULL,
  ts         TEXT NOT NULL,
  thread     TEXT,                           -- thread key; NULL where ignored
  user       TEXT NOT NULL DEFAULT '',
  text       TEXT NOT NULL DEFAULT '',
  extra      TEXT CHECK (extra IS NULL OR json_valid(extra)), -- files, quoted attachments, app context
  state      TEXT NOT NULL CHECK (state IN ('ignored', 'queued', 'taken', 'late', 'withdrawn')),
  received   INTEGER NOT NULL,
  taken      INTEGER,
  run        TEXT,
  UNIQUE (app, team, channel, ts)
) STRICT;
CREATE INDEX inbox_queued ON inbox (thread, ts) WHERE state = 'queued';
CREATE INDEX inbox_place ON inbox (team, channel, ts);
CREATE INDEX inbox_bodies ON inbox (received) WHERE state = 'taken' AND text <> '';
CREATE INDEX inbox_late ON inbox (received) WHERE state = 'late';

-- Every Slack event id that was seen, so that a redelivery after six minutes
-- or six hours is known. Event ids are unique per app and team only.
CREATE TABLE events (
  app      TEXT NOT NULL,
  team     TEXT NOT NULL,
  event    TEXT NOT NULL,
  received INTEGER NOT NULL,
  PRIMARY KEY (app, team, event)
) STRICT, WITHOUT ROWID;
CREATE INDEX events_received ON events (received);

-- How far each conversation has been read, for the catch-up after a time
-- without a socket.
CREATE TABLE watermarks (
  team    TEXT NOT NULL,
  channel TEXT NOT NULL,
  ts      TEXT NOT NULL,
  PRIMARY KEY (team, channel)
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------- threads

-- A Slack thread is a session. key = team/channel/root ts; surface_* is where
-- the conversation is shown now (a channel's thread that turned private goes
-- on in a DM). fence rises with every run; a run that was presumed dead can
-- write nothing, since its fence is old.
CREATE TABLE threads (
  key          TEXT PRIMARY KEY,
  team         TEXT NOT NULL,
  channel      TEXT NOT NULL,
  thread_ts    TEXT NOT NULL,
  surface_channel TEXT NOT NULL,
  surface_ts   TEXT NOT NULL,
  owner        TEXT NOT NULL,                -- the person whose words drive it
  title        TEXT NOT NULL DEFAULT '',
  kind         TEXT NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'trigger', 'subagent', 'rehearsal')),
  state        TEXT NOT NULL CHECK (state IN ('idle', 'queued', 'running', 'awaiting', 'staged', 'done', 'failed', 'cancelled', 'interrupted')),
  mode         TEXT NOT NULL CHECK (mode IN ('ask', 'allow', 'read-only')),
  workspace    TEXT NOT NULL,
  private      INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1)),
  untrusted    INTEGER NOT NULL DEFAULT 0 CHECK (untrusted IN (0, 1)),
  fence        INTEGER NOT NULL DEFAULT 0,
  turn         INTEGER NOT NULL DEFAULT 0,   -- turns so far, over all runs
  latch        INTEGER NOT NULL DEFAULT 0,   -- 1: an approval went unanswered; ask nobody until the owner shows
  note         TEXT NOT NULL DEFAULT '',     -- why it failed, or was cancelled
  created      INTEGER NOT NULL,
  updated      INTEGER NOT NULL
) STRICT;
CREATE INDEX threads_updated ON threads (updated);
CREATE INDEX threads_state ON threads (state, updated);

-- Another place that means the same thread (the DM in which it goes on).
CREATE TABLE aliases (
  team      TEXT NOT NULL,
  channel   TEXT NOT NULL,
  thread_ts TEXT NOT NULL,
  thread    TEXT NOT NULL REFERENCES threads (key),
  PRIMARY KEY (team, channel, thread_ts)
) STRICT, WITHOUT ROWID;

-- One run: from an owner's message (or a trigger's slot) to a finished answer.
CREATE TABLE runs (
  id         TEXT PRIMARY KEY,
  thread     TEXT NOT NULL REFERENCES threads (key),
  fence      INTEGER NOT NULL,
  state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'awaiting', 'done', 'failed', 'cancelled', 'interrupted')),
  cause      TEXT NOT NULL DEFAULT '',       -- completed, max_turns, cost, loop, no_output, stopped, parked, shutdown, error
  error      TEXT NOT NULL DEFAULT '',
  model      TEXT NOT NULL DEFAULT '',
  trigger    TEXT,                           -- name of the trigger that fired it
  unattended INTEGER NOT NULL DEFAULT 0,
  first_turn INTEGER NOT NULL,
  turns      INTEGER NOT NULL DEFAULT 0,
  resumes    INTEGER NOT NULL DEFAULT 0,     -- resumes since the last progress
  in_tokens  INTEGER NOT NULL DEFAULT 0,
  out_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  cost       REAL,                           -- USD; NULL where a price is unknown
  calls      INTEGER NOT NULL DEFAULT 0,
  call_errors INTEGER NOT NULL DEFAULT 0,
  staged     INTEGER NOT NULL DEFAULT 0,
  blocked    INTEGER NOT NULL DEFAULT 0,
  config     TEXT CHECK (config IS NULL OR json_valid(config)), -- system prompt, tools, budgets as they were
  started    INTEGER NOT NULL,
  ended      INTEGER
) STRICT;
CREATE INDEX runs_thread ON runs (thread, started);
CREATE INDEX runs_open ON runs (state) WHERE state IN ('queued', 'running', 'awaiting', 'interrupted');

-- One message of a conversation, in order. author tells whose words they are:
-- owner, model, tool, harness, third_party. Only 'owner' rows are the owner's
-- words when a destination's origin is asked for.
CREATE TABLE messages (
  id       INTEGER PRIMARY KEY,
  thread   TEXT NOT NULL REFERENCES threads (key),
  run      TEXT,
  seq      INTEGER NOT NULL,
  turn     INTEGER NOT NULL,
  role     TEXT NOT NULL CHECK (role IN ('user', 'assistant', 'tool')),
  author   TEXT NOT NULL CHECK (author IN ('owner', 'model', 'tool', 'harness', 'third_party')),
  person   TEXT NOT NULL DEFAULT '',         -- Slack user of an owner's message
  text     TEXT NOT NULL,
  data     TEXT CHECK (data IS NULL OR json_valid(data)), -- calls, reasoning, images
  call     TEXT,                             -- of a tool's result
  tool     TEXT,
  is_error INTEGER NOT NULL DEFAULT 0,
  external INTEGER NOT NULL DEFAULT 0,
  private  INTEGER NOT NULL DEFAULT 0,
  dropped  INTEGER NOT NULL DEFAULT 0,       -- 1: compacted away; kept for recall
  created  INTEGER NOT NULL,
  UNIQUE (thread, seq)
) STRICT;
CREATE INDEX messages_call ON messages (call) WHERE call IS NOT NULL;

-- Full text over messages, for recall and `sessions search`.
CREATE VIRTUAL TABLE messages_fts USING fts5(text, content='messages', content_rowid='id', tokenize='unicode61');
CREATE TRIGGER messages_fts_in AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts (rowid, text) VALUES (new.id, new.text);
END;
CREATE TRIGGER messages_fts_del AFTER DELETE ON messages BEGIN
  INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.id, old.text);
END;
CREATE TRIGGER messages_fts_up AFTER UPDATE OF text ON messages BEGIN
  INSERT INTO messages_fts (messages_fts, rowid, text) VALUES ('delete', old.id, old.text);
  INSERT INTO messages_fts (rowid, text) VALUES (new.id, new.text);
END;

-- One tool call of an assistant turn: offered, approved, executing, done.
CREATE TABLE calls (
  id       TEXT PRIMARY KEY,                 -- ours, unique over all threads
  thread   TEXT NOT NULL REFERENCES threads (key),
  run      TEXT NOT NULL,
  turn     INTEGER NOT NULL,
  ord      INTEGER NOT NULL,                 -- place within the turn
  wire_id  TEXT NOT NULL,                    -- the id that the model gave
  tool     TEXT NOT NULL,
  args     TEXT NOT NULL,                    -- the gated bytes (defaults pinned), or the model's where they did not parse
  state    TEXT NOT NULL CHECK (state IN ('offered', 'approved', 'executing', 'done')),
  outcome  TEXT NOT NULL DEFAULT '',         -- ok, error, denied, blocked, staged, interrupted
  started  INTEGER,
  ended    INTEGER,
  created  INTEGER NOT NULL
) STRICT;
CREATE INDEX calls_run ON calls (run, turn, ord);
CREATE INDEX calls_todo ON calls (thread, turn, ord) WHERE tool = 'todo';
CREATE INDEX calls_open ON calls (thread) WHERE state <> 'done';

-- Which call armed which leg of the interlock, from what source. The first mark
-- of a leg is what a refusal names.
CREATE TABLE taint_marks (
  id     INTEGER PRIMARY KEY,
  thread TEXT NOT NULL REFERENCES threads (key),
  leg    TEXT NOT NULL CHECK (leg IN ('private', 'untrusted')),
  call   TEXT NOT NULL DEFAULT '',
  tool   TEXT NOT NULL DEFAULT '',
  what   TEXT NOT NULL,
  turn   INTEGER NOT NULL,
  at     INTEGER NOT NULL
) STRICT;
CREATE INDEX taint_marks_thread ON taint_marks (thread, id);

-- A call that asks a person. pending until somebody decides, the time passes
-- (unanswered: Blocked, never Deny) or its run ends (void).
CREATE TABLE approvals (
  call     TEXT PRIMARY KEY REFERENCES calls (id),
  thread   TEXT NOT NULL REFERENCES threads (key),
  run      TEXT NOT NULL,
  tool     TEXT NOT NULL,
  args     TEXT NOT NULL,
  digest   TEXT NOT NULL,
  why      TEXT NOT NULL DEFAULT '',         -- of a forced prompt: escalation, rule, destination
  forced   INTEGER NOT NULL DEFAULT 0,
  scope    TEXT NOT NULL DEFAULT '',         -- what "Allow for this run" would cover; '' = not offered
  facts    TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(facts)), -- capabilities, destinations, place: what the card says
  state    TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'denied', 'unanswered', 'void')),
  by       TEXT NOT NULL DEFAULT '',
  reason   TEXT NOT NULL DEFAULT '',
  waited   INTEGER NOT NULL DEFAULT 0,       -- ms of connected waiting so far
  version  INTEGER NOT NULL DEFAULT 1,
  created  INTEGER NOT NULL,
  decided  INTEGER
) STRICT;
CREATE INDEX approvals_pending ON approvals (created) WHERE state = 'pending';

-- "Allow for this run": dies with its run and with a changed tool pin.
CREATE TABLE grants (
  run     TEXT NOT NULL,
  tool    TEXT NOT NULL,
  scope   TEXT NOT NULL,
  pin     TEXT NOT NULL DEFAULT '',
  by      TEXT NOT NULL,
  uses    INTEGER NOT NULL DEFAULT 0,
  created INTEGER NOT NULL,
  PRIMARY KEY (run, tool, scope)
) STRICT, WITHOUT ROWID;

-- A question of ask_user: waits for days, its run is parked.
CREATE TABLE questions (
  id       TEXT PRIMARY KEY,
  thread   TEXT NOT NULL REFERENCES threads (key),
  run      TEXT NOT NULL,
  call     TEXT NOT NULL,
  question TEXT NOT NULL,
  options  TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(options)),
  tainted  INTEGER NOT NULL DEFAULT 0,
  state    TEXT NOT NULL CHECK (state IN ('open', 'answered', 'abandoned')),
  answer   TEXT NOT NULL DEFAULT '',
  by       TEXT NOT NULL DEFAULT '',
  version  INTEGER NOT NULL DEFAULT 1,
  created  INTEGER NOT NULL,
  resolved INTEGER
) STRICT;
CREATE INDEX questions_open ON questions (created) WHERE state = 'open';
CREATE INDEX questions_thread ON questions (thread) WHERE state = 'open';

-- A process group that we started: ended by whoever finds the row after its
-- owner was killed.
CREATE TABLE children (
  id      INTEGER PRIMARY KEY,
  owner   TEXT NOT NULL,                     -- mcp:<server>:<thread>, shell:<call>, …
  pgid    INTEGER NOT NULL,
  started INTEGER NOT NULL,                  -- clock ticks since boot, from /proc
  boot    TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT;
CREATE INDEX children_owner ON children (owner);

-- web_open's handles: unguessable, per conversation, kept across restarts.
CREATE TABLE handles (
  handle  TEXT PRIMARY KEY,
  thread  TEXT NOT NULL,
  url     TEXT NOT NULL,
  title   TEXT NOT NULL DEFAULT '',
  created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX handles_thread ON handles (thread);

-- A tool's name, description and schema as they were when first listed. A
-- change waits in 'next' until somebody accepts it.
CREATE TABLE tool_pins (
  name    TEXT PRIMARY KEY,
  server  TEXT NOT NULL,
  hash    TEXT NOT NULL,
  def     TEXT NOT NULL CHECK (json_valid(def)),
  next    TEXT CHECK (next IS NULL OR json_valid(next)),
  next_hash TEXT,
  by      TEXT NOT NULL DEFAULT '',
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tool_pins_next ON tool_pins (server, name) WHERE next IS NOT NULL;

-- What a day cost, for daily budgets and the footer.
CREATE TABLE usage (
  day        TEXT NOT NULL,
  model      TEXT NOT NULL,
  in_tokens  INTEGER NOT NULL DEFAULT 0,
  out_tokens INTEGER NOT NULL DEFAULT 0,
  cached_tokens INTEGER NOT NULL DEFAULT 0,
  cost       REAL NOT NULL DEFAULT 0,
  PRIMARY KEY (day, model)
) STRICT, WITHOUT ROWID;

-- ---------------------------------------------------------------- outbox

-- A call that waits for a person. args_before is what the agent drafted and
-- never changes; the args of a release are those of the newest revision.
CREATE TABLE drafts (
  id          TEXT PRIMARY KEY,
  state       TEXT NOT NULL CHECK (state IN ('pending', 'approved', 'releasing', 'uncertain', 'released', 'rejected', 'superseded', 'expired')),
  kind        TEXT NOT NULL CHECK (kind IN ('message', 'publish')),
  tool        TEXT NOT NULL,
  pin         TEXT NOT NULL DEFAULT '',      -- hash of the tool as it was listed
  args_before TEXT NOT NULL,
  filled      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(filled)), -- argument keys pinned from schema defaults
  revision    INTEGER NOT NULL DEFAULT 1,
  digest      TEXT NOT NULL,                 -- of the newest revision
  files       TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(files)),
  summary     TEXT NOT NULL,
  workspace   TEXT NOT NULL,                 -- where the tool would have run
  team        TEXT NOT NULL DEFAULT '',
  thread      TEXT NOT NULL,
  run         TEXT NOT NULL,
  call        TEXT NOT NULL,
  requester   TEXT NOT NULL DEFAULT '',      -- who asked for it, or edited it last
  private     INTEGER NOT NULL DEFAULT 0,
  untrusted   INTEGER NOT NULL DEFAULT 0,
  red         INTEGER NOT NULL DEFAULT 0,
  sources     TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(sources)),
  destinations TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(destinations)),
  idempotency_key TEXT NOT NULL,
  hold_until  INTEGER,                       -- approved, and dispatched after this
  not_before  INTEGER,                       -- scheduled
  opened      INTEGER,                       -- somebody has it open for editing, since then
  supersedes  TEXT,
  superseded_by TEXT,
  last_error  TEXT NOT NULL DEFAULT '',
  reason      TEXT NOT NULL DEFAULT '',
  resolved_by TEXT NOT NULL DEFAULT '',
  told        INTEGER NOT NULL DEFAULT 1,    -- 0: something became of it that its conversation has not heard
  version     INTEGER NOT NULL DEFAULT 1,    -- rises with every change: cards follow it
  created     INTEGER NOT NULL,
  resolved    INTEGER
) STRICT;
CREATE INDEX drafts_waiting ON drafts (created, id) WHERE state IN ('pending', 'approved', 'releasing', 'uncertain');
CREATE INDEX drafts_approved ON drafts (created) WHERE state = 'approved';
CREATE INDEX drafts_open ON drafts (thread, tool, created) WHERE state IN ('pending', 'approved', 'releasing', 'uncertain');
CREATE INDEX drafts_thread ON drafts (thread, created);
CREATE INDEX drafts_created ON drafts (created);
CREATE INDEX drafts_released ON drafts (resolved) WHERE state = 'released' AND kind = 'message';
CREATE INDEX drafts_untold ON drafts (thread, created) WHERE told = 0;
CREATE UNIQUE INDEX drafts_call ON drafts (call);

-- Each version of a draft's arguments. Revision 1 equals args_before.
CREATE TABLE draft_revisions (
  draft    TEXT NOT NULL REFERENCES drafts (id),
  revision INTEGER NOT NULL,
  args     TEXT NOT NULL,
  digest   TEXT NOT NULL,
  files    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(files)),
  by       TEXT NOT NULL,
  created  INTEGER NOT NULL,
  PRIMARY KEY (draft, revision)
) STRICT, WITHOUT ROWID;

-- A person's yes, bound to a revision and its digest. An edit voids it.
CREATE TABLE draft_approvals (
  id       INTEGER PRIMARY KEY,
  draft    TEXT NOT NULL REFERENCES drafts (id),
  revision INTEGER NOT NULL,
  digest   TEXT NOT NULL,
  by       TEXT NOT NULL,
  surface  TEXT NOT NULL,
  attempts INTEGER NOT NULL,                 -- attempts and reconciliations at that moment
  void     INTEGER NOT NULL DEFAULT 0,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX draft_approvals_draft ON draft_approvals (draft, id);

-- A try to deliver, committed before the tool is called. No outcome and no
-- process that runs it means: uncertain.
CREATE TABLE attempts (
  id       INTEGER PRIMARY KEY,
  draft    TEXT NOT NULL REFERENCES drafts (id),
  revision INTEGER NOT NULL,
  digest   TEXT NOT NULL,
  started  INTEGER NOT NULL,
  ended    INTEGER,
  outcome  TEXT CHECK (outcome IN ('delivered', 'failed', 'unknown')),
  error    TEXT NOT NULL DEFAULT '',
  answer   TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX attempts_draft ON attempts (draft, id);
CREATE INDEX attempts_open ON attempts (id) WHERE outcome IS NULL;
CREATE INDEX attempts_started ON attempts (started);

-- What a person found out about an unknown outcome, or a read-only tool proposed.
CREATE TABLE reconciliations (
  id       INTEGER PRIMARY KEY,
  draft    TEXT NOT NULL REFERENCES drafts (id),
  outcome  TEXT NOT NULL CHECK (outcome IN ('delivered', 'not-delivered')),
  evidence TEXT NOT NULL,
  by       TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT;
CREATE INDEX reconciliations_draft ON reconciliations (draft, id);

-- A reconciler's proposal: shown on the card, decided by a person.
CREATE TABLE proposals (
  draft    TEXT PRIMARY KEY REFERENCES drafts (id),
  outcome  TEXT NOT NULL,
  evidence TEXT NOT NULL,
  at       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Writing lessons mined from edits (reflect), and rules proposed from them (learn).
CREATE TABLE reflections (
  id      INTEGER PRIMARY KEY,
  draft   TEXT NOT NULL UNIQUE REFERENCES drafts (id),
  origin  TEXT NOT NULL CHECK (origin IN ('clean', 'untrusted')),
  edited  INTEGER NOT NULL,
  diff    TEXT NOT NULL,
  at      INTEGER NOT NULL
) STRICT;
CREATE INDEX reflections_edited ON reflections (edited, id);
CREATE TABLE writing_rules (
  id       INTEGER PRIMARY KEY,
  text     TEXT NOT NULL,
  state    TEXT NOT NULL CHECK (state IN ('proposed', 'accepted', 'declined', 'retired')),
  origin   TEXT NOT NULL CHECK (origin IN ('clean', 'untrusted')),
  evidence TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(evidence)),
  by       TEXT NOT NULL DEFAULT '',
  created  INTEGER NOT NULL,
  decided  INTEGER
) STRICT;
CREATE INDEX writing_rules_state ON writing_rules (state, id);
CREATE UNIQUE INDEX writing_rules_text ON writing_rules (text);

-- ---------------------------------------------------------------- triggers

-- A prompt and when it is due. Zone and prompt are frozen as they were given;
-- a trigger proposed in a conversation keeps that conversation's taint until a
-- person retypes the prompt.
CREATE TABLE triggers (
  name       TEXT PRIMARY KEY,
  kind       TEXT NOT NULL DEFAULT 'prompt' CHECK (kind IN ('prompt', 'digest')),
  schedule   TEXT NOT NULL,
  timezone   TEXT NOT NULL,
  prompt     TEXT NOT NULL,
  channel    TEXT NOT NULL DEFAULT '',
  state      TEXT NOT NULL CHECK (state IN ('proposed', 'enabled', 'disabled', 'deleted')),
  mode       TEXT NOT NULL DEFAULT 'read-only',
  tools      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(tools)),
  catch_up   TEXT NOT NULL DEFAULT 'always',
  timeout    INTEGER NOT NULL DEFAULT 1200000,
  max_turns  INTEGER,
  max_output_tokens INTEGER,
  max_cost   REAL,
  notify     TEXT NOT NULL DEFAULT '',
  on_event   TEXT NOT NULL DEFAULT '',       -- '' = by clock; message
  pattern    TEXT NOT NULL DEFAULT '',
  private    INTEGER NOT NULL DEFAULT 0,
  untrusted  INTEGER NOT NULL DEFAULT 0,
  sources    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(sources)),
  proposed_in TEXT NOT NULL DEFAULT '',      -- thread of the proposal
  by         TEXT NOT NULL DEFAULT '',
  accounted  INTEGER NOT NULL,               -- slots up to here are in the ledger
  version    INTEGER NOT NULL DEFAULT 1,
  created    INTEGER NOT NULL,
  updated    INTEGER NOT NULL,
  change     INTEGER NOT NULL DEFAULT 0      -- grows with every change of any trigger: a bot reads only what is new
) STRICT, WITHOUT ROWID;
CREATE INDEX triggers_changed ON triggers (change);

-- What became of each slot: exactly one row for each. A manual run, and one that
-- a message caused, has no slot. Of a very long outage the oldest slots share
-- one skipped row: "slots" of them, from "first" to "slot".
CREATE TABLE fires (
  id       INTEGER PRIMARY KEY,
  trigger  TEXT NOT NULL,
  slot     INTEGER,                          -- the slot's instant; NULL = manual
  status   TEXT NOT NULL CHECK (status IN ('running', 'ok', 'error', 'skipped')),
  reason   TEXT NOT NULL DEFAULT '',
  thread   TEXT NOT NULL DEFAULT '',
  run      TEXT NOT NULL DEFAULT '',
  turns    INTEGER NOT NULL DEFAULT 0,
  calls    INTEGER NOT NULL DEFAULT 0,
  call_errors INTEGER NOT NULL DEFAULT 0,
  staged   INTEGER NOT NULL DEFAULT 0,
  blocked  INTEGER NOT NULL DEFAULT 0,
  stop_cause TEXT NOT NULL DEFAULT '',
  silent   INTEGER NOT NULL DEFAULT 0,
  summary  TEXT NOT NULL DEFAULT '',
  notify_error TEXT NOT NULL DEFAULT '',
  started  INTEGER NOT NULL,
  finished INTEGER,
  first    INTEGER,                          -- of a row for several slots: the oldest
  slots    INTEGER NOT NULL DEFAULT 1,
  event    TEXT NOT NULL DEFAULT '',         -- the message that caused it: channel:ts
  UNIQUE (trigger, slot)
) STRICT;
CREATE UNIQUE INDEX fires_event ON fires (trigger, event) WHERE event <> '';
CREATE INDEX fires_open ON fires (trigger) WHERE status = 'running';
CREATE INDEX fires_recent ON fires (started);
CREATE INDEX fires_trigger ON fires (trigger, started);

-- ---------------------------------------------------------------- Slack out

-- Something that stands, or shall stand, in Slack: committed as an intent
-- before the call that makes it visible. kind and ref say what it shows; bot
-- renders it from the record each time, so a card is always what the rows say.
-- want > shown: it must be (re)rendered.
CREATE TABLE posts (
  id        INTEGER PRIMARY KEY,
  thread    TEXT NOT NULL DEFAULT '',
  kind      TEXT NOT NULL,                   -- stream, answer, note, approval, draft, question, trigger, digest, file
  ref       TEXT NOT NULL,
  team      TEXT NOT NULL,
  channel   TEXT NOT NULL,
  thread_ts TEXT NOT NULL DEFAULT '',
  ts        TEXT NOT NULL DEFAULT '',        -- once Slack has told it
  state     TEXT NOT NULL CHECK (state IN ('intent', 'posting', 'posted', 'closed', 'gone')),
  body      TEXT NOT NULL DEFAULT '{}' CHECK (json_valid(body)), -- what kind needs beyond ref (a note's text, a stream's place)
  want      INTEGER NOT NULL DEFAULT 1,
  shown     INTEGER NOT NULL DEFAULT 0,
  tries     INTEGER NOT NULL DEFAULT 0,
  error     TEXT NOT NULL DEFAULT '',
  created   INTEGER NOT NULL,
  updated   INTEGER NOT NULL
) STRICT;
CREATE INDEX posts_due ON posts (id) WHERE want > shown AND state <> 'gone';
CREATE INDEX posts_ref ON posts (kind, ref);
CREATE INDEX posts_place ON posts (channel, ts);

-- A button's value: random, one a rendering. A press counts only with its row,
-- on the message or view that it was put on.
CREATE TABLE tokens (
  token    TEXT PRIMARY KEY,
  post     INTEGER NOT NULL,                 -- 0: on a view
  kind     TEXT NOT NULL,
  ref      TEXT NOT NULL,
  revision INTEGER NOT NULL DEFAULT 0,
  digest   TEXT NOT NULL DEFAULT '',
  choices  TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(choices)),
  channel  TEXT NOT NULL DEFAULT '',
  ts       TEXT NOT NULL DEFAULT '',
  view     TEXT NOT NULL DEFAULT '',
  user     TEXT NOT NULL DEFAULT '',         -- whose view
  created  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tokens_ref ON tokens (kind, ref);
CREATE INDEX tokens_created ON tokens (created);

-- Cards follow what they show, whoever changed it and from whichever process:
-- a change of a row's version asks for its posts to be rendered again.
CREATE TRIGGER draft_cards AFTER UPDATE OF version ON drafts WHEN new.version <> old.version BEGIN
  UPDATE posts SET want = want + 1 WHERE kind = 'draft' AND ref = new.id;
END;
CREATE TRIGGER approval_cards AFTER UPDATE OF version ON approvals WHEN new.version <> old.version BEGIN
  UPDATE posts SET want = want + 1 WHERE kind = 'approval' AND ref = new.call;
END;
CREATE TRIGGER question_cards AFTER UPDATE OF version ON questions WHEN new.version <> old.version BEGIN
  UPDATE posts SET want = want + 1 WHERE kind = 'question' AND ref = new.id;
END;
CREATE TRIGGER trigger_cards AFTER UPDATE OF version ON triggers WHEN new.version <> old.version BEGIN
  UPDATE posts SET want = want + 1 WHERE kind = 'trigger' AND ref = new.name;
END;

-- A thread whose last draft was decided has nothing open any more.
CREATE TRIGGER thread_settles AFTER UPDATE OF state ON drafts
WHEN new.state IN ('released', 'rejected', 'superseded', 'expired')
  AND NOT EXISTS (SELECT 1 FROM drafts WHERE thread = new.thread AND state IN ('pending', 'approved', 'releasing', 'uncertain'))
BEGIN
  UPDATE threads SET state = 'done', updated = max(updated, coalesce(new.resolved, updated)) WHERE key = new.thread AND state = 'staged';
END;

-- ---------------------------------------------------------------- the rest

-- Single values: paused, last digest, last connected, …
CREATE TABLE settings (
  key     TEXT PRIMARY KEY,
  value   TEXT NOT NULL,
  updated INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
