package threads

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/mecha-slack/mecha-slack/agent"
	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// noop is a call that may be repeated: the least that a turn can do.
type noop struct{ poke }

func (noop) ReadOnly() bool                   { return true }
func (noop) Repeatable() bool                 { return true }
func (noop) Capabilities() tools.Capabilities { return tools.Capabilities{} }

// BenchmarkDurableTurn is what a turn with one repeatable call costs over a model
// that takes no time, all commits to a real record included: the median of 500,
// and of the first and last fifty. The floor is the same number of commits of one
// row each to a record of its own.
func BenchmarkDurableTurn(b *testing.B) {
	const turns, edge = 500, 50
	var all, first, last, floor []time.Duration
	for b.Loop() {
		took := make([]time.Duration, 0, turns)
		pokes := 0
		var at time.Time
		var script []func(agent.Request) agent.Turn
		for i := range turns {
			script = append(script, func(agent.Request) agent.Turn {
				now := time.Now()
				if i > 0 {
					took = append(took, now.Sub(at))
				}
				at = now
				return agent.Turn{Calls: []agent.Call{{WireID: "w", Tool: "noop", Args: json.RawMessage(fmt.Sprintf(`{"to":"%d"}`, i))}}, Stop: agent.StopCalls}
			})
		}
		script = append(script, says("done"))
		r, stop := openWith(b, b.TempDir(), func(_ *room, c *Config, d *Deps) {
			c.MaxTurns = turns + 2
			d.Surface = func(Thread, []string) (*tools.Registry, error) { return tools.NewRegistry(noop{poke{"noop", &pokes}}) }
		}, script...)
		r.say(b, "100.000001", "go")
		r.until(b, "its end", func() bool { return r.state(b) == Done })
		stop()
		all, first, last = append(all, took...), append(first, took[:edge]...), append(last, took[len(took)-edge:]...)
		floor = append(floor, bare(b)...)
	}
	b.ReportMetric(median(all), "ms/turn")
	b.ReportMetric(median(first), "ms/turn-first50")
	b.ReportMetric(median(last), "ms/turn-last50")
	b.ReportMetric(median(floor), "floor-ms/turn")
}

// commits is how many transactions such a turn takes: the turn itself, the call's
// step to executing, and its result.
const commits = 3

// bare is the floor: that many commits of a row each, once a turn.
func bare(b *testing.B) (took []time.Duration) {
	db, err := record.Open(b.Context(), b.TempDir()+"/floor.db", record.Options{Migrate: true})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	for i := range 100 {
		at := time.Now()
		for c := range commits {
			err := db.Write(context.Background(), func(tx *record.Tx) error {
				_, err := tx.Exec(`INSERT INTO settings (key, value, updated) VALUES (?, 'x', 1)`, fmt.Sprint(i, ".", c))
				return err
			})
			if err != nil {
				b.Fatal(err)
			}
		}
		took = append(took, time.Since(at))
	}
	return took
}

func median(list []time.Duration) float64 {
	slices.Sort(list)
	return float64(list[len(list)/2].Microseconds()) / 1000
}
