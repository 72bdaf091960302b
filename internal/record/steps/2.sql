-- From version 1 to 2: goals, letters between agents, what a run was offered, how
-- it went, planning, and what a day and a conversation may use.
ALTER TABLE threads ADD COLUMN planning INTEGER NOT NULL DEFAULT 0 CHECK (planning IN (0, 1));
ALTER TABLE runs ADD COLUMN surface TEXT;
ALTER TABLE runs ADD COLUMN denied INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN unknown INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN bad_calls INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN nudges INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN compactions INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN wall INTEGER NOT NULL DEFAULT 0;
CREATE INDEX runs_ended ON runs (ended) WHERE ended IS NOT NULL;
CREATE INDEX calls_skill ON calls (thread, turn, ord) WHERE tool = 'skill';
ALTER TABLE usage ADD COLUMN turns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE usage ADD COLUMN wall INTEGER NOT NULL DEFAULT 0;
CREATE TABLE surfaces (
  hash TEXT PRIMARY KEY,
  body TEXT NOT NULL CHECK (json_valid(body)),
  used INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE goals (
  id TEXT PRIMARY KEY,
  thread TEXT NOT NULL REFERENCES threads (key),
  text TEXT NOT NULL,
  proposed_by TEXT NOT NULL,
  private INTEGER NOT NULL DEFAULT 0,
  untrusted INTEGER NOT NULL DEFAULT 0,
  state TEXT NOT NULL CHECK (state IN ('proposed', 'active', 'rejected', 'replaced')),
  by TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  created INTEGER NOT NULL,
  decided INTEGER
) STRICT;
CREATE INDEX goals_thread ON goals (thread, created);
CREATE TABLE letters (
  id TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  owner TEXT NOT NULL,
  sender TEXT NOT NULL,
  run TEXT NOT NULL,
  receiver TEXT NOT NULL,
  text TEXT NOT NULL,
  private INTEGER NOT NULL DEFAULT 0,
  untrusted INTEGER NOT NULL DEFAULT 0,
  sources TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(sources)),
  state TEXT NOT NULL CHECK (state IN ('held', 'accepted', 'read', 'rejected')),
  by TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 1,
  created INTEGER NOT NULL,
  decided INTEGER
) STRICT;
CREATE INDEX letters_receiver ON letters (receiver, created);
CREATE INDEX letters_waiting ON letters (receiver, created) WHERE state IN ('held', 'accepted');
