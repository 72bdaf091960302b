package threads

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

const qLetterInsert = `INSERT INTO letters (id, team, owner, sender, run, receiver, text, private, untrusted, sources, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const qLetterGet = `SELECT id, team, owner, sender, receiver, text, private, untrusted, sources, state, by, created, decided FROM letters WHERE id = ?`

const qLettersWaiting = `SELECT id, team, owner, sender, receiver, text, private, untrusted, sources, state, by, created, decided FROM letters WHERE receiver = ? AND state IN ('held', 'accepted') ORDER BY created, id`

const qLetterDecide = `UPDATE letters SET state = ?, by = ?, decided = ?, version = version + 1 WHERE id = ? AND state = 'held'`

const qLetterRead = `UPDATE letters SET state = 'read', version = version + 1 WHERE id = ?`

// Letter is what one agent of this machine wrote to another of the same owner.
type Letter struct {
	ID       string
	Team     string
	Owner    string // of both ends
	Sender   string // thread
	Receiver string // thread, or trigger:NAME
	Text     string
	Taint    tools.Taint // of the sender, when it wrote
	State    string      // held, accepted, read, rejected
	By       string
	Created  time.Time
	Decided  time.Time
}

func scanLetter(r record.Scanner) (l Letter, err error) {
	var sources string
	var created int64
	var decided *int64
	if err = r.Scan(&l.ID, &l.Team, &l.Owner, &l.Sender, &l.Receiver, &l.Text, &l.Taint.Private, &l.Taint.Untrusted, &sources, &l.State, &l.By, &created, &decided); err != nil {
		return l, err
	}
	l.Created = record.Time(created)
	if decided != nil {
		l.Decided = record.Time(*decided)
	}
	return l, json.Unmarshal([]byte(sources), &l.Taint.Marks)
}

func getLetter(tx *record.Tx, id string) (Letter, error) {
	list, err := record.Collect(tx, scanLetter, qLetterGet, id)
	if err != nil {
		return Letter{}, fmt.Errorf("cannot read message %s: %w", id, err)
	}
	if len(list) == 0 {
		return Letter{}, fmt.Errorf("message %s: %w", id, ErrNotFound)
	}
	return list[0], nil
}
