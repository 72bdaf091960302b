package threads

import (
	"context"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const qRunsRecent = `SELECT id, thread, fence, state, cause, error, model, trigger, unattended, first_turn, turns, resumes, in_tokens, out_tokens, cached_tokens, cost, calls, call_errors, staged, blocked, started, ended, surface, denied, unknown, bad_calls, nudges, repeats, compactions, retries, wall FROM runs WHERE thread IN (SELECT key FROM threads WHERE updated >= 0 ORDER BY updated DESC LIMIT ?) ORDER BY started DESC LIMIT ?`

const qRunsNamed = `SELECT id, thread, fence, state, cause, error, model, trigger, unattended, first_turn, turns, resumes, in_tokens, out_tokens, cached_tokens, cost, calls, call_errors, staged, blocked, started, ended, surface, denied, unknown, bad_calls, nudges, repeats, compactions, retries, wall FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 20`

const qSearch = `SELECT m.thread, coalesce(m.run, ''), m.turn, m.author, snippet(messages_fts, 0, '', '', '…', 24), m.created FROM messages_fts f JOIN messages m ON m.id = f.rowid WHERE messages_fts MATCH ? ORDER BY m.id DESC LIMIT ?`

// RecentRuns answers the newest runs over all threads, newest first.
func (t *Threads) RecentRuns(ctx context.Context, limit int) (list []RunInfo, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanRun, qRunsRecent, limit, limit)
		return err
	})
	return list, err
}

// RunsNamed answers the runs whose id begins with prefix, at most twenty.
func (t *Threads) RunsNamed(ctx context.Context, prefix string) (list []RunInfo, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, scanRun, qRunsNamed, prefix, prefix+"\U0010ffff")
		return err
	})
	return list, err
}

// Hit is a message in which words were found.
type Hit struct {
	Thread  string
	Run     string
	Turn    int
	Author  string
	Excerpt string
	At      time.Time
}

// Search finds messages of all threads that hold every word (the last may be
// the beginning of one), newest first.
func (t *Threads) Search(ctx context.Context, words []string, limit int) (list []Hit, err error) {
	var terms []string
	for _, w := range words {
		for _, part := range strings.FieldsFunc(w, func(r rune) bool { return !isWord(r) }) {
			terms = append(terms, `"`+part+`"`)
		}
	}
	if len(terms) == 0 {
		return nil, nil
	}
	terms[len(terms)-1] += "*"
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = record.Collect(tx, func(r record.Scanner) (h Hit, err error) {
			var at int64
			err = r.Scan(&h.Thread, &h.Run, &h.Turn, &h.Author, &h.Excerpt, &at)
			h.At = record.Time(at)
			return h, err
		}, qSearch, strings.Join(terms, " AND "), limit)
		return err
	})
	return list, err
}
