package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hold is the lock of a home: its holder is the one process that migrates the
// record and dispatches drafts. It dies with the process, so there is no lease
// and no clock.
type Hold struct{ f *os.File }

// HeldError tells that another process holds the home.
type HeldError struct {
	Path string
	PID  int // 0 where unknown
}

func (e *HeldError) Error() string {
	who := "another mecha-slack"
	if e.PID != 0 {
		who = fmt.Sprintf("another mecha-slack (process %d)", e.PID)
	}
	return fmt.Sprintf("%s runs on this home already (lock %s); stop it first, or use another --home", who, e.Path)
}

// TryHold takes the lock of home, or answers a *HeldError at once.
func TryHold(home string) (*Hold, error) {
	path := filepath.Join(home, "lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the home's lock: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			b := make([]byte, 32)
			n, _ := f.Read(b)
			pid, _ := strconv.Atoi(strings.TrimSpace(string(b[:n])))
			return nil, &HeldError{Path: path, PID: pid}
		}
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	if err := f.Truncate(0); err == nil {
		fmt.Fprintln(f, os.Getpid())
	}
	return &Hold{f: f}, nil
}

// Release gives the home back.
func (h *Hold) Release() error { return h.f.Close() }
