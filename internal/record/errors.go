package record

import (
	"errors"

	sqlite "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What Open and Write can say of the record as a whole.
var (
	ErrMissing = errors.New("there is none yet; start `mecha-slack local` or `mecha-slack connect` once, which makes it")
	ErrNewer   = errors.New("it was written by a newer mecha-slack; use that version, or restore the copy that it made beside the record")
	ErrOlder   = errors.New("it was written by an older mecha-slack; start `mecha-slack local` or `connect` of this version once, which brings it forward")
	ErrClosed  = errors.New("the record is closed")
)

// IsBusy tells that another process held the write lock for too long.
func IsBusy(err error) bool {
	c := code(err)
	return c&0xff == sqlite3.SQLITE_BUSY || c&0xff == sqlite3.SQLITE_LOCKED
}

// IsUnique tells that a UNIQUE or PRIMARY KEY constraint refused the row.
func IsUnique(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsFull tells that the disk, or the file system's limit, is full.
func IsFull(err error) bool { return code(err)&0xff == sqlite3.SQLITE_FULL }

func code(err error) int {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return -1
	}
	return e.Code()
}
