// Package record is the SQLite record: one file that holds everything the
// product promises to remember. It knows how to open, lock, migrate and write
// that file, and nothing of what the rows mean; each room keeps its SQL in its
// own store.go and passes a Tx on where a transaction crosses rooms.
//
// One connection writes. Writers that wait together are committed together
// (group commit), each inside a savepoint of its own, so that one durable
// fsync serves all of them and an error costs only its own caller. Readers see
// a snapshot and cannot write (query_only). Every commit is synchronous=FULL:
// when Write returns nil, the rows survive a power cut.
//
// The file must never be opened by this process any other way (os.Open on it
// would drop SQLite's POSIX locks on close); OFD locks are on as a second belt.
package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	sqlite "modernc.org/sqlite"
)

// Options of Open.
type Options struct {
	// Now gives the time that a Tx carries; time.Now where nil.
	Now func() time.Time
	// Migrate allows a new file to be made and an older one to be brought
	// forward. Only the holder of the home's lock may set it.
	Migrate bool
}

// DB is an open record. Its methods may be called from any goroutine.
type DB struct {
	path    string
	now     func() time.Time
	w, r    *sql.DB
	writes  chan *write
	readers *readers
	looks   chan *look
	quit    chan struct{}
	gone    chan struct{} // closed when the writer has returned
	done    sync.WaitGroup
	closing sync.Once
	watch   watchers
}

var enableOFD = sync.OnceValue(func() error {
	_, err := sqlite.OFDLocking(true)
	return err
})

// Open opens the record at path. A newer schema than this binary's is
// ErrNewer; an older or missing one without Options.Migrate is ErrOlder or
// ErrMissing. Close ends it.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := enableOFD(); err != nil {
		return nil, fmt.Errorf("cannot turn on SQLite's OFD locks: %w", err)
	}
	if _, err := os.Stat(path); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("cannot look at the record %s: %w", path, err)
		}
		if !o.Migrate {
			return nil, fmt.Errorf("record %s: %w", path, ErrMissing)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the record's directory: %w", err)
		}
		// SQLite gives its -wal and -shm files the mode of this one.
		f, err := os.OpenFile(path, os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("cannot make the record %s: %w", path, err)
		}
		f.Close()
	}
	db := &DB{path: path, now: o.Now, writes: make(chan *write, 1024), looks: make(chan *look), quit: make(chan struct{}), gone: make(chan struct{})}
	var err error
	if db.w, err = sql.Open("sqlite", dsn(path, false)); err != nil {
		return nil, fmt.Errorf("cannot open the record %s: %w", path, err)
	}
	db.w.SetMaxOpenConns(1)
	if err := migrate(ctx, db.w, path, o.Migrate); err != nil {
		db.w.Close()
		return nil, err
	}
	if db.r, err = sql.Open("sqlite", dsn(path, true)); err != nil {
		db.w.Close()
		return nil, fmt.Errorf("cannot open the record %s for reading: %w", path, err)
	}
	db.r.SetMaxIdleConns(0) // readers keeps the ones worth keeping
	db.readers = newReaders(db.r)
	conn, err := db.w.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot open the record %s: %w", path, err), db.r.Close(), db.w.Close())
	}
	db.done.Go(func() { db.writer(&session{conn: conn}) })
	return db, nil
}

// dsn spells the pragmas that every connection of the pool gets. An unknown key
// would be ignored silently, so a test reads each pragma back.
func dsn(path string, readOnly bool) string {
	q := url.Values{"_pragma": {
		"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(FULL)",
		"foreign_keys(1)", "trusted_schema(1)",
	}}
	cache := 2000 // KiB
	q.Set("_txlock", "immediate")
	q.Set("_dqs", "0")
	if readOnly {
		q.Add("_pragma", "query_only(1)")
		q.Set("_txlock", "deferred")
		cache = 500 // the system has the rest of the pages cached
	}
	q.Add("_pragma", fmt.Sprintf("cache_size(-%d)", cache))
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

// Path is the file that was opened.
func (db *DB) Path() string { return db.path }

// Now is the clock that the record's transactions read.
func (db *DB) Now() time.Time { return db.now() }

// Close waits for the write in progress, refuses the rest and closes the file.
func (db *DB) Close() error {
	var err error
	db.closing.Do(func() {
		close(db.quit)
		db.done.Wait()
		db.readers.close()
		err = errors.Join(db.r.Close(), db.w.Close())
	})
	return err
}

// Backup writes a compact copy to path, which must not exist (VACUUM INTO).
func (db *DB) Backup(ctx context.Context, path string) error {
	if _, err := db.r.ExecContext(ctx, `VACUUM INTO ?`, path); err != nil {
		return fmt.Errorf("cannot copy the record to %s: %w", path, err)
	}
	return nil
}

// Check runs SQLite's quick integrity check and answers its complaint, or "".
func (db *DB) Check(ctx context.Context) (string, error) {
	var s string
	if err := db.r.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&s); err != nil {
		return "", fmt.Errorf("cannot check the record: %w", err)
	}
	if s == "ok" {
		return "", nil
	}
	return s, nil
}
