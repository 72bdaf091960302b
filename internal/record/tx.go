package record

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Tx is one transaction: a snapshot for reading, or a place in a durable
// commit. It carries the one instant that every row written in it shares. It
// belongs to the function that got it and to that function's goroutine.
type Tx struct {
	ctx context.Context
	s   *session
	now time.Time
}

// Now is the transaction's instant, cut to milliseconds.
func (t *Tx) Now() time.Time { return t.now }

// NowMS is Now in Unix milliseconds, as the record stores times.
func (t *Tx) NowMS() int64 { return t.now.UnixMilli() }

// Context is the caller's; it never cancels a write half-way.
func (t *Tx) Context() context.Context { return t.ctx }

// Exec runs a statement and answers how many rows it changed.
func (t *Tx) Exec(query string, args ...any) (int64, error) {
	st, err := t.s.prepare(t.ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// Insert runs an INSERT and answers the new row's id.
func (t *Tx) Insert(query string, args ...any) (int64, error) {
	st, err := t.s.prepare(t.ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.LastInsertId()
}

// Query runs a SELECT. The rows must be closed before the next statement.
func (t *Tx) Query(query string, args ...any) (*sql.Rows, error) {
	st, err := t.s.prepare(t.ctx, query)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(t.ctx, args...)
}

// Row scans the single row of a SELECT; sql.ErrNoRows where there is none.
func (t *Tx) Row(query string, args []any, dest ...any) error {
	st, err := t.s.prepare(t.ctx, query)
	if err != nil {
		return err
	}
	return st.QueryRowContext(t.ctx, args...).Scan(dest...)
}

// Collect runs a SELECT and scans each row with scan.
func Collect[T any](t *Tx, scan func(Scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	list := make([]T, 0)
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// Scanner is a row, single or one of several.
type Scanner interface{ Scan(dest ...any) error }

// Time reads milliseconds as the record stores them; 0 is the zero time.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// MS writes a time as the record stores it; the zero time is 0.
func MS(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// session is one connection with the statements prepared on it: parsing costs
// more than running most of ours. One goroutine uses it at a time.
type session struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	used  time.Time // when it last gave a snapshot back
}

func (s *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if st := s.stmts[query]; st != nil {
		return st, nil
	}
	st, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%w, in %q", err, query)
	}
	if s.stmts == nil {
		s.stmts = map[string]*sql.Stmt{}
	}
	s.stmts[query] = st
	return st, nil
}

// run executes one of the few control statements: BEGIN, COMMIT, SAVEPOINT.
func (s *session) run(ctx context.Context, query string) error {
	st, err := s.prepare(ctx, query)
	if err != nil {
		return err
	}
	_, err = st.ExecContext(ctx)
	return err
}

func (s *session) close() {
	for _, st := range s.stmts {
		st.Close()
	}
	s.conn.Close()
}
