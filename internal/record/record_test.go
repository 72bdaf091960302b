package record_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

func open(t testing.TB) *record.DB {
	t.Helper()
	db, err := record.Open(t.Context(), filepath.Join(t.TempDir(), "mecha.db"), record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

const setValue = `INSERT INTO settings (key, value, updated) VALUES (?, ?, ?)`

func count(t testing.TB, db *record.DB) (n int) {
	t.Helper()
	err := db.Read(t.Context(), func(tx *record.Tx) error {
		return tx.Row(`SELECT count(*) FROM settings`, nil, &n)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPragmasHoldOnEveryConnection(t *testing.T) {
	db := open(t)
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10000"}
	check := func(tx *record.Tx) error {
		for k, v := range want {
			var got string
			if err := tx.Row(`PRAGMA `+k, nil, &got); err != nil {
				return err
			}
			if got != v {
				t.Errorf("PRAGMA %s = %s, want %s", k, got, v)
			}
		}
		return nil
	}
	if err := db.Write(t.Context(), check); err != nil {
		t.Fatal(err)
	}
	if err := db.Read(t.Context(), check); err != nil {
		t.Fatal(err)
	}
}

func TestNobodyElseMayReadItsFiles(t *testing.T) {
	db := open(t)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(db.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("mecha.db%s has mode %o, want 600", suffix, mode)
		}
	}
}

func TestReadersCannotWrite(t *testing.T) {
	db := open(t)
	err := db.Read(t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(setValue, "a", "b", 1)
		return err
	})
	if err == nil {
		t.Fatal("a reader wrote a row")
	}
	if n := count(t, db); n != 0 {
		t.Fatalf("%d rows, want none", n)
	}
}

func TestAnErrorCostsOnlyItsOwnCaller(t *testing.T) {
	db := open(t)
	boom := errors.New("boom")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			err := db.Write(context.Background(), func(tx *record.Tx) error {
				if _, err := tx.Exec(setValue, string(rune('A'+i)), "x", tx.NowMS()); err != nil {
					return err
				}
				if i%2 == 0 {
					return boom
				}
				return nil
			})
			if (i%2 == 0) != errors.Is(err, boom) {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := count(t, db); n != 32 {
		t.Fatalf("%d rows, want 32", n)
	}
}

func TestAPanicReachesItsCallerAndUndoesItsRows(t *testing.T) {
	db := open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		db.Write(t.Context(), func(tx *record.Tx) error {
			tx.Exec(setValue, "a", "b", 1)
			panic("boom")
		})
	}()
	if n := count(t, db); n != 0 {
		t.Fatalf("%d rows, want none", n)
	}
}

func TestWriteInsideWriteIsAnErrorNotADeadlock(t *testing.T) {
	db := open(t)
	err := db.Write(t.Context(), func(tx *record.Tx) error {
		return db.Write(tx.Context(), func(*record.Tx) error { return nil })
	})
	if err == nil {
		t.Fatal("nested Write passed")
	}
}

func TestUniqueIsTold(t *testing.T) {
	db := open(t)
	w := func() error {
		return db.Write(t.Context(), func(tx *record.Tx) error {
			_, err := tx.Exec(setValue, "a", "b", 1)
			return err
		})
	}
	if err := w(); err != nil {
		t.Fatal(err)
	}
	if err := w(); !record.IsUnique(err) {
		t.Fatalf("got %v, want a unique violation", err)
	}
}

func TestVersions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mecha.db")
	if _, err := record.Open(t.Context(), path, record.Options{}); !errors.Is(err, record.ErrMissing) {
		t.Fatalf("missing: %v", err)
	}
	db, err := record.Open(t.Context(), path, record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	err = db.Write(t.Context(), func(tx *record.Tx) error {
		_, err := tx.Exec(`PRAGMA user_version = 999`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	if _, err := record.Open(t.Context(), path, record.Options{Migrate: true}); !errors.Is(err, record.ErrNewer) {
		t.Fatalf("newer: %v", err)
	}
}

func TestSubscribersHearOwnAndOtherCommits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mecha.db")
	a, err := record.Open(t.Context(), path, record.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := record.Open(t.Context(), path, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	changed, stop := a.Subscribe()
	defer stop()
	wg.Go(func() {
		if err := a.PollOthers(ctx); err != nil {
			t.Error(err)
		}
	})
	<-changed // the first look
	for i, db := range []*record.DB{a, b, b} {
		err := db.Write(t.Context(), func(tx *record.Tx) error {
			_, err := tx.Exec(setValue, string(rune('a'+i)), "x", 1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		<-changed
	}
}

func TestOneHolderAHome(t *testing.T) {
	home := t.TempDir()
	h, err := record.TryHold(home)
	if err != nil {
		t.Fatal(err)
	}
	var held *record.HeldError
	if _, err := record.TryHold(home); !errors.As(err, &held) || held.PID == 0 {
		t.Fatalf("second hold: %v", err)
	}
	h.Release()
	h, err = record.TryHold(home)
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
}

func BenchmarkWriteAlone(b *testing.B) {
	db := open(b)
	for b.Loop() {
		err := db.Write(b.Context(), func(tx *record.Tx) error {
			_, err := tx.Exec(`INSERT INTO events (app, team, event, received) VALUES ('a', 't', hex(randomblob(8)), 1)`)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWriteTogether(b *testing.B) {
	db := open(b)
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			err := db.Write(context.Background(), func(tx *record.Tx) error {
				_, err := tx.Exec(`INSERT INTO events (app, team, event, received) VALUES ('a', 't', hex(randomblob(8)), 1)`)
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A Write that comes as the record closes is refused; it never waits for a
// writer that has gone.
func TestAWriteAfterCloseIsRefused(t *testing.T) {
	db := open(t)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 50 { // which way the select goes is chance
		if err := db.Write(t.Context(), func(*record.Tx) error { return nil }); !errors.Is(err, record.ErrClosed) {
			t.Fatalf("a write after Close: %v", err)
		}
	}
}
