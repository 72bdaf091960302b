package child

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Ident names a process group across our own death: its number, when its leader started (clock ticks after boot, as
// the kernel counts them) and the boot in which that was. A number alone is given out again and again.
type Ident struct {
	PGID    int    `json:"pgid"`
	Started int64  `json:"started"`
	BootID  string `json:"boot_id"`
}

// ErrNotOurs is returned by KillIdent when the number now belongs to someone else, or to another boot. Nothing was
// signalled, and the group that was meant is gone.
var ErrNotOurs = errors.New("the process group is not the one that was recorded")

// killPatience is how long KillIdent waits for a killed group to be gone.
const killPatience = 5 * time.Second

// KillIdent ends a group that an earlier process of ours left behind, and waits until it is gone. It returns nil when
// nothing of the group is left, ErrNotOurs when the number is someone else's. A leader must have been started when the
// record says; where only others of the group are left (the leader dies with us), one of them must carry our mark in
// its environment and be younger than the leader.
func KillIdent(id Ident) error {
	if id.PGID <= 1 || id.PGID == unix.Getpgrp() || id.PGID == os.Getpid() {
		return fmt.Errorf("ending process group %d: %w", id.PGID, ErrNotOurs) // kill(-1) is everyone, kill(0) is us
	}
	if id.BootID == "" || id.BootID != bootID() {
		return fmt.Errorf("ending process group %d: recorded in another boot: %w", id.PGID, ErrNotOurs)
	}
	if st, ok := statOf(id.PGID); ok {
		if st.started != id.Started || st.pgid != id.PGID {
			return fmt.Errorf("ending process group %d: its leader is another process: %w", id.PGID, ErrNotOurs)
		}
	} else {
		left := members(id.PGID)
		if len(left) == 0 {
			return nil
		}
		if !anyMarked(left, id.Started) {
			return fmt.Errorf("ending process group %d: none of its processes carries our mark: %w", id.PGID, ErrNotOurs)
		}
	}
	if err := unix.Kill(-id.PGID, unix.SIGKILL); err != nil && err != unix.ESRCH {
		return fmt.Errorf("ending process group %d: %w", id.PGID, err)
	}
	return awaitGone(id.PGID)
}

// awaitGone waits until only zombies are left of a group: they are its parent's to reap, and run nothing.
func awaitGone(pgid int) error {
	deadline := time.NewTimer(killPatience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if len(members(pgid)) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("process group %d is still there %v after SIGKILL", pgid, killPatience)
		}
	}
}

// anyMarked reports whether one of the processes was started by us, after the leader was.
func anyMarked(ps []procStat, started int64) bool {
	for _, p := range ps {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err != nil || p.started < started {
			continue
		}
		for kv := range bytes.SplitSeq(env, []byte{0}) {
			if string(kv) == markVar+"=1" {
				return true
			}
		}
	}
	return false
}

// Self is our own process, for whoever must find out later whether we are still there.
func Self() Ident { return identOf(os.Getpid()) }

// Alive reports whether the very process that the Ident was taken of still runs.
func (id Ident) Alive() bool {
	st, ok := statOf(id.PGID)
	return ok && id.BootID != "" && id.BootID == bootID() && st.started == id.Started && st.state != 'Z' && st.state != 'X'
}

func identOf(pid int) Ident {
	st, _ := statOf(pid)
	return Ident{PGID: pid, Started: st.started, BootID: bootID()}
}

func bootID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "" // no record then names a group, and KillIdent refuses
	}
	return strings.TrimSpace(string(b))
}

// procStat is what we need of /proc/PID/stat.
type procStat struct {
	pid, pgid int
	state     byte
	started   int64
}

func statOf(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	return parseStat(b)
}

// parseStat reads a stat line. The name in it is the program's own choice and may hold spaces and brackets, so the
// fields are counted from the last bracket.
func parseStat(b []byte) (procStat, bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return procStat{}, false
	}
	f := strings.Fields(string(b[end+1:]))
	const state, pgrp, startTime = 0, 2, 19 // fields 3, 5 and 22 of proc(5)
	if len(f) <= startTime || len(f[state]) != 1 {
		return procStat{}, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(b[:open])))
	pgid, err2 := strconv.Atoi(f[pgrp])
	started, err3 := strconv.ParseInt(f[startTime], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil {
		return procStat{}, false
	}
	return procStat{pid: pid, pgid: pgid, state: f[state][0], started: started}, true
}

// members lists the processes of a group that still run.
func members(pgid int) []procStat {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var out []procStat
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if st, ok := statOf(pid); ok && st.pgid == pgid && st.state != 'Z' && st.state != 'X' {
			out = append(out, st)
		}
	}
	return out
}
