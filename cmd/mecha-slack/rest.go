package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

const (
	// restAfter is how long nothing has been committed before memory goes back.
	restAfter = 5 * time.Second
	// restWorth is how much must have been allocated since the last time for
	// another collection to be worth its milliseconds.
	restWorth = 1 << 20
)

// giveBack returns what a run needed to the operating system once the record
// has been quiet for a while. The process waits for most of its life, on
// somebody's laptop; Go would keep a run's pages for the next one.
func giveBack(ctx context.Context, db *record.DB) error {
	changed, stop := db.Subscribe()
	defer stop()
	quiet := time.NewTimer(restAfter)
	defer quiet.Stop()
	var kept uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
			quiet.Reset(restAfter)
		case <-quiet.C:
			if heap() < kept+restWorth {
				continue
			}
			debug.FreeOSMemory()
			kept = heap()
		}
	}
}

// heap is the size of what was allocated and not yet swept, in bytes.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
