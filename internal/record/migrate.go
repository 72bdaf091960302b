package record

import (
	"context"
	"database/sql"
	_ "embed" // the steps
	"fmt"
	"os"
	"time"

	mechaslack "github.com/mecha-slack/mecha-slack"
)

// steps lead from version i+1 to i+2; schema.sql is where they end. Steps are
// never changed or removed once released: a test builds a record both ways and
// compares.
var steps = []string{step2}

//go:embed steps/2.sql
var step2 string

// Version is the schema's number: what schema.sql writes.
func Version() int { return 1 + len(steps) }

func migrate(ctx context.Context, db *sql.DB, path string, may bool) error {
	var have int
	if err := db.QueryRowContext(ctx, `PRAGMA user_version`).Scan(&have); err != nil {
		return fmt.Errorf("cannot read the record %s: %w", path, err)
	}
	want := Version()
	switch {
	case have == want:
		return nil
	case have > want:
		return fmt.Errorf("record %s has version %d, this binary knows %d: %w", path, have, want, ErrNewer)
	case !may && have == 0:
		return fmt.Errorf("record %s: %w", path, ErrMissing)
	case !may:
		return fmt.Errorf("record %s has version %d, this binary wants %d: %w", path, have, want, ErrOlder)
	case have == 0:
		return apply(ctx, db, path, want, mechaslack.Schema)
	}
	copyTo := fmt.Sprintf("%s.v%d-%s", path, have, time.Now().UTC().Format("20060102T150405"))
	if _, err := db.ExecContext(ctx, `VACUUM INTO ?`, copyTo); err != nil {
		return fmt.Errorf("cannot copy the record to %s before bringing it forward: %w", copyTo, err)
	}
	os.Chmod(copyTo, 0o600)
	for v := have; v < want; v++ {
		if err := apply(ctx, db, path, v+1, steps[v-1]); err != nil {
			return err
		}
	}
	return nil
}

func apply(ctx context.Context, db *sql.DB, path string, version int, script string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("cannot write the record %s: %w", path, err)
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, script); err != nil {
		return fmt.Errorf("cannot bring the record %s to version %d: %w", path, version, err)
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA user_version = %d`, version)); err != nil {
		return fmt.Errorf("cannot number the record %s: %w", path, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("cannot bring the record %s to version %d: %w", path, version, err)
	}
	return nil
}
