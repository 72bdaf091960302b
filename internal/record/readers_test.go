package record

import (
	"path/filepath"
	"sync"
	"testing"
)

// A connection costs about a megabyte: a quiet process keeps one, a burst opens
// what it needs, and a minute later the rest are closed again.
func TestQuietReadersKeepOneConnection(t *testing.T) {
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "mecha.db"), Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	read := func() {
		if err := db.Read(t.Context(), func(*Tx) error { return nil }); err != nil {
			t.Error(err)
		}
	}
	open := func(when string, want int) {
		t.Helper()
		if got := db.r.Stats().OpenConnections; got != want {
			t.Errorf("%s: %d connections for reading, want %d", when, got, want)
		}
	}
	for range 10 {
		read()
	}
	open("one after another", 1)

	var all, burst sync.WaitGroup
	all.Add(maxReaders)
	for range maxReaders {
		burst.Go(func() {
			if err := db.Read(t.Context(), func(*Tx) error { all.Done(); all.Wait(); return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	burst.Wait()
	open("at once", maxReaders)

	db.readers.mu.Lock()
	for _, s := range db.readers.idle {
		s.used = s.used.Add(-readerIdle)
	}
	db.readers.mu.Unlock()
	db.readers.sweep()
	open("a minute later", 1)
}
