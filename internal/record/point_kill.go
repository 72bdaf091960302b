//go:build killpoints

package record

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// killDir is the environment's name of the directory through which a test talks
// to a process: every point that is passed is a line of its file "passed"; the
// file "arm" holds a number and a name, and the process dies at that passing,
// counted from when the file was written. Read in this build only.
const killDir = "MECHA_KILLPOINTS"

// passing serializes passings, so that each counts once.
var passing sync.Mutex

// Point ends the process here, as kill -9 does, if this passing is the armed one.
func Point(name string) {
	dir := os.Getenv(killDir)
	if dir == "" {
		return
	}
	passing.Lock()
	defer passing.Unlock()
	if f, err := os.OpenFile(filepath.Join(dir, "passed"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		fmt.Fprintln(f, name)
		f.Close()
	}
	arm := filepath.Join(dir, "arm")
	b, err := os.ReadFile(arm)
	if err != nil {
		return
	}
	var left int
	count, armed, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	if _, err := fmt.Sscan(count, &left); err != nil || armed != name {
		return
	}
	if left > 1 {
		os.WriteFile(arm, fmt.Appendf(nil, "%d %s", left-1, name), 0o600)
		return
	}
	os.Remove(arm)
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {} // the signal is on its way
}

// point passes the place before or after this write's commit, named after the
// function that asked for it: so every commit has its two points, also those
// that nobody has thought of.
func (w *write) point(when string) { Point("commit " + w.by + ": " + when) }

// callerOf names the function of ours that asked for a write, skip frames up;
// one that only hands writes on is called write, and its caller counts.
func callerOf(skip int) string {
	pcs := make([]uintptr, 8)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+2, pcs)])
	for {
		f, more := frames.Next()
		name := strings.TrimPrefix(f.Function, "github.com/mecha-slack/mecha-slack/")
		if !more || !strings.HasSuffix(name, ").write") {
			return name
		}
	}
}
