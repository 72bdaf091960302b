package threads

import (
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const qGoalInsert = `INSERT INTO goals (id, thread, text, proposed_by, private, untrusted, state, created) VALUES (?, ?, ?, ?, ?, ?, 'proposed', ?)`

const qGoalGet = `SELECT id, thread, text, proposed_by, private, untrusted, state, by, version, created, decided FROM goals WHERE id = ?`

const qGoalsOf = `SELECT id, thread, text, proposed_by, private, untrusted, state, by, version, created, decided FROM goals WHERE thread = ? AND state IN ('proposed', 'active') ORDER BY created DESC`

const qGoalDecide = `UPDATE goals SET state = ?, by = ?, decided = ?, version = version + 1 WHERE id = ? AND state = 'proposed'`

const qGoalReplace = `UPDATE goals SET state = 'replaced', by = ?, decided = ?, version = version + 1 WHERE thread = ? AND state = ? AND id <> ?`

const qThreadPlanning = `UPDATE threads SET planning = ?, updated = ? WHERE key = ?`

// Goal is what a conversation is for. It counts once an owner accepted it.
type Goal struct {
	ID         string
	Thread     string
	Text       string
	ProposedBy string // GoalByAgent, or a person
	Private    bool   // what the conversation held when it was proposed
	Untrusted  bool
	State      string // proposed, active, rejected, replaced
	By         string
	Version    int64
	Created    time.Time
	Decided    time.Time
}

func scanGoal(r record.Scanner) (g Goal, err error) {
	var created int64
	var decided *int64
	err = r.Scan(&g.ID, &g.Thread, &g.Text, &g.ProposedBy, &g.Private, &g.Untrusted, &g.State, &g.By, &g.Version, &created, &decided)
	g.Created = record.Time(created)
	if decided != nil {
		g.Decided = record.Time(*decided)
	}
	return g, err
}

func getGoal(tx *record.Tx, id string) (Goal, error) {
	list, err := record.Collect(tx, scanGoal, qGoalGet, id)
	if err != nil {
		return Goal{}, fmt.Errorf("cannot read goal %s: %w", id, err)
	}
	if len(list) == 0 {
		return Goal{}, fmt.Errorf("goal %s: %w", id, ErrNotFound)
	}
	return list[0], nil
}
