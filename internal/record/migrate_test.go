package record_test

import (
	"database/sql"
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// first is schema.sql as version 1 had it: what the oldest homes were made of.
//
//go:embed testdata/v1.sql
var first string

// old is a record of version 1 with a few rows, as a process of then left it.
func old(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range []string{
		first, `PRAGMA user_version = 1`, `PRAGMA journal_mode = wal`,
		`INSERT INTO threads (key, team, channel, thread_ts, surface_channel, surface_ts, owner, title, state, mode, workspace, created, updated) VALUES ('T/C/1', 'T', 'C', '1', 'C', '1', 'U', 'hello', 'done', 'ask', '/w', 1, 1)`,
		`INSERT INTO runs (id, thread, fence, state, first_turn, turns, cost, started, ended) VALUES ('r1', 'T/C/1', 1, 'done', 1, 3, 0.5, 1, 2)`,
		`INSERT INTO messages (thread, run, seq, turn, role, author, text, created) VALUES ('T/C/1', 'r1', 1000, 1, 'user', 'owner', 'find the needle', 1)`,
		`INSERT INTO usage (day, model, out_tokens) VALUES ('2026-11-30', 'm', 7)`,
	} {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%.60s: %v", s, err)
		}
	}
}

// A home of version 1 comes forward with everything in it, and a copy of how it
// was stands beside it.
func TestAnOldRecordComesForward(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mecha.db")
	old(t, path)
	if _, err := record.Open(t.Context(), path, record.Options{}); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Fatalf("a command that may not migrate opened an older record: %v", err)
	}
	db, err := record.Open(t.Context(), path, record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	var planning, turns, wall, hits int
	var cost float64
	err = db.Read(t.Context(), func(tx *record.Tx) error {
		if err := tx.Row(`SELECT planning FROM threads WHERE key = 'T/C/1'`, nil, &planning); err != nil {
			return err
		}
		if err := tx.Row(`SELECT turns, wall, cost FROM runs WHERE id = 'r1'`, nil, &turns, &wall, &cost); err != nil {
			return err
		}
		return tx.Row(`SELECT count(*) FROM messages_fts WHERE messages_fts MATCH 'needle'`, nil, &hits)
	})
	if err != nil || planning != 0 || turns != 3 || wall != 0 || cost != 0.5 || hits != 1 {
		t.Errorf("planning %d, turns %d, wall %d, cost %g, hits %d: %v", planning, turns, wall, cost, hits, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	copies, err := filepath.Glob(path + ".v1-*")
	if err != nil || len(copies) != 1 {
		t.Fatalf("copies: %v, %v", copies, err)
	}
	if st, err := os.Stat(copies[0]); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("the copy: %v, %v", st.Mode(), err)
	}
	if v := shape(t, copies[0])["user_version"]; v != "1" {
		t.Errorf("the copy is of version %s", v)
	}
}

// schema.sql and the steps that lead to it make the same record.
func TestBothWaysLeadToOneSchema(t *testing.T) {
	dir := t.TempDir()
	ways := map[string]string{"new": filepath.Join(dir, "new.db"), "forward": filepath.Join(dir, "forward.db")}
	old(t, ways["forward"])
	shapes := map[string]map[string]string{}
	for way, path := range ways {
		db, err := record.Open(t.Context(), path, record.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		shapes[way] = shape(t, path)
	}
	if d := cmp.Diff(shapes["new"], shapes["forward"]); d != "" {
		t.Errorf("schema.sql (-) and the steps (+) differ:\n%s", d)
	}
	if got := shapes["new"]["user_version"]; got != fmt.Sprint(record.Version()) {
		t.Errorf("version %s, want %d", got, record.Version())
	}
	if len(slices.Collect(maps.Keys(shapes["new"]))) < 60 {
		t.Errorf("only %d objects were compared", len(shapes["new"]))
	}
}

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	sqlSpace   = regexp.MustCompile(`\s+`)
	sqlPunct   = regexp.MustCompile(`\s*([(),])\s*`)
)

// shape is every table, index and trigger of a record by name, in words that do
// not depend on comments and spaces.
func shape(t *testing.T, path string) map[string]string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	all := map[string]string{}
	rows, err := db.Query(`SELECT type || ' ' || name, coalesce(sql, '') FROM sqlite_schema`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		text = sqlSpace.ReplaceAllString(sqlComment.ReplaceAllString(text, " "), " ")
		all[name] = strings.TrimSpace(sqlPunct.ReplaceAllString(text, "$1"))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	var version string
	if err := db.QueryRow(`PRAGMA user_version`).Scan(&version); err != nil {
		t.Fatal(err)
	}
	all["user_version"] = version
	return all
}
