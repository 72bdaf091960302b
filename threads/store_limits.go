package threads

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

const qThreadUsed = `SELECT coalesce(sum(turns), 0), coalesce(sum(out_tokens), 0), coalesce(sum(cost), 0.0), coalesce(sum(wall), 0) FROM runs WHERE thread = ?`

const qDayUsed = `SELECT coalesce(sum(turns), 0), coalesce(sum(out_tokens), 0), coalesce(sum(cost), 0.0), coalesce(sum(wall), 0) FROM usage WHERE day = ?`

const qRunQuality = `UPDATE runs SET bad_calls = bad_calls + ?, nudges = nudges + ?, repeats = repeats + ?, compactions = compactions + ?, retries = retries + ?, wall = wall + ? WHERE id = ?`

const qSurfaceKeep = `INSERT INTO surfaces (hash, body, used) VALUES (?, ?, ?) ON CONFLICT (hash) DO UPDATE SET used = excluded.used`

const qSurfaceOf = `UPDATE runs SET surface = ? WHERE id = ?`

const qSurfaceGet = `SELECT body FROM surfaces WHERE hash = ?`

// wentHow adds how the run went, as far as the loop alone counts it.
func (t *Threads) wentHow(tx *record.Tx, b begun, o agent.Outcome) error {
	q := o.Quality
	if _, err := tx.Exec(qRunQuality, q.BadCalls, q.Nudges, q.Repeats, q.Compactions, q.Retries, o.Wall.Milliseconds(), b.run.ID); err != nil {
		return err
	}
	if o.Wall < 1 {
		return nil
	}
	_, err := tx.Exec(qUsageAdd, day(t.Now(), t.zone(b.thread)), b.run.Model, 0, 0, 0, 0.0, 0, o.Wall.Milliseconds())
	return err
}

// surface is what a run was told and offered, as the record keeps it.
type surface struct{ hash, body string }

// Offered is a tool as a run had it.
type Offered struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	ReadOnly    bool            `json:"read_only"`
}

// Surface is what a run was told and offered.
type Surface struct {
	System string    `json:"system"`
	Tools  []Offered `json:"tools"`
}

func surfaceOf(system string, reg *tools.Registry, planning bool) (*surface, error) {
	s := Surface{System: system}
	for _, t := range reg.All() {
		if planning && !t.ReadOnly() {
			continue
		}
		s.Tools = append(s.Tools, Offered{t.Name(), t.Description(), t.InputSchema(), t.ReadOnly()})
	}
	body, err := encode(s)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	return &surface{hex.EncodeToString(sum[:]), string(body)}, nil
}

// note commits it with a turn of the run.
func (s *surface) note(tx *record.Tx, run string) error {
	if _, err := tx.Exec(qSurfaceKeep, s.hash, s.body, tx.NowMS()); err != nil {
		return fmt.Errorf("cannot keep what run %s is offered: %w", run, err)
	}
	_, err := tx.Exec(qSurfaceOf, s.hash, run)
	return err
}
